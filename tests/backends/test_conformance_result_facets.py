"""What tests/integration/test_result_facets.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_result_facets")
