"""What tests/integration/test_on_similar.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_on_similar")
