"""What comes in from other programs, and what goes out: exports, and imports of what people have.

The way of an import: `sources` finds out what a source is and opens it; `lines`, `values`, `tables`, `texts` and
`frames` read one form each and give records; `mapping` makes fields of a record; `run` stores them.
"""
