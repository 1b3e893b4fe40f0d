"""An entry is valid from ``valid_from`` on and until just before ``valid_until``, however a search finds it."""

import math

import pytest

from septet import Federation, Vault

NOW = 1_700_000_000.0
JUST_BEFORE, JUST_AFTER = math.nextafter(NOW, -math.inf), math.nextafter(NOW, math.inf)
LONG_AGO, LATER = NOW - 1_000, NOW + 1_000
RAW = {
    "name": "raw",
    "signals": {"words": {"col": "bm25"}, "cosine": {"col": "cosine"}},
    "weights": {"text": {"words": 1.0, "cosine": 0.0}, "hybrid": {"words": 0.5, "cosine": 0.5}},
}


def vault_of(*entries, now=NOW, **options):
    vault = Vault(":memory:", clock=lambda: now, **options)
    vault.add_many({"created_at": 1.0, "updated_at": 1.0, **entry} for entry in entries)
    return vault


def by_fts5(**window):
    # The first search of a vault has no postings in memory.
    with vault_of({"id": "k", "title": "kumquat", **window}, {"id": "o", "title": "kumquat pie"}) as vault:
        return vault.search("kumquat").ids


def in_memory(**window):
    with vault_of({"id": "k", "title": "kumquat", **window}, {"id": "o", "title": "kumquat pie"}) as vault:
        vault.optimize()
        return vault.search("kumquat").ids


def by_vector(**window):
    near = {"id": "k", "title": "kumquat", "vector": [1.0, 0.0], **window}
    with vault_of(near, {"id": "o", "title": "other", "vector": [0.0, 1.0]}) as vault:
        return vault.search("nothing", query_vector=[1.0, 0.0]).ids


def filtered(**window):
    near = {"id": "k", "title": "kumquat", "vector": [1.0, 0.0], "domain": "fruit", **window}
    with vault_of(near, {"id": "o", "title": "kumquat", "vector": [0.0, 1.0], "domain": "fruit"}) as vault:
        vault.optimize()
        return vault.search("kumquat", query_vector=[1.0, 0.0], where={"domain": "fruit"}).ids


def by_link(**window):
    with vault_of({"id": "a", "title": "anchor"}, {"id": "k", "title": "kumquat", **window}) as vault:
        vault.link("a", "k")
        return vault.search("anchor").ids


def as_a_memory(**window):
    with vault_of({"id": "k", "title": "kumquat", "kind": "memory", **window}) as vault:
        return vault.search("kumquat", include_memories=True).ids


def over_a_lower_copy(**window):
    with (
        vault_of({"id": "k", "title": "kumquat", **window}) as higher,
        vault_of({"id": "o", "title": "kumquat pie"}) as lower,
        Federation({"agent": higher, "team": lower}, clock=lambda: NOW) as both,
    ):
        return both.search("kumquat").ids


def explained(**window):
    with vault_of({"id": "k", "title": "kumquat", **window}) as vault:
        return ["k"] if vault.explain("kumquat", "k").found else []


ROADS = [by_fts5, in_memory, by_vector, filtered, by_link, as_a_memory, over_a_lower_copy, explained]
every_road = pytest.mark.parametrize("road", ROADS, ids=lambda r: r.__name__)


@every_road
def test_an_entry_that_expires_at_this_very_second_is_not_found(road):
    assert "k" not in road(valid_until=NOW)
    assert "k" not in road(valid_until=JUST_BEFORE)


@every_road
def test_an_entry_that_expires_in_the_next_instant_is_found(road):
    assert "k" in road(valid_until=JUST_AFTER)


@every_road
def test_an_entry_valid_from_this_very_second_is_found(road):
    assert "k" in road(valid_from=NOW)
    assert "k" in road(valid_from=JUST_BEFORE)


@every_road
def test_an_entry_valid_from_the_next_instant_is_not_found(road):
    assert "k" not in road(valid_from=JUST_AFTER)


@every_road
def test_both_ends_of_a_window_count(road):
    assert "k" in road(valid_from=NOW, valid_until=JUST_AFTER)
    assert "k" not in road(valid_from=LONG_AGO, valid_until=NOW)
    assert "k" not in road(valid_from=JUST_AFTER, valid_until=LATER)


