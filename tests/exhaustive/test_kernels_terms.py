"""Tests of `property/test_kernels_terms.py` that take seconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from property.test_kernels_terms import words_of_any_length
from septet import _core


@pytest.mark.parametrize("tokens", ["words", "signals"])
@heavy()
@given(st.lists(words_of_any_length, min_size=1, max_size=8))
def test_the_number_of_threads_does_not_show(tokens, corpus):
    # Enough text for several units of work, each with words of its own.
    lines = [
        f"{corpus[i % len(corpus)]} word{i * i % 997} é{i % 89} unmistakable_{i % 11}_identifier" for i in range(9_000)
    ]
    one = _core.TfidfVectorizer(tokens=tokens)
    wanted = one.fit_transform(lines, threads=1)
    for threads in (2, 3, 4, None):
        many = _core.TfidfVectorizer(tokens=tokens)
        for rows in (many.fit_transform(lines, threads=threads), many.transform(lines, threads=threads)):
            assert [part.tobytes() for part in rows] == [part.tobytes() for part in wanted]
        assert many.vocabulary == one.vocabulary
        assert many.idf.tobytes() == one.idf.tobytes()
