"""Factors, the floor and what is pinned, against a slow twin; and the laws that the documented floor lacked."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expressions import score
from septet.profiles import BUILTIN, resolve
from septet.ranking.pool import Pool

MEMORY = BUILTIN["markdown-memory"]
AGING = resolve(
    {
        "extends": "markdown-memory",
        "factors": {
            "recency": {"unless": {"col": "attrs.evergreen"}, "of": {"decay": {"col": "updated_age"}, "half_life": 30}},
            "importance": {"linear": {"clamp": {"col": "attrs.importance"}, "least": 1, "most": 10}, "times": 0.05,
                           "plus": 0.75},
        },
    }
)  # fmt: skip
UNKNOWN = st.just(math.nan)
CANDIDATES = st.lists(
    st.fixed_dictionaries(
        {
            "cosine": UNKNOWN | st.floats(-1, 1),
            "bm25": st.sampled_from([0.0, 0.0, 0.5]) | st.floats(0, 40),
            "path": UNKNOWN | st.sampled_from([0.0, 1.0, 2.0, 3.0]),
            "updated_age": st.floats(-5, 400),
            "attrs.evergreen": UNKNOWN | st.sampled_from([0.0, 1.0]),
            "attrs.importance": UNKNOWN | st.integers(1, 10).map(float),
        }
    ),
    max_size=12,
)
LEAST = st.none() | st.floats(-1, 1)


def ranked(profile, candidates, least=None, mode="hybrid"):
    columns = {name: np.array([c[name] for c in candidates], dtype=np.float64) for name in candidates[0]}
    names = [""] * len(candidates)
    pool = Pool(
        range(len(candidates)), [0] * len(candidates), dict.fromkeys(("kind", "severity", "domain"), names), columns
    )
    weights = list(profile.weights[mode].values())
    return profile.formula.rank(pool, profile.signal_names, weights, least=least)


def known(value, otherwise):
    return otherwise if math.isnan(value) else value


def twin(one, least, *, aging):
    """The score of a candidate as documented, and what it is ordered by."""
    fused = 0.7 * known(one["cosine"], 0.0) + 0.3 * one["bm25"] / (1 + one["bm25"])
    if aging:
        if known(one["attrs.evergreen"], 0.0) == 0:
            fused *= 0.5 ** (max(one["updated_age"], 0.0) / 30)
        fused *= known(0.75 + 0.05 * one["attrs.importance"], 1.0)
    raised = max(fused, min(0.35, 0.35 if least is None else least)) if one["bm25"] > 0 else fused
    place = known(one["path"], 0.0)
    return (1.0 if place else raised), (-place, -raised, -fused)


@given(CANDIDATES.filter(bool), LEAST, st.booleans())
def test_scores_and_order_are_those_of_a_slow_twin_and_the_breakdown_sums(candidates, least, aging):
    found = ranked(AGING if aging else MEMORY, candidates, least)
    expected = [twin(one, least, aging=aging) for one in candidates]
    assert found.scores.tolist() == pytest.approx([value for value, _ in expected], abs=1e-12)
    assert found.contributions.sum(axis=0) == pytest.approx(found.scores, abs=1e-9)
    keys = [expected[at][1] for at in found.order]
    for before, after in pairwise(keys):
        assert before <= after or before == pytest.approx(after, abs=1e-12)


@given(CANDIDATES.filter(bool), st.floats(0, 40))
def test_a_better_match_of_words_never_gives_a_lower_score_or_place(candidates, more):
    for profile in (MEMORY, AGING):
        first = ranked(profile, candidates)
        better = [{**candidates[0], "bm25": candidates[0]["bm25"] + more}, *candidates[1:]]
        then = ranked(profile, better)
        assert then.scores[0] >= first.scores[0]
        assert then.order.tolist().index(0) <= first.order.tolist().index(0)


@given(CANDIDATES.filter(bool), st.sampled_from(["text", "hybrid"]))
def test_what_words_found_never_falls_under_the_floor_and_what_vectors_alone_found_may(candidates, mode):
    found = ranked(MEMORY, candidates, mode=mode)
    for one, value in zip(candidates, found.scores):
        if one["bm25"] > 0:
            assert value >= 0.35
        elif not known(one["path"], 0.0):
            assert value == pytest.approx(MEMORY.weights[mode]["vector"] * known(one["cosine"], 0.0))


@given(CANDIDATES.filter(bool))
def test_profiles_without_changes_score_as_before(candidates):
    plain = resolve({"extends": "markdown-memory", "floor": None, "pinned": None})
    assert plain.signal_names == ("vector", "text")
    found = ranked(plain, candidates)
    assert found.signals.shape == (2, len(candidates))
    assert found.scores.tolist() == found.contributions.sum(axis=0).tolist()
    assert found.order.tolist() == sorted(range(len(candidates)), key=lambda at: -found.scores[at])


def test_nothing_is_ranked_without_an_error():
    facts = {"kind": (), "severity": (), "domain": ()}
    found = score(Pool((), (), facts, {}), AGING, AGING.weights["hybrid"])
    assert found.scores.tolist() == [] and found.order.tolist() == []
