"""Retrieval over several corpora: plan, search in parallel, fuse, judge the evidence, and search again."""
