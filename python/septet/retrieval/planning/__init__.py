"""Which corpora are asked, by which policy; how good the evidence is, and what to ask next: pure."""
