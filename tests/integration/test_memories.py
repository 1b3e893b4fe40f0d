"""Memories: remembered, recalled, forgotten; apart from entries until they are asked for."""

import random

import numpy as np
import pytest

from septet import Federation, QueryError, Vault

NOW = 1.7e9


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        yield made


def test_what_is_remembered_is_recalled_and_forgotten(vault):
    kept = vault.remember("Bob owns the billing service", "Since May", ["billing"])
    vault.add(id="entry", title="The billing service")
    found = vault.recall("billing service")
    assert (found.ids, [hit.kind for hit in found]) == ([kept], ["memory"])
    entry = found[0].entry
    assert (entry.title, entry.description, entry.tags) == ("Bob owns the billing service", "Since May", ("billing",))
    assert vault.forget(kept, "nothing") == 1
    assert (vault.recall("billing service").ids, vault.get(kept)) == ([], None)


def test_forget_deletes_no_entry_that_is_no_memory(vault):
    vault.add_many({"id": f"e{i}", "title": f"entry {i}", "kind": ("entry", "memories")[i % 2]} for i in range(4))
    kept = [vault.remember(f"memory {i}", id=f"m{i}") for i in range(3)]
    others = [f"e{i}" for i in range(4)]
    assert vault.forget(*others) == vault.forget(others, dry_run=True) == 0
    assert vault.forget("m0", [*others, *kept, "nobody"], dry_run=True) == 3
    assert vault.forget("m0", ["e0", "nobody", "m0"]) == 1
    assert vault.forget([*others, *kept]) == 2
    assert [entry.id for entry in vault.entries()] == others


@pytest.mark.parametrize("count", [0, 1, 3, 20, 60])
@pytest.mark.parametrize("limit", [1, 3, 100])
def test_recall_returns_as_many_memories_as_it_is_asked_for(vault, count, limit):
    vault.add_many({"id": f"e{i}", "title": "alpha"} for i in range(40))
    for i in range(count):
        vault.remember(f"alpha {i}")
    found = vault.recall("alpha", limit)
    assert len(found) == min(count, limit)
    assert {hit.kind for hit in found} <= {"memory"}
    assert found.ids == vault.recall("alpha", limit=limit).ids == vault.search("alpha", kinds="memory", limit=limit).ids


def test_the_same_text_is_the_same_memory(vault):
    assert vault.remember("A title", details="more", topics=["t"]) == vault.remember("A title", "more", ["t"])
    assert len(vault) == 1


def test_recall_takes_the_options_of_a_search(vault):
    vault.remember("alpha one", id="a", domain="x", attrs={"n": 1})
    vault.remember("alpha two", id="b", domain="y", valid_until=NOW - 1)
    vault.remember("alpha three", id="c", domain="y", severity="critical")
    assert sorted(vault.recall("alpha").ids) == ["a", "c"]
    assert vault.recall("alpha", domain="x").ids == ["a"]
    assert vault.recall("alpha", where={"attrs.n": 1}).ids == ["a"]
    assert sorted(vault.recall("alpha", include_expired=True, domain="y").ids) == ["b", "c"]
    assert {hit.entry for hit in vault.recall("alpha", mode="scan")} == {None}
    assert vault.recall("alpha", profile="seven-signals").profile == "seven-signals"
    with pytest.raises(QueryError):
        vault.recall("alpha", 0)


def test_a_federation_recalls_the_memories_of_every_tier(vault):
    with Vault(":memory:", clock=lambda: NOW) as team:
        own, other = vault.remember("alpha of the agent"), team.remember("alpha of the team")
        vault.remember("alpha agent", id="both")
        team.remember("alpha team", id="both")
        team.add(id="entry", title="alpha")
        with Federation({"agent": vault, "team": team}) as mind:
            found = mind.recall("alpha")
            assert {hit.id: hit.tier for hit in found} == {own: "agent", "both": "agent", other: "team"}
            assert len(mind.recall("alpha", 2)) == 2


# -- what is left out -------------------------------------------------------------------------------------------------


def left_out(results):
    return [note.cause for note in results.notes if note.code == "memories_left_out"]


@pytest.mark.parametrize("matching", [0, 1, 2, 99, 100, 150])
@pytest.mark.parametrize("entries", [0, 1, 40])
def test_a_search_that_leaves_matching_memories_out_says_how_many(vault, matching, entries):
    vault.add_many({"id": f"e{i}", "title": "alpha"} for i in range(entries))
    for i in range(matching):
        vault.remember(f"alpha {i}")
    vault.remember("omega")
    for _ in range(3):  # by FTS5, and from memory
        found = vault.search("alpha beta")
        assert len(found) == (entries if entries < 40 else 40)
        assert [cause.partition(" with")[0] for cause in left_out(found)] == {
            0: [], 1: ["1 memory"], 2: ["2 memories"], 99: ["99 memories"],
        }.get(matching, ["100 or more memories"])  # fmt: skip
        assert not found.degraded
    for asked in (vault.search("alpha", include_memories=True), vault.recall("alpha"), vault.search("beta")):
        assert not left_out(asked)


