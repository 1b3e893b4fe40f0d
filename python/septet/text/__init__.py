"""Pure text: from a question to a full-text expression."""
