"""What tests/integration/test_matches.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_matches")
