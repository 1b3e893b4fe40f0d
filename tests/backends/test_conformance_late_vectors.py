"""What tests/integration/test_late_vectors.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_late_vectors")
