"""Files: folders of Markdown, plain text and session transcripts, kept as chunks in step with the disk."""
