"""Observability of searches and writes: hooks, loggers, spans and progress bars."""
