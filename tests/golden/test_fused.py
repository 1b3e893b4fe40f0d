"""Scores of a Markdown memory: the weighted sum, what multiplies it, what is kept, and what comes first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from expressions import Columns, evaluate
from golden.differences import differs
from golden.loader import other_recording
from septet import Vault
from septet.errors import ProfileError
from septet.files.chunking import Chunking
from septet.files.documents import document_of
from septet.profiles import resolve
from septet.ranking.cuts import diversified, likeness_of_words, ranged, word_set
from septet.ranking.pool import Pool
from septet.ranking.profile import Profile
from septet.ranking.score import rank

FUSED = other_recording("openclaw-merge-hybrid")
FACTORS = other_recording("openclaw-newest-ranking-factors")["groups"]
FIRST, NEWEST = "2026.2.12", "2026.9.6"
NOW = FUSED["nowMs"] / 1000
DAY = 86_400.0
#: What the documented system shows unless it is told otherwise, and how much its results are to be unlike each other.
LEAST, MOST, DIVERSITY = 0.35, 6, 0.3
IMPORTANCE = {
    "importance": {"linear": {"clamp": {"col": "attrs.importance"}, "least": 1, "most": 10}, "times": 0.05,
                   "plus": 0.75},
}  # fmt: skip
#: What the name of a file says of a candidate's age counts as well.
AGED = {
    "recency": {"unless": {"col": "attrs.evergreen"}, "of": {"decay": {"col": "updated_age"}, "half_life": 30}},
    **IMPORTANCE,
}


def with_projects(active: Sequence[str]) -> dict[str, Any]:
    """Return the factor of entries that know how many projects they are of, ``attrs.projects.all``, and which.

    1.15 where all of them are active, 0.9 where not, and nothing for entries of none.
    """
    if not active:
        return {}
    count = {"col": "attrs.projects.all"}
    terms = [{"weight": 1, "of": {"linear": count, "times": -1}}]
    terms += [{"weight": 1, "of": {"col": f"attrs.projects.{name}"}} for name in active]
    missing = {"linear": {"sum": terms, "missing": "zero"}, "times": 0.25 * len(terms), "plus": 1.15}
    of_some = {"unless": count, "of": {"const": 1}}
    return {"projects": {"unless": of_some, "of": {"clamp": missing, "least": 0.9, "most": 1.15}}}


def keys_of(text: str | None) -> list[str]:
    return [key.strip() for key in (text or "").split(";") if key.strip()]


def number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def profile_of(case: Mapping[str, Any], factors: Mapping[str, Any] | None = IMPORTANCE, **changes: Any) -> Profile:
    """Return the profile with the weights of a case and its projects; ``factors`` of None are none at all."""
    weights = {"vector": case["vectorWeight"], "text": case["textWeight"]}
    active = case.get("activeProjectKeys") or []
    base = {"extends": "markdown-memory", "weights": {"text": weights, "hybrid": weights}, **changes}
    return resolve(base if factors is None else {**base, "factors": {**factors, **with_projects(active)}})


def candidates_of(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what both legs found, each once: what a leg says of it last counts.

    Only a part of a long list is kept in the recording; its results tell the rest.
    """
    found: dict[str, dict[str, Any]] = {}
    for leg in ("vector", "keyword"):
        for row in case[leg]:
            old = found.get(row["id"], {})
            kept = {k: v for k, v in old.items() if k == "snippet" and not row.get("snippet")}
            found[row["id"]] = {**old, **row, **kept}
    by_key = {key(one): one for one in found.values()}
    return [by_key.pop(key(row), {}) or row for row in case.get(NEWEST, ())] + list(by_key.values())


def saturated(score: float) -> float:
    """Return the BM25 that has a score."""
    return score / (1 - score) if score < 1 else 1e18


def columns_of(candidates: Iterable[Mapping[str, Any]], active: Sequence[str]) -> dict[str, np.ndarray]:
    rows = []
    for one in candidates:
        (chunk,) = document_of("text", one["path"], NOW, Chunking()).chunks
        keys = keys_of(one.get("projectKey"))
        row = {
            "cosine": number(one.get("vectorScore")),
            "bm25": saturated(one.get("textScore", 0.0)),
            "path": float(one.get("exactPathSpecificity") or math.nan),
            **{name: chunk.fields[name] for name in ("created_at", "updated_at")},
            "valid_from": math.nan,
            "valid_until": math.nan,
            "attrs.evergreen": number(chunk.fields["attrs"].get("evergreen")),
            "attrs.importance": number(one.get("importance")),
            "attrs.projects.all": float(len(keys) or math.nan),
        }
        rows.append({**row, **{f"attrs.projects.{key}": 1.0 if key in keys else math.nan for key in active}})
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in (rows[0] if rows else ())}


