"""The full-text leg: expressions, hits and BM25 scores; filters; a missing bm25()."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from golden.differences import TERMS, differs
from golden.loader import NOW, agent_vault, recording, vault_of, where_of
from golden.reference import RECORDED, Corpus, expression, is_valid
from septet import Vault
from septet.errors import QueryError
from septet.sqlite.tables import fulltext

FTS = recording("fts")
AGENT = recording("corpus")["agent"]
TAKEN = 10  # the recorded default
Scored = Sequence[tuple[str, float]]


def candidates_of(vault: Vault, query: str, take: int = TAKEN, **options: Any) -> list[tuple[str, float]]:
    """Return what the text leg finds, best first."""
    plan = vault._plan(query, options)  # type: ignore[arg-type]
    if not plan.query.terms:
        return []
    with vault._store.reading() as read:
        hits = fulltext.candidates(read, plan, take)
        ids = dict(read.sql.execute("SELECT row, id FROM entries").fetchall())
    return [(ids[row], score) for row, score in zip(hits.rows, hits.scores)]


def by_reference(corpus: Corpus, match: str, take: int = TAKEN, **filters: str) -> list[tuple[str, float]]:
    """Return what the reference's own table finds among the entries that are valid."""
    found = corpus.bm25(match) if match else []
    kept = [(id, score) for id, score in found if is_valid(corpus.by_id[id], NOW)]
    return [(i, s) for i, s in kept if all(corpus.by_id[i][k] == v for k, v in filters.items())][:take]


def recorded(results: Sequence[dict[str, Any]]) -> list[tuple[str, float]]:
    return [(row["id"], row["score"]) for row in results]


def same(got: Scored, wanted: Scored, everything: Scored = ()) -> bool:
    """Say whether two rankings agree: the same scores in order, and every id with its own score.

    Args:
        everything: the ranking before it was cut, so that a tie may be cut anywhere.
    """
    known = dict(everything or wanted)
    scores = [s for _, s in got] == pytest.approx([s for _, s in wanted], rel=1e-9)
    own = all(id in known and score == pytest.approx(known[id], rel=1e-9) for id, score in got)
    return scores and own and len({id for id, _ in got}) == len(got)


every_query = pytest.mark.parametrize("case", FTS["rawQueries"], ids=lambda c: ascii(c["raw"]))


@every_query
@differs("quoted-terms")
def test_the_expression_is_the_recorded_one_but_for_the_listed_differences(case, agent):
    listed = TERMS.get(case["raw"], RECORDED)
    found = agent(False, False)._plan(case["raw"], {}).query.match
    assert expression(case["raw"], RECORDED) == case["ftsQuery"]
    assert found == expression(case["raw"], listed | {"quoted-terms"})
    for name in listed:
        assert found != expression(case["raw"], (listed - {name}) | {"quoted-terms"})
    assert not found or found != expression(case["raw"], listed)
    if not listed:
        assert found.replace('"', "") == case["ftsQuery"]


@every_query
def test_hits_and_scores_are_the_recorded_ones_but_for_the_listed_terms(case, agent, corpus):
    listed = TERMS.get(case["raw"], RECORDED)
    found = candidates_of(agent(False, False), case["raw"])
    full = by_reference(corpus(), expression(case["raw"], listed), take=1000)
    assert same(recorded(case["results"]), by_reference(corpus(), case["ftsQuery"]), corpus().bm25(case["ftsQuery"]))
    assert same(found, full[:TAKEN], full)
    if not listed:
        assert same(found, recorded(case["results"]), full)


@every_query
def test_an_explanation_names_the_recorded_score(case, agent):
    if case["raw"] in TERMS or not case["results"]:
        assert case["raw"] in TERMS or candidates_of(agent(False, False), case["raw"]) == []
        return
    for row in case["results"][:3]:
        (leg,) = agent(False, False).explain(case["raw"], row["id"]).legs
        assert leg.value == pytest.approx(row["score"], rel=1e-9)
        assert leg.matched


