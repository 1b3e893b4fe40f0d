"""What tests/integration/test_filters_without_matches.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "integration/test_filters_without_matches")
