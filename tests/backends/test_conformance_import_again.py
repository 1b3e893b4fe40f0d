"""What tests/integration/test_import_again.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_import_again")
