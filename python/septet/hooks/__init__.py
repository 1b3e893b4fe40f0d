"""Hooks of agents: programs call them at the start of a session, at a prompt, at a compaction and at the end.

At the start and at a prompt they print what the vault knows; at the others the transcript of the session is synced.
"""
