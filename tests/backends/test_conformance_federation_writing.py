"""What tests/integration/test_federation_writing.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "integration/test_federation_writing")
