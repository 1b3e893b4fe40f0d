"""What tests/integration/test_remembered_again.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_remembered_again",
    without={"test_a_memory_that_is_known_is_refused_by_a_vault_for_reading": "is about a file"},
)
