"""What tests/integration/test_memories.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_memories",
    without={
        "test_many_entries_are_ranked_with_memories_before_full_text_is_in_memory": "is about arrays",
        "test_memories_come_out_of_a_sidecar_as_they_went_in": "is about files",
        "test_postings_that_a_search_built_are_not_replaced_by_those_that_the_background_built": "is about arrays",
        "test_a_search_that_leaves_matching_memories_out_says_how_many": "makes some hundred vaults",
    },
    thinned=[
        "test_the_presence_of_memories_changes_no_score_of_an_entry",
        "test_memories_that_are_asked_for_score_as_if_they_were_entries",
    ],
)
