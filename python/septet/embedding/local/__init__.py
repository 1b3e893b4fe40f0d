"""Sentence models that run in this process."""
