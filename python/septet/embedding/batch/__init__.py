"""Batch APIs: large corpora as files of requests, submitted, awaited and collected."""
