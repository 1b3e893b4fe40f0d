"""Searches with the syntax of web searches: they equal those whose options say the same, and none is an error."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Federation, QueryError, Vault

NOW = 1_767_312_000.0  # 2026-01-02


def filled(path=":memory:"):
    vault = Vault(path, clock=lambda: NOW)
    rng = np.random.default_rng(3)
    vault.add(
        id="wal",
        title="SQLite in WAL mode",
        description="one writer, many readers",
        tags=["database", "io"],
        domain="storage",
        severity="critical",
        attrs={"size": 7, "team": "core"},
        created_at=1_700_000_000.0,
    )
    vault.add(
        id="lock",
        title="Locks of a database",
        description="the writer waits for many readers",
        domain="storage",
        tags=["database"],
        attrs={"size": 3},
        vector=rng.normal(size=4),
    )
    vault.add(
        id="queue",
        title="A lightweight queue",
        description="jobs in SQLite, one writer",
        domain="two words",
        source="mail",
        vector=rng.normal(size=4),
    )
    vault.add(id="mail", title="An e-mail to the writer", description="running late", domain="post")
    vault.add(id="letter", title="A letter e to the writer", description="generalities", domain="post")
    vault.remember("the writer prefers a lightweight database", id="memory", topics=["taste"])
    return vault  # fmt: skip


@pytest.fixture(params=["in memory", "not in memory", "federation"])
def target(request, monkeypatch):
    if request.param == "not in memory":
        monkeypatch.setattr("septet.sqlite.snapshot.manager.SnapshotManager.schedule", lambda *_: None)
    with filled() as vault, Vault(":memory:", clock=lambda: NOW) as high:
        if request.param != "federation":
            yield vault
            return
        high.add(id="wal", title="SQLite without WAL mode", description="one writer", domain="storage",
                 attrs={"size": 7}, tags=["database", "io"], created_at=1_700_000_000.0)  # fmt: skip
        yield Federation({"high": high, "low": vault})


@pytest.mark.parametrize(
    ("query", "text", "options"),
    [
        ("writer", "writer", {}),
        ("writer +sqlite", "writer sqlite", {"words": {"must": "sqlite"}}),
        ("writer -sqlite", "writer", {"words": {"must_not": "sqlite"}}),
        ('"one writer"', "one writer", {"words": {"phrase": "one writer"}}),
        (
            '"one writer" "many readers"',
            "one writer many readers",
            {"words": {"phrase": ["one writer", "many readers"]}},
        ),
        ("lightw*", "", {"words": {"prefix": "lightw"}}),
        ("writer domain:storage", "writer", {"where": {"domain": "storage"}}),
        ("writer -domain:storage", "writer", {"where": {"domain": {"$ne": "storage"}}}),
        ('writer domain:"two words" domain:post', "writer", {"where": {"domain": {"$in": ["two words", "post"]}}}),
        ("writer tag:database tag:io", "writer", {"where": {"tags": {"$all": ["database", "io"]}}}),
        ("writer attrs.size:>3", "writer", {"where": {"attrs.size": {"$gt": 3}}}),
        ("writer attrs.size:7 attrs.team:core", "writer", {"where": {"attrs.size": 7, "attrs.team": "core"}}),
        ("writer created:<2026", "writer", {"where": {"created_at": {"$lt": 1_767_225_600.0}}}),
        ("writer created:2026-01-02", "writer", {"where": {"created_at": NOW}}),
        ("writer kind:memory", "writer", {"kinds": "memory"}),
        ("writer severity:critical id:wal", "writer", {"where": {"severity": "critical", "id": "wal"}}),
    ],
)
@pytest.mark.parametrize("more", [{}, {"query_vector": [1.0, 0.5, 0.0, 0.0]}])
def test_a_query_finds_what_the_options_find_that_say_the_same(target, query, text, options, more):
    for _ in range(2):
        found = target.search(query, syntax="web", limit=20, **more)
        same = target.search(text, limit=20, **options, **more)
        assert [(hit.id, hit.tier, round(hit.score, 12)) for hit in found] == [
            (hit.id, hit.tier, round(hit.score, 12)) for hit in same
        ]
        assert found.total == same.total
        assert (found.query, same.understood) == (query, None)
        json.dumps(found.to_dict())
        assert found.to_dict()["understood"]["text"] == text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('writer -"many readers"', {"queue", "mail", "letter"}),
        ("writer -e-mail", {"wal", "lock", "queue", "letter"}),
        ("writer -lightw*", {"wal", "lock", "mail", "letter"}),
        ("writer -runn* -lightw*", {"wal", "lock", "letter"}),
        ("writer -general*", {"wal", "lock", "queue", "mail"}),
        ("+writer nothing:here", {"wal", "lock", "queue", "mail", "letter"}),
        ("-writer", set()),
    ],
)
def test_what_no_option_says_is_left_out_too(query, expected):
    with filled() as vault:
        vault.search("warm")
        assert set(vault.search(query, syntax="web").ids) == expected


def test_what_the_query_asks_holds_beside_the_options(target):
    def ids(query, **options):
        return set(target.search(query, syntax="web", **options).ids)

    assert ids("writer +sqlite", words={"must": "lightweight"}) == {"queue"}
    assert ids("writer -sqlite", words={"must_not": "readers"}) == {"mail", "letter"}
    assert ids('writer "many readers"', words={"phrase": "the writer"}) == {"lock"}
    assert ids("writer datab*", words={"prefix": "lo"}) == {"lock"}
    assert ids("writer domain:storage", where={"domain": {"$ne": "storage"}}) == set()
    assert ids("writer domain:post", domain="post", words={"must": "late"}) == {"mail"}
    assert ids("writer late", words={"prefix": True}) == {"mail"}
    assert ids("late domain:post writ", words={"prefix": True}) == {"mail", "letter"}
    assert ids("late domain:post", words={"prefix": True}) == {"mail"}


def test_a_query_of_signs_alone_is_answered_by_vectors():
    with filled() as vault:
        assert set(vault.search("domain:storage", syntax="web", query_vector=[1.0, 0, 0, 0]).ids) == {"lock"}
        assert not vault.search("-writer", syntax="web")


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("domain:post", ["mail", "letter"]),
        ("tag:database", ["lock", "wal"]),
        ("tag:database -sqlite", ["lock"]),
        ("domain:post -running", ["letter"]),
        ("-domain:post kind:entry", ["lock", "queue", "wal"]),
        ("kind:memory", ["memory"]),
        ("domain:post ?!", ["mail", "letter"]),
        ("tag:nothing", []),
    ],
)
def test_a_query_of_filters_alone_is_a_list_with_a_note_that_says_so(target, query, ids):
    found = target.search(query, syntax="web", limit=20)
    newest_first = sorted(found, key=lambda hit: (-hit.entry.updated_at, -hit.entry.created_at, hit.id))
    assert sorted(found.ids) == sorted(ids) and found.ids == [hit.id for hit in newest_first]
    assert found.total == len(ids) and found.confidence == 0
    assert [(hit.score, dict(hit.breakdown), hit.confidence) for hit in found] == [(0.0, {}, 0.0)] * len(ids)
    assert [note.code for note in found.notes] == ["no_terms"] and "listed, newest first" in str(found.notes[0])
    assert found.query == query and found.understood["where"]
    json.dumps(found.to_dict())


def test_a_list_has_pages_groups_a_budget_and_facets_as_a_search_has(target):
    def asked(**options):
        return target.search("kind:entry", syntax="web", **options)

    every = asked(limit=20).ids
    assert len(every) == 5 == len(asked().ids)
    assert [id for offset in (0, 2, 4) for id in asked(limit=2, offset=offset).ids] == every
    assert asked(facets="domain").facets["domain"]["post"] == 2
    cut = asked(max_tokens=asked(limit=1)[0].token_estimate)
    assert cut.ids == every[:1] and cut.notes[-1].code == "over_budget"
    assert asked(mode="scan")[0].entry is None and asked(mode="scan").ids == every
    assert asked(where={"domain": "post"}).ids == [id for id in every if id in ("mail", "letter")]
    assert target.search_many(["kind:entry"], syntax="web")[0].ids == every
    assert asked(as_of=1_600_000_000.0, limit=20).total == 5


def test_a_list_has_the_parts_of_what_was_split_and_leaves_out_what_is_not_valid():
    with filled() as vault:
        vault.add(id="long", title="Long", description="word " * 900, tags=["split"], split=200)
        vault.add(id="over", title="Over", tags=["split"], valid_until=NOW - 1)
        parts = vault.search("tag:split", syntax="web", limit=50)
        assert len(parts) > 3 and {hit.parent for hit in parts} == {"long"} and "long" not in parts.ids
        assert len(vault.search("tag:split", syntax="web", group_by="parent")) == 1
        assert "over" in vault.search("tag:split", syntax="web", include_expired=True, limit=50).ids


def test_a_list_of_tiers_names_the_tier_of_each_and_lets_the_highest_copy_decide():
    with Vault(":memory:", clock=lambda: NOW) as high, filled() as low:
        high.add(id="mail", title="Not of the post any more", domain="done")
        both = Federation({"high": high, "low": low})
        assert [(hit.id, hit.tier) for hit in both.search("domain:post", syntax="web")] == [("letter", "low")]
        assert both.search("domain:post", syntax="web", tiers="low").ids == ["letter", "mail"]
        assert both.search("domain:done", syntax="web")[0].tier == "high"


def test_signs_mean_nothing_unless_they_are_asked_for():
    with filled() as vault:
        for options in ({}, {"syntax": "plain"}):
            found = vault.search('writer -sqlite domain:post "', **options)
            assert set(found.ids) == {"wal", "lock", "queue", "mail", "letter"}
            assert found.understood is None
            assert "understood" not in found.to_dict()


@pytest.mark.parametrize("syntax", ["Web", "", None, 1, ["web"], b"web"])
def test_a_syntax_that_does_not_exist_is_refused(syntax):
    with filled() as vault, pytest.raises(QueryError, match=r"syntax is .*: wanted 'plain' or 'web'"):
        vault.search("writer", syntax=syntax)


def test_many_queries_have_filters_of_their_own(target):
    queries = ["writer -sqlite", "writer +sqlite", 'domain:post "the writer"', "writer", "lightw*"]
    for found, query in zip(target.search_many(queries, syntax="web"), queries):
        one = target.search(query, syntax="web")
        assert (found.ids, found.query, found.understood) == (one.ids, query, one.understood)


def test_memories_and_explanations_know_the_syntax_too(target):
    assert target.recall("writer +lightweight", syntax="web").ids == ["memory"]
    assert target.recall("writer -lightweight", syntax="web").ids == []
    found = target.explain("writer domain:storage -many -foo*", "mail", syntax="web")
    assert not found.found
    assert found.query == "writer domain:storage -many -foo*"
    assert not found.filters["query domain"]
    assert found.filters["must_not"]


def test_words_that_no_entry_holds_are_guessed_at_behind_signs_too():
    with filled() as vault:
        vault.search("warm")
        assert vault.search("wrter -sqlite", syntax="web").notes[0].code == "did_you_mean"
        found = vault.search("wrter -sqlite", syntax="web")
        assert set(found.ids) == {"lock", "mail", "letter"}
        assert found.query == "wrter -sqlite"


PIECES = st.sampled_from(
    ['"', "+", "-", "*", ":", " ", "\u201c", "\t", "\0", "writer", "one writer", "domain:", "tags:", "created:>",
     "2026", "-01", "attrs.", "attrs.a.b:", "severity:", "critical", "\ud800", "\u6771\u4eac\u90fd", "e\u0301", "'",
     "(", "NEAR", "kind:memory", "id:", "<=", "getUserName", "\u0111", "$in"]
)  # fmt: skip


@heavy()
@given(st.text(max_size=40) | st.lists(PIECES, max_size=14).map("".join), st.booleans())
def test_no_query_is_an_error(shared, query, vectors):
    options = {"query_vector": [1.0, 0, 0, 0]} if vectors else {}
    found = shared.search(query, syntax="web", **options)
    assert found.query == query.encode("utf-8", "replace").decode("utf-8")
    assert found.understood["text"] is not None
    assert shared.explain(query, "wal", syntax="web").query == found.query
    assert shared.recall(query, syntax="web").understood == found.understood


@pytest.mark.parametrize("sign", ["+", "-", "", "id:", "-tag:", "attrs.a:"])
@pytest.mark.parametrize("word", ["w{}", '"{}\u6771\u4eac\u90fd\u306e\u56f3\u66f8\u9928\u306f{}"', "\u6771\u4eac{}*"])
def test_very_long_queries_of_many_signs_are_answered(shared, sign, word):
    query = " ".join(sign + word.format(n, n) for n in range(3_000))
    assert shared.search(query, syntax="web", words={"must": [f"m{n}" for n in range(100)]}).query == query


@pytest.fixture(scope="module")
def shared():
    with filled() as vault:
        vault.search("warm")
        yield vault
