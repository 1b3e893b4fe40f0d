"""What tests/integration/test_import_again.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_import_again",
    without={"test_what_changed_is_written_and_nothing_else": "numbers of spaces differ in a shared database"},
)
