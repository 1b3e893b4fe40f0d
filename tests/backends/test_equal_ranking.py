"""The same entries in SQLite and in PostgreSQL: equal ids, scores to 1e-9, matches, notes and breakdowns."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from both_stores import copied, differences, searched, searched_many, server_tier
from septet import PostgresVault, Vault
from septet.postgres.store import pipeline
from septet.postgres.store.link import ServerLink
from septet.postgres.store.store import PostgresStore

DATA = Path(os.environ.get("SEPTET_DATA") or Path(__file__).parents[3] / "shared") / "data" / "cranfield"
#: When every entry is judged, epoch seconds.
NOW = 1.7e9
DIMENSIONS = 16
#: So many entries are made; more for who has the time.
ENTRIES = int(os.environ.get("SEPTET_EQUAL_ENTRIES") or 2_000)
PROFILES = ("septet", "seven-signals", "six-signals", "markdown-memory", "planned-retrieval", "recall")
WORDS = (
    *(f"word{number}" for number in range(400)),
    *"retry policy getUserName sha256 Straße Đồng 漢字 データ 東京都 हिन्दी नमस्ते Café running runs ran".split(),
)
#: Full text takes vowel signs for separators, and the word for several in a row.
PHRASE = "हिन्दी word7"
QUERIES = (
    "retry policy",
    "word1 word2 word3 word4",
    "user name 256",
    "漢字 データ",
    "word5 sha256 retry retry runner",
    "strasse cafe",
    "nothingOfTheKind word9",
    PHRASE,
    "?!",
)
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"limit": 5},
    {"domain": "x", "limit": 3},
    {"include_memories": True},
    {"boost_tags": ["a", "b"], "include_expired": True},
    {"where": {"$or": [{"tags": {"$in": ["a"]}}, {"attrs.size": {"$gt": 5}}]}},
    {"kinds": ["memory"]},
    {"include_memories": True, "as_of": NOW + 2e5, "limit": 50},
    {"must": "word3", "must_not": "word4"},
    {"min_score": 0.2, "group_by": "parent"},
    {"offset": 5, "limit": 5},
    {"max_tokens": 200},
)


def made(
    entries: int, embedded: float, models: tuple[str, ...] = ("one",), *, seed: int = 7, linked: bool = False
) -> Vault:
    """Return a vault of so many entries, of which a share has vectors, and of half a hundred memories.

    Args:
        linked: link them, and split long ones, whose parts are linked.
    """
    pick, numbers = random.Random(seed), np.random.default_rng(seed)
    weights = [1 / (place + 3) for place in range(len(WORDS))]

    def words(most: int) -> str:
        return " ".join(pick.choices(WORDS, weights, k=pick.randint(1, most)))

    def vectors() -> dict[str, Any]:
        if pick.random() >= embedded:
            return {}
        return {"vector": {model: numbers.normal(size=DIMENSIONS).astype(np.float32) for model in models}}

    items: list[dict[str, Any]] = []
    for number in range(entries):
        item: dict[str, Any] = {
            "id": f"e{number}", "title": words(6), "description": words(60), "context": words(5),
            "tags": pick.sample(["a", "b", "c", "漢字"], pick.randint(0, 3)), "attrs": {"size": number % 9},
            "severity": pick.choice(["critical", "warning", "suggestion"]), "domain": pick.choice("xyz"),
            "created_at": NOW - pick.random() * 1e8, **vectors(),
        }  # fmt: skip
        if pick.random() < 0.1:
            item["valid_until"] = NOW + pick.choice([-1e5, 1e5, 1e7])
        elif pick.random() < 0.05:
            item["valid_from"] = NOW + pick.choice([-1e5, 1e5])
        # Equal texts have equal scores: their order is that of their rows.
        items.append(item)
        if number % 20 == 0:
            items.append({**item, "id": f"same{number}"})
        if linked and number % 100 == 0:
            items.append({"id": f"long{number}", "title": words(3), "description": words(200), "split": 60})
    memories = 50 if entries else 0
    items += [
        # FTS5's table of memories has no context of them.
        {
            "id": f"m{number}", "kind": "memory", "title": words(3), "description": words(20),
            "context": words(9) if number % 2 else "", **vectors(),
        }
        for number in range(memories)
    ]  # fmt: skip
    vault = Vault(":memory:", clock=lambda: NOW)
    if items:
        vault.add_many(items)
        vault.feedback("retry policy", "e0", "accepted")
        # What is written again keeps its row, what is deleted leaves a hole.
        vault.add_many([{**item, "title": words(6)} for item in items[10:40] if "split" not in item])
        for number in range(50, 60):
            vault.delete(f"e{number}")
        if linked:
            # One has links to many.
            hub = [("e1", f"e{number}", "related") for number in range(100, 160)]
            some = [
                (f"e{pick.randrange(100, entries)}", f"e{pick.randrange(100, entries)}", "next") for _ in range(300)
            ]
            vault.link_many([link for link in (*hub, *some) if link[0] != link[1]])
    return vault


def cases(profile: str, many: int = 3) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each query with some of the filters, so that every profile meets every filter."""
    first = PROFILES.index(profile)
    for at, query in enumerate(QUERIES):
        for number in range(many):
            yield query, FILTERS[(first + at + number * len(QUERIES)) % len(FILTERS)]


