"""Tests of `property/test_fts_equals_sqlite.py` that take seconds."""

import random

import pytest

from property.test_fts_equals_sqlite import Table, assert_same_ranking, check_totals


@pytest.mark.parametrize("seed", range(6))
def test_a_corpus_of_many_windows_equals_fts5(seed):
    """Large enough for bits, blocks, windows and bounds to be used; terms from rare to everywhere; ties all over."""
    rng = random.Random(2_000 + seed)
    table = Table(2, (10.0, 0.7))
    lexicon = [f"{a}{b}o" for a in "bdfgklmnprstv" for b in "aeiou"]
    odds = [1 / (i + 1) for i in range(len(lexicon))]

    def text(n):
        return " ".join(rng.choices(lexicon, odds, k=n))

    table.write({row: [text(rng.randrange(4)), "every " + text(rng.randrange(1, 20))] for row in range(9_000)})
    again = rng.sample(range(9_000), 800)
    table.write({row: [text(2), text(6)] for row in again[:400]}, again[400:])
    check_totals(table)
    for _ in range(10):
        terms = ["every"] * rng.randrange(3) + rng.choices(lexicon, k=rng.randrange(1, 7))
        assert_same_ranking([table], terms, rng)
