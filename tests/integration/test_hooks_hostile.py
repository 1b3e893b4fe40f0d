"""Hooks between hostile files: nothing of another's is cut, taken or waited for."""

import json
import os

import pytest

from commands import Commands
from hooked import Hooked, claude_settings, transcript
from septet import Vault
from septet.hooks import state
from small_files import no_larger_than


@pytest.fixture
def septet(tmp_path, monkeypatch):
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Commands(tmp_path, monkeypatch)


@pytest.fixture
def path(septet):
    return claude_settings(septet.home)


@pytest.mark.parametrize("program, room", [("claude-code", 3_300), ("claude-code", 500), ("opencode", 2_000)])
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


@pytest.mark.parametrize(
    "line",
    [
        "notify 'septet hooks run claude-code'",
        "/opt/septet-wrapper && log hooks run claude-code",
        "septet hooks run claude-code-2",
        "my-septet hooks run claude-code",
        "echo 'septet hooks run claude-code",
    ],
)
def test_a_hook_of_another_that_names_septet_stays(septet, path, line):
    settings = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}}
    path.write_text(json.dumps(settings))
    assert septet("hooks", "uninstall", "claude-code")[0] == 1
    septet("hooks", "install", "claude-code")
    assert septet("hooks", "status")[1].count("claude-code  4 hooks") == 1
    for record in (septet.home / ".local/share/septet/hooks/settings").iterdir():
        record.unlink()
    assert septet("hooks", "uninstall", "claude-code")[0] == 0
    assert json.loads(path.read_text())["hooks"]["Stop"] == settings["hooks"]["Stop"]


@pytest.mark.parametrize(
    "line",
    [
        "septet hooks run claude-code",
        'A=1 "/home/a user/bin/septet" hooks run claude-code --vault x',
        "/usr/bin/python3 -P -m septet hooks run claude-code",
        "/bin/uv tool run --from 'septet[cli]' septet hooks run claude-code --vault v",
        '"C:/Program Files/septet.exe" hooks run claude-code',
    ],
)
def test_a_hook_is_known_however_septet_is_started(septet, path, line):
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}}))
    assert septet("hooks", "uninstall", "claude-code")[0] == 0
    assert json.loads(path.read_text()) == {"hooks": {"Stop": []}}


def test_settings_that_are_read_only_stay(septet, path):
    path.write_text("{}\n")
    path.chmod(0o444)
    code, _, err = septet("hooks", "install", "claude-code")
    assert code == 3 and "read-only" in err
    assert path.read_text() == "{}\n"
    assert septet("hooks", "uninstall", "claude-code")[0] == 1
    path.chmod(0o644)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("program", ["claude-code", "opencode"])
@pytest.mark.parametrize("target", ["pipe", "/dev/zero", "folder"])
def test_in_the_place_of_settings_only_a_file_is_read(septet, path, program, target):
    os.mkfifo(septet.home / "pipe")
    (septet.home / "folder").mkdir()
    plugin = septet.home / ".config" / "opencode" / "plugins" / "septet.js"
    plugin.parent.mkdir(parents=True)
    for place in (path, plugin):
        place.symlink_to(septet.home / target)
    for action in ("install", "uninstall"):
        code, _, err = septet("hooks", action, program)
        assert code == 3 and "is no file" in err
    assert septet("hooks", "status")[1].count("is no file") == 2


@pytest.fixture
def hooked(tmp_path, monkeypatch):
    return Hooked(tmp_path, monkeypatch)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_start_does_not_wait_for_a_pipe_in_the_place_of_a_transcript(hooked):
    hooked.knows("The payment service is reviewed by Ann")
    os.mkfifo(hooked.home / "pipe.jsonl")
    fields = {"hook_event_name": "SessionStart", "source": "compact", "cwd": "/nowhere/payment"}
    printed = hooked.call({**fields, "transcript_path": str(hooked.home / "pipe.jsonl")}, "--no-helper")
    assert "Ann" in printed["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("above", ["", "sessions/user"])
def test_a_transcript_in_a_folder_with_the_home_is_followed_alone(hooked, monkeypatch, above):
    home = hooked.home / above
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    mine = transcript(home / "mine.jsonl")
    transcript(home / "work" / "private.jsonl", [("user", "The zebra is private", "2026-05-01T10:00:00Z")])
    fields = {"hook_event_name": "SessionEnd", "session_id": "s", "transcript_path": str(mine)}
    hooked.call(fields, "--wait", "--vault", str(hooked.home / "v.db"))
    assert hooked.failures() == []
    with Vault(hooked.home / "v.db") as vault:
        vault.sync()
        assert vault.search("hokusai").hits and not vault.search("zebra").hits


def test_the_vault_of_a_project_takes_no_conversation_of_another(hooked):
    vault = hooked.home / "alpha" / ".septet" / "vault.db"
    day = hooked.home / ".codex" / "sessions" / "2026"
    mine = transcript(day / "mine.jsonl")
    transcript(day / "other.jsonl", [("user", "The zebra is a secret of beta", "2026-05-01T10:00:00Z")])
    fields = {"hook_event_name": "Stop", "session_id": "mine", "transcript_path": str(mine)}
    for words in ("The tapir is new", "The okapi is newer"):
        hooked.call(fields, "--wait", "--vault", str(vault), program="codex")
        with mine.open("a") as lines:
            lines.write(json.dumps({"type": "user", "message": {"role": "user", "content": words}}) + "\n")
    assert hooked.failures() == []
    with Vault(vault) as opened:
        opened.sync()
        assert opened.search("hokusai").hits and opened.search("tapir").hits and opened.search("okapi").hits
        assert not opened.search("zebra").hits


@pytest.mark.parametrize("vault", ["v.db", ".septet/vault.db"])
def test_a_link_in_the_place_of_a_transcript_brings_no_other_file(hooked, vault):
    (hooked.home / "passwords").write_text("the zebra of root\n")
    link = hooked.home / ".claude" / "projects" / "app" / "link.jsonl"
    link.parent.mkdir(parents=True)
    try:
        link.symlink_to(hooked.home / "passwords")
    except OSError:
        pytest.skip("this user makes no links")
    fields = {"hook_event_name": "SessionEnd", "session_id": "s", "transcript_path": str(link)}
    path = hooked.home / vault
    path.parent.mkdir(exist_ok=True)
    hooked.call(fields, "--wait", "--vault", str(path))
    with Vault(path) as opened:
        opened.sync()
        assert not opened.search("zebra").hits
