"""Earlier versions of entries: kept, bounded, erased; what came in the place of what, and how that is undone."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from septet import Entry, EntryError, EntryNotFound, QueryError, StoreError, Vault


class Clock:
    def __init__(self):
        self.now = 1_000.123456789

    def __call__(self):
        self.now += 1
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def vault(clock):
    with Vault(":memory:", clock=clock) as made:
        yield made


def test_each_version_is_the_entry_as_it_was(vault):
    vault.add(id="a", title="one", tags=["x"], attrs={"n": 1}, span={"path": "f", "first_line": 1, "last_line": 2})
    states = [vault.get("a")]
    acts = [
        lambda: vault.update("a", title="two\0", valid_from=5.123456789012345, valid_until=None),
        lambda: vault.add(id="a", title="three", source="user", trust="untrusted"),
        lambda: vault.add_many([{"id": "b", "title": "new"}, {"id": "a", "title": "three", "created_at": 3.5}]),
        lambda: vault.update_many({"id": "a"}, severity="critical", attrs={"é": "\0"}, updated_at=9.000000123456789),
        lambda: vault.update_many({"id": "a"}, merge_attrs={"m": 2}),
        lambda: vault.update("a", span=None, parent="p"),
        lambda: vault.update("a", tags=["old"]),
        lambda: vault.rename("tags", {"old": "new"}),
        lambda: vault.rename("domain", {"general": "else"}),
    ]
    for act in acts:
        act()
        states.append(vault.get("a"))
    found = vault.history("a")
    assert [v.entry for v in found] == states[-2::-1][: len(found)]
    calls = "rename rename update update update_many update_many add_many add update".split()
    assert [v.call for v in found] == calls
    assert [v.changed for v in found][:3] == [("domain",), ("tags",), ("tags",)]
    assert found[5].changed == ("severity", "attrs") and set(found[-1].changed) == {"title", "valid_from"}
    assert [v.replaced_at for v in found] == sorted((v.replaced_at for v in found), reverse=True)
    assert [v.call for v in vault.history("b")] == ["rename"] and vault.history("absent") == []


def test_what_is_stored_again_as_it_is_makes_no_version(vault):
    fields = {"id": "a", "title": "one", "attrs": {"n": 1}, "tags": ["t"]}
    vault.add(**fields)
    vault.add(**fields)
    vault.update("a", title="one")
    vault.update("a", vector=[1, 0])
    vault.update_many({"id": "a"}, tags=["t"])
    vault.update_many({"id": "a"}, merge_attrs={"n": 1})
    assert vault.history("a") == []


@pytest.mark.parametrize("most", [0, 1, 3, 50])
def test_at_most_so_many_versions_are_kept_as_the_vault_was_opened_for(most):
    with Vault(":memory:", history=most) as vault:
        vault.add_many({"id": i, "title": "t 0"} for i in "ab")
        for n in range(1, 6):
            vault.update("a", title=f"t {n}")
            vault.update_many({"id": "b"}, domain=f"d{n}")
        kept = list(range(4, -1, -1))[:most]
        assert [v.entry.title for v in vault.history("a")] == [f"t {n}" for n in kept]
        assert [v.entry.domain for v in vault.history("b")] == [f"d{n}" if n else "general" for n in kept]


@pytest.mark.parametrize("most", [-1, 1.5, "ten", True, 1_000_001])
def test_the_number_of_versions_is_whole(most):
    with pytest.raises(StoreError, match="history"):
        Vault(":memory:", history=most)


@pytest.mark.parametrize("by", ["id", "filter", "expiry", "parts"])
def test_a_deleted_text_is_gone_from_history_and_from_the_file(tmp_path, by):
    path = tmp_path / "v.db"
    with Vault(path, clock=lambda: 100.0) as vault:
        split = {"split": 20} if by == "parts" else {}
        vault.add(id="a", title="t", description="secretword " * 50, **split)
        vault.update("a", description="harmless", valid_until=200)
        vault.add(id="kept", title="x")
        vault.update("kept", title="y")
        assert "secretword" in vault.history("a")[0].entry.description
        if by == "filter":
            vault.delete(where={"id": "a"})
        elif by == "expiry":
            vault.update("a", valid_until=50)
            vault.purge(expired=True)
        else:
            vault.delete("a")
        assert vault.history("a") == [] and len(vault.history("kept")) == 1
        vault.add(id="a", title="born again")
        assert vault.history("a") == []
        with vault._store.reading() as read:
            assert read.sql.execute("SELECT count(*) FROM history WHERE columns LIKE '%secretword%'").fetchone() == (0,)


def test_versions_of_an_age_are_purged(vault, clock):
    vault.add_many({"id": i, "title": "t"} for i in "ab")
    for n in range(4):
        vault.update("a", title=f"t {n}")
        vault.update("b", title=f"t {n}")
    at = [v.replaced_at for v in vault.history("a")]
    age = clock.now + 1 - at[2]
    assert vault.purge(history_older_than=age + 1e9, dry_run=True) == 0
    assert vault.purge(history_older_than=timedelta(seconds=age - 1), where={"id": "a"}, dry_run=True) == 2
    assert vault.purge(history_older_than=0, where={"id": "b"}) == 4
    assert vault.history("b") == [] and [v.replaced_at for v in vault.history("a")] == at
    clock.now = at[2]
    assert vault.purge(history_older_than=1) == 2
    assert [v.replaced_at for v in vault.history("a")] == at[:2]


def test_all_versions_are_purged_also_those_that_a_clock_ahead_stamped(vault, clock):
    vault.add(id="policy", title="what nobody may read")
    clock.now += 3_600
    vault.update("policy", title="harmless")
    clock.now -= 3_600
    assert vault.purge(history_older_than=0, where={"id": "policy"}, dry_run=True) == 1
    assert vault.purge(history_older_than=0, where={"id": "policy"}) == 1 and vault.history("policy") == []


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_the_words_of_a_text_that_is_gone_are_purged_from_the_whole_file(tmp_path, how):
    path, words = tmp_path / "v.db", (b"zygote", b"qwertz", b"jklmno")
    with Vault(path, sidecar=False) as vault:
        vault.add_many({"title": f"entry {n}", "description": "plain text " * 20} for n in range(200))
        secret = {"title": "Zygote", "description": "qwertz ", "domain": "jklmno", "type": "jklmno", "tags": ["zygote"]}
        vault.add(id="a", **secret)
        vault.remember("Zygote", "qwertz", id="m")
        if how == "deleted":
            assert vault.delete("a", "m") == 2
        else:
            vault.add(id="a", title="harmless")
            vault.remember("harmless", id="m")
        assert vault.purge(history_older_than=0) == 2
    with Vault(path, sidecar=False) as vault, vault._store.reading() as read:
        tables = [name for (name,) in read.sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert "entries_fts_data" in tables
        for table in tables:
            for row in read.sql.execute(f"SELECT * FROM {table}"):
                held = b" ".join(one if isinstance(one, bytes) else str(one).encode() for one in row).lower()
                assert not any(word in held for word in words), table


def test_parts_have_no_versions_of_their_own_whatever_changes_them(vault):
    vault.add(id="doc", title="Manual", description="some words here " * 60, split=20, tags=["t"], domain="d")
    vault.add(id="doc#x", title="no part, though it names a parent", parent="doc", tags=["t"])
    vault.update_many({"tags": "t"}, severity="warning")
    vault.update_many({"tags": "t"}, merge_attrs={"team": "core"})
    vault.rename("tags", {"t": "u"})
    vault.rename("domain", {"d": "e"})
    vault.update("doc#2", source="user")
    assert vault.history("doc#1") == vault.history("doc#2") == []
    calls = ["rename", "update_many", "update_many"]
    assert [v.call for v in vault.history("doc")] == ["rename", *calls]
    assert [v.call for v in vault.history("doc#x")] == calls


def test_history_is_copied_by_backups_and_read_from_read_only_vaults(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="one")
        vault.update("a", title="two")
        wanted = vault.history("a")
        vault.backup(tmp_path / "backup.db")
    for name in ("v.db", "backup.db"):
        with Vault(tmp_path / name, read_only=True) as reader:
            assert reader.history("a") == wanted


# -- one in the place of another ---------------------------------------------------------------------------------------


def test_what_supersedes_is_found_now_and_what_was_superseded_as_of_then(vault, clock):
    vault.add(id="old", title="Bob owns billing", domain="teams", tags=["who"], type="fact")
    before = clock.now
    new = vault.supersede("old", {"title": "Ann owns billing"}, "Bob moved")
    found = vault.get(new)
    assert (found.domain, found.tags, found.type) == ("teams", ("who",), "fact")
    assert vault.get("old").valid_until == found.valid_from > before
    assert vault.search("owns billing").ids == [new]
    assert vault.search("owns billing", as_of=before).ids == ["old"]
    assert vault.search("owns billing", as_of=datetime.fromtimestamp(before, timezone.utc)).ids == ["old"]
    assert vault.search("owns billing", as_of=found.valid_from).ids == [new]
    assert set(vault.search("owns billing", include_expired=True).ids) == {"old", new}
    assert [(link.source, link.target, link.type, link.note) for link in vault.links("old")] == [
        (new, "old", "supersedes", "Bob moved")
    ]
    assert [v.call for v in vault.history("old")] == ["supersede"]


def test_a_chain_of_versions_is_walked_by_time(vault, clock):
    ids, times = [vault.add(title="word 0")], []
    for n in range(1, 5):
        times.append(clock.now)
        ids.append(vault.supersede(ids[-1], {"title": f"word {n}"}))
    times.append(clock.now + 1)
    assert [vault.search("word", as_of=at).ids for at in times] == [[one] for one in ids]


def test_several_may_be_superseded_by_one(vault):
    for i in ("a", "b", "new"):
        vault.add(id=i, title=f"word {i}")
    assert vault.supersede("a", "new") == vault.supersede("b", "new", "the same") == "new"
    assert vault.search("word").ids == ["new"]
    assert {link.target for link in vault.links("new")} == {"a", "b"}


@pytest.mark.parametrize("form", ["id", "entry", "dict"])
def test_what_supersedes_is_named_or_stored(vault, form):
    vault.add(id="old", title="word", kind="memory")
    if form == "id":
        vault.add(id="new", title="words")
        given = "new"
    else:
        given = Entry(id="new", title="words") if form == "entry" else {"id": "new", "title": "words", "vector": [1, 0]}
    assert vault.supersede("old", given) == "new"
    # A dict takes the kind of the old one.
    assert vault.get("new").kind == ("memory" if form == "dict" else "entry")
    assert vault.get("new").valid_from == vault.get("old").valid_until


def test_the_time_of_a_change_may_be_given(vault, clock):
    vault.add(id="old", title="word")
    vault.supersede("old", {"id": "new", "title": "words", "valid_from": 5_000})
    assert vault.get("old").valid_until == 5_000
    assert vault.search("word").ids == ["old"] and vault.search("word", as_of=5_000).ids == ["new"]


def test_a_split_text_is_superseded_with_its_parts(vault):
    vault.add(id="old", title="t", description="glacier " * 60, split=20)
    vault.supersede("old", {"id": "new", "title": "t", "description": "glacier " * 50, "split": 20})
    assert {i.partition("#")[0] for i in vault.search("glacier").ids} == {"new"}
    vault.reinstate("old")
    assert {i.partition("#")[0] for i in vault.search("glacier").ids} == {"new", "old"}


def test_circles_and_second_successors_are_refused(vault):
    for i in "abcd":
        vault.add(id=i, title=f"word {i}")
    vault.supersede("a", "b")
    vault.supersede("b", "c")
    before = [*vault.load(list("abcd")), *vault.links("b")]
    for old, new, said in [
        ("a", "a", "itself"),
        ("a", "d", "superseded by 'b' already"),
        ("c", "a", "superseded by 'b'"),
        ("c", "b", "superseded by 'c'"),
        ("a", {"title": "x"}, "already"),
        ("d", {"title": ""}, "title is empty"),
        ("d", 5, "wanted an id"),
    ]:
        with pytest.raises(EntryError, match=said):
            vault.supersede(old, new)
    for old, new in [("nobody", "d"), ("d", "nobody"), ("nobody", {"title": "x"})]:
        with pytest.raises(EntryNotFound):
            vault.supersede(old, new)
    assert [*vault.load(list("abcd")), *vault.links("b")] == before and len(vault) == 4


@pytest.mark.parametrize("until", [None, 9_000.25, 10.0])
def test_reinstating_gives_back_the_validity_that_was(vault, until):
    vault.add(id="old", title="word", valid_until=until)
    before = vault.get("old")
    vault.supersede("old", {"id": "new", "title": "words"})
    assert vault.reinstate("old") is True
    assert vault.get("old") == before
    assert vault.links("old") == [] and vault.reinstate("old") is False
    assert "new" in vault.search("word").ids
    assert vault.supersede("old", "new") == "new"
    with pytest.raises(EntryNotFound):
        vault.reinstate("nobody")


def test_without_history_a_reinstated_entry_is_valid_without_an_end(clock):
    with Vault(":memory:", clock=clock, history=0) as vault:
        vault.add(id="old", title="word", valid_until=9_000)
        vault.supersede("old", {"id": "new", "title": "words"})
        vault.reinstate("old")
        assert vault.get("old").valid_until is None


def test_a_successor_that_is_deleted_leaves_the_old_entry_as_what_was(vault):
    vault.add(id="old", title="word")
    vault.supersede("old", {"id": "new", "title": "words"})
    vault.delete("new")
    assert vault.search("word").ids == [] and vault.reinstate("old") is False
    assert replace(vault.update("old", valid_until=None)).valid_until is None
    assert vault.search("word").ids == ["old"]


@pytest.mark.parametrize("at", ["2024", float("nan"), datetime(2024, 1, 1), True, [1]])
def test_as_of_is_a_time(vault, at):
    with pytest.raises(QueryError, match="as_of"):
        vault.search("word", as_of=at)
    with pytest.raises(QueryError, match="as_of"):
        vault.explain("word", "a", as_of=at)