def test_only_memories_that_the_filters_would_let_through_are_left_out(vault):
    vault.add(id="entry", title="alpha", domain="x")
    vault.remember("alpha", id="old", valid_until=NOW - 1)
    vault.remember("alpha", id="x", domain="x")
    vault.remember("alpha", id="y", domain="y", attrs={"n": 1})
    assert left_out(vault.search("alpha"))[0].startswith("2 memories")
    assert left_out(vault.search("alpha", include_expired=True))[0].startswith("3 memories")
    assert left_out(vault.search("alpha", domain="x"))[0].startswith("1 memory")
    assert left_out(vault.search("alpha", where={"attrs.n": 1}))[0].startswith("1 memory")
    for none in ({"domain": "z"}, {"kinds": "entry"}, {"where": {"kind": "entry"}}):
        assert not left_out(vault.search("alpha", **none))


def test_each_tier_and_each_query_says_what_it_left_out(vault):
    with Vault(":memory:", clock=lambda: NOW) as team:
        vault.remember("alpha")
        team.remember("alpha beta")
        with Federation({"agent": vault, "team": team}) as mind:
            both, one, none = mind.search_many(["alpha", "beta", "omega"])
            assert [note.tier for note in both.notes] == ["agent", "team"]
            assert [note.tier for note in one.notes] == ["team"]
            assert not none.notes


def test_what_becomes_a_memory_is_left_out_and_what_is_none_any_more_is_not(vault):
    vault.add(id="x", title="alpha")
    assert not vault.search("alpha").notes
    vault.update("x", kind="memory")
    assert (vault.search("alpha").ids, len(left_out(vault.search("alpha")))) == ([], 1)
    vault.update("x", kind="entry")
    assert (vault.search("alpha").ids, left_out(vault.search("alpha"))) == (["x"], [])
    vault.update("x", kind="memory")
    vault.forget("x")
    assert not left_out(vault.search("alpha"))


# -- scored like entries ----------------------------------------------------------------------------------------------

WORDS = "billing invoice owner service team ledger refund cache token index".split()


def texts(count, seed):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(3, 9))) for _ in range(count)]


def filled(entries, memories, *, kind="memory", profile="septet"):
    vault = Vault(":memory:", clock=lambda: NOW, profile=profile)
    rng = np.random.default_rng(7)
    for name, many, of in (("e", entries, "entry"), ("m", memories, kind)):
        rows = rng.normal(size=(many, 8))
        vault.add_many(
            {
                "id": f"{name}{i}",
                "title": text,
                "description": text[::-1],
                "tags": [text[:3]],
                "kind": of,
                "vector": row,
            }
            | ({} if i % 3 else {"vector": None})
            for i, (text, row) in enumerate(zip(texts(many, name), rows))
        )
    return vault


def told(results):
    return [(hit.id, hit.score, dict(hit.breakdown), dict(hit.signals)) for hit in results]


@pytest.mark.parametrize("query", ["billing owner", "refund of an invoice", "ledgre", "", "zzz"])
@pytest.mark.parametrize(("entries", "memories"), [(0, 0), (0, 1), (0, 30), (1, 0), (1, 1), (1, 30), (30, 1), (30, 30)])
def test_memories_that_are_asked_for_score_as_if_they_were_entries(query, entries, memories):
    with filled(entries, memories) as vault, filled(entries, memories, kind="note") as twin:
        for options in ({}, {"query_vector": np.ones(8)}, {"boost_tags": ["bil"], "limit": 5}):
            asked = vault.search(query, include_memories=True, **options)
            assert told(asked) == told(twin.search(query, kinds=["entry", "note"], **options))
            assert told(vault.recall(query, **options)) == told(twin.search(query, kinds="note", **options))
            assert told(vault.search(query, where={"kind": "memory"}, **options)) == told(
                vault.recall(query, **options)
            )


@pytest.mark.parametrize("query", ["billing owner", "refund of an invoice", "ledgre"])
@pytest.mark.parametrize("profile", ["septet", "seven-signals", "six-signals"])
@pytest.mark.parametrize("memories", [1, 5, 60])
def test_the_presence_of_memories_changes_no_score_of_an_entry(query, profile, memories):
    with filled(30, memories, profile=profile) as vault, filled(30, 0, profile=profile) as without:
        for _ in range(2):
            for options in ({}, {"query_vector": np.ones(8)}):
                assert told(vault.search(query, **options)) == told(without.search(query, **options))
        vault.optimize(), without.optimize()
        assert told(vault.search(query)) == told(without.search(query))