def test_expired_entries_are_found_when_they_are_asked_for():
    windows = [{"valid_until": NOW}, {"valid_from": JUST_AFTER}, {"valid_from": LONG_AGO, "valid_until": LONG_AGO + 1}]
    with vault_of(*({"id": f"k{i}", "title": "kumquat", **w} for i, w in enumerate(windows))) as vault:
        for _ in range(2):
            assert vault.search("kumquat").ids == []
            assert sorted(vault.search("kumquat", include_expired=True).ids) == ["k0", "k1", "k2"]
            vault.optimize()


COUNT = 24
SHARES = [0, 1, 2, COUNT // 2, COUNT - 2, COUNT - 1, COUNT]


@pytest.mark.parametrize("kind", ["expired", "not yet valid", "within its window"])
@pytest.mark.parametrize("bounded", SHARES)
@pytest.mark.parametrize("postings", [False, True])
def test_of_any_share_of_entries_with_a_window_those_that_are_valid_come_back(bounded, kind, postings):
    window = {
        "expired": {"valid_until": NOW},
        "not yet valid": {"valid_from": JUST_AFTER},
        "within its window": {"valid_from": NOW, "valid_until": JUST_AFTER},
    }[kind]
    entries = [
        {"id": f"e{i:02d}", "title": f"kumquat {i}", "vector": [1.0, i / 10], **(window if i < bounded else {})}
        for i in range(COUNT)
    ]
    valid = [e["id"] for i, e in enumerate(entries) if i >= bounded or kind == "within its window"]
    with vault_of(*entries, profile=RAW) as vault:
        if postings:
            vault.optimize()
        assert sorted(vault.search("kumquat", limit=99).ids) == valid
        # By cosine the first entry is the nearest.
        assert vault.search("", query_vector=[1.0, 0.0], limit=99).ids == valid
        assert vault.search("", query_vector=[1.0, 0.0], limit=3).ids == valid[:3]


EDGES = [NOW, NOW + 10, NOW + 20]
MOMENTS = sorted(t for e in EDGES for t in (e - 5, math.nextafter(e, -math.inf), e, math.nextafter(e, math.inf), e + 4))


def growing_vault(clock):
    """Entries whose validity begins or ends at the edges: each changes in how many entries `kumquat` stands."""
    vault = Vault(":memory:", clock=clock, profile="seven-signals")
    common = {"created_at": 1.0, "updated_at": 1.0}
    vault.add(id="hit", title="kumquat marmalade jam", **common)
    for i in range(6):
        vault.add(id=f"o{i}", title=f"marmalade number {i}", **common)
    vault.add(id="from0", title="kumquat one", valid_from=EDGES[0], **common)
    vault.add(id="until1", title="kumquat two", valid_until=EDGES[1], **common)
    for i in range(2):
        vault.add(id=f"within{i}", title=f"kumquat {i}", valid_from=EDGES[1], valid_until=EDGES[2], **common)
    return vault


def told_at(moment):
    with growing_vault(lambda: moment) as vault:
        return signals(vault)


def signals(vault):
    return {hit.id: hit.signals["semantic"] for hit in vault.search("kumquat marmalade", limit=50)}


ORDERS = {
    "forwards": MOMENTS,
    "backwards": MOMENTS[::-1],
    "to and fro": [m for pair in zip(MOMENTS, MOMENTS[::-1]) for m in pair],
    "each twice": [m for m in MOMENTS for _ in range(2)],
}


@pytest.mark.parametrize("order", list(ORDERS.values()), ids=list(ORDERS))
def test_document_frequencies_change_at_the_edge_of_a_validity_window_neither_before_nor_after(order):
    now = order[0]
    with growing_vault(lambda: now) as vault:
        for moment in order:
            now = moment
            assert signals(vault) == told_at(moment), f"at {moment - NOW:+}"


@pytest.mark.parametrize("edge", EDGES)
def test_a_window_changes_scores_at_its_edge_and_nowhere_else(edge):
    before = [told_at(t)["hit"] for t in (edge - 5, math.nextafter(edge, -math.inf))]
    after = [told_at(t)["hit"] for t in (edge, math.nextafter(edge, math.inf), edge + 4)]
    assert len(set(before)) == len(set(after)) == 1
    assert before[0] != after[0]
