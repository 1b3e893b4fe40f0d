"""Hooks and edits of settings that are killed at any point: nothing is lost, and no file is half written."""

import json
import subprocess
import sys
import time

import pytest

from consoles import was_killed
from hook_processes import HookProcesses
from hooked import SECRET, transcript
from septet import Vault

#: Kills itself at the Nth step on files: an opening, a renaming, a removal, a folder.
KILLED_AT = """
import os, sys
left, seen = int(sys.argv[1]), ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.truncate", "shutil")
def audit(event, arguments):
    global left
    if armed and event in seen:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
armed = False
sys.addaudithook(audit)
"""
EDIT = """
from septet.hooks import installing, json_text, settings
from septet.hooks.calls import HookOptions
import hashlib, septet.system.target
armed = True
installing.{action}
"""
NOTE = """
import io
sys.stdin = io.TextIOWrapper(io.BytesIO(sys.argv[2].encode()))
from septet.hooks import answering, calls, keeping, running, state
running.start_apart = lambda *words: None
armed = True
running.run(["claude-code", "--no-helper"])
"""
SETTINGS = '// mine\n{\n  "model": "opus", // best\n  "hooks": {"Stop": []}\n}\n'
#: More steps than any of these has.
MOST_STEPS = 200


@pytest.fixture
def hooks(tmp_path):
    hooks = HookProcesses(tmp_path)
    yield hooks
    hooks.close()


def killed(hooks, code, step, *arguments):
    """Run code that is killed at a step; return False if it ended before."""
    command = [sys.executable, "-c", KILLED_AT + code, str(step), *arguments]
    done = subprocess.run(command, env=hooks.environment, cwd=hooks.home, capture_output=True, timeout=60)
    assert done.returncode == 0 or was_killed(done.returncode), done.stderr
    return done.returncode != 0


def test_an_edit_of_settings_is_whole_or_not_there_wherever_it_is_killed(hooks):
    path = hooks.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS)
    subprocess.run(hooks.command("install", "claude-code"), env=hooks.environment, cwd=hooks.home, check=True)
    installed = path.read_text()
    install, uninstall = (
        EDIT.format(action=action) for action in ('install(HookOptions("claude-code"))', 'uninstall("claude-code")')
    )
    for step in range(1, MOST_STEPS):
        path.write_text(SETTINGS)
        while_installing = killed(hooks, install, step)
        assert path.read_text() in (SETTINGS, installed)
        subprocess.run([sys.executable, "-c", "armed = False" + install], env=hooks.environment, check=True)
        assert path.read_text() == installed
        while_removing = killed(hooks, uninstall, step)
        assert path.read_text() in (SETTINGS, installed)
        subprocess.run([sys.executable, "-c", "armed = False" + uninstall], env=hooks.environment, check=True)
        assert path.read_text() == SETTINGS
        if not (while_installing or while_removing):
            break
    assert 3 < step < MOST_STEPS - 1


def test_a_hook_that_is_killed_notes_a_transcript_as_a_whole_or_not_at_all(hooks):
    path = transcript(hooks.home / ".claude" / "projects" / "app" / "abc.jsonl")
    event = json.dumps({"hook_event_name": "SessionEnd", "transcript_path": str(path)})
    noted = hooks.state / "pending"
    for step in range(1, MOST_STEPS):
        was = killed(hooks, NOTE, step, event)
        files = list(noted.glob("*.json")) if noted.exists() else []
        assert [json.loads(file.read_bytes())["transcript"] for file in files] in ([], [str(path)])
        if not was:
            break
        for file in files:
            file.unlink()
    assert len(files) == 1 and 3 < step < MOST_STEPS - 1
    assert hooks.failures() == ""


def test_a_sync_that_is_killed_at_any_time_loses_no_transcript(hooks):
    hooks.knows("Ann reviews changes of the payment service")
    folder = hooks.home / ".claude" / "projects" / "app"
    kills = 0
    for number in range(14):
        turns = [("user", f"Database {number} is called hokusai{number}, token {SECRET}", "2026-05-01T10:00:00Z")]
        path = transcript(folder / f"session{number}.jsonl", turns * 200)
        hooks.run({"hook_event_name": "SessionEnd", "transcript_path": str(path)}, "--no-helper")
        sync = hooks.start("sync")
        time.sleep(number * 0.04)
        sync.kill()
        sync.communicate()
        kills += was_killed(sync.returncode)
        with Vault(hooks.vault, read_only=True) as vault:
            assert vault.recall("who reviews the payment service").ids
    assert kills > 3
    last = hooks.start("sync")
    assert last.wait(timeout=120) == 0
    last.communicate()
    hooks.until(lambda: list((hooks.state / "pending").glob("*.json")) == [])
    assert hooks.failures() == ""
    with Vault(hooks.vault) as vault:
        chunks = vault.entries({"kind": "chunk"}, limit=None)
        assert {chunk.title for chunk in chunks} == {f"session{number}.jsonl" for number in range(14)}
        assert not any(SECRET in chunk.description for chunk in chunks)
        spans = [(chunk.title, chunk.span.first_line) for chunk in chunks]
        assert len(spans) == len(set(spans)), "no chunk is there twice"


def test_a_helper_that_is_killed_in_a_sync_leaves_the_transcript_to_the_next_start(hooks):
    helper = hooks.helper()
    path = transcript(hooks.home / ".claude" / "projects" / "app" / "abc.jsonl")
    hooks.run({"hook_event_name": "SessionEnd", "transcript_path": str(path)})
    helper.kill()
    helper.wait()
    hooks.run({"hook_event_name": "SessionStart", "source": "startup", "session_id": "b"}, "--no-helper")
    hooks.until(lambda: hooks.vault.exists() and list((hooks.state / "pending").glob("*.json")) == [])
    with Vault(hooks.vault) as vault:
        assert "hokusai" in vault.entries({"kind": "chunk"})[0].description
