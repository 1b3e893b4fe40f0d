"""What tests/integration/test_provenance.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_provenance")
