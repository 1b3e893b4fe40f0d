"""What tests/integration/test_federation.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_federation",
    without={
        "test_of_a_tier_that_could_not_be_opened_nothing_is_reported_but_why": "breaks a file",
        "test_a_tier_that_fails_while_it_searches_is_a_note_wherever_it_stands": "breaks a file",
        "test_a_search_says_how_long_it_took_and_each_of_its_tiers": "slows SQLite down",
    },
)
