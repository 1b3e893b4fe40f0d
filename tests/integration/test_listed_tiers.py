"""Reading a federation without a query: each id once, the copy of the highest tier, stable pages."""

import numpy as np
import pytest

from septet import Federation, QueryError, StoreError, TierError, Vault, VectorError

NOW = 1_700_000_000.0


def fill(vault, count, **fields):
    vault.add_many({"id": f"{n:03}", "title": f"entry {n}", "created_at": n % 7, **fields} for n in range(count))


def pages(source, **asked):
    """The ids of each page."""
    after, found = None, []
    while True:
        page = source.entries(after=after, **asked)
        found.append(page.ids)
        after = page.next
        if after is None:
            return found


@pytest.fixture
def tiers(tmp_path):
    with Vault(tmp_path / "low.db", clock=lambda: NOW) as low, Vault(tmp_path / "high.db", clock=lambda: NOW) as high:
        yield low, high, Federation({"team": low, "agent": high})


def test_a_federation_counts_and_lists_each_id_once(tiers):
    low, high, both = tiers
    fill(low, 10, domain="low")
    fill(high, 4, domain="high")
    assert len(both) == both.count() == len(list(both)) == 10
    assert dict(both.facets("domain")) == {"low": 6, "high": 4}
    # The higher copy decides, also when it does not pass.
    assert both.count({"domain": "low"}) == 6
    assert both.tier("team").count({"domain": "low"}) == 10
    assert sorted(i for page in pages(both, limit=3) for i in page) == [f"{n:03}" for n in range(10)]
    assert "003" in both and "x" not in both
    assert both.load(["003", "x", "009"])[0].domain == "high"
    assert both.tier("team").load(["003"])[0].domain == "low"
    assert both.tier("team").get("003").domain == "low"
    with pytest.raises(TierError, match="available: 'team', 'agent'"):
        both.tier("nobody").entries()


def test_a_higher_copy_that_is_not_valid_then_hides_nothing(tiers):
    low, high, both = tiers
    low.add(id="a", title="low")
    high.add(id="a", title="high", valid_until=NOW - 10)
    assert [e.title for e in both.entries()] == ["high"]
    assert [e.title for e in both.entries(as_of=NOW)] == ["low"]
    assert [e.title for e in both.entries(as_of=NOW - 20)] == ["high"]
    assert both.count({"title": "low"}, as_of=NOW) == 1


def test_pages_of_a_federation_are_stable_while_its_tiers_are_written(tiers):
    low, high, both = tiers
    fill(low, 30)
    high.add_many({"id": f"{n:03}", "title": "high", "created_at": n % 7} for n in range(0, 30, 3))
    wanted = both.entries(limit=None).ids
    found, after = [], None
    while True:
        page = both.entries(limit=4, after=after)
        found += page.ids
        after = page.next
        if after is None:
            break
        low.add(id=f"0{len(found)}x", title="new", created_at=-1)
        high.delete(page.ids[0])
        low.delete(page.ids[0])
    assert found == wanted


def test_a_tier_that_fails_is_skipped_unless_all_fail(tiers):
    low, high, both = tiers
    fill(low, 5)
    fill(high, 2)
    high.close()
    assert both.count() == len(both.entries()) == len(list(both)) == 5
    low.close()
    for ask in (both.count, both.entries, lambda: list(both)):
        with pytest.raises(StoreError):
            ask()


def test_a_federation_without_tiers_is_empty_and_true():
    empty = Federation({})
    assert len(empty) == 0 and list(empty) == [] and bool(empty)
    assert len(empty.entries()) == 0
    assert "a" not in empty


def test_vectors_of_a_federation_are_those_of_the_highest_copy(tiers):
    low, high, both = tiers
    low.add(id="a", title="a", vector=[1, 2])
    low.add(id="b", title="b", vector=[3, 4])
    high.add(id="b", title="b")
    found = both.vectors(["a", "b", "c"])
    assert found[0].tolist() == [1, 2]
    assert np.isnan(found[1:]).all()
    assert both.tier("team").vectors(["b"]).tolist() == [[3, 4]]
    high.add(id="c", title="c", vector=[5, 6])
    assert both.vectors("c").tolist() == [[5, 6]]
    with pytest.raises(VectorError, match="'given'"):
        both.vectors(["a"], "other")


