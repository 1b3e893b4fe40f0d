"""What tests/integration/test_remote_tier.py says of a vault that a server holds is true on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "test_remote_tier",
    without={
        "test_a_vault_in_memory_is_no_tier_of_others": "a server keeps nothing in memory alone",
    },
)