def test_queries_with_and_without_hits_were_recorded():
    assert len(FTS["rawQueries"]) == 57
    assert sum(bool(case["results"]) for case in FTS["rawQueries"]) > 35
    assert sum(case["raw"] not in TERMS for case in FTS["rawQueries"]) == 33


# -- filters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", FTS["filters"], ids=lambda c: f"{c['query']}-{c['options']}")
@differs("origin-is-an-attr", "a-limit-is-positive")
def test_filters_leave_the_recorded_hits(case):
    options = dict(case["options"])
    limit = options.pop("limit", TAKEN)
    options["include_expired"] = options.pop("includeExpired", False)
    if "origin" in options:
        options["where"] = {"attrs.origin": options.pop("origin")}
    options |= where_of(options)
    others = [{"id": "packed", "title": "Database database", "origin": "pack", "tags": []}] * ("where" in options)
    # A further entry shifts the statistics of BM25, so with it the ids are compared and not the scores.
    with vault_of([{**entry, "origin": "agent"} for entry in AGENT] + others) as vault:
        if limit == 0:
            with pytest.raises(QueryError, match="limit is 0"):
                vault.search(case["query"], limit=0)
            assert case["results"] == []
            return
        found = candidates_of(vault, case["query"], limit, **options)
        full = candidates_of(vault, case["query"], 1000, **options)
        if others:
            assert [id for id, _ in found] == [row["id"] for row in case["results"]]
            assert "packed" in [id for id, _ in candidates_of(vault, case["query"])]
        else:
            assert same(found, recorded(case["results"]), full)
        assert {h.id for h in vault.search(case["query"], limit=len(AGENT), **options)} == {id for id, _ in full}


# -- without bm25() --------------------------------------------------------------------------------------------------


@pytest.fixture
def without_bm25() -> Iterator[Vault]:
    """The recorded vault on a SQLite that refuses the function."""

    def authorize(action: int, _: str | None, name: str | None, *__: str | None) -> int:
        denied = action == sqlite3.SQLITE_FUNCTION and name == "bm25"
        return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK

    with agent_vault() as vault:
        vault._store._writer.set_authorizer(authorize)
        with pytest.raises(sqlite3.Error, match="bm25"):
            vault._store._writer.execute("SELECT bm25(entries_fts) FROM entries_fts WHERE entries_fts MATCH 'jwt'")
        yield vault


@pytest.mark.parametrize("case", FTS["bm25Unavailable"], ids=lambda c: repr(c["query"]))
@differs("fallback-keeps-the-expression")
def test_without_bm25_the_same_expression_is_ranked_with_all_columns_equal(
    case: dict[str, Any], without_bm25: Vault, corpus: Callable[..., Corpus]
):
    def columns_equal(match: str) -> list[tuple[str, float]]:
        found = corpus().bm25(match, columns_equal=True) if match else []
        return [(id, score) for id, score in found if is_valid(corpus().by_id[id], NOW)]

    raw = recorded(case["results"])
    assert same(raw, columns_equal(case["query"])[:TAKEN])
    found = candidates_of(without_bm25, case["query"])
    wanted = columns_equal(without_bm25._plan(case["query"], {}).query.match)
    assert same(found, wanted[:TAKEN], wanted)
    # Of what the recorded query with all words found, nothing is missing.
    assert {id: score for id, score in found if id in dict(raw)} == pytest.approx(dict(raw), rel=1e-9)
    # With several words more is found: any of them will do, and their punctuation is no error.
    assert (len(found) > len(raw)) == (" " in case["query"])


def test_a_search_without_bm25_answers_and_says_so(without_bm25, agent, monkeypatch):
    monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    found = without_bm25.search("JWT validation")
    assert set(found.ids) == set(agent(False, False).search("JWT validation").ids)
    assert [note.code for note in found.notes] == ["bm25_unavailable"]
    assert found.degraded
    assert agent(False, False).search("JWT validation").notes == ()


def test_another_error_of_the_full_text_table_is_not_taken_for_a_missing_function():
    with agent_vault() as vault:
        vault._store._writer.execute("DROP TABLE entries_fts")
        with pytest.raises(Exception, match="entries_fts"):
            vault.search("JWT validation")
