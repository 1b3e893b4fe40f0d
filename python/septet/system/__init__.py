"""Threads and files of the operating system."""
