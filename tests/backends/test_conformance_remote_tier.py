"""What tests/servers/test_remote_tier.py says of a vault that a server holds is true on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "servers/test_remote_tier",
    without={
        "test_a_vault_in_memory_is_no_tier_of_others": "needs a vault in memory",
        "test_what_is_no_tier_is_refused": "asks no vault",
        "test_a_session_that_never_was_begins_again": "asks no vault",
    },
    thinned=[
        "test_a_search_is_the_same_as_with_a_vault_of_this_machine",
        "test_a_call_that_no_tier_makes_is_a_mistake_and_no_failure",
    ],
)
