"""What tests/integration/test_context.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "integration/test_context")
