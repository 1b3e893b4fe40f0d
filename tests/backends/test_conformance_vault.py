"""What tests/integration/test_vault.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_vault")
