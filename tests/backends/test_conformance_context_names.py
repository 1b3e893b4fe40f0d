"""Conformance of names in contexts: every backend passes tests/integration/test_context_names.py."""

from backends.conformance import conforms

conforms(globals(), "integration/test_context_names")
