"""BM25 with k1 and b of the caller's, from memory, against the formula; bounds must never lose one of the best rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Federation, ProfileError, Vault, _core

WORDS = "red fox blue owl green yak pond lake".split()
CONSTANTS = st.tuples(
    st.sampled_from([0.01, 0.3, 0.9, 1.2, 2.0, 10.0, 1_000.0]), st.sampled_from([0.0, 0.1, 0.4, 0.75, 1.0])
)
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=1, max_size=40)


def twin(rows, terms, weights, k1, b):
    """Each row's score by the formula, None for a row that holds no term."""
    tokens = [[column.split() for column in row] for row in rows]
    lengths = [sum(map(len, row)) for row in tokens]
    average = sum(lengths) / len(rows)
    found = []
    for row, length in zip(tokens, lengths):
        score = None
        for term in terms:
            holding = sum(any(term in column for column in other) for other in tokens)
            if not any(term in column for column in row):
                continue
            idf = math.log((len(rows) - holding + 0.5) / (holding + 0.5))
            idf = idf if idf > 0 else 1e-6
            f = sum(weight * column.count(term) for weight, column in zip(weights, row))
            part = idf * (f * (k1 + 1) / (f + k1 * (1 - b + b * length / average)))
            score = part if score is None else score + part
        found.append(score)
    return found


@heavy()
@given(
    first=TEXTS,
    terms=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    constants=CONSTANTS,
    weights=st.sampled_from([(1.0, 1.0), (3.0, 0.5), (0.0, 1.0)]),
    k=st.integers(1, 12),
    times=st.sampled_from([1, 40]),
)
def test_the_best_rows_are_those_of_the_formula(first, terms, constants, weights, k, times):
    # Many rows have summaries of blocks, from which bounds are made.
    rows = [(text, text[: len(text) // 2]) for text in first] * times
    rows = [(a, " ".join(word for word in b.split() if word in WORDS)) for a, b in rows]
    index = _core.TextIndex(2)
    index.append([list(row) for row in rows])
    slots = np.arange(len(rows), dtype=np.int64)
    part = (index, index.statistics(slots), np.array(weights))
    if not any(any(row) for row in rows):
        return
    wanted = twin(rows, terms, weights, *constants)
    at = _core.bm25_at([part], terms, slots, constants=constants)
    assert at.tolist() == pytest.approx([math.nan if s is None else s for s in wanted], rel=1e-9, nan_ok=True)
    found, scores, matches = _core.bm25_top_k([part], terms, k, constants=constants)
    best = sorted((-score, slot) for slot, score in enumerate(at.tolist()) if not math.isnan(score))
    assert matches == len(best)
    assert list(zip((-scores).tolist(), found.tolist())) == best[:k]


@pytest.mark.parametrize(
    "constants", [(0.0, 0.5), (-1.0, 0.5), (math.nan, 0.5), (1.2, -0.1), (1.2, 1.1), (1.2, math.nan)]
)
def test_constants_out_of_range_are_refused(constants):
    with pytest.raises(ValueError, match=r"k1|b"):
        _core.bm25_top_k([], ["red"], 1, constants=constants)


def profile_of(k1=1.2, b=0.75):
    weights = {"words": 1.0}
    return {
        "name": "bm25",
        "text": {"k1": k1, "b": b, "grams": False},
        "signals": {"words": {"col": "bm25"}},
        "weights": {"text": weights, "hybrid": weights},
    }


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add(id="short", title="fox")
        made.add(id="long", title="fox fox and many other words of which none has to do with it")
        made.add_many([{"id": f"n{i}", "title": f"owl number {i}"} for i in range(20)])
        yield made


def test_a_profile_says_how_length_and_repetition_count(vault):
    assert vault.search("fox", profile=profile_of(b=1.0)).ids == ["short", "long"]
    assert vault.search("fox", profile=profile_of(b=0.0)).ids == ["long", "short"]
    flat = vault.search("fox", profile=profile_of(k1=0.01, b=0.0))
    assert flat[0].score == pytest.approx(flat[1].score, rel=0.01)
    steep = vault.search("fox", profile=profile_of(k1=1_000, b=0.0))
    assert steep[0].score == pytest.approx(2 * steep[1].score, rel=0.01)
    assert vault.search("fox", profile=profile_of()).ids == vault.search("fox", profile=profile_of(1.2, 0.75)).ids


def test_the_rest_of_a_search_knows_the_constants(vault):
    profile = profile_of(k1=5.0, b=0.2)
    for hit in vault.search("fox owl number", profile=profile, limit=30):
        assert vault.explain("fox owl number", hit.id, profile=profile, limit=30).score == hit.score
        assert 0 <= hit.confidence <= 1
    many = vault.search_many(["fox", "owl"], profile=profile)
    assert [r.ids for r in many] == [vault.search(q, profile=profile).ids for q in ("fox", "owl")]


def test_tiers_are_brought_to_one_scale_whatever_the_constants(vault):
    with Vault(":memory:") as other:
        other.add(id="theirs", title="fox")
        other.add_many([{"id": f"o{i}", "title": f"yak number {i}"} for i in range(20)])
        with Federation({"agent": vault, "team": other}) as federation:
            for k1 in (0.1, 1.2, 20.0):
                for b in (0.0, 0.75, 1.0):
                    found = {h.id: h.score for h in federation.search("fox", profile=profile_of(k1, b))}
                    assert found.keys() == {"short", "long", "theirs"}
                    assert all(0 < score <= 1 + 1e-9 for score in found.values())


def test_a_query_that_fts5_must_rank_says_that_its_constants_counted(vault, monkeypatch):
    said = [n.code for n in vault.search("fox", profile=profile_of(k1=5.0)).notes]
    assert "constants_of_fts5" not in said
    monkeypatch.setattr("septet.sqlite.tier.read_view.ReadView.needs_fts5", lambda view, plan: plan.asks_text)
    results = vault.search("fox", profile=profile_of(k1=5.0))
    assert "constants_of_fts5" in [n.code for n in results.notes]
    assert results.ids == vault.search("fox", profile=profile_of()).ids
    assert "constants_of_fts5" not in [n.code for n in vault.search("fox", profile=profile_of()).notes]


@pytest.mark.parametrize("text", [{"k1": 0}, {"k1": -1}, {"k1": "x"}, {"b": 1.5}, {"b": -1}, {"b": None}])
def test_constants_of_a_profile_are_checked(vault, text):
    with pytest.raises(ProfileError, match=r"k1|b"):
        vault.search("fox", profile={**profile_of(), "text": text})
