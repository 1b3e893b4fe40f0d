"""`septet edit`: nothing that was typed is lost, whatever happens."""

from __future__ import annotations

import re
import shlex
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tests.commands import Commands

from septet import Vault
from septet.cli.front_matter import as_text, fields_in, titled
from septet.errors import EntryError

pytest.importorskip("typer")

NOON = datetime(2026, 11, 23, 12, tzinfo=timezone.utc).timestamp()


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="note", title="Old title", description="one\ntwo", tags=["a"], attrs={"team": "core"})
    commands = Commands(tmp_path, monkeypatch)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def with_editor(script, *args, variable="EDITOR"):
        editor = tmp_path / "editor.py"
        editor.write_text(f"import sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n{script}\n", "utf-8")
        monkeypatch.setenv(variable, shlex.join([sys.executable, str(editor)]))
        return commands("edit", *(args or ("note",)))

    commands.edit = with_editor
    return commands


def entry():
    with Vault("v.db", read_only=True) as vault:
        return vault.get("note")


def kept(told):
    """The file that a message names."""
    return Path(shlex.split(re.search(r"retry with: (septet edit .*)", told)[1])[-1])


REPLACE = "path.write_text(path.read_text('utf-8').replace({!r}, {!r}), 'utf-8')"


def test_what_was_changed_in_the_editor_is_stored_and_nothing_else(septet):
    before = entry()
    code, said, told = septet.edit(REPLACE.format("Old title", "New 題 title"))
    assert (code, said, told) == (0, "", "changed title of note\n")
    after = entry()
    assert after.title == "New 題 title"
    assert (after.description, after.tags, after.attrs) == (before.description, before.tags, before.attrs)
    assert not list(septet.home.glob("septet-*"))


def test_visual_comes_before_editor_and_an_id_may_be_shortened(septet):
    septet.edit("raise SystemExit(1)")
    code, _, _ = septet.edit(REPLACE.format("two", "2\n\nthree\n"), "note", variable="VISUAL")
    assert code == 0 and entry().description == "one\n2\n\nthree\n"


def test_a_text_that_is_left_as_it_was_changes_nothing(septet):
    before = entry()
    assert septet.edit("") == (0, "", "note is unchanged\n")
    assert entry() == before
    with Vault("v.db", read_only=True) as vault:
        assert vault.history("note") == []


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('title = "Old title"', "title = Old", r"line 3"),
        ('title = "Old title"', 'titel = "x"', "unknown field 'titel'"),
        ("+++\n\none", "one", "line 1: wanted"),
        ('severity = "suggestion"', 'severity = "loud"', "severity"),
        ('title = "Old title"', 'title = ""', "title"),
        ('tags = ["a"]', "tags = 7", "tags"),
    ],
)
def test_a_text_that_cannot_be_stored_is_kept_and_the_message_says_where_and_why(septet, old, new, reason):
    before = entry()
    code, said, told = septet.edit(REPLACE.format(old, new))
    assert (code, said) == (2, "") and re.search(reason, told) and told.count("\n") == 1
    assert entry() == before
    assert new in kept(told).read_text("utf-8")
    # What was kept can be mended, and taken.
    mended = kept(told).read_text("utf-8").replace(new, old).replace("Old title", "Mended")
    kept(told).write_text(mended, "utf-8")
    assert septet("edit", "note", "--from", str(kept(told)))[0] == 0
    assert entry().title == "Mended"


def test_bytes_that_are_no_text_are_kept_too(septet):
    code, _, told = septet.edit("path.write_bytes(b'\\xff\\xfe')")
    assert code == 2 and "not UTF-8" in told and kept(told).read_bytes() == b"\xff\xfe"


def test_an_entry_that_another_program_changed_meanwhile_is_left_to_it(septet):
    other = "from septet import Vault\nwith Vault('v.db') as vault:\n    vault.update('note', title='Theirs')\n"
    code, _, told = septet.edit(other + REPLACE.format("two", "mine"))
    assert code == 2 and "changed by another program" in told
    assert entry().title == "Theirs" and entry().description == "one\ntwo"
    assert "mine" in kept(told).read_text("utf-8")
    # Said again, it is meant.
    assert septet("edit", "note", "--from", str(kept(told)))[0] == 0
    assert entry().description == "one\nmine"


def test_an_entry_that_was_deleted_meanwhile_is_not_made_anew(septet):
    other = "from septet import Vault\nwith Vault('v.db') as vault:\n    vault.delete('note')\n"
    code, _, told = septet.edit(other + REPLACE.format("two", "mine"))
    assert code == 2 and "was deleted by another program" in told and entry() is None
    assert "mine" in kept(told).read_text("utf-8")