def told(ours: Any, theirs: Any, case: object) -> list[str]:
    return [f"{case}: {one}" for one in differences(ours, theirs)]


@pytest.fixture(scope="module")
def both(postgres) -> Iterator[tuple[Vault, PostgresStore]]:
    with made(ENTRIES, 0.5, ("one", "two")) as local:
        # More than a search brings into memory by itself.
        local.optimize()
        store = copied(local, postgres.dsn(), "equal-ranking")
        yield local, store
        store.close()


@pytest.mark.parametrize("profile", PROFILES)
def test_texts_rank_alike_with_and_without_filters(both, profile):
    local, store = both
    tier, wrong = server_tier(store), []
    for query, more in cases(profile):
        options = {"profile": profile, **more}
        ours, theirs = searched([local._tier], query, NOW, **options), searched([tier], query, NOW, **options)
        wrong += told(ours, theirs, (query, more))
    assert not wrong


@pytest.mark.parametrize("profile", PROFILES)
def test_texts_and_vectors_rank_alike_with_and_without_filters(both, profile):
    local, store = both
    tier, wrong, numbers = server_tier(store), [], np.random.default_rng(1)
    for query, more in cases(profile, 2):
        for spaces in ({"model": "two"}, {}):
            options = {"profile": profile, "query_vector": numbers.normal(size=DIMENSIONS), **more, **spaces}
            ours, theirs = searched([local._tier], query, NOW, **options), searched([tier], query, NOW, **options)
            wrong += told(ours, theirs, (query, more, spaces))
    assert not wrong


@pytest.mark.parametrize("embedded", [0.0, 0.01, 1.0])
def test_few_and_all_vectors_rank_alike(dsn, vault_name, embedded):
    wrong, numbers = [], np.random.default_rng(2)
    with made(600, embedded, seed=3) as local:
        store = copied(local, dsn, vault_name)
        tier = server_tier(store)
        for query in QUERIES[:3]:
            for more in ({}, {"legs": ["vector"]}, {"legs": ["text"]}, {"include_memories": True, "limit": 40}):
                options = {"query_vector": numbers.normal(size=DIMENSIONS), **more}
                ours, theirs = searched([local._tier], query, NOW, **options), searched([tier], query, NOW, **options)
                wrong += told(ours, theirs, (query, more))
        other = {"query_vector": numbers.normal(size=DIMENSIONS + 1)}
        wrong += told(searched([local._tier], "retry", NOW, **other), searched([tier], "retry", NOW, **other), other)
        store.close()
    assert not wrong


@pytest.mark.parametrize("entries", [0, 1, 8])
def test_few_entries_rank_alike(dsn, vault_name, entries):
    wrong = []
    with made(entries, 1.0) as local:
        store = copied(local, dsn, vault_name)
        tier = server_tier(store)
        for profile in PROFILES:
            for query in QUERIES[:3]:
                for more in ({}, {"query_vector": np.ones(DIMENSIONS)}, {"domain": "x"}):
                    options = {"profile": profile, **more}
                    ours = searched([local._tier], query, NOW, **options)
                    wrong += told(ours, searched([tier], query, NOW, **options), (profile, query, more))
        store.close()
    assert not wrong


