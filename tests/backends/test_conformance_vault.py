"""What tests/integration/test_vault.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_vault",
    without={
        "test_a_deleted_text_leaves_the_file_when_it_is_purged": "reads the bytes of the file",
        "test_a_backup_over_a_vault_in_use_is_refused_or_holds": "backups are files",
        "test_a_backup_in_use_is_a_whole_vault": "backups are files",
    },
)
