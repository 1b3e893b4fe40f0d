"""A tier on another machine: what is asked of its sessions, and what they answer, as JSON-ready values."""
