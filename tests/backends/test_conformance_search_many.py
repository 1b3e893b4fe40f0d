"""What tests/integration/test_search_many.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_search_many")
