"""What tests/integration/test_search_many.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_search_many",
    without={
        "test_before_full_text_is_in_memory_fts5_answers_each_query": "is about arrays in memory, which only files have"
    },
    thinned=["test_many_queries_are_answered_as_each_by_itself"],
)
