"""What tests/integration/test_on_similar.py says of a vault holds on every backend."""

from backends.conformance import conforms

conforms(
    globals(),
    "integration/test_on_similar",
    without={
        "test_an_embedder_makes_the_vector_that_is_compared_and_words_stand_in_when_it_fails": "waits for a thread"
    },
)