def ranked(
    case: Mapping[str, Any], factors: Mapping[str, Any] | None = IMPORTANCE, **changes: Any
) -> tuple[list[tuple[str, int]], dict[tuple[str, int], float]]:
    """Return the candidates in order, by path and line, and their scores."""
    profile, candidates = profile_of(case, factors, **changes), candidates_of(case)
    names = [""] * len(candidates)
    columns = columns_of(candidates, case.get("activeProjectKeys") or [])
    labels = dict.fromkeys(("kind", "severity", "domain"), names)
    pool = Pool(range(len(candidates)), [0] * len(candidates), labels, columns)
    found = rank(pool, profile, profile.weights["hybrid"], now=NOW, domain=None)
    keys = [(one["path"], one["startLine"]) for one in candidates]
    return [keys[at] for at in found.order], {keys[at]: float(found.scores[at]) for at in range(len(keys))}


def key(row: Mapping[str, Any]) -> tuple[str, int]:
    return row["path"], row["startLine"]


def is_ordered(order: Sequence[tuple[str, int]], scores: Mapping[tuple[str, int], float]) -> bool:
    """Whether an order is one by scores; equal ones have no order."""
    return all(scores[a] >= scores[b] - 1e-12 for a, b in pairwise(order))


def refused(case: Mapping[str, Any]) -> bool:
    """A recorded case that is a mistake here."""
    if case["vectorWeight"] + case["textWeight"] > 0:
        return False
    with pytest.raises(ProfileError, match="not all 0"):
        profile_of(case)
    return True


every_case = pytest.mark.parametrize("case", FUSED["cases"], ids=lambda case: case["name"])


@every_case
@differs("weights-count-something", "coverage-is-no-score")
def test_scores_are_the_recorded_weighted_sums(case: Mapping[str, Any]) -> None:
    if refused(case):
        return
    if FIRST in case:
        order, scores = ranked(case, None, floor=None, pinned=None)
        recorded = {key(row): row["score"] for row in case[FIRST]}
        assert scores == pytest.approx(recorded, abs=1e-12)
        assert is_ordered(order, recorded) and is_ordered([key(row) for row in case[FIRST]], scores)
    order, scores = ranked(case, floor=None)
    wanted = {key(row): row["score"] for row in case[NEWEST]}
    assert scores.keys() == wanted.keys()
    by_more = {
        key(one) for one in candidates_of(case) if one.get("rankingScore", one.get("textScore")) != one.get("textScore")
    }
    for one in set(wanted) - by_more:
        assert scores[one] == pytest.approx(wanted[one], abs=1e-12)
    if not by_more:
        assert is_ordered([key(row) for row in case[NEWEST]], scores)
    pinned = [key(one) for one in candidates_of(case) if one.get("exactPathSpecificity")]
    assert set(order[: len(pinned)]) == set(pinned)
    assert [key(row) for row in case[NEWEST]][: len(pinned)] == order[: len(pinned)]


@every_case
@differs("words-are-kept")
def test_what_is_shown_is_what_was_recorded_and_all_that_words_found(case: Mapping[str, Any]) -> None:
    if refused(case) or "newestSelected" not in case:
        return
    words = {key(one) for one in candidates_of(case) if one.get("textScore", 0) > 0}
    plain = {key(row): row["score"] for row in case[NEWEST]}
    aged = any(abs(row["score"] - plain[key(row)]) > 1e-12 for row in case["newestSelected"])
    for version, factors in (("articleSelected", None), ("newestSelected", AGED if aged else IMPORTANCE)):
        order, scores = ranked(case, factors)
        fused = ranked(case, factors, floor=None, pinned=None)[1]
        shown = [one for one in order if scores[one] >= LEAST][:MOST]
        assert [scores[one] for one in shown] == [max(fused[one], LEAST) for one in shown]
        assert all(fused[one] >= LEAST or one in words for one in shown)
        assert is_ordered(shown, scores)
        recorded = [key(row) for row in case[version]]
        assert len(shown) == MOST or set(recorded) <= set(shown)
        assert len(shown) == MOST or set(shown) - set(recorded) <= words
        # What reaches the least score comes first, and then what words found.
        reaching = [one for one in recorded if fused[one] >= LEAST]
        assert is_ordered(reaching, scores) and [fused[one] for one in reaching] == pytest.approx(
            [fused[one] for one in shown[: len(reaching)]], abs=1e-12
        )


