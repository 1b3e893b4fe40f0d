"""Seen from outside: what searches and writes tell of themselves, to hooks, loggers and spans."""
