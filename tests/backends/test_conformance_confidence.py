"""What tests/integration/test_confidence.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "integration/test_confidence")
