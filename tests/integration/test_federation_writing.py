"""A federation is written: what is new into the highest tier, what is there in the highest tier that has it."""

import pytest

from septet import EntryError, EntryNotFound, Federation, QueryError, StoreError, TierError, Vault


@pytest.fixture
def tiers():
    made = {name: Vault(":memory:", clock=lambda: 100.0) for name in ("agent", "project", "team")}
    made["team"].add_many({"id": i, "title": f"word {i}", "domain": "d", "tags": ["t"]} for i in "abc")
    made["project"].add_many({"id": i, "title": f"words {i}", "domain": "d", "tags": ["t"]} for i in "bcd")
    yield made
    for vault in made.values():
        vault.close()


@pytest.fixture
def both(tiers):
    with Federation(tiers) as made:
        yield made


def held(tiers):
    return {name: "".join(sorted(i for i in "abcdn" if i in vault)) for name, vault in tiers.items()}


def test_what_is_new_goes_into_the_highest_tier_unless_one_is_named(both, tiers):
    assert both.add(id="a", title="over that of the team") == "a"
    assert both.get("a").title == "over that of the team" and tiers["team"].get("a").title == "word a"
    both.tier("project").add(tiers["team"].get("b"))
    both.tier("team").add_many([{"id": "n", "title": "many"}])
    both.remember("Bob likes ducks", id="m1")
    both.tier("team").remember("Ann likes geese", id="m2")
    assert held(tiers) == {"agent": "a", "project": "bcd", "team": "abcn"}
    assert [h.tier for h in both.recall("likes ducks").hits if h.id == "m1"] == ["agent"]
    assert "m2" in tiers["team"]


def test_what_is_there_is_changed_in_the_highest_tier_that_has_it(both, tiers):
    both.update("b", severity="critical")
    both.tier("team").update("c", severity="warning")
    assert [tiers[t].get(i).severity for t in ("project", "team") for i in "bc"] == [
        "critical", "suggestion", "suggestion", "warning",
    ]  # fmt: skip
    assert [v.call for v in both.history("b")] == ["update"] and both.tier("team").history("b") == []
    assert both.history("nobody") == []
    with pytest.raises(EntryNotFound):
        both.update("nobody", title="x")
    with pytest.raises(EntryNotFound):
        both.tier("team").update("d", title="x")


def test_what_is_deleted_uncovers_the_copy_below(both, tiers):
    assert both.delete("a", ["b", "nobody"], dry_run=True) == 2
    assert both.delete("a", ["b", "nobody"]) == 2
    assert held(tiers) == {"agent": "", "project": "cd", "team": "bc"}
    assert both.get("b").title == "word b"
    assert both.tier("team").delete("c") == 1 and both.get("c").title == "words c"
    assert both.delete() == both.forget("nobody") == 0


def test_forget_deletes_the_highest_memory_and_no_other_entry(both, tiers):
    for tier in ("project", "team"):
        both.tier(tier).remember(f"ducks of the {tier}", id="n")
    tiers["agent"].add(id="n", title="An entry that has the id of a memory")
    assert both.forget("a", ["b", "n"], dry_run=True) == both.forget("a", ["b", "n"]) == 1
    assert held(tiers) == {"agent": "n", "project": "bcd", "team": "abcn"}
    assert both.tier("agent").forget("b", "n") == 0 == both.tier("team").forget("b")
    assert both.forget("n") == 1 and both.forget("n") == 0
    assert held(tiers) == {"agent": "n", "project": "bcd", "team": "abc"}


def test_changes_by_filter_want_a_tier(both, tiers):
    for call in (both.delete, both.forget):
        with pytest.raises(TierError, match="requires a tier; available: 'agent', 'project', 'team'"):
            call(where={"domain": "d"})
    with pytest.raises(TierError, match="no tier 'nobody'; available: 'agent', 'project', 'team'"):
        both.tier("nobody")
    with pytest.raises(QueryError, match="every entry"):
        both.tier("team").delete(where={})
    with pytest.raises(EntryError, match="not both"):
        both.tier("team").delete("a", where={"domain": "d"})
    assert both.tier("project").update_many({"domain": "d"}, severity="warning") == 3
    assert both.tier("team").rename("tags", {"t": "u"}) == 3
    assert both.tier("team").rename("domain", {"d": "e"}, dry_run=True) == 3
    assert both.tier("team").rename("domain", {"d": "e"}) == 3
    assert {(e.severity, e.tags, e.domain) for e in tiers["team"].load(list("abc"))} == {("suggestion", ("u",), "e")}
    assert {(e.severity, e.tags, e.domain) for e in tiers["project"].load(list("bcd"))} == {("warning", ("t",), "d")}
    assert both.tier("project").delete(where={"domain": "d"}, dry_run=True) == 3
    assert both.tier("project").delete(where={"domain": "d"}) == 3 == both.tier("project").purge()
    assert held(tiers) == {"agent": "", "project": "", "team": "abc"}


def test_links_join_entries_of_one_tier(both, tiers):
    both.link("b", "c")
    assert tiers["project"].links("b") and not tiers["team"].links("b")
    both.link("a", "b", "explains", note="why")
    assert tiers["team"].links("a")[0].type == "explains"
    with pytest.raises(EntryNotFound, match="no tier has both"):
        both.link("a", "d")
    assert both.tier("team").link_many([("a", "c")]) == 1
    both.tier("team").link("b", "c")
    assert both.unlink("b", "c") is True and tiers["team"].links("b")[-1].target == "c"
    assert both.unlink("b", "c") is True and both.unlink("b", "c") is False
    assert both.tier("project").unlink("a", "b") is False and both.tier("team").unlink("a", "b") is True


def test_an_entry_is_superseded_in_its_tier(both, tiers):
    new = both.supersede("b", {"title": "words anew"}, "said so")
    assert new in tiers["project"] and tiers["project"].get("b").valid_until == 100.0
    assert both.reinstate("b") is True and tiers["project"].get("b").valid_until is None
    assert both.tier("team").supersede("a", "c") == "c"


def test_a_tier_that_fails_is_passed_over_but_never_written_half(both, tiers):
    tiers["agent"].close()
    assert both.update("b", severity="warning").severity == "warning"
    assert both.delete("a") == 1
    with pytest.raises(StoreError):
        both.add(title="into the closed one")
    for vault in tiers.values():
        vault.close()
    for act in (lambda: both.delete("b"), lambda: both.update("b", type="x"), lambda: both.unlink("b", "c")):
        with pytest.raises(StoreError):
            act()


def test_feedback_is_reset_in_a_tier(both, tiers):
    both.feedback("q", "a", "accepted")
    assert both.tier("project").purge(feedback=True) == 0 and both.tier("team").purge(feedback=True) == 1
