"""Embedding services: the format of each, and their embedders."""