@pytest.mark.parametrize("profile", ["seven-signals", "six-signals"])
def test_the_documented_profiles_keep_the_fixed_score(profile):
    with filled(5, 5, profile=profile) as vault:
        for options in ({}, {"query_vector": np.ones(8)}):
            found = [
                hit for hit in vault.search("billing owner", include_memories=True, **options) if hit.kind == "memory"
            ]
            assert found
            assert {hit.score for hit in found} == {0.5}
            assert all(hit.breakdown == {"memory": 0.5} for hit in found)


def test_a_profile_of_ones_own_may_fix_the_score_of_memories():
    with filled(5, 5) as vault:
        found = vault.recall("billing owner", profile={"extends": "septet", "memory_score": 0.25})
        assert {hit.score for hit in found} == {0.25}


def test_vectors_alone_find_memories():
    with filled(9, 9) as vault:
        vault.add(id="near", title="zzz", kind="memory", vector=[9, 1, 1, 1, 1, 1, 1, 1])
        asked = {"query_vector": [9, 1, 1, 1, 1, 1, 1, 1], "legs": "vector"}
        assert vault.search("", include_memories=True, **asked).ids[0] == "near"
        assert vault.recall("", **asked).ids[0] == "near"
        assert "near" not in vault.search("", **asked).ids


ASKING = [
    {"kind": "memory"},
    {"kind": {"$eq": "memory"}},
    {"kind": {"$in": ["memory"]}},
    {"$or": [{"kind": "memory"}, {"title": "nothing"}]},
    {"$not": {"kind": {"$ne": "memory"}}},
    {"$and": [{"kind": "memory"}]},
]
NOT_ASKING = [
    {"kind": {"$ne": "memory"}},
    {"$not": {"kind": "memory"}},
    {"$nor": [{"kind": {"$in": ["memory"]}}]},
    {"kind": {"$nin": ["memory"]}},
    {"title": "memory"},
    {"kind": {"$exists": True}},
]


@pytest.mark.parametrize("profile", ["septet", "seven-signals"])
def test_a_filter_that_names_the_kind_memory_asks_for_memories(profile):
    with Vault(":memory:", clock=lambda: NOW, profile=profile) as vault:
        vault.add(id="e", title="alpha")
        vault.remember("alpha", id="m")
        for where in ASKING:
            assert vault.search("alpha", where=where).ids == ["m"], where
        for where in NOT_ASKING:
            assert "m" not in vault.search("alpha", where=where).ids, where
        assert sorted(vault.search("alpha", where={"kind": {"$in": ["memory", "entry"]}}).ids) == ["e", "m"]
        assert vault.search("alpha", where={"kind": "entry"}, include_memories=True).ids == ["e"]
        assert sorted(vault.search("alpha", kinds="entry", include_memories=True).ids) == ["e", "m"]


def test_a_memory_is_explained_like_an_entry():
    with filled(30, 30) as vault:
        for options in ({"include_memories": True}, {"kinds": "memory"}):
            found = vault.search("billing owner", query_vector=np.ones(8), limit=60, **options)
            for rank, hit in enumerate(found, 1):
                why = vault.explain("billing owner", hit.id, query_vector=np.ones(8), limit=60, **options)
                assert (why.found, why.rank, why.score) == (True, rank, hit.score)
                assert (why.breakdown, why.signals) == (hit.breakdown, hit.signals)
                assert [leg.leg for leg in why.legs] == ["text", "vector"]
        texts = vault.search("billing owner", legs="text", include_memories=True, limit=60)
        ranks = [vault.explain("billing owner", i, legs="text", include_memories=True).legs[0].rank for i in texts.ids]
        assert sorted(ranks) == list(range(1, len(texts) + 1))
        assert "include_memories=True" in vault.explain("billing owner", "m1").reason


def test_links_bring_memories_that_are_asked_for(vault):
    vault.add(id="e", title="alpha")
    vault.remember("omega", id="m")
    vault.link("e", "m")
    assert vault.search("alpha").ids == ["e"]
    found = vault.search("alpha", include_memories=True)
    assert (found.ids, found[1].signals["graph_proximity"]) == (["e", "m"], 0.5)


