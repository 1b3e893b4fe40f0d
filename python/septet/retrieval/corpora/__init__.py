"""The corpora of a retrieval."""
