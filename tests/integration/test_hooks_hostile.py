"""Hooks between hostile files: nothing of another's is cut, taken or waited for."""

import json

import pytest

from commands import Commands
from septet.hooks import state
from small_files import no_larger_than


@pytest.fixture
def septet(tmp_path, monkeypatch):
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Commands(tmp_path, monkeypatch)


@pytest.fixture
def path(septet):
    """The settings of Claude Code, in a folder that exists."""
    path = septet.home / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


@pytest.mark.parametrize("program, room", [("claude-code", 3_300), ("opencode", 2_000)])
def test_a_disk_that_becomes_full_cuts_no_settings(septet, path, program, room):
    plugin = septet.home / ".config" / "opencode" / "plugins" / "septet.js"
    path.write_text(json.dumps({"env": {"A": "x" * 3_000}}, indent=2))
    septet("hooks", "install", "opencode")
    before = path.read_bytes(), plugin.read_bytes()
    with no_larger_than(room):
        code, out, err = septet("hooks", "install", program, "--max-tokens", "300")
    assert (code, out) == (3, "") and "cannot be written" in err
    assert (path.read_bytes(), plugin.read_bytes()) == before
    assert septet("hooks", "install", program, "--max-tokens", "300")[0] == 0


def test_a_disk_that_becomes_full_cuts_no_note_of_a_transcript(tmp_path):
    note = tmp_path / "note.json"
    state.replace(note, b"before")
    with no_larger_than(1_000), pytest.raises(OSError):
        state.replace(note, b"x" * 3_000)
    assert note.read_bytes() == b"before" and list(tmp_path.iterdir()) == [note]
