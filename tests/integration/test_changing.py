"""Many entries are changed, renamed and deleted by filter: all of them, or none."""

import pytest

from septet import EntryError, QueryError, Vault

EVERYTHING = {"id": {"$exists": True}}


class Clock:
    def __init__(self, now=1_000.0):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def vault(clock):
    """Twenty entries in two domains, one in three of them tagged, and a text in three parts."""
    with Vault(":memory:", clock=clock) as made:
        made.add_many(
            {
                "id": f"e{i}",
                "title": f"word number{i}",
                "domain": f"d{i % 2}",
                "tags": ["old", "kept"] if i % 3 == 0 else ["kept"],
                "attrs": {"n": i, "deep": {"a": 1, "b": [i]}},
            }
            for i in range(20)
        )
        made.add(id="doc", title="A long text", description="glacier " * 60, split=20, domain="d2")
        made.remember("Bob likes ducks", id="memory")
        clock.now = 2_000.0
        yield made


def ids(vault):
    return {entry.id for entry in vault}


def full_text_is_sound(vault):
    with vault._store.reading() as read:
        for table in ("entries_fts", "grams_fts", "memories_fts"):
            read.sql.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    return True


def content(vault):
    return {e.id: e for e in vault.load(sorted(ids(vault)))}


@pytest.mark.parametrize("where", [{}, None, [], "d0", 5])
def test_a_change_of_many_is_refused_without_a_filter(vault, where):
    before = content(vault)
    with pytest.raises(QueryError, match="every entry"):
        vault.update_many(where, domain="x")
    if where is not None:
        with pytest.raises(QueryError, match="every entry"):
            vault.delete(where=where)
    assert content(vault) == before


@pytest.mark.parametrize(
    ("where", "passing"),
    [
        ({"domain": "nowhere"}, set()),
        ({"id": "e3"}, {"e3"}),
        ({"domain": "d1"}, {f"e{i}" for i in range(1, 20, 2)}),
        ({"attrs.n": {"$lt": 5}}, {f"e{i}" for i in range(5)}),
        ({"$or": [{"tags": "old"}, {"kind": "memory"}]}, {f"e{i}" for i in range(0, 20, 3)} | {"memory"}),
        (EVERYTHING, {f"e{i}" for i in range(20)} | {"doc", "doc#1", "doc#2", "doc#3", "memory"}),
    ],
)
def test_update_many_changes_what_passes_and_nothing_else(vault, where, passing):
    before = content(vault)
    assert vault.update_many(where, dry_run=True, severity="critical") == len(passing)
    assert content(vault) == before
    assert vault.update_many(where, severity="critical", type="rule") == len(passing)
    after = content(vault)
    for id, entry in after.items():
        if id in passing:
            assert (entry.severity, entry.type, entry.updated_at) == ("critical", "rule", 2_000.0)
            assert entry.title == before[id].title and entry.attrs == before[id].attrs
        else:
            assert entry == before[id]


@pytest.mark.parametrize("where", [{"domain": "nowhere"}, {"id": "e3"}, {"domain": "d0"}, {"id": "doc"}, EVERYTHING])
def test_delete_by_filter_deletes_what_passes_with_its_parts(vault, where):
    count = vault.delete(where=where, dry_run=True)
    passing = set(vault.search("word glacier ducks", where=where, include_memories=True, limit=90).ids)
    before = ids(vault)
    assert vault.delete(where=where) == count
    left = ids(vault)
    assert passing & left == set() and (count == 0) == (left == before)
    if where == {"id": "doc"}:
        assert count == 1 and before - left == {"doc", "doc#1", "doc#2", "doc#3"}
    assert set(vault.search("word glacier ducks", include_memories=True, limit=90).ids) == left - {"doc"}
    assert vault.delete(where=where) == 0


def test_delete_takes_ids_or_a_filter(vault):
    with pytest.raises(EntryError, match="not both"):
        vault.delete("e1", where={"domain": "d0"})
    assert vault.delete() == vault.delete([]) == 0
    assert vault.delete("e1", ["e2", "nobody"], dry_run=True) == 2
    assert vault.delete("e1", ["e2", "nobody", "e1"]) == 2


def test_forget_by_filter_deletes_memories_alone(vault):
    assert vault.forget(where=EVERYTHING, dry_run=True) == 1
    assert vault.forget(where={"domain": "d0"}) == 0
    assert vault.forget(where=EVERYTHING) == 1
    assert len(vault) == 24 and vault.get("memory") is None
    with pytest.raises(QueryError, match="every entry"):
        vault.forget(where={})


