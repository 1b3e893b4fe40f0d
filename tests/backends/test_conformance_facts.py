"""The tests of tests/integration/test_facts_that_change.py hold on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_facts_that_change",
    without={
        "test_every_face_of_a_vault_suggests": "opens a file",
        "test_a_vault_opened_for_reading_suggests_but_supersedes_nothing": "opens a file",
    },
)
