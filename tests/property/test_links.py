"""Links in memory: the walk of SQL, through every change, and a hub of which only the newest links are walked."""

import random
from contextlib import closing

import numpy as np
import pytest

from link_distances import distances
from septet import Federation, Vault, _core
from septet.sqlite.tables import links
from septet.sqlite.tier.additions import near
from septet.sqlite.tier.read_view import open_read_view

NOW = 1_760_000_000.0
WORDS = "alpha beta gamma delta".split()
ENTRIES = 40


def entry(rng, number):
    return {
        "id": f"e{number}",
        "title": " ".join(rng.choices(WORDS, k=3)),
        "kind": rng.choice(["entry", "entry", "memory"]),
        "valid_until": rng.choice([None, None, NOW - 1]),
        "created_at": 1.0,
    }


def change(rng, vault):
    """Link, unlink, write again, delete or purge."""
    there = [e.id for e in vault.load(f"e{i}" for i in range(ENTRIES))]
    pairs = [(link.source, link.target) for one in there for link in vault.links(one)]
    what = rng.choice(["link", "link", "unlink", "write", "delete", "purge"])
    if what == "link" and len(there) > 1:
        vault.link_many(tuple(rng.sample(there, 2)) for _ in range(rng.choice([1, 3, 12])))
    elif what == "unlink" and pairs:
        vault.unlink(*rng.choice(pairs))
    elif what == "write":
        vault.add(**entry(rng, rng.randrange(ENTRIES)))
    elif what == "delete":
        vault.delete([f"e{rng.randrange(ENTRIES)}"])
    elif what == "purge":
        vault.purge()


def slow_walk(neighbours, anchors, depth, most):
    """Steps to everything near, walking to the first neighbours of each entry."""
    steps = {}
    for anchor in anchors:
        seen, frontier = {anchor}, [anchor]
        for step in range(1, depth + 1):
            frontier = [n for of in frontier for n in neighbours(of)[:most] if not (n in seen or seen.add(n))]
            for found in frontier:
                steps[found] = min(step, steps.get(found, step))
    return steps


def assert_walks_equal(rng, vault):
    """Compare walks in memory with those of SQL, and bounded ones with a slow reading of the same links."""
    with closing(open_read_view(vault._store, vault._tier.manager, vault._plan("alpha", {}))) as view:
        rows = dict(view.read.sql.execute("SELECT id, row FROM entries WHERE live"))
        held = view.links()
        listed = {}
        for source, target, age in links.row_links(view.read):
            for of, end in ((source, target), (target, source)):
                listed.setdefault(of, {})
                listed[of][end] = max(age, listed[of].get(end, 0))
        ordered = {of: sorted(ends, key=lambda end, e=ends: (-e[end], end)) for of, ends in listed.items()}
        for depth in (0, 1, 2, 3):
            anchors = rng.sample(sorted(rows), min(len(rows), rng.randrange(4)))
            known = np.array([rows[i] for i in sorted(rows)], dtype=np.int64)
            own = np.array([rows[i] for i in anchors], dtype=np.int64)
            steps, others, _ = held.near(own, known, depth, None)
            assert not len(others)
            wanted = distances(view.read, anchors, depth)
            assert dict(zip(sorted(rows), steps.tolist())) == {i: wanted.get(i, 0) for i in sorted(rows)}
            for most in (0, 1, 2, 5):
                none, found, steps = held.near(own, known[:0], depth, most)
                slow = slow_walk(lambda of: ordered.get(of, []), own.tolist(), depth, most)
                assert dict(zip(found.tolist(), steps.tolist())) == slow
                assert steps.tolist() == sorted(steps.tolist())
                assert not len(none)


@pytest.mark.parametrize("seed", range(5))
def test_memory_walks_the_links_that_sqlite_holds_through_every_change(seed):
    rng = random.Random(seed)
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many(entry(rng, i) for i in range(ENTRIES))
        for _ in range(20):
            assert_walks_equal(rng, vault)
            change(rng, vault)


@pytest.mark.parametrize("seed", range(3))
def test_links_of_another_writer_and_of_a_sidecar_are_walked(tmp_path, seed):
    rng = random.Random(seed)
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as vault:
        vault.add_many(entry(rng, i) for i in range(ENTRIES))
        for _ in range(20):
            change(rng, vault)
        assert_walks_equal(rng, vault)
        vault.optimize()
        with Vault(tmp_path / "v.db", clock=lambda: NOW) as other:
            for step in range(12):
                change(rng, other)
                assert_walks_equal(rng, vault)
                assert_walks_equal(rng, other)
                assert step or other._tier.manager.restored or vault._tier.manager.current.links is not None


