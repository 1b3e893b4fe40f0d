"""What tests/integration/test_history.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_history",
    without={
        "test_each_version_is_the_entry_as_it_was": "its texts hold NUL characters, which PostgreSQL refuses",
        "test_a_deleted_text_is_gone_from_history_and_from_the_file": "reads the bytes of the file",
        "test_the_words_of_a_text_that_is_gone_are_purged_from_the_whole_file": "reads the bytes of the file",
        "test_history_is_copied_by_backups_and_read_from_read_only_vaults": "backups are files, and have no versions",
    },
)
