"""Retrieval over several corpora: plan, ask side by side, fuse by rank, judge the evidence, and ask again."""
