"""What tests/integration/test_asked_words.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(globals(), "test_asked_words")
