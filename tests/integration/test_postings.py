"""Full text from memory: built in the background, equal to FTS5 through every change, given up when it is not."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from septet import Vault
from septet.sqlite.tables import fulltext
from septet.sqlite.tier.read_view import open_read_view

NOW = 1_760_000_000.0
WORDS = "alpha beta gamma delta epsilon zeta getUserName Straße 数据库 索引 naïve running the of".split()
NEAREST_FIRST = {
    "name": "nearest first",
    "signals": {"words": {"col": "bm25"}, "near": {"col": "cosine"}},
    "weights": {"text": {"words": 1, "near": 0}, "hybrid": {"words": 1e-6, "near": 1}},
}
QUERIES = ["alpha", "beta beta gamma", "user name", "strasse", "数据库索引", "runs the", "naive zeta delta", "absent"]


def entry(rng: random.Random, number: int) -> dict:
    return {
        "id": f"e{number}",
        "title": " ".join(rng.choices(WORDS, k=3)),
        "description": " ".join(rng.choices(WORDS, k=rng.randrange(12))),
        "tags": rng.sample(WORDS, 2),
        "kind": rng.choice(["entry", "entry", "entry", "memory"]),
        "domain": rng.choice(["a", "b"]),
        "valid_until": rng.choice([None, None, NOW - 1, NOW + 1]),
        "created_at": 1.0,
    }


@pytest.fixture
def vault() -> Iterator[Vault]:
    rng = random.Random(5)
    with Vault(":memory:", clock=lambda: NOW) as made:
        made.add_many(entry(rng, i) for i in range(300))
        yield made


def built(vault: Vault) -> None:
    """Search until the background has built the postings."""
    patience = threading.Event()
    for _ in range(500):
        vault.search("alpha")
        newest = vault._tier.manager.current
        if newest is not None and newest.postings is not None:
            return
        patience.wait(0.02)
    pytest.fail("the postings were not built within ten seconds")


def assert_memory_equals_fts5(vault: Vault) -> None:
    matched = 0
    for query in QUERIES:
        for options in ({}, {"domain": "a"}, {"include_expired": True}, {"profile": "seven-signals"}):
            plan = vault._plan(query, {"limit": 20, **options})
            with closing(open_read_view(vault._store, vault._tier.manager, plan)) as view:
                assert view.snapshot.postings is not None
                assert not view.needs_fts5(plan)
                ((pool, _),), wanted = view.candidates(0), fulltext.candidates(view.read, plan, plan.candidates)
                if plan.query.grams:
                    # FTS5's scores are brought to the document frequency of both tables, and rounded.
                    found = dict(zip(pool.rows, pool.columns["bm25"].tolist()))
                    assert sorted(found.values()) == pytest.approx(sorted(wanted.scores), rel=1e-9), (query, options)
                    least = pytest.approx(min(wanted.scores, default=0.0), rel=1e-9)
                    for row, score in zip(wanted.rows, wanted.scores):
                        # Of equal scores at the end another may have been the last.
                        assert found.get(row, score) == pytest.approx(score, rel=1e-9)
                        assert row in found or score == least
                else:
                    assert pool.rows == wanted.rows, (query, options)
                    if "bm25" in plan.corpus_columns:
                        assert pool.columns["bm25"].tolist() == wanted.scores
            matched += len(pool)
    assert matched > 100


def test_the_first_search_is_answered_by_fts5_and_a_later_one_from_memory(vault, monkeypatch):
    monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    first = {name: vault.search("alpha", limit=20, profile=name) for name in ("septet", "seven-signals")}
    assert vault._tier.manager.current.postings is None
    codes = {name: [note.code for note in found.notes] for name, found in first.items()}
    assert codes["septet"] == ["index_building", "memories_left_out"]
    assert codes["seven-signals"] == ["memories_left_out"]
    built(vault)
    later = {name: vault.search("alpha", limit=20, profile=name) for name in first}
    # The spelling of words is compared in memory only.
    assert [(h.id, h.score) for h in later["seven-signals"]] == [(h.id, h.score) for h in first["seven-signals"]]
    assert [h.score for h in later["septet"]] == pytest.approx([h.score for h in first["septet"]], abs=0.1)
    assert [note.code for note in later["septet"].notes] == ["memories_left_out"] and len(later["septet"]) > 5


def test_rows_and_scores_stay_those_of_fts5_through_every_change(vault):
    built(vault)
    rng = random.Random(11)
    assert_memory_equals_fts5(vault)
    for step in range(6):
        for _ in range(20):
            number = rng.randrange(340)
            if rng.random() < 0.7:
                vault.add(**entry(rng, number))
            else:
                vault.delete(f"e{number}")
        if step == 3:
            vault.purge()
            built(vault)
        assert_memory_equals_fts5(vault)
        assert not vault._tier.manager.mistrusted


def test_changes_made_while_the_postings_are_built_are_in_them(vault):
    for i in range(5):
        vault.search("alpha")
        vault.add(id=f"late{i}", title=f"latecomer alpha {i}")
        vault.delete(f"e{i}")
    built(vault)
    assert_memory_equals_fts5(vault)
    assert sorted(vault.search("latecomer", limit=9).ids) == [f"late{i}" for i in range(5)]


def test_postings_that_differ_from_fts5s_totals_are_given_up_with_a_note(vault):
    vault._store._writer.execute(
        "INSERT INTO entries_fts (rowid, id, title, description, context, tags) VALUES (99999, 'x', 'y', '', '', '')"
    )
    patience = threading.Event()
    for _ in range(500):
        results = vault.search("alpha", limit=20)
        codes = [note.code for note in results.notes]
        if "index_mismatch" in codes:
            break
        patience.wait(0.02)
    assert codes == ["index_mismatch", "memories_left_out"]
    assert len(results) > 5


def test_a_word_that_fts5_takes_for_a_phrase_is_still_found(vault):
    vault.add(id="hindi", title="हिन्दी खोज")
    built(vault)
    assert vault.search("हिन्दी").ids == ["hindi"]


@pytest.mark.parametrize("in_memory", [False, True], ids=["before postings", "with postings"])
@pytest.mark.parametrize("query", ["हिन्दी", "खोज"], ids=["phrase", "word"])
def test_what_only_vectors_find_has_the_score_of_its_words_whichever_ranks_them(query, in_memory):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many({"id": f"e{i}", "title": "हिन्दी खोज", "vector": [1.0, 0.0]} for i in range(60))
        # The words weigh less in so long a text: thirty others come before it.
        vault.add(id="far", title="हिन्दी खोज", description="and much else " * 20, vector=[0.0, 1.0])
        if in_memory:
            built(vault)
        ask = {"query_vector": [0.0, 1.0], "profile": NEAREST_FIRST}
        (few,) = (hit for hit in vault.search(query, limit=3, **ask) if hit.id == "far")
        (all_found,) = (hit for hit in vault.search(query, limit=100, **ask) if hit.id == "far")
        assert few.signals["words"] == all_found.signals["words"] > 0
