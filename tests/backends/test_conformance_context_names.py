"""What tests/integration/test_context_names.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "integration/test_context_names")
