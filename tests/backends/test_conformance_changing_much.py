"""What tests/exhaustive/test_changing.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "exhaustive/test_changing",
)