@every_case
@differs("weights-count-something")
def test_the_order_with_diversity_and_age_is_the_recorded_one(case: Mapping[str, Any]) -> None:
    if refused(case) or "newestWithDefaults" not in case:
        return
    order, scores = ranked(case, AGED, floor=None)
    recorded = {key(row): row["score"] for row in case["newestWithDefaults"]}
    assert scores == pytest.approx(recorded, abs=1e-12)
    text = {key(one): one["snippet"] for one in candidates_of(case)}
    words = [word_set(text[one]) for one in order]
    relevance = ranged([scores[one] for one in order])
    places = diversified(relevance, lambda at: likeness_of_words(words, at), len(order), DIVERSITY)
    assert [order[at] for at in places] == [key(row) for row in case["newestWithDefaults"]]


@pytest.mark.parametrize("case", FACTORS["importance"], ids=lambda case: str(case["importance"]))
@differs("importance-as-given")
def test_importance_multiplies_as_recorded(case: Mapping[str, Any]) -> None:
    given = number(case["importance"])
    expression = resolve({"extends": "markdown-memory", "factors": IMPORTANCE}).factors["importance"]
    (found,) = evaluate(expression, Columns({"attrs.importance": np.array([given])}, ("chunk",)))
    times = 1.0 if math.isnan(found) else found
    if not math.isnan(given) and given != math.floor(given) and 1 < given < 10:
        assert times == pytest.approx(0.75 + 0.05 * given)
        assert case["multiplier"] == pytest.approx(0.75 + 0.05 * math.floor(given))
    else:
        assert times == pytest.approx(case["multiplier"], abs=1e-12)


@pytest.mark.parametrize("case", FACTORS["project"], ids=lambda case: f"{case['projectKey']}-{case['active']}")
def test_projects_multiply_as_recorded(case: Mapping[str, Any]) -> None:
    row = {"id": "a", "path": "a.md", "startLine": 1, "snippet": "", "vectorScore": 0.5, "projectKey":
           case["projectKey"]}  # fmt: skip
    made = {"vector": [row], "keyword": [], "vectorWeight": 1.0, "textWeight": 0.0, "activeProjectKeys": case["active"]}
    _, scores = ranked(made)
    assert scores["a.md", 1] == pytest.approx(0.5 * case["multiplier"], abs=1e-12)


@differs("late-vectors-are-estimated")
@pytest.mark.parametrize("embedded", [0, 1, 15, 30])
def test_a_chunk_without_a_vector_stands_where_its_words_put_it(embedded: int) -> None:
    with Vault(":memory:", profile="markdown-memory") as vault:
        for i in range(30):
            vector = [1.0, 0.1 * i] if i < embedded else None
            vault.add(id=f"e{i}", title="note", description=f"a note about ducks, number n{i}", vector=vector)
        for i in range(0, 30, 7):
            found = vault.search(f"note about ducks number n{i}", query_vector=[1.0, 0.1 * i])
            assert found.ids[0] == f"e{i}"
            known = found[0].raw["cosine"]
            assert (known is None) == (i >= embedded)
            if known is not None:
                assert found[0].score == pytest.approx(0.7 * known + found[0].breakdown["text"])


def test_every_recorded_section_is_compared() -> None:
    assert set(FUSED) == {"what", "nowMs", "versions", "runtime", "cases"}
    # How exactly a query names a file is compared where files are named, in test_named_files.
    assert set(FACTORS) == {"importance", "project", "exactPath"}
    known = {"name", "vector", "keyword", "vectorWeight", "textWeight", FIRST, NEWEST, "midSameAsArticle"}
    known |= {"newestWithDefaults", "newestSelected", "articleSelected", "newestOnly", "activeProjectKeys"}
    assert set().union(*FUSED["cases"]) <= known
