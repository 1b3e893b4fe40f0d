"""What tests/integration/test_vectors_incomplete.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_vectors_incomplete")
