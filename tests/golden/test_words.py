"""The words of a query in `markdown-memory`: which ones, what they find and how it is scored, against the records."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from expressions import Columns, evaluate
from golden.differences import differs
from golden.loader import is_zero, other_recording
from septet import Vault, _core
from septet.profiles import BUILTIN
from septet.query.parse import parse

PROFILE = BUILTIN["markdown-memory"]
QUERIES = other_recording("openclaw-fts-query")
LEGS = other_recording("openclaw-search-legs")
SCORES = other_recording("openclaw-bm25-score")
EXPANSIONS = other_recording("openclaw-query-expansion")
NEWEST = "2026.9.6"
FIRST = "2026.2.12"
#: Two recorded scores that differ by less may change places where the lengths of rows are counted otherwise.
NEAR = 0.1


def tokens_of(raw: str, *, unicode: bool = True, marks: bool = False) -> list[str]:
    """Cut a query as the recorded system does: runs of letters, digits and underscores; its first version knows ASCII.

    Args:
        marks: combining marks belong to the letters before them.
    """

    def inside(c: str) -> bool:
        kind = unicodedata.category(c)[0]
        if not unicode:
            return c.isascii() and (c.isalnum() or c == "_")
        return c == "_" or kind in "LN" or (marks and kind == "M")

    runs = re.sub("[^\x00]", lambda c: c[0] if inside(c[0]) else " ", raw.replace("\x00", " "))
    return [run for run in runs.split() if not marks or not all(unicodedata.category(c)[0] == "M" for c in run)]


def quoted(tokens: list[str]) -> str | None:
    return " AND ".join(f'"{token}"' for token in tokens) or None


@pytest.mark.parametrize("case", QUERIES["cases"], ids=lambda case: json.dumps(case["raw"])[:40])
@differs("marks-belong-to-letters", "underscores-separate", "single-letters-last", "each-word-once")
def test_the_words_that_are_needed_are_the_recorded_tokens(case: dict[str, Any]) -> None:
    raw = case["raw"].encode("utf-8", "replace").decode("utf-8")
    assert case[FIRST] == quoted(tokens_of(raw, unicode=False))
    assert case[NEWEST] == case["2026.2.26"] == quoted(tokens_of(raw))
    words = [word.lower() for token in tokens_of(raw, marks=True) for word in token.split("_") if word]
    long = [word for word in words if len(word) > 1] or words
    assert [forms[0] for forms, _ in parse(raw, PROFILE.text).needed] == list(dict.fromkeys(long))


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    with Vault(":memory:", profile="markdown-memory") as made:
        for one in LEGS["docs"]:
            span = {"path": one["path"], "first_line": 1, "last_line": 1}
            vector = None if is_zero(one["embedding"]) else one["embedding"]
            made.add(id=one["id"], title="-", kind="chunk", description=one["text"], vector=vector, span=span)
        yield made


@pytest.fixture(scope="module")
def table() -> Iterator[sqlite3.Connection]:
    """The recorded table."""
    made = sqlite3.connect(":memory:")
    made.execute("CREATE VIRTUAL TABLE t USING fts5(text, id UNINDEXED)")
    made.executemany("INSERT INTO t VALUES (?, ?)", [(one["text"], one["id"]) for one in LEGS["docs"]])
    yield made
    made.close()


def folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold().replace("đ", "d")
    return "".join(c for c in plain if not unicodedata.combining(c))


def may_hold(text: str, word: str) -> bool:
    """Whether a text holds a word in any form: without accents, as a part of another word, by its stem."""
    stems = set(_core.index_terms(text))
    return folded(word) in folded(text) or bool(stems.intersection(_core.index_terms(word)))


@pytest.mark.parametrize("case", LEGS["groups"]["keyword"], ids=lambda case: json.dumps(case["query"])[:40])
@differs("words-in-any-form", "accents-first", "relaxed-by-bm25")
def test_the_keyword_leg_finds_what_was_recorded_in_that_order(
    vault: Vault, table: sqlite3.Connection, case: dict[str, Any]
) -> None:
    query, recorded = case["query"], [hit["id"] for hit in case[NEWEST]["unicode61"]]
    match = quoted(tokens_of(query))
    sql = "SELECT id, bm25(t) FROM t WHERE t MATCH ? ORDER BY 2"
    ranks = dict(table.execute(sql, (match,)).fetchall()) if match else {}
    assert set(recorded) == set(ranks)
    scores = {hit["id"]: hit["textScore"] for hit in case[NEWEST]["unicode61"]}
    assert scores == pytest.approx({id: -rank / (1 - rank) for id, rank in ranks.items()}, abs=1e-12)

    plan = {"limit": 50, "legs": "text"}
    found = vault.search(query, **plan)
    waves = {hit.id: vault.explain(query, hit.id, **plan).legs[0].detail for hit in found}
    assert set(recorded) <= {id for id, wave in waves.items() if "strict wave" in wave}
    texts = {one["id"]: one["text"] for one in LEGS["docs"]}
    words = [forms[0] for forms, _ in parse(query, PROFILE.text).needed]
    for id, wave in waves.items():
        held = [may_hold(texts[id], word) for word in words]
        assert all(held) if "strict wave" in wave else any(held), (id, wave)
    asked = [word for word in words if not word.isascii()]
    accented = {id: sum(word in texts[id].lower() for word in asked) for id in recorded}
    place = {hit.id: at for at, hit in enumerate(found)}
    for better in recorded:
        for worse in recorded:
            apart = accented[better] == accented[worse] and ranks[better] < ranks[worse] * (1 + NEAR)
            if accented[better] > accented[worse] or apart:
                assert place[better] < place[worse]


@pytest.mark.parametrize("case", LEGS["groups"]["vector"], ids=lambda case: json.dumps(case["query"])[:40])
def test_the_vector_leg_gives_the_recorded_scores(vault: Vault, case: dict[str, Any]) -> None:
    if is_zero(case["queryVec"]):
        assert case["sqliteVec"] == case["jsFallback"] == []
        return
    found = vault.search(
        case["query"], query_vector=case["queryVec"], legs="vector", limit=case["limit"], min_score=-1.0
    )
    cosines = {hit.id: hit.raw["cosine"] for hit in found}
    for path in ("sqliteVec", "jsFallback"):
        recorded = {hit["id"]: hit["score"] for hit in case[path]}
        assert cosines.keys() == recorded.keys()
        assert cosines == pytest.approx(recorded, abs=1e-6)
    ordered = [score for _, score in sorted(cosines.items(), key=lambda one: found.ids.index(one[0]))]
    assert ordered == sorted(ordered, reverse=True)


def test_without_a_query_vector_the_vector_leg_finds_nothing(vault: Vault) -> None:
    assert LEGS["emptyQueryVec"] == []
    assert vault.search("", limit=50).ids == []


@pytest.mark.parametrize("case", SCORES["cases"], ids=lambda case: str(case["rank"]))
@differs("ranks-of-fts5-only")
def test_a_rank_becomes_the_recorded_score(case: dict[str, Any]) -> None:
    rank = float(case["rank"])
    (ours,) = evaluate(PROFILE.signals["text"], Columns({"bm25": np.array([-rank])}, ("chunk",)))
    if rank < 0 and math.isfinite(rank):
        assert ours == pytest.approx(case[NEWEST], rel=1e-12)
        assert case[FIRST] == 1
    else:
        # No match of FTS5 has such a rank: what is not better than none counts nothing, and the best of all most.
        assert math.isnan(ours) if math.isnan(rank) else ours == float(rank < 0)


def test_a_better_rank_never_has_a_lower_score() -> None:
    bm25 = np.sort(np.concatenate([np.geomspace(1e-9, 1e6, 400), [0.0]]))
    scores = evaluate(PROFILE.signals["text"], Columns({"bm25": bm25}, ("chunk",) * len(bm25)))
    assert (np.diff(scores) > 0).all() and scores[0] == 0 and scores[-1] < 1


@pytest.mark.parametrize("case", EXPANSIONS["cases"], ids=lambda case: json.dumps(case["query"])[:40])
@differs("relaxed-by-bm25", "characters-of-words")
def test_the_relaxed_wave_finds_what_each_recorded_keyword_finds(case: dict[str, Any]) -> None:
    keywords = {keyword for version in (case["2026.2.26"], *case[NEWEST].values()) for keyword in version}
    words = sorted(word for word in keywords if len(word) > 1 or word == case["query"])
    with Vault(":memory:", profile="markdown-memory") as vault:
        vault.add_many({"id": f"n{i}x", "title": "-", "description": word} for i, word in enumerate(words))
        vault.add(id="other", title="-", description="qqqq")
        found = vault.search(case["query"], limit=1_000)
        assert set(found.ids) == {f"n{i}x" for i in range(len(words))}
        vault.add(id="whole", title="-", description=case["query"])
        assert set(vault.search(case["query"], limit=1_000).ids) == {"whole", *found.ids}


def test_every_recorded_section_is_compared() -> None:
    assert set(LEGS["groups"]) == {"keyword", "vector"}
    for recorded in (QUERIES, SCORES, EXPANSIONS):
        assert set(recorded) == {"what", "versions", "runtime", "cases"}