def test_links_and_split_entries_rank_alike(dsn, vault_name):
    pytest.importorskip("septet.postgres.tier.likeness", reason="links are not walked yet")
    wrong = []
    with made(600, 0.5, seed=5, linked=True) as local:
        store = copied(local, dsn, vault_name)
        tier = server_tier(store)
        for profile in ("septet", "seven-signals"):
            for query in QUERIES:
                for more in ({}, {"query_vector": np.ones(DIMENSIONS)}, {"domain": "x", "limit": 5}):
                    options = {"profile": profile, **more}
                    ours = searched([local._tier], query, NOW, **options)
                    wrong += told(ours, searched([tier], query, NOW, **options), (profile, query, more))
        store.close()
    assert not wrong


def test_a_server_among_other_tiers_ranks_as_a_file_does(dsn, vault_name):
    """Scores of several tiers are brought to one scale, and a higher tier's copy stands in for a lower one's."""
    pytest.importorskip("septet.postgres.tier.tier", reason="copies of lower tiers are not looked up yet")
    wrong = []
    with made(200, 0.5, seed=6) as small, made(400, 0.5, seed=8) as team:
        store = copied(team, dsn, vault_name)
        for first, last in ((1.0, 0.5), (0.5, 1.0)):
            agent = small._as_tier("agent", first)
            file, server = team._as_tier("team", last), server_tier(store, "team", last)
            local = sorted([agent, file], key=lambda tier: -tier.priority)
            mixed = sorted([agent, server], key=lambda tier: -tier.priority)
            for profile in ("septet", "seven-signals"):
                for query in QUERIES:
                    for more in ({}, {"query_vector": np.ones(DIMENSIONS)}, {"domain": "x"}):
                        options = {"profile": profile, **more}
                        ours, theirs = searched(local, query, NOW, **options), searched(mixed, query, NOW, **options)
                        wrong += told(ours, theirs, (first, profile, query, more))
        store.close()
    assert not wrong


def test_a_batch_ranks_as_its_queries_do_alone(both):
    local, store = both
    tier, wrong = server_tier(store), []
    for more in ({}, {"query_vector": np.ones(DIMENSIONS), "model": "one"}, {"domain": "y"}):
        ours = searched_many([local._tier], QUERIES, NOW, **more)
        theirs = searched_many([tier], QUERIES, NOW, **more)
        assert not isinstance(ours, str) and not isinstance(theirs, str)
        for query, one, other in zip(QUERIES, ours, theirs):
            wrong += told(one, other, (query, more))
    assert not wrong


def test_a_sample_that_was_remembered_follows_what_is_written(dsn, vault_name):
    """The second search of a space takes its sample from the first, unless it changed."""
    with made(700, 1.0, seed=4) as local:
        store = copied(local, dsn, vault_name)
        tier, vector = server_tier(store), np.ones(DIMENSIONS)
        first = searched([tier], "retry", NOW, query_vector=vector)
        assert not differences(searched([local._tier], "retry", NOW, query_vector=vector), first)
        sample = next(iter(tier.remembered._samples.values())).sample
        with made(690, 1.0, seed=4) as fewer:
            store.close()
            store = copied(fewer, dsn, f"{vault_name}-fewer")
            other = server_tier(store)._replace(remembered=tier.remembered)
            again = searched([other], "retry", NOW, query_vector=vector)
            assert not differences(searched([fewer._tier], "retry", NOW, query_vector=vector), again)
            assert any(one.sample is not sample for one in tier.remembered._samples.values())
        store.close()


def test_what_is_not_valid_is_remembered_until_it_changes(dsn, vault_name):
    """TF-IDF counts valid entries: one more that is not, or another text of one, is another count."""
    with made(300, 0.0, seed=6) as local:
        store = copied(local, dsn, vault_name)
        tier = server_tier(store)

        def alike_at(now: float) -> object:
            options = {"profile": "seven-signals"}
            ours, theirs = searched([local._tier], "word1", now, **options), searched([tier], "word1", now, **options)
            assert not differences(ours, theirs)
            return tier.remembered.outside[False]

        first = alike_at(NOW)
        assert alike_at(NOW) is first
        assert alike_at(NOW + 1e6) != first
        with local._store.reading() as read:
            ((gone,),) = read.sql.execute("SELECT id FROM entries WHERE valid_until < ? LIMIT 1", (NOW,)).fetchall()
        with PostgresVault(dsn, vault_name) as far:
            for vault in (local, far):
                vault.update(gone, title="word1 of what is no more")
        assert alike_at(NOW) != first
        store.close()


