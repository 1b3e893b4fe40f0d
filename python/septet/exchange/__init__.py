"""Import from and export to other programs.

An import: `sources` detects the format and opens the source; `lines`, `values`, `tables`, `texts` and `frames` read one
format each and yield records; `mapping` converts a record to fields; `run` stores them.
"""
