"""Recall over sources: its settings, sources, lists, and results as text for a prompt."""
