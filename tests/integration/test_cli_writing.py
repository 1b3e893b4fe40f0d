"""Writing and asking from the command line: what goes in, what comes out, and with which exit code."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone

import pytest
from tests.commands import Commands

from septet import Vault

pytest.importorskip("typer")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="jwt-1", title="JWT validation", description="Check exp and aud", domain="security", tags=["web"])
        vault.add(id="jwt-2", title="JWT rotation", description="Rotate keys", domain="security")
        vault.add(id="tea", title="Tea", description="Green tea, twice a day")
    return Commands(tmp_path, monkeypatch)


def entry(id, path="v.db"):
    with Vault(path, read_only=True) as vault:
        return vault.get(id)


# -- add -------------------------------------------------------------------------------------------------------------


def test_a_text_is_added_from_standard_input_with_its_first_heading_as_title(septet):
    code, said, _ = septet("add", "-", "--id", "note", "-t", "x", stdin="# Größe 日本\n\nThe body\n")
    assert (code, said) == (0, "note\n")
    found = entry("note")
    assert (found.title, found.description, found.tags) == ("Größe 日本", "The body", ("x",))


def test_what_get_prints_in_markdown_can_be_added_elsewhere(septet):
    _, text, _ = septet("get", "jwt-1", "--format", "md")
    code, _, _ = septet("add", "-", "--id", "jwt-1", "--vault", "other.db", stdin=text)
    copy, first = entry("jwt-1", "other.db"), entry("jwt-1")
    assert code == 0
    assert (copy.title, copy.description, copy.domain, copy.tags) == (
        first.title, first.description, first.domain, first.tags,
    )  # fmt: skip


@pytest.mark.parametrize("given", ["", "\n\n", b"\xff\xfe"], ids=["empty", "blank", "no text"])
def test_standard_input_that_is_no_text_makes_no_entry_and_no_vault(septet, given):
    code, said, told = septet("add", "-", "--vault", "new.db", stdin=given)
    assert (code, said) == (2, "") and "standard input" in told
    assert not (septet.home / "new.db").exists()


# -- update, delete, link --------------------------------------------------------------------------------------------


def test_fields_are_set_by_name_for_ids_and_for_filters(septet):
    code, said, told = septet(
        "update", "jwt-1", "--set", "title=New", "--set", "tags=a, b,", "--set", "valid_until=2027-01-02",
        "--set", "source=", "--attr", "n=3", "--attr", "who=me",
    )  # fmt: skip
    found = entry("jwt-1")
    assert (code, said, told) == (0, "", "changed 1 entry\n")
    assert (found.title, found.tags, found.attrs) == ("New", ("a", "b"), {"n": 3, "who": "me"})
    assert found.valid_until == datetime(2027, 1, 2, tzinfo=timezone.utc).timestamp()
    security = '{"domain": "security"}'
    assert "would change 2 entries" in septet("update", "--where", security, "--set", "domain=auth", "--dry-run")[2]
    assert entry("jwt-2").domain == "security"
    assert "changed 2 entries" in septet("update", "--where", security, "--set", "domain=auth")[2]
    assert entry("jwt-2").domain == "auth"
    assert septet("update", "jwt-1", "--attr", "n=null", "--set", "valid_until=")[0] == 0
    assert (entry("jwt-1").attrs, entry("jwt-1").valid_until) == ({"who": "me"}, None)
    assert septet("update", "tea", "--set", "description=-", stdin="From a pipe\n")[0] == 0
    assert entry("tea").description == "From a pipe"


@pytest.mark.parametrize(
    "wrong",
    [
        ("jwt-1",),
        ("jwt-1", "--set", "colour=red"),
        ("jwt-1", "--set", "title"),
        ("jwt-1", "--set", "severity=loud"),
        ("jwt-1", "--set", "valid_until=soon"),
        ("--set", "title=x"),
        ("jwt-1", "--where", "{}", "--set", "title=x"),
        ("--where", "{", "--set", "domain=x"),
    ],
    ids=" ".join,
)
def test_a_change_that_makes_no_sense_changes_nothing(septet, wrong):
    before = entry("jwt-1")
    code, said, told = septet("update", *wrong)
    assert (code, said) == (2, "") and told.count("\n") == 1
    assert entry("jwt-1") == before


def test_entries_are_deleted_by_id_and_by_filter_after_a_look(septet):
    code, said, told = septet("delete", "--where", '{"domain": "security"}', "--dry-run")
    assert (code, said) == (0, "") and "would delete 2 entries" in told and "JWT rotation" in told
    assert septet("delete", "jwt-1", "missing")[0] == 1 and entry("jwt-1") is not None
    assert "deleted 2 entries" in septet("delete", "--where", '{"domain": "security"}')[2]
    assert (entry("jwt-1"), entry("jwt-2")) == (None, None) and entry("tea") is not None
    code, _, told = septet("delete", "--where", '{"domain": "security"}')
    assert (code, told) == (1, "nothing to delete\n")
    assert septet("delete")[0] == 2 and septet("delete", "tea", "--where", "{}")[0] == 2
    assert septet("delete", "--where", "{}")[0] == 2 and entry("tea") is not None


def test_with_yes_and_without_a_terminal_nothing_is_asked(septet):
    assert septet("delete", "tea", "--yes") == (0, "", "deleted 1 entry\n")
    assert septet("delete", "jwt-1") == (0, "", "deleted 1 entry\n")


def test_entries_are_linked_and_unlinked(septet):
    assert septet("link", "jwt-1", "jwt-2", "--type", "fixes", "--note", "see both")[0] == 0
    (link,) = json.loads(septet("links", "jwt-2", "--json")[1])["links"]
    assert link == {"source": "jwt-1", "target": "jwt-2", "type": "fixes", "note": "see both"}
    assert "from" in septet("links", "jwt-2")[1] and "JWT validation" in septet("links", "jwt-2")[1]
    assert septet("links", "jwt-2", "--format", "ids")[1] == "jwt-1\n"
    assert septet("link", "jwt-1", "missing")[0] == 1
    assert septet("unlink", "jwt-2", "jwt-1")[0] == 1
    assert septet("unlink", "jwt-1", "jwt-2")[0] == 0
    assert json.loads(septet("links", "jwt-2", "--json")[1])["links"] == []


def test_the_history_of_an_entry_says_what_changed_and_what_it_was(septet):
    septet("update", "tea", "--set", "title=Coffee")
    septet("update", "tea", "--set", "description=Black")
    versions = json.loads(septet("history", "tea", "--json")[1])["versions"]
    assert [one["changed"] for one in versions] == [["description"], ["title"]]
    assert versions[1]["entry"]["title"] == "Tea"
    assert "update" in septet("history", "tea")[1]


# -- memories --------------------------------------------------------------------------------------------------------


def test_memories_are_remembered_recalled_and_forgotten(septet):
    code, said, _ = septet("remember", "-", "-t", "drinks", stdin="The user likes green tea\n")
    id = said.strip()
    assert code == 0 and id
    code, said, _ = septet("recall", "what does the user drink: tea", "--format", "ids")
    assert (code, said) == (0, f"{id}\n")  # the entry about tea is no memory
    code, said, _ = septet("remember", "The user likes black tea now", "--on-similar", "suggest")
    assert code == 0 and said.startswith("changes ") and id in said and entry(said.split()[1]) is None
    assert septet("remember", "The user likes tea", "--on-similar", "perhaps")[0] == 2
    assert septet("forget", "jwt-1")[0] == 1 and entry("jwt-1") is not None
    assert "would forget 1 memory" in septet("forget", id[:12], "--dry-run")[2]
    assert "forgot 1 memory" in septet("forget", id[:12])[2]
    assert septet("recall", "tea") == (1, "", "nothing found\n")


# -- asking ----------------------------------------------------------------------------------------------------------


def test_each_line_of_standard_input_is_a_query_and_gets_a_line_of_json(septet):
    code, said, _ = septet("search", "-", "-n", "1", stdin="jwt validation\n\nzzzz\ntea\n")
    lines = [json.loads(line) for line in said.splitlines()]
    assert code == 0
    assert [line["query"] for line in lines] == ["jwt validation", "zzzz", "tea"]
    assert [[hit["id"] for hit in line["hits"]] for line in lines] == [["jwt-1"], [], ["tea"]]


def test_a_query_that_is_refused_does_not_end_those_behind_it(septet):
    code, said, _ = septet("search", "-", stdin=b"x" * 2_000_000 + b"\n\xff\ntea\n")
    lines = [json.loads(line) for line in said.splitlines()]
    assert code == 0 and len(lines) == 3
    assert lines[2]["hits"][0]["id"] == "tea"
    assert "error" not in lines[2] and all(set(line) >= {"query"} for line in lines)


def test_queries_from_standard_input_have_one_format(septet):
    assert septet("search", "-", "--format", "csv", stdin="tea\n")[0] == 2
    assert septet("search", "-", "--format", "jsonl", stdin="tea\n")[0] == 0
    assert septet("search", "-", stdin="")[:2] == (1, "")


def test_a_miss_is_explained(septet):
    code, said, _ = septet("explain", "jwt", "tea")
    assert code == 0 and said.strip()
    told = json.loads(septet("explain", "jwt", "tea", "--json")[1])
    assert told["found"] is False and told["reason"] in said
    assert septet("explain", "jwt", "nothing-such")[0] == 1


def test_values_of_a_field_are_counted(septet):
    counts = [json.loads(line) for line in septet("facets", "domain", "--format", "jsonl")[1].splitlines()]
    assert counts == [{"value": "security", "count": 2}, {"value": "general", "count": 1}]
    assert septet("facets", "tags", "--where", '{"domain": "general"}')[0] == 1
    assert septet("facets", "colour")[0] == 2


@pytest.mark.parametrize(
    ("typed", "meant"), [("serch", "search"), ("lst", "list"), ("delet", "delete"), ("exprot", "export")]
)
def test_a_mistyped_command_suggests_the_nearest_one(septet, typed, meant):
    code, said, told = septet(typed)
    assert (code, said) == (2, "") and f"'{meant}'" in told


def test_a_backup_of_the_usual_vault_needs_one_name(septet):
    assert septet("backup", "copy.db")[0] == 0
    assert entry("tea", "copy.db") == entry("tea")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("search", "Maria"), "(ask with --memories, or `septet recall`)"),
        (("explain", "Maria", "maria"), "(ask with --memories, or `septet recall`)"),
        (("search", "x", "--limit", "0"), "septet: --limit is 0: wanted a whole number"),
        (("import", "folder", "--format", "csv"), "use --format text for a folder of texts"),
        (("get", "nothing-there"), "no entry 'nothing-there'"),
    ],
)
def test_messages_name_commands_and_options_and_no_calls_of_python(septet, given, told):
    septet("remember", "Maria prefers short reports", "--id", "maria")
    (septet.home / "folder").mkdir()
    _, said, heard = septet(*given)
    assert told in heard and not re.search(r"[a-z_]+\(\)|\w+=True", said + heard)


def test_a_note_is_printed_once_in_a_command(septet, capsys):
    from septet.cli.terminal import guarded, say_notes
    from septet.notes import Note

    note = Note("no_vectors", "no entry has a vector yet", "call embed()", "agent")
    with guarded():
        say_notes([note, note])
        say_notes([note])
    assert capsys.readouterr().err == "note no_vectors [agent]: no entry has a vector yet (run `septet embed`)\n"


def test_a_query_of_filters_alone_lists_what_passes_them(septet):
    code, said, told = septet("search", "tag:web")
    assert code == 0 and "jwt-1" in said and "tea" not in said and "0.000" not in said
    assert told.startswith("note no_terms: the query has filters only: matching entries are listed, newest first")
    assert septet("search", "-domain:security", "--format", "ids")[2]  # an option that is not there
    assert septet("search", "--format", "ids", "--", "-domain:security")[1].split() == ["tea"]
    # With words, and where signs are said to mean nothing, the query is text as ever.
    assert "no_terms" not in septet("search", "tag:web jwt")[2]
    assert "no_terms" not in septet("search", "tag:web", "--syntax", "plain")[2]
    assert septet("search", "tag:nothing-there")[0] == 1
    septet("add", "--id", "words", "--title", "A tag for nothing")
    # Its words would find this one.
    assert septet("search", "tag:nothing")[0] == 1
