"""Laws of fusing ranked lists, whatever is in them; and a slow twin of the documented sum."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from retrieved import hit
from septet.errors import QueryError
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.fusion import (
    bounded_k,
    calibrated,
    convex,
    dbsf,
    fused_lists,
    rrf,
)
from twins.recorded import Provenance, merged_provenance

keys = st.sampled_from("abcdefgh")
ranked = st.lists(keys, unique=True, max_size=8)
several = st.lists(ranked, max_size=6)
weights_of = st.sampled_from([0.5, 0.6, 1.0, 1.5, 3.0])
first_ranks = st.sampled_from([0, 1])
ks = st.sampled_from([0.5, 1.0, 10.0, 60.0, 500.0])
scores = st.dictionaries(keys, st.floats(-1, 1), max_size=8)


def by_key(fused):
    return {one.key: one.score for one in fused}


@given(several, st.data(), ks, first_ranks)
def test_ranks_add_up_as_fractions_do(lists, data, k, first):
    weights = data.draw(st.lists(weights_of, min_size=len(lists), max_size=len(lists)))
    slow = {}
    for keys_, weight in zip(lists, weights):
        for rank, key in enumerate(keys_, first):
            slow[key] = slow.get(key, Fraction(0)) + Fraction(weight) / (Fraction(k) + rank)
    found = rrf(lists, weights, k=k, first_rank=first)
    assert by_key(found) == pytest.approx({key: float(score) for key, score in slow.items()}, rel=1e-12)
    for one in found:
        assert one.score == math.fsum(share for _, _, share in one.parts)
        assert all(lists[place][rank - first] == one.key for place, rank, _ in one.parts)
        assert [place for place, _, _ in one.parts] == [at for at, keys_ in enumerate(lists) if one.key in keys_]


@given(several, st.data(), ks)
def test_a_better_rank_never_lowers_a_score(lists, data, k):
    at = [place for place, keys_ in enumerate(lists) if len(keys_) > 1]
    assume(at)
    place = data.draw(st.sampled_from(at))
    rank = data.draw(st.integers(1, len(lists[place]) - 1))
    key = lists[place][rank]
    to = data.draw(st.integers(0, rank - 1))
    better = [list(keys_) for keys_ in lists]
    better[place].insert(to, better[place].pop(rank))
    before, after = rrf(lists, k=k), rrf(better, k=k)
    assert by_key(after)[key] > by_key(before)[key]
    assert [one.key for one in after].index(key) <= [one.key for one in before].index(key)
    others = by_key(before).keys() - set(better[place][to : rank + 1])
    assert all(by_key(after)[other] == by_key(before)[other] for other in others)


@given(several, st.data(), ks, first_ranks)
def test_the_order_of_the_lists_decides_between_equal_scores_alone(lists, data, k, first):
    weights = data.draw(st.lists(weights_of, min_size=len(lists), max_size=len(lists)))
    order = data.draw(st.permutations(range(len(lists))))
    one = rrf(lists, weights, k=k, first_rank=first)
    other = rrf([lists[at] for at in order], [weights[at] for at in order], k=k, first_rank=first)
    # To the last bit, so that no rounding decides between what ought to be equal.
    assert by_key(one) == by_key(other)
    assert [item.score for item in one] == [item.score for item in other]


@given(several, ks)
def test_equal_scores_keep_the_order_in_which_they_were_met(lists, k):
    met = list(dict.fromkeys(key for keys_ in lists for key in keys_))
    found = rrf(lists, k=k)
    assert [one.key for one in found] == sorted(met, key=lambda key: -by_key(found)[key])


@given(ranked, weights_of, ks, first_ranks)
def test_a_lone_list_keeps_its_order(keys_, weight, k, first):
    assert [one.key for one in rrf([keys_], [weight], k=k, first_rank=first)] == keys_
    assert [one.key for one in rrf([[], keys_, []], k=k, first_rank=first)] == keys_


@given(several, ks, st.sampled_from([0.25, 2.0, 1024.0]))
def test_scores_grow_with_all_weights(lists, k, times):
    plain = rrf(lists, k=k)
    heavy = rrf(lists, [times] * len(lists), k=k)
    assert [one.key for one in heavy] == [one.key for one in plain]
    assert [one.score for one in heavy] == pytest.approx([times * one.score for one in plain], rel=1e-12)


@given(several, ranked, ks, st.data())
def test_a_list_that_is_empty_or_weighs_nothing_changes_nothing(lists, more, k, data):
    at = data.draw(st.integers(0, len(lists)))
    plain = [(one.key, one.score) for one in rrf(lists, k=k)]
    weightless = [1.0] * at + [0.0] + [1.0] * (len(lists) - at)
    silent = rrf([*lists[:at], more, *lists[at:]], weightless, k=k)
    empty = rrf([*lists[:at], [], *lists[at:]], k=k)
    assert [(one.key, one.score) for one in silent] == [(one.key, one.score) for one in empty] == plain


@given(several, st.data())
def test_a_repeated_key_counts_once_at_its_best_rank(lists, data):
    repeated = [[*keys_, *data.draw(st.lists(st.sampled_from(keys_), max_size=3))] if keys_ else [] for keys_ in lists]
    assert rrf(repeated) == rrf(lists)


@given(several)
def test_what_several_lists_hold_is_one_hit(lists):
    made = [RankedList("text", "notes", [Item(key, hit(key)) for key in keys_]) for keys_ in lists]
    found = fused_lists(made)
    assert [one.item.key for one in found] == list(dict.fromkeys(one.item.key for one in found))
    assert [one.fused for one in found] == rrf(lists)
    assert [(one.item.hit.id, one.item.hit.score) for one in found] == [(f.key, f.score) for f in rrf(lists)]


@given(scores, scores, st.floats(0, 1))
def test_a_leg_alone_keeps_its_scores_and_an_overlap_lies_between_both(vector, text, weight):
    found = by_key(convex(vector, text, weight))
    assert found.keys() == vector.keys() | text.keys()
    for key, score in found.items():
        legs = [leg[key] for leg in (vector, text) if key in leg]
        assert min(legs) - 1e-12 <= score <= max(legs) + 1e-12
        if len(legs) == 1:
            assert score == legs[0]


@given(scores, st.dictionaries(keys, st.floats(0, 50), max_size=8), st.floats(0, 1))
def test_calibrated_scores_lie_between_zero_and_one_and_agreement_never_costs(cosines, bm25, weight):
    found = by_key(calibrated(cosines, bm25, weight))
    assert all(0 <= score <= 1 + 1e-12 for score in found.values())
    for key in cosines.keys() & bm25.keys():
        if len(bm25) > 1:
            without = {other: score for other, score in bm25.items() if other != key}
            if max(without.values()) == max(bm25.values()):
                assert by_key(calibrated(cosines, without, weight))[key] <= found[key] + 1e-12


@given(st.lists(st.dictionaries(keys, st.integers(-50, 50).map(float), max_size=8), max_size=4))
def test_distributions_keep_the_order_of_each_list(lists):
    for scored in lists:
        found = by_key(dbsf([scored]))
        order = sorted(scored, key=lambda key: (scored[key], key))
        for low, high in pairwise(order):
            assert (found[low] < found[high]) == (scored[low] < scored[high])
    moved = [{key: 3 * score + 7 for key, score in scored.items()} for scored in lists]
    assert by_key(dbsf(moved)) == pytest.approx(by_key(dbsf(lists)), abs=1e-9)


@given(scores, scores, st.floats(0, 1))
def test_unknown_scores_are_as_if_they_had_not_been_found(vector, text, weight):
    holes = {**vector, "unknown": math.nan}
    for fuse in (lambda a, b: convex(a, b, weight), lambda a, b: calibrated(a, b, weight), lambda a, b: dbsf([a, b])):
        assert fuse(holes, text) == fuse(vector, text)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rrf([["a"]], [1.0, 2.0]), "2 weights for 1 lists"),
        (lambda: rrf([["a"]], [-1.0]), r"weights\[0\] is -1.0"),
        (lambda: rrf([["a"]], [math.nan]), r"weights\[0\] is nan"),
        (lambda: rrf([["a"]], k=0), "k is 0"),
        (lambda: rrf([["a"]], k=-1), "k is -1"),
        (lambda: rrf([["a"]], first_rank=2), "first_rank is 2"),
        (lambda: convex({"a": math.inf}, {}, 0.5), "vector scores 'a' inf"),
        (lambda: convex({}, {}, 1.5), "weight is 1.5"),
        (lambda: calibrated({}, {"a": -math.inf}), "text scores 'a' -inf"),
        (lambda: dbsf([{}, {"b": math.inf}]), "list 1 scores 'b' inf"),
    ],
)
def test_what_cannot_be_fused_is_said(call, said):
    with pytest.raises(QueryError, match=said):
        call()


def test_k_of_a_policy_is_brought_between_its_bounds():
    assert [bounded_k(k) for k in (0, 1, 60, 500, 501)] == [1, 1, 60, 500, 500]


def test_what_is_known_of_a_passage_is_united():
    one = Provenance("vector", "", 7, "q1", ("a", "b"), ())
    other = Provenance("full_text", "from words", 9, "q2", ("b", "c"), ("h",))
    assert merged_provenance(one, other) == Provenance("hybrid", "from words", 9, None, ("a", "b", "c"), ("h",))
    alone = merged_provenance(one, Provenance("unknown"))
    assert alone == Provenance("vector", "", 7, "q1", ("a", "b"), ())
