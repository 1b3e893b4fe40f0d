"""Queries as vectors: embedded in time, in the space that answers."""
