"""Facets of results: how many of everything that matches has each value, whatever is returned."""

import json
from collections import Counter
from datetime import datetime, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Federation, QueryError, SeptetError, Vault
from septet.sqlite.tier.tier import LocalSession

NOW = 1_767_312_000.0
WORDS = ("duck", "goose", "pond", "getUserName", "\u6771\u4eac", "the")
FIELDS = ["domain", "type", "severity", "kind", "tags", "source", "trust", "parent", "path", "attrs.team", "created_at"]


def values(entry, field):
    """What an entry counts for: the slow twin."""
    if field == "tags":
        return set(entry.tags)
    if field == "attrs.team":
        return {entry.attrs["team"]} if "team" in entry.attrs else set()
    if field == "created_at":
        return {datetime.fromtimestamp(entry.created_at, timezone.utc).strftime("%Y-%m-%d")}
    if field == "path":
        return {entry.span.path} if entry.span else set()
    value = getattr(entry, field)
    return set() if value is None else {value}


def fill(vault, n, *, seed=1, start=0, vectors=0.0):
    rng = np.random.default_rng(seed)
    for i in range(start, start + n):
        words = rng.choice(WORDS, size=3)
        vault.add(
            id=f"e{i}", title=" ".join(words), domain=f"d{i % 3}", type=("rule", "note")[i % 2],
            severity=("critical", "warning", "suggestion")[i % 3], tags=[f"t{k}" for k in range(i % 4)],
            source="mail" if i % 5 == 0 else None, span={"path": f"{i % 2}.md", "first_line": 1, "last_line": 2},
            attrs={"team": i % 2} if i % 3 else {}, created_at=NOW - 86_400.0 * (i % 4),
            valid_until=NOW - 1 if i % 7 == 6 else None,
            **({"vector": rng.normal(size=4)} if rng.random() < vectors else {}),
        )  # fmt: skip
    return vault


def expected(target, results, field):
    return Counter(value for hit in results for value in values(target.get(hit.id), field))


def check(target, query, **options):
    every = target.search(query, limit=10_000, **options)
    found = target.search(query, limit=2, facets=FIELDS, **options)
    assert list(found.facets) == FIELDS
    assert found.total == every.total == len(every)
    for field, facets in found.facets.items():
        assert dict(facets) == expected(target, every, field), field
        assert facets.field == field
        assert facets.total == found.total
        assert facets.missing == sum(not values(target.get(hit.id), field) for hit in every)
    plain = target.search(query, limit=2, **options)
    assert (found.ids, plain.facets) == (plain.ids, {})


@heavy()
@given(
    st.integers(0, 40),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.sampled_from([{}, {"domain": "d1"}, {"where": {"tags": "t1"}}, {"words": {"must": "duck"}},
                     {"include_expired": True}, {"words": {"must_not": "pond"}}, {"kinds": "memory"},
                     {"include_memories": True}, {"words": {"prefix": "go"}}]),
)  # fmt: skip
def test_facets_count_everything_that_matches(n, words, options):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        fill(vault, n)
        vault.remember("a duck in memory", topics=["t1"], id="m")
        check(vault, " ".join(words), **options)
        vault.add(id="later", title="one more duck", domain="new")
        vault.delete("e1")
        check(vault, " ".join(words), **options)


def test_facets_are_the_same_where_sqlite_ranks(monkeypatch):
    monkeypatch.setattr("septet.sqlite.snapshot.manager.SnapshotManager.schedule", lambda *_: None)
    monkeypatch.setattr("septet.sqlite.snapshot.manager.SnapshotManager._builds", lambda *_: False)
    with Vault(":memory:", clock=lambda: NOW) as vault:
        fill(vault, 30)
        vault.remember("a duck in memory", topics=["t1"], id="m")
        for options in ({}, {"domain": "d1"}, {"include_memories": True}):
            check(vault, "duck getUserName", **options)


def test_memories_that_have_a_fixed_score_count_too():
    with fill(Vault(":memory:", clock=lambda: NOW), 10) as vault:
        vault.remember("a duck in memory", topics=["fresh"], id="m")
        found = vault.search("duck", profile="seven-signals", include_memories=True, facets="kind", limit=1)
        assert found.facets["kind"]["memory"] == 1
        assert found.facets["kind"].total == found.total


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_where_vectors_alone_are_compared_everything_that_passes_the_filters_counts(share):
    with fill(Vault(":memory:", clock=lambda: NOW), 20, vectors=share) as vault:
        options = {"query_vector": [1.0, 0, 0, 0], "where": {"domain": "d1"}, "facets": "domain"}
        passing = vault.count({"domain": "d1"}, as_of=NOW)
        for query, more in (("", {}), ("duck", {"legs": "vector"})):
            found = vault.search(query, **options, **more)
            assert found.total is None
            assert dict(found.facets["domain"]) == ({"d1": passing} if share else {})
        # A word that is searched for decides, whatever vectors find beside.
        hybrid = vault.search("duck", **options)
        assert hybrid.facets["domain"].total == hybrid.total == vault.search("duck", domain="d1").total


