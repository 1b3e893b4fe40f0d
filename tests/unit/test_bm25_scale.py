"""BM25 scores of several vaults on one scale: the share of the query that an entry matches, from 0 to 1."""

import math

import pytest

from septet import Federation, Vault
from septet.ranking.bm25_scale import TermCounts, factors

K1 = 1.2
LEAST = 1e-6
RAW = {
    "name": "raw",
    "signals": {"words": {"col": "bm25"}},
    "weights": {"text": {"words": 1.0}, "hybrid": {"words": 1.0}},
}


def idf(entries, holding):
    """As FTS5 counts it."""
    return max(math.log((entries - holding + 0.5) / (holding + 0.5)), LEAST)


def vault_of(entries, holding, word="kumquat", name="e"):
    """Return a vault in which so many of the entries hold the word."""
    vault = Vault(":memory:", clock=lambda: 1e9, profile=RAW)
    vault.add_many(
        {"id": f"{name}{i}", "title": f"{word if i < holding else 'other'} number{i}"} for i in range(entries)
    )
    return vault


def signals(searched, query="kumquat"):
    return {hit.id: hit.signals["words"] for hit in searched.search(query, limit=99)}


ENTRIES = 20
#: Of 20 entries hold the word: one, few, half, all but one, all.
HOLDING = [1, 3, 10, 19, 20]


@pytest.mark.parametrize("other", [0, *HOLDING])
@pytest.mark.parametrize("holding", HOLDING)
def test_a_score_is_divided_by_the_most_that_its_vault_can_give(holding, other):
    with vault_of(ENTRIES, holding, name="a") as one, vault_of(ENTRIES, other, name="b") as two:
        alone = signals(one) | signals(two)
        with Federation({"agent": one, "team": two}, profile=RAW) as both:
            together = signals(both)
    most = {"a": (K1 + 1) * idf(ENTRIES, holding), "b": (K1 + 1) * idf(ENTRIES, other)}
    # The query has one word, which both vaults know or only one: its share of the query is 1.
    assert together == pytest.approx({id: score / most[id[0]] for id, score in alone.items()}, rel=1e-9)
    assert len(together) == holding + other


@pytest.mark.parametrize("entries", [1, 2, 3, 50])
def test_a_word_repeated_very_often_comes_near_one_and_never_over(entries):
    with vault_of(entries, 1) as one, vault_of(30, 7, name="b") as two:
        one.add(id="loud", title="kumquat " * 2_000)
        one.add(id="all", title="kumquat", description="kumquat " * 2_000, context="kumquat " * 2_000)
        with Federation({"agent": one, "team": two}, profile=RAW) as both:
            found = signals(both)
    assert 0.9 < found["loud"] <= 1
    assert 0.9 < found["all"] <= 1
    assert all(0 < score <= 1 for score in found.values())


@pytest.mark.parametrize(("rare", "common"), [(1, 1), (1, 2), (1, 8), (2, 8), (4, 8), (8, 8)])
def test_words_count_by_how_rare_they_are_over_all_vaults(rare, common):
    with vault_of(20, rare, "quince", "a") as one, vault_of(20, common, "plum", "b") as two:
        alone = signals(one, "quince plum") | signals(two, "quince plum")
        with Federation({"agent": one, "team": two}, profile=RAW) as both:
            together = signals(both, "quince plum")
    share = {"a": idf(40, rare), "b": idf(40, common)}
    most = {"a": (K1 + 1) * idf(20, rare), "b": (K1 + 1) * idf(20, common)}
    wanted = {id: s * share[id[0]] / sum(share.values()) / most[id[0]] for id, s in alone.items()}
    assert together == pytest.approx(wanted, rel=1e-9)


def test_the_scores_of_one_vault_alone_are_not_scaled():
    with vault_of(20, 5) as one, Federation({"agent": one}, profile=RAW) as alone:
        assert signals(alone) == signals(one)


def test_a_word_asked_for_twice_counts_twice():
    corpora = [TermCounts(100, {"a": 1, "b": 50}), TermCounts(10, {"a": 2})]
    once, twice = factors(corpora, ["a", "b"]), factors(corpora, ["a", "a", "b"])
    assert once[0] * (idf(100, 1) + idf(100, 50)) == pytest.approx(twice[0] * (2 * idf(100, 1) + idf(100, 50)))
    carried = [idf(110, 3), 2 * idf(110, 3)]
    everything = [c + idf(110, 50) for c in carried]
    assert once[1] == pytest.approx(carried[0] / everything[0] / (2.2 * idf(10, 2)))
    assert twice[1] == pytest.approx(carried[1] / everything[1] / (2.2 * 2 * idf(10, 2)))


@pytest.mark.parametrize(
    ("corpora", "terms"),
    [
        ([TermCounts(10, {}), TermCounts(0, {})], ["a"]),
        ([TermCounts(10, {"a": 0}), TermCounts(5, {"b": 3})], ["a"]),
        ([TermCounts(10, {"a": 3}), TermCounts(5, {"a": 2})], []),
    ],
)
def test_where_no_word_is_known_there_is_nothing_to_scale(corpora, terms):
    assert factors(corpora, terms) == [0.0, 0.0]


def test_a_vault_that_knows_no_word_leaves_the_others_alone():
    known = TermCounts(10, {"a": 3})
    assert factors([known, TermCounts(5, {}), known], ["a"]) == pytest.approx(
        [1 / (2.2 * idf(10, 3)), 0.0, 1 / (2.2 * idf(10, 3))]
    )


@pytest.mark.parametrize("holding", range(11))
def test_a_word_in_more_than_half_of_the_entries_keeps_a_little_weight(holding):
    first, second = factors([TermCounts(10, {"a": holding, "b": 1}), TermCounts(10, {"b": 1})], ["a", "b"])
    known = idf(20, holding) if holding else 0.0
    most = idf(10, 1) + (idf(10, holding) if holding else 0.0)
    assert first == pytest.approx(1 / (2.2 * most))
    assert second == pytest.approx(idf(20, 2) / (idf(20, 2) + known) / (2.2 * idf(10, 1)))