def test_parts_change_with_the_text_that_was_split(vault):
    assert vault.update_many({"id": "doc"}, domain="ice", tags=["cold"], valid_until=1_500) == 1
    whole = vault.get("doc")
    for part in vault.load(["doc#1", "doc#2", "doc#3"]):
        assert (part.domain, part.tags, part.valid_until) == (whole.domain, whole.tags, whole.valid_until)
    assert vault.search("glacier").ids == []
    assert set(vault.search("cold", include_expired=True).ids) == {"doc#1", "doc#2", "doc#3"}


def test_tags_and_kinds_that_change_are_found_and_those_that_were_are_not(vault):
    vault.update_many({"id": {"$in": ["e0", "e3"]}}, tags=["cœur", "getUserName"])
    assert set(vault.search("user").ids) == {"e0", "e3"} == set(vault.search("cœur").ids)
    assert "e0" not in vault.search("old").ids
    vault.update_many({"id": "e6"}, kind="memory")
    assert "e6" not in vault.search("number6").ids and vault.recall("number6").ids[0] == "e6"
    assert full_text_is_sound(vault)


def test_vectors_stay_when_texts_do():
    with Vault(":memory:") as vault:
        vault.add(id="a", title="word", vector=[1, 0])
        vault.update_many({"id": "a"}, domain="x", tags=["t"])
        assert vault.search("", query_vector=[1, 0], legs="vector").ids == ["a"]
        assert vault.delete(where={"tags": "t"}) == 1
        vault.add(id="a", title="word")
        assert vault.stats().spaces == []


def test_attrs_are_replaced_or_merged_as_it_is_said(vault):
    vault.update("e1", merge_attrs={"n": None, "deep": {"a": None, "c": {"x": 1}}, "new": [1]})
    assert vault.get("e1").attrs == {"deep": {"b": [1], "c": {"x": 1}}, "new": [1]}
    vault.update("e1", attrs={"only": 1})
    assert vault.get("e1").attrs == {"only": 1}
    assert vault.update_many({"domain": "d1"}, merge_attrs={"team": "core", "deep": None}) == 10
    assert vault.get("e1").attrs == {"only": 1, "team": "core"} and vault.get("e3").attrs == {"n": 3, "team": "core"}
    assert vault.update_many({"attrs.team": "core"}, attrs={}, severity="warning") == 10
    assert vault.get("e3").attrs == {} and vault.get("e3").severity == "warning"
    for call in (lambda **k: vault.update("e1", **k), lambda **k: vault.update_many(EVERYTHING, **k)):
        with pytest.raises(EntryError, match="mutually exclusive"):
            call(attrs={}, merge_attrs={})
        for wrong in ([], "text", {1: 2}, {"a": object()}):
            with pytest.raises(EntryError, match="attrs"):
                call(merge_attrs=wrong)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "nothing to change"),
        ({"title": "same"}, "cannot set"),
        ({"colour": 1}, "cannot set"),
        ({"severity": "huge"}, "severity is"),
        ({"tags": "tag"}, "tags is"),
        ({"valid_from": 3, "valid_until": 2}, "before valid_from"),
    ],
)
def test_a_change_that_no_entry_can_take_is_an_error(vault, changes, said):
    before = content(vault)
    with pytest.raises(EntryError, match=said):
        vault.update_many(EVERYTHING, **changes)
    assert content(vault) == before


def test_one_entry_that_cannot_take_a_change_leaves_all_as_they_were(vault):
    vault.update("e7", valid_from=5_000)
    before = content(vault)
    with pytest.raises(EntryError, match="'e7': nothing was changed"):
        vault.update_many(EVERYTHING, valid_until=4_000)
    with pytest.raises(EntryError, match="updated_at would be before created_at"):
        vault.update_many(EVERYTHING, updated_at=10)
    assert content(vault) == before


def test_a_tag_is_renamed_where_it_is_and_ages_stay(vault):
    tagged = {f"e{i}" for i in range(0, 20, 3)}
    before = content(vault)
    assert vault.rename("tags", {"old": "new"}, dry_run=True) == 7 and content(vault) == before
    assert vault.rename("tags", {"old": "newer"}, where={"domain": "d1"}) == 3
    assert vault.rename("tags", {"old": "kept"}) == 4
    for id, entry in content(vault).items():
        if id in tagged:
            assert entry.tags == (("newer", "kept") if before[id].domain == "d1" else ("kept",))
            assert entry.updated_at == before[id].updated_at
        else:
            assert entry == before[id]
    assert set(vault.search("newer").ids) == {"e3", "e9", "e15"} and "e0" not in vault.search("old").ids
    assert vault.rename("tags", {"absent": "x"}) == vault.rename("tags", {"kept": "kept"}) == 0
    for wrong in ({"": "x"}, {"x": "a\nb"}, {1: "x"}):
        with pytest.raises(EntryError, match="tag"):
            vault.rename("tags", wrong)
    for field, names in (("type", {"a": "b"}), (1, {"a": "b"}), ("tags", ["a"]), ("domain", None)):
        with pytest.raises(EntryError):
            vault.rename(field, names)
    with pytest.raises(QueryError, match="every entry"):
        vault.rename("tags", {"kept": "x"}, where={})