def test_a_sidecar_holds_the_links(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{i}", "title": "alpha"} for i in range(20))
        vault.link_many((f"e{i}", f"e{i + 1}") for i in range(19))
        vault.search("alpha")
        vault.optimize()
    with Vault(tmp_path / "v.db") as vault:
        vault.search("alpha")
        assert vault._tier.manager.restored
        assert len(vault._tier.manager.current.links.columns()[0]) == 20


@pytest.mark.parametrize("links_more", [1, 500, 3_000])
def test_many_changes_are_merged_and_keep_the_order(links_more):
    base = _core.Links(np.arange(1, 4_000), np.zeros(3_999, dtype=np.int64), np.ones(3_999, dtype=np.int64))
    new = np.arange(5_000, 5_000 + links_more)
    there = np.ones(links_more, dtype=bool)
    moved = base.moved(new, np.zeros(links_more, dtype=np.int64), np.full(links_more, 2), there)
    _, found, _ = moved.near(np.array([0]), np.array([], dtype=np.int64), 1, links_more + 2)
    assert found.tolist() == [*new.tolist(), 1, 2]
    back = moved.moved(new, np.zeros(links_more, dtype=np.int64), np.full(links_more, 3), ~there)
    assert back.near(np.array([0]), np.array([], dtype=np.int64), 1, 3)[1].tolist() == [1, 2, 3]


@pytest.fixture(scope="module")
def star():
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="hub", title="hub")
        kinds = ["entry", "memory"]
        vault.add_many(
            {
                "id": f"leaf{i}",
                "title": "kumquat" if i == 77 else "quince",
                "domain": f"d{i % 300}",
                "kind": kinds[i % 7 == 3],
            }
            for i in range(2_000)
        )
        for first in range(0, 2_000, 500):
            vault.link_many((f"leaf{i}", "hub") for i in range(first, first + 500))
        yield vault


def near_of(vault, query, **options):
    found = vault.search(query, limit=300, **options)
    return {hit.id: hit.signals["graph_proximity"] for hit in found if hit.signals["graph_proximity"]}


def test_of_a_hub_the_five_neighbours_linked_last_are_walked_to(star):
    # Of those stored together, the first ones; leaf1501 is a memory, which no search without memories returns.
    newest = [f"leaf{i}" for i in range(1_500, 1_505) if i % 7 != 3]
    assert near_of(star, "kumquat") == {"hub": 1 / 2, **dict.fromkeys(newest, 1 / 3)}
    assert near_of(star, "hub") == dict.fromkeys(newest, 1 / 2)


def test_a_link_that_is_stored_again_is_the_newest(star):
    star.link("leaf9", "hub", "again")
    newest = ["leaf9", *(f"leaf{i}" for i in range(1_500, 1_504) if i % 7 != 3)]
    assert near_of(star, "hub") == dict.fromkeys(newest, 1 / 2)
    star.unlink("leaf9", "hub")
    assert "leaf9" not in near_of(star, "hub")


@pytest.mark.parametrize("most", [0, 1, 3, 50, None])
def test_a_profile_says_how_many(star, most):
    found = near_of(star, "hub", profile={"extends": "septet", "graph": {"most_links": most, "most_pulled": 80}})
    # One in seven is a memory.
    assert len(found) == {0: 0, 1: 1, 3: 2, 50: 43, None: 80}[most]


def test_the_documented_profile_walks_to_all_of_them_and_a_filter_never_starves_it(star):
    found = near_of(star, "hub", profile="seven-signals")
    assert len(found) == 100
    assert set(near_of(star, "hub", profile="seven-signals", where={"domain": {"$in": ["d7", "hub", "general"]}})) <= {
        f"leaf{i}" for i in range(7, 2_000, 300)
    }
    assert near_of(star, "kumquat", profile="seven-signals", where={"id": {"$in": ["leaf77", "leaf7"]}}) == {
        "leaf7": pytest.approx(1 / 3)
    }


def test_tiers_with_the_same_entries_walk_their_own_links():
    with Vault(":memory:") as one, Vault(":memory:") as other:
        for vault in (one, other):
            vault.add_many({"id": i, "title": "kumquat" if i == "anchor" else "else"} for i in ("anchor", "x", "far"))
        one.link("anchor", "x")
        other.link_many([("anchor", "far"), ("far", "x")])
        with Federation({"agent": one, "team": other}) as federation:
            assert near_of(federation, "kumquat") == {"x": 1 / 2, "far": 1 / 2}
            assert {hit.tier for hit in federation.search("kumquat")} == {"agent"}


def test_an_anchor_that_the_walk_does_not_know_is_near_nothing(star):
    with closing(open_read_view(star._store, star._tier.manager, star._plan("alpha", {}))) as view:
        steps, slots, more = near(view, [-1, 10**9], [-1, 10**9])
    assert (steps, len(slots), more) == ([0, 0], 0, [])
