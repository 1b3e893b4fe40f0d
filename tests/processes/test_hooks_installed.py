"""Installed hooks as programs run them: the command of the settings, by a shell, in a folder with blanks and quotes."""

import json
import subprocess

import pytest

from consoles import WINDOWS
from golden.loader import other_recording
from hook_processes import HookProcesses
from hooked import transcript
from septet import Vault

pytestmark = pytest.mark.skipif(WINDOWS, reason="the shell is that of Linux and macOS")

FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}


@pytest.fixture
def hooks(tmp_path):
    home = tmp_path / 'it\'s a "home" & more $HOME'
    home.mkdir()
    hooks = HookProcesses(home)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        hooks.environment.pop(name, None)
    hooks.knows("Ann reviews changes of the payment service")
    yield hooks
    hooks.close()


def handlers_of(settings):
    """Yield each event with its command."""
    for event, groups in settings["hooks"].items():
        for group in groups:
            for handler in group.get("hooks", [group]):
                yield event, handler["command"]


@pytest.mark.parametrize("program", FILES)
def test_the_commands_of_the_settings_answer_and_keep(hooks, program):
    done = hooks.start("install", program)
    assert b"hooks installed" in done.communicate(timeout=60)[0]
    path = transcript(hooks.home / "sessions" / "abc123.jsonl")
    commands = dict(handlers_of(json.loads((hooks.home / FILES[program]).read_text())))
    cases = {case["input"]["hook_event_name"]: case for case in reversed(other_recording(f"hooks-{program}")["cases"])}
    for event, command in commands.items():
        # Each in a session of its own: an entry is printed once in one.
        raw = json.dumps(cases[event]["input"] | {"session_id": event}).replace('"<transcript>"', json.dumps(str(path)))
        shell = ["sh", "-c", command]
        answer = subprocess.run(
            shell, input=raw.encode(), capture_output=True, env=hooks.environment, cwd="/", timeout=60
        )
        assert (answer.returncode, answer.stderr) == (0, b"")
        assert bool(answer.stdout) == (cases[event]["output"] is not None), event
        assert not answer.stdout or b"Ann reviews changes" in answer.stdout
    hooks.until(lambda: not list((hooks.state / "pending").glob("*.json")))
    assert hooks.failures() == ""
    with Vault(hooks.vault) as vault:
        chunks = list(vault.entries({"kind": "chunk"}))
        assert "hokusai" in " ".join(chunk.description for chunk in chunks)
        assert {chunk.trust for chunk in chunks} == {"unverified"}