def test_links_of_all_tiers_are_seen_and_those_of_the_highest_count(tiers):
    low, high, both = tiers
    for vault in tiers[:2]:
        fill(vault, 3)
    low.link("000", "001", "old")
    high.link("000", "001", "new")
    low.link("002", "000", "supports")
    assert [(link.source, link.target, link.type) for link in both.links("000")] == [
        ("000", "001", "new"),
        ("002", "000", "supports"),
    ]
    assert [link.type for link in both.tier("team").links("000")] == ["old", "supports"]


def test_figures_of_a_federation_count_each_id_once(tiers):
    low, high, both = tiers
    fill(low, 5)
    high.add(id="000", title="x", vector=[1, 2])
    high.remember("a memory", id="m")
    low.feedback("query", "000", "accepted")
    stats = both.stats()
    assert (stats.entries, dict(stats.kinds), dict(stats.feedback)) == (6, {"entry": 5, "memory": 1}, {"accepted": 1})
    assert [(s.model, s.dimensions, s.entries) for s in stats.spaces] == [("given", 2, 1)]
    assert list(stats.tiers) == ["agent", "team"]
    assert stats.tiers["team"] == low.stats() == both.tier("team").stats()
    assert stats.size_bytes == low.stats().size_bytes + high.stats().size_bytes
    assert stats.to_dict()["tiers"]["team"]["entries"] == 5
    assert "tiers" not in low.stats().to_dict()


def answers(results):
    return [(hit.id, hit.tier, hit.score) for hit in results]


@pytest.fixture
def three(tiers):
    low, high, both = tiers
    fill(low, 5)
    high.add(id="000", title="entry, but another copy", vector=[1, 0])
    low.add(id="near", title="entry of vectors", vector=[1, 1])
    with Vault(":memory:", clock=lambda: NOW) as third:
        third.add(id="third", title="third entry")
        both.connect("other", third, 0.1)
        yield both


@pytest.mark.parametrize("names", [("team",), ("agent", "team"), ("other", "team"), ("agent", "team", "other")])
def test_tiers_that_are_not_named_are_as_if_they_were_not_there(three, names):
    some = Federation({name: vault for name, (vault, _) in three._vaults.items() if name in names}, clock=lambda: NOW)
    asked = {"query_vector": [1, 0.5], "limit": 20}
    wanted = answers(some.search("entry", **asked))
    assert wanted and {tier for _, tier, _ in wanted} == {*names}
    found = three.search("entry", tiers=names, **asked)
    assert answers(found) == wanted
    assert {report.name for report in found.tiers} == {*names}
    many = three.search_many(["entry", "third"], query_vectors=[[1, 0.5], None], tiers=[*names], limit=20)
    assert answers(many[0]) == wanted
    assert three.recall("entry", tiers={*names}).ids == []
    one = wanted[0][0]
    assert three.explain("entry", one, tiers=names, **asked).rank == some.explain("entry", one, **asked).rank


def test_one_tier_may_be_named_as_text_and_a_vault_is_one(three):
    assert answers(three.search("entry", tiers="other")) == answers(three.search("entry", tiers=["other"]))
    vault = three._vaults["team"][0]
    assert answers(vault.search("entry", tiers="vault")) == answers(vault.search("entry"))
    with pytest.raises(TierError, match="no tier 'team'; available: 'vault'"):
        vault.search("entry", tiers=["team"])


def test_tiers_that_do_not_exist_and_none_are_refused(three):
    for ask in (
        three.search,
        lambda *a, **o: three.search_many([*a], **o),
        lambda q, **o: three.explain(q, "000", **o),
    ):
        with pytest.raises(TierError, match="no tier 'nobody'; available: 'agent', 'team', 'other'"):
            ask("entry", tiers=["team", "nobody"])
    with pytest.raises(QueryError, match="tiers is empty"):
        three.search("entry", tiers=[])
    for wrong in (3, [3], {"team": 1}, b"team"):
        with pytest.raises(QueryError, match="tiers"):
            three.search("entry", tiers=wrong)
