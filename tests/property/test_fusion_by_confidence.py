"""Laws of fusing by confidence, with a slow twin of the sum."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from retrieved import hit
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.fusion import changed_hit, rrf
from septet.retrieval.ordering import by_confidence

keys = st.sampled_from("abcdefgh")
shares = st.integers(0, 20).map(lambda tenths: tenths / 20)
likely = st.dictionaries(keys, shares, max_size=8)
names = st.sampled_from(["text", "vector"])
corpora = st.sampled_from(["docs", "code", "guide"])


def by_key(fused):
    return {one.key: one.score for one in fused}


def ranked(scores, name="text", corpus="docs", weight=1.0):
    """A list in the order of the dict, whose hits have these confidences."""
    items = [Item(key, changed_hit(hit(key), confidence=share)) for key, share in scores.items()]
    return RankedList(name, corpus, items, weight)


def counted(scores):
    """What the confidences of a list count, slowly: the nearest that never rise, and no more than 0.999."""
    values = list(scores.values())
    mean = {(a, b): math.fsum(values[a:b]) / (b - a) for b in range(len(values) + 1) for a in range(b)}
    after = range(len(values) + 1)
    falling = [
        min(max(mean[start, end] for end in after if end > at) for start in range(at + 1)) for at in range(len(values))
    ]
    return dict(zip(scores, falling))


lists_of = st.lists(st.tuples(likely, names, corpora), max_size=5)


def united(lists):
    """The probability of each key by noisy or: the doubts of its lists multiply."""
    keys = {key for scores in lists for key in scores}
    return {key: 1 - math.prod(1 - scores.get(key, 0.0) for scores in lists) for key in keys}


@given(lists_of)
def test_each_kind_of_evidence_counts_once(drawn):
    found = by_confidence([ranked(*one) for one in drawn])
    assume(sum(bool(scores) for scores, _, _ in drawn) > 1)
    assume(all(any(scores.values()) for scores, _, _ in drawn if scores))
    highest = {}
    for scores, name, _ in drawn:
        for key, share in counted(scores).items():
            own = highest.setdefault(name, {})
            own[key] = min(0.999, max(share, own.get(key, 0.0)))
    assert by_key(one.fused for one in found) == pytest.approx(united(highest.values()), abs=1e-12)
    assert [one.item.hit.score for one in found] == [one.fused.score for one in found]


@given(lists_of)
def test_everything_that_was_found_is_there_once_with_the_lists_that_told_it(drawn):
    lists = [ranked(*one) for one in drawn]
    found = by_confidence(lists)
    assert sorted(one.item.key for one in found) == sorted({key for scores, _, _ in drawn for key in scores})
    for one in found:
        assert math.isclose(math.fsum(part for _, _, part in one.fused.parts), one.fused.score, abs_tol=1e-12)
        assert all(lists[place].items[rank].key == one.item.key for place, rank, _ in one.fused.parts)


@given(likely, st.dictionaries(st.sampled_from("stuvwxyz"), shares, max_size=8))
def test_no_list_loses_its_order_beside_another_corpus(scores, others):
    found = [one.item.key for one in by_confidence([ranked(scores), ranked(others, corpus="code")])]
    for own in (scores, others):
        assert [key for key in found if key in own] == list(own)


def test_what_another_phrasing_is_sure_of_stands_beside_the_first_that_the_query_itself_is_sure_of():
    sure = dict.fromkeys("abcdefgh", 1 - 1e-9)
    found = by_confidence([ranked(sure), ranked({"named": 1 - 1e-5, "other": 0.5})._replace(variant=1)])
    assert [one.item.key for one in found] == ["a", "named", *"bcdefgh", "other"]


@given(likely, names, st.lists(names, max_size=3))
def test_a_lone_list_keeps_its_order_whatever_its_confidences(scores, name, empty):
    lists = [*(ranked({}, other) for other in empty), ranked(scores, name)]
    assert [one.item.key for one in by_confidence(lists)] == list(scores)


@given(st.lists(st.lists(keys, unique=True, max_size=6), max_size=4))
def test_lists_that_tell_no_confidence_are_fused_by_rank(lists):
    silent = [ranked(dict.fromkeys(one, 0.0)) for one in lists]
    assert [(one.item.key, one.fused.score) for one in by_confidence(silent)] == [
        (one.key, one.score) for one in rrf([one for one in lists if one], k=10)
    ]


@given(likely, likely, st.lists(keys, unique=True, min_size=1, max_size=6))
def test_beside_lists_that_tell_none_the_order_by_confidence_counts_as_one_list(words, near, paths):
    assume(any(words.values()) and any(near.values()))
    told = [ranked(words, "text"), ranked(near, "vector")]
    order = [one.item.key for one in by_confidence(told)]
    found = by_confidence([*told, ranked(dict.fromkeys(paths, 0.0), "path", "repo")])
    assert [(one.item.key, one.fused.score) for one in found] == [
        (one.key, one.score) for one in rrf([order, paths], [1.5, 1.0], k=10)
    ]


def test_a_weight_is_how_often_the_evidence_counts():
    twice = by_confidence([ranked({"a": 0.5}, "text", "docs", 2.0), ranked({"b": 0.6}, "text", "code")])
    assert [(one.item.key, round(one.fused.score, 9)) for one in twice] == [("a", 0.75), ("b", 0.6)]
    assert [one.item.key for one in by_confidence([ranked({"a": 0.5}, weight=0.0), ranked({"b": 0.1})])] == ["b"]


@given(likely, likely)
def test_another_phrasing_is_three_quarters_of_the_evidence(words, other):
    assume(any(words.values()) and any(other.values()))
    found = by_confidence([ranked(words), ranked(other)._replace(variant=1)])
    own, less = counted(words), {key: 1 - (1 - share) ** 0.75 for key, share in counted(other).items()}
    wanted = {key: min(0.999, max(own.get(key, 0.0), less.get(key, 0.0))) for key in words.keys() | other.keys()}
    assert by_key(one.fused for one in found) == pytest.approx(wanted, abs=1e-6)
