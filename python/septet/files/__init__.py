"""Folders of Markdown, plain text and session transcripts, synchronised with a vault as chunks."""
