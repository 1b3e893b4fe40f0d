"""Ids may be shortened, as git's may."""

from __future__ import annotations

import json

import pytest
from tests.commands import Commands

from septet import EntryError, Federation, Vault

pytest.importorskip("typer")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        for id in ("cafe", "cafe-1234", "cafe-1999", "größe-ä", "größe-ö", "lone-entry", "time:12:30", "x"):
            vault.add(id=id, title=f"Entry {id}", description="one\ntwo\nthree\nfour")
        vault.delete("cafe-1999")
    return Commands(tmp_path, monkeypatch)


def ids(septet, *given):
    code, said, told = septet("get", *given, "--format", "ids")
    return code, said.splitlines(), told


def test_a_beginning_that_only_one_id_has_means_that_entry(septet):
    assert ids(septet, "lone")[:2] == (0, ["lone-entry"])
    assert ids(septet, "cafe-")[:2] == (0, ["cafe-1234"])  # the deleted one is no candidate
    assert ids(septet, "lone", "x", "größe-ö")[1] == ["lone-entry", "x", "größe-ö"]


def test_an_id_that_exists_means_itself_even_where_others_begin_so(septet):
    assert ids(septet, "cafe")[:2] == (0, ["cafe"])


def test_fewer_than_four_characters_mean_nothing_but_themselves(septet):
    code, said, told = ids(septet, "lon")
    assert (code, said) == (1, []) and "no entry 'lon' in v.db" in told
    assert ids(septet, "x" * 1_000)[0] == 1  # longer than any id


def test_an_ambiguous_beginning_lists_what_it_may_mean(septet):
    code, said, told = ids(septet, "größ")
    assert (code, said) == (2, [])
    assert told == "septet: 'größ' may be 'größe-ä', 'größe-ö': type more of the id\n"


def test_of_many_candidates_ten_are_named(septet):
    with Vault("v.db") as vault:
        vault.add_many([{"id": f"many-{n:02}", "title": "t"} for n in range(30)])
    code, _, told = ids(septet, "many")
    assert code == 2 and told.count("many-") == 10 and "and others" in told


@pytest.mark.parametrize("wild", ["caf%", "ca_e", "lone*", "lone\x00", "", "\U0010ffff" * 4])
def test_no_character_of_a_beginning_is_special(septet, wild):
    with Vault("v.db") as vault:
        if wild:
            assert vault._ids_beginning(wild) == []
        else:
            assert len(vault._ids_beginning(wild)) == 7


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("explain", "Entry", "lone"), "lone-entry"),
        (("link", "lone", "cafe-12"), "linked lone-entry to cafe-1234"),
        (("unlink", "lone", "cafe-12"), "no link from lone-entry to cafe-1234"),
        (("links", "lone"), "lone-entry has no links"),
        (("history", "lone"), "lone-entry has no earlier versions"),
        (("feedback", "q", "lone", "accepted"), "recorded: lone-entry was accepted"),
        (("update", "lone", "--set", "title=Z"), "changed 1 entry"),
        (("delete", "lone", "--dry-run"), "would delete 1 entry: Entry lone-entry"),
        (("similar", "lone"), ""),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_wherever_an_id_is_taken_it_may_be_shortened(septet, command, told):
    code, said, err = septet(*command)
    assert code in (0, 1) and told in said + err


def test_lines_of_a_text_are_read_by_number(septet):
    def text(given):
        code, said, told = septet("get", given, "--json")
        return json.loads(said)[0]["description"] if code == 0 else (code, told)

    assert text("lone:2") == "two\nthree\nfour"
    assert text("lone-entry:2:2") == "two\nthree"
    assert text("lone:4:100") == "four"
    assert text("lone:2:0") == ""
    # An id with colons of its own is an id before it is a range; behind it a range may stand.
    assert text("time:12:30") == "one\ntwo\nthree\nfour"
    assert text("time:12:30:1:1") == "one"
    code, told = text("lone:9")
    assert code == 2 and "wanted 1 to 4" in told
    code, told = text("lone:0")
    assert code == 2 and "no line 0" in told
    assert text("none:2:2")[0] == 1


def test_what_is_there_is_printed_beside_what_is_not(septet):
    code, said, told = ids(septet, "x", "missing", "lone")
    assert (code, said) == (1, ["x", "lone-entry"]) and "no entry 'missing'" in told


def test_the_beginnings_of_ids_are_looked_up_over_tiers_each_once(tmp_path):
    with Vault(tmp_path / "one.db") as one, Vault(tmp_path / "two.db") as two:
        one.add_many([{"id": id, "title": "t"} for id in ("note-b", "note-c")])
        two.add_many([{"id": id, "title": "t"} for id in ("note-a", "note-b")])
        with Federation({"one": one, "two": two}) as both:
            assert both._ids_beginning("note") == ["note-a", "note-b", "note-c"]
            assert both._ids_beginning("note", limit=2) == ["note-a", "note-b"]
            assert both.tier("two")._ids_beginning("note") == ["note-a", "note-b"]
            one.close()
            assert both._ids_beginning("note") == ["note-a", "note-b"]


def test_arguments_of_the_lookup_are_checked(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        for text, limit in ((1, 5), ("a", 0), ("a", "2"), ("\ud800", 5)):
            with pytest.raises(EntryError):
                vault._ids_beginning(text, limit=limit)


def test_the_lookup_reads_the_index_of_ids_and_no_table(tmp_path):
    from septet.sqlite.store.store import SqliteStore

    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="abcd", title="t")
    store = SqliteStore(str(tmp_path / "v.db"), read_only=True)
    with store.reading() as read:
        sql = "EXPLAIN QUERY PLAN SELECT id FROM entries WHERE id >= ? AND id < ? AND live ORDER BY id LIMIT ?"
        plan = [row[-1] for row in read.sql.execute(sql, ("a", "b", 5))]
    store.close()
    assert plan == ["SEARCH entries USING INDEX sqlite_autoindex_entries_1 (id>? AND id<?)"]