@pytest.fixture
def trips(monkeypatch) -> list[str]:
    """What was sent to servers and waited for, from now on: pipelines and single statements."""
    seen: list[str] = []
    answers, execute = pipeline._answers, ServerLink.execute

    def counted_answers(*given: Any) -> Any:
        seen.append("pipeline")
        return answers(*given)

    def counted_execute(link: ServerLink, query: Any, *given: Any, **more: Any) -> Any:
        seen.append(str(query)[:80])
        return execute(link, query, *given, **more)

    monkeypatch.setattr(pipeline, "_answers", counted_answers)
    monkeypatch.setattr(ServerLink, "execute", counted_execute)
    return seen


@pytest.mark.parametrize(
    ("options", "most"),
    [
        # Word feedback counts what the best hold.
        ({}, 4),
        ({"query_vector": np.ones(DIMENSIONS), "model": "one"}, 3),
        ({"domain": "x", "include_memories": True}, 4),
        # TF-IDF counts what the candidates hold.
        ({"profile": "seven-signals"}, 4),
        ({"profile": "planned-retrieval"}, 3),
    ],
)
def test_a_search_takes_three_round_trips_and_a_fourth_for_terms_of_candidates(both, trips, options, most):
    _, store = both
    tier = server_tier(store)
    searched([tier], "retry policy", NOW, **options)
    del trips[:]
    found = searched([tier], "word1 word2", NOW, **options)
    assert not isinstance(found, str) and found.hits
    # Beside the beginning of the transaction.
    asked = [one for one in trips if one == "pipeline" or "BEGIN" not in one]
    # A cluster is asked for the nearest vectors first, and then for their entries.
    assert len(asked) <= most + (store.vault.distributed and "query_vector" in options), asked
    assert asked == ["pipeline"] * len(asked)


def test_a_batch_takes_as_many_round_trips_as_one_query(both, trips):
    _, store = both
    tier, vector = server_tier(store), np.ones(DIMENSIONS)
    searched_many([tier], QUERIES[:2], NOW, query_vector=vector, model="one")
    del trips[:]
    found = searched_many([tier], ["word1", "word2", "word3", "retry"], NOW, query_vector=vector, model="one")
    assert not isinstance(found, str)
    assert trips.count("pipeline") == 2 + 1 + store.vault.distributed


@pytest.fixture(scope="module")
def cranfield(postgres) -> Iterator[tuple[Vault, PostgresStore, list[str]]]:
    if not (DATA / "corpus.jsonl.gz").is_file():
        pytest.skip(f"no Cranfield collection in {DATA}: name the folder above data/cranfield in SEPTET_DATA")
    numbers = np.random.default_rng(5)
    with Vault(":memory:", clock=lambda: NOW) as vault:
        with gzip.open(DATA / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            docs = [json.loads(line) for line in lines]
        vault.add_many(
            {
                "id": doc["id"], "title": (doc.get("title") or "").strip() or "-", "description": doc["text"],
                "vector": numbers.normal(size=DIMENSIONS),
            }
            for doc in docs
        )  # fmt: skip
        with gzip.open(DATA / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
            queries = [json.loads(line)["text"] for line in lines]
        store = copied(vault, postgres.dsn(), "cranfield")
        yield vault, store, queries
        store.close()


@pytest.mark.parametrize("profile", ["septet", "seven-signals", "six-signals"])
def test_cranfield_ranks_alike(cranfield, profile):
    local, store, queries = cranfield
    tier, wrong = server_tier(store), []
    for at, query in enumerate(queries[::8]):
        options: dict[str, Any] = {"profile": profile, "limit": 20}
        if at % 2:
            options["query_vector"] = np.random.default_rng(at).normal(size=DIMENSIONS)
        wrong += told(searched([local._tier], query, NOW, **options), searched([tier], query, NOW, **options), query)
    assert not wrong