@pytest.mark.parametrize("query", ["हिन्दी", "हिन्दी alpha", "alpha"])
@pytest.mark.parametrize("entries", [0, 1, 30])
@pytest.mark.parametrize("memories", [1, 30])
def test_memories_that_only_fts5_can_rank_stand_among_entries_by_how_well_they_match(query, entries, memories):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many({"id": f"e{i}", "title": f"हिन्दी alpha {i}" if i % 2 else "omega"} for i in range(entries))
        vault.add_many({"id": f"m{i}", "title": f"हिन्दी alpha {i}", "kind": "memory"} for i in range(memories))
        for _ in range(2):
            found = vault.search(query, include_memories=True, limit=100)
            assert sorted(found.ids) == sorted(
                [f"e{i}" for i in range(1, entries, 2)] + [f"m{i}" for i in range(memories)]
            )
            scores = [hit.score for hit in found]
            assert min(scores) > 0.6 * max(scores)
            assert len(vault.recall(query, 100)) == memories


def test_many_entries_are_ranked_with_memories_before_full_text_is_in_memory(tmp_path):
    with Vault(tmp_path / "vault.db", clock=lambda: NOW, sidecar=False) as vault:
        vault.add_many({"id": f"e{i}", "title": text} for i, text in enumerate(texts(5_500, 1)))
        vault.add_many({"id": f"m{i}", "title": text, "kind": "memory"} for i, text in enumerate(texts(20, 2)))
        vault.remember("kumquat billing", id="best")
        first = vault.search("kumquat billing", include_memories=True)
        assert vault._tier.manager.current.postings is None
        vault.optimize()
        later = vault.search("kumquat billing", include_memories=True)
        assert vault._tier.manager.current.postings is not None
        assert first.ids[0] == later.ids[0] == "best"
        # Before, the spelling of words is not compared.
        assert [hit.score for hit in first] == pytest.approx([hit.score for hit in later], abs=0.15)


def test_memories_come_out_of_a_sidecar_as_they_went_in(tmp_path):
    with Vault(tmp_path / "vault.db", clock=lambda: NOW) as vault:
        vault.add_many({"id": f"e{i}", "title": text} for i, text in enumerate(texts(300, 1)))
        vault.add_many({"id": f"m{i}", "title": text, "kind": "memory"} for i, text in enumerate(texts(40, 2)))
        vault.remember("हिन्दी getUserName", id="grams")
        vault.delete("m3", "e3")
        before = [vault.search("billing owner user", include_memories=True), vault.recall("user name billing")]
        vault.optimize()
        now = [vault.search("billing owner user", include_memories=True), vault.recall("user name billing")]
    with Vault(tmp_path / "vault.db", clock=lambda: NOW) as again:
        after = [again.search("billing owner user", include_memories=True), again.recall("user name billing")]
        assert again._tier.manager.restored
        assert list(map(told, before)) == list(map(told, now)) == list(map(told, after))
        assert "grams" in after[1].ids
        again.remember("billing owner user", id="new")
        assert again.recall("billing owner user").ids[0] == "new"


def test_memories_of_several_tiers_are_scored_on_one_scale():
    with filled(30, 3) as agent, filled(3, 30) as team, filled(0, 2) as notes:
        agent.remember("kumquat billing", id="best")
        with Federation({"agent": agent, "team": team, "notes": notes}) as mind:
            found = mind.search("kumquat billing", include_memories=True)
            assert found.ids[0] == "best"
            recalled = mind.recall("kumquat billing", 50)
            assert (recalled.ids[0], {hit.kind for hit in recalled}) == ("best", {"memory"})
            assert all(0 <= hit.score <= 1 for hit in recalled)
            for hit in found:
                assert hit.score == pytest.approx(sum(hit.breakdown.values()))


def test_a_memory_of_a_higher_tier_stands_for_the_entry_of_its_id():
    with Vault(":memory:", clock=lambda: NOW) as agent, Vault(":memory:", clock=lambda: NOW) as team:
        agent.remember("omega", id="x")
        team.add(id="x", title="alpha")
        team.add(id="y", title="alpha")
        with Federation({"agent": agent, "team": team}) as mind:
            assert mind.search("alpha").ids == ["y"]
            found = mind.search("alpha", include_memories=True)
            assert {hit.id: hit.tier for hit in found} == {"y": "team", "x": "agent"}


def test_postings_that_a_search_built_are_not_replaced_by_those_that_the_background_built(tmp_path):
    with Vault(tmp_path / "vault.db", clock=lambda: NOW, sidecar=False) as vault:
        vault.add(id="e", title="alpha")
        vault.remember("alpha", id="m")
        manager = vault._tier.manager
        vault.search("alpha")
        with manager._lock.hold():
            step = manager._task("build", vault._store)
        assert step()
        assert vault.recall("alpha").ids == ["m"]
        while step():
            pass
        vault.add(id="new", title="alpha")
        assert sorted(vault.search("alpha", include_memories=True).ids) == ["e", "m", "new"]
        assert not manager.mistrusted