def test_an_editor_that_fails_or_is_not_there_changes_nothing(septet, monkeypatch):
    before = entry()
    code, _, told = septet.edit("raise SystemExit(3)")
    assert code == 1 and "exited with 3" in told
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    code, _, told = septet("edit", "note")
    assert code == 2 and "/no/such/editor cannot be run" in told
    monkeypatch.setenv("EDITOR", "'unclosed")
    assert septet("edit", "note")[0] == 2
    assert septet("edit", "missing")[0] == 1
    assert entry() == before and not list(septet.home.glob("septet-*"))


def test_ctrl_c_while_the_editor_is_open_keeps_what_was_saved(septet, monkeypatch):
    def interrupted(command, **_):
        Path(command[-1]).write_text(Path(command[-1]).read_text("utf-8").replace("two", "mine"), "utf-8")
        raise KeyboardInterrupt

    before = entry()
    monkeypatch.setenv("EDITOR", "editor")
    monkeypatch.setattr("septet.cli.commands.editing.subprocess.run", interrupted)
    code, _, told = septet("edit", "note")
    assert code not in (0, None) and entry() == before
    path = Path(re.search(r"your text is in (.*)", told)[1])
    assert "mine" in path.read_text("utf-8")


def test_a_mark_of_the_byte_order_is_no_part_of_the_text(septet):
    code, _, told = septet.edit("path.write_bytes(b'\\xef\\xbb\\xbf' + path.read_bytes().replace(b'two', b'three'))")
    assert (code, told) == (0, "changed description of note\n")
    assert entry().description == "one\nthree"


def test_the_command_that_takes_a_kept_text_works_for_any_id_and_vault(septet):
    with Vault("other.db") as vault:
        vault.add(id="-x", title="Old title")
    code, _, told = septet.edit(REPLACE.format('"Old title"', '""'), "--vault", "other.db", "--", "-x")
    again = shlex.split(re.search(r"retry with: septet (edit .*)", told)[1])
    path = Path(again[again.index("--from") + 1])
    path.write_text(path.read_text("utf-8").replace('title = ""', 'title = "Mended"'), "utf-8")
    assert code == 2 and septet(*again)[0] == 0
    with Vault("other.db", read_only=True) as vault:
        assert vault.get("-x").title == "Mended"


def test_a_vault_for_reading_only_keeps_the_text(septet):
    (septet.home / "v.db").chmod(0o400)
    with Vault("v.db", read_only=True) as vault:
        assert vault.get("note")
    code, _, told = septet.edit(REPLACE.format("two", "mine"))
    # Root may write whatever the file says.
    assert (code == 0) or (code == 3 and "mine" in kept(told).read_text("utf-8"))


HARD = [
    {"title": 'quotes " and \\ and \x7f', "description": "", "context": "+++\n+++", "tags": ["a,b", "ü", "]"]},
    {"title": "t", "description": "\n\nlines\n\n", "attrs": {"none": None, "deep": {"x": [1, None, {"y": True}]}}},
    {"title": "t", "description": "\r\nwindows\r\n", "attrs": {"big": 2**70, "float": 1e300, "a.b c": [[1], [2]]}},
    {"title": "📚 \u202e", "description": "+++\nbody\n+++\n", "attrs": {"date": "2026-01-01", "#": "x = 1"}},
    {"title": "t", "valid_from": NOON, "valid_until": 253_402_300_000.0, "severity": "critical", "source": "web"},
    {"title": "t", "valid_from": -1.5, "valid_until": 1e11, "trust": "untrusted", "type": "a b", "domain": "ü"},
]


@pytest.mark.parametrize("fields", HARD, ids=range(len(HARD)))
def test_an_entry_goes_through_its_text_without_a_change(tmp_path, fields):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a b", **fields)
        before = vault.get("a b")
        found = fields_in(as_text(before))
        assert fields_in(as_text(before)) == found
        vault.update("a b", **found)
        after = vault.get("a b")
    for name in ("title", "description", "context", "tags", "attrs", "valid_from", "valid_until", "type", "trust"):
        assert getattr(after, name) == getattr(before, name), name


@pytest.mark.parametrize(
    ("text", "title", "description"),
    [
        ("# Heading\n\nBody", "Heading", "Body"),
        ("intro\n\n## Second #\nrest", "Second", "intro\n\nrest"),
        ("no heading\nmore", "no heading", "no heading\nmore"),
        ("#hashtag is none\ntext", "#hashtag is none", "#hashtag is none\ntext"),
        ("\n\n# 日本語 📚\r\ntext\r\n", "日本語 📚", "text"),
    ],
)
def test_the_first_heading_of_a_text_is_its_title(text, title, description):
    assert titled(text) == {"title": title, "description": description}


def test_an_empty_text_has_no_title():
    for text in ("", "\n \n"):
        with pytest.raises(EntryError, match="empty"):
            titled(text)