def test_domains_are_merged_and_ages_stay(vault):
    before = content(vault)
    into_one = {"d0": "d1", "d2": "d1", "d1": "d1"}
    assert vault.rename("domain", into_one, dry_run=True) == 14 and content(vault) == before
    assert vault.rename("domain", into_one) == 14
    after = content(vault)
    assert {e.domain for id, e in after.items() if id != "memory"} == {"d1"}
    assert all(after[id].updated_at == before[id].updated_at for id in after)
    assert vault.search("word", domain="d0").ids == [] and len(vault.search("word", domain="d1", limit=50).ids) == 20
    assert vault.rename("domain", {"general": "people"}) == 1 and vault.rename("domain", {}) == 0
    for wrong in ({"d1": ""}, {1: "x"}, {"d1": None}):
        with pytest.raises(EntryError):
            vault.rename("domain", wrong)


def test_names_are_swapped_at_once(vault):
    before = content(vault)
    moved = [e for e in before.values() if "old" in e.tags and e.domain in ("d0", "d1")]
    assert vault.rename("domain", {"d0": "d1", "d1": "d0"}, where={"tags": "old"}) == len(moved)
    assert vault.rename("tags", {"old": "kept", "kept": "old"}) == 20
    swapped = {"d0": "d1", "d1": "d0", "d2": "d2"}
    for id, entry in content(vault).items():
        if id != "memory":
            was = before[id]
            assert entry.domain == (swapped[was.domain] if "old" in was.tags else was.domain)
            assert entry.tags == tuple({"old": "kept", "kept": "old"}[tag] for tag in was.tags)


def test_purge_deletes_what_is_no_longer_valid(vault, clock):
    vault.update_many({"domain": "d0"}, valid_until=1_500)
    vault.update_many({"domain": "d2"}, valid_until=1_900)
    vault.update_many({"id": "e1"}, valid_until=2_500)
    vault.delete("e3")
    assert vault.purge(expired=True, dry_run=True) == 10 + 4 + 1 and len(vault) == 24
    assert vault.purge(expired=True, older_than=200, dry_run=True) == 11
    assert vault.purge(dry_run=True) == 1
    assert vault.purge(expired=True, where={"id": {"$in": ["e0", "e1", "doc"]}}, dry_run=True) == 1 + 4 + 1
    assert vault.purge(expired=True, older_than=200) == 11 and len(vault) == 14
    assert vault.purge(expired=True) == 4 and vault.get("doc#2") is None
    clock.now = 2_500.0
    assert vault.purge(expired=True) == 1 and vault.get("e1") is None
    assert vault.purge(expired=True) == vault.purge() == 0


@pytest.mark.parametrize(
    "options",
    [{"older_than": 5}, {"where": {"id": "a"}}, {"expired": True, "older_than": -1}, {"history_older_than": "1d"}],
)
def test_purge_wants_ages_and_something_that_they_apply_to(vault, options):
    with pytest.raises(EntryError):
        vault.purge(**options)


def test_a_filter_without_its_name_deletes_nothing(vault):
    vault.add(id="domain", title="An entry with the name of a field")
    with pytest.raises(EntryError, match="pass a filter as where"):
        vault.delete({"domain": "legal"})
    assert "domain" in vault


def test_the_more_severe_is_greater_in_filters(vault):
    vault.delete(where={"id": {"$exists": True}})
    for severity in ("critical", "warning", "suggestion"):
        vault.add(id=severity, title="word", severity=severity)
    for operator, ids in {
        "$gte": ["critical", "warning"],
        "$gt": ["critical"],
        "$lte": ["suggestion", "warning"],
        "$lt": ["suggestion"],
    }.items():
        assert sorted(vault.entries({"severity": {operator: "warning"}}).ids) == ids
        assert sorted(vault.search("word", where={"severity": {operator: "warning"}}).ids) == ids