def test_a_query_that_nothing_answers_has_facets_without_values():
    with fill(Vault(":memory:", clock=lambda: NOW), 5) as vault:
        for query in ("", "absent", "?"):
            found = vault.search(query, facets=["domain", "tags"], typos=False)
            assert {name: (dict(one), one.total) for name, one in found.facets.items()} == {
                "domain": ({}, 0), "tags": ({}, 0),
            }  # fmt: skip


def test_a_federation_adds_up_what_its_tiers_counted_as_the_total_does():
    with Vault(":memory:", clock=lambda: NOW) as high, Vault(":memory:", clock=lambda: NOW) as low:
        fill(high, 12, seed=2, start=6)
        fill(low, 12)
        both = Federation({"high": high, "low": low})
        found = both.search("duck goose", facets=FIELDS)
        parts = [vault.search("duck goose", facets=FIELDS) for vault in (high, low)]
        assert found.total == sum(part.total for part in parts)
        for field in FIELDS:
            added = sum((Counter(dict(part.facets[field])) for part in parts), Counter())
            assert dict(found.facets[field]) == added
            assert found.facets[field].total == found.total
        alone = both.search("duck goose", facets=FIELDS, tiers="low")
        assert alone.facets == parts[1].facets


def test_a_tier_that_cannot_count_is_a_note(monkeypatch):
    def failing(*_):
        raise SeptetError("the disk is gone")

    with fill(Vault(":memory:", clock=lambda: NOW), 5) as vault:
        monkeypatch.setattr(LocalSession, "facets", failing)
        found = vault.search("duck goose pond", facets="domain")
        assert found.hits
        assert dict(found.facets["domain"]) == {}
        assert [note.code for note in found.notes] == ["tier_failed"]


def test_many_searches_pages_groups_and_corrected_words_have_facets_too():
    with fill(Vault(":memory:", clock=lambda: NOW), 30) as vault:
        one = vault.search("duck", facets="domain").facets
        many = vault.search_many(["duck", "absent"], facets="domain", typos=False)
        assert [dict(found.facets["domain"]) for found in many] == [dict(one["domain"]), {}]
        assert vault.search("duck", facets="domain", limit=2, offset=2).facets == one
        assert vault.search("duck", facets="domain", group_by="parent").facets == one
        assert vault.search("duck", facets="domain", diversity=0.5, limit=2).facets == one
        assert vault.search("duck", facets="domain", timeout_s=60).facets == one
        assert vault.search("+duck", facets="domain", syntax="web").facets == one
        assert vault.search("duckk", facets="domain").facets == one
        assert vault.recall("duck", facets="domain").facets["domain"].total == 0


def test_times_are_gathered_by_day_month_or_year():
    with fill(Vault(":memory:", clock=lambda: NOW), 4) as vault:
        for by, made in ((None, "2026-01-02"), ("day", "2026-01-02"), ("month", "2026-01"), ("year", "2026")):
            asked = "created_at" if by is None else ("created_at", by)
            for facets in (asked, [asked]):
                found = vault.search(" ".join(WORDS), facets=facets).facets["created_at"]
                assert made in found
                assert found.total == 4


def test_fields_are_named_in_a_list_a_tuple_or_alone():
    with fill(Vault(":memory:", clock=lambda: NOW), 4) as vault:
        for facets in (["domain", "tags"], ("domain", "tags"), iter(["domain", "tags"])):
            assert list(vault.search("duck", facets=facets).facets) == ["domain", "tags"]
        assert list(vault.search("duck", facets="domain").facets) == ["domain"]


def test_facets_are_of_the_state_that_was_searched(tmp_path, monkeypatch):
    real = LocalSession.facets
    with fill(Vault(tmp_path / "vault.db", clock=lambda: NOW), 20) as vault:
        before = vault.search("duck", facets=FIELDS)

        def late(session, query, asked):
            vault.add(title=f"one more duck {vault.count()}", domain="new")
            # The listing moves on to the state behind the write.
            vault.facets("domain")
            return real(session, query, asked)

        monkeypatch.setattr(LocalSession, "facets", late)
        for written in range(2):
            found = vault.search("duck", facets=FIELDS)
            assert found.total == before.total + written
            assert found.facets["domain"].total == found.total
            assert found.facets["domain"].get("new", 0) == written
        monkeypatch.undo()
        assert vault.search("duck", facets="domain").facets["domain"]["new"] == 2
        assert vault.facets("domain")["new"] == 2


def test_facets_are_part_of_the_dict_where_they_are_asked_for():
    with fill(Vault(":memory:", clock=lambda: NOW), 5) as vault:
        told = vault.search("duck goose pond", facets=["domain", ("created_at", "year")]).to_dict()
        json.dumps(told)
        assert [one["field"] for one in told["facets"].values()] == ["domain", "created_at"]
        assert "facets" not in vault.search("duck").to_dict()


@pytest.mark.parametrize(
    "facets",
    ["title", "", [], ["domain", "domain"], [("domain", "day")], [("created_at", "week")], [("created_at",)], 1,
     {"domain": 1}, ["domain"] * 17, [f"attrs.{n}" for n in range(17)], [None], "attrs.", ("created_at", "day", "x")],
)  # fmt: skip
def test_facets_that_do_not_exist_are_refused(facets):
    with Vault(":memory:") as vault, pytest.raises(QueryError):
        vault.search("duck", facets=facets)
