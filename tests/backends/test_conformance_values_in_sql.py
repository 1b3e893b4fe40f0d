"""What tests/integration/test_values_in_sql.py says holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "integration/test_values_in_sql")
