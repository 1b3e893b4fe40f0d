"""Hooks in the settings of a program: no byte of another's is lost, and taking them out restores the file."""

import json
import os
import stat
from pathlib import Path

import pytest

from commands import Commands
from hooked import claude_settings
from septet.hooks.json_text import added, apply, parsed, without

OURS = {"type": "command", "command": "septet hooks run claude-code", "timeout": 10}
EVENTS = ["SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"]

#: Settings as people and programs write them.
SETTINGS = {
    "empty object": "{}",
    "empty object with a line": "{}\n",
    "open object": "{\n}\n",
    "other settings": '{\n  "model": "opus",\n  "env": {"A": "1"}\n}\n',
    "tabs": '{\n\t"model": "opus"\n}',
    "four blanks": '{\n    "permissions": {\n        "allow": ["Bash(ls:*)"]\n    }\n}\n',
    "one line": '{"model": "opus", "hooks": {"Stop": [{"hooks": []}]}}',
    "windows": '{\r\n  "model": "opus",\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "hooks of others": (
        '{\n  "hooks": {\n    "SessionStart": [\n      {"hooks": [{"type": "command", "command": "make"}]}\n    ],\n'
        '    "UserPromptSubmit": []\n  },\n  "model": "opus"\n}\n'
    ),
    "comments": (
        '// mine\n{\n  // the model\n  "model": "opus", // best\n  /* hooks */\n  "hooks": { // of all\n'
        '    "PreCompact": [ // none yet\n    ]\n  } // end\n}\n// done\n'
    ),
    "a comment after the last value": '{\n  "model": "opus" // best\n}\n',
    "trailing commas": '{\n  "hooks": {\n    "Stop": [],\n  },\n}\n',
    "a trailing comma and a comment": '{\n  "model": "opus", // best\n}\n',
    "a comma on the next line": '{\n  "model": "opus"\n  ,\n}\n',
    "no indentation": '{\n"model": "opus"\n}\n',
    "names twice": '{"hooks": 1, "hooks": {}}',
    "unicode": '{\n  "name": "Zoë 🦀 \\u00e9"\n}\n',
    "nothing": "",
    "blank": "\n",
}
#: Settings that no edit may touch.
WRONG = {
    "no JSON": b"model = 'opus'\n",
    "half": b'{"model": "opus"',
    "two values": b"{} {}",
    "a list": b"[]",
    "hooks is a list": b'{"hooks": []}',
    "an event is an object": b'{"hooks": {"SessionStart": {}}}',
    "not UTF-8": b'{"model": "\xff"}',
    "UTF-16": '{"model": "opus"}'.encode("utf-16"),
    "deep": b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "an open comment": b'{"a": 1} /* ',
    "a wrong escape": b'{"\\x": 1}',
}


@pytest.fixture
def septet(tmp_path, monkeypatch):
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Commands(tmp_path, monkeypatch)


@pytest.fixture
def path(septet):
    return claude_settings(septet.home)


def plain(text):
    """Read JSON with comments by leaving out what `json` does not know, where no string has any of it."""
    lines = [line.partition("//")[0] for line in text.lstrip("\ufeff").splitlines()]
    whole = " ".join(lines).replace("/* hooks */", "")
    for closing in "}]":
        while (shorter := whole.replace(f",{closing}", closing).replace(f" {closing}", closing)) != whole:
            whole = shorter
    return json.loads(whole or "{}")


def is_subsequence(short, long):
    rest = iter(long)
    return all(char in rest for char in short)


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_hooks_are_added_and_taken_out_to_the_byte(septet, path, text):
    path.write_bytes(text.encode())
    assert septet("hooks", "install", "claude-code")[0] == 0
    after = path.read_bytes()
    assert is_subsequence(text, after.decode())
    hooks = plain(after.decode())["hooks"]
    for event in EVENTS:
        (handler,) = hooks[event][-1]["hooks"]
        assert handler["command"].endswith(f" hooks run claude-code --vault {(septet.home / 'v.db').as_posix()}")
        assert handler["type"] == "command"
    before = plain(text)
    for name in before.keys() - {"hooks"}:
        assert plain(after.decode())[name] == before[name]
    assert septet("hooks", "install", "claude-code")[1].endswith("the hooks are there already\n")
    assert path.read_bytes() == after
    assert septet("hooks", "uninstall", "claude-code")[0] == 0
    assert path.read_bytes() == text.encode()
    assert septet("hooks", "uninstall", "claude-code")[0] == 1


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_without_a_record_the_hooks_go_and_the_settings_stay(septet, path, text):
    path.write_bytes(text.encode())
    septet("hooks", "install", "claude-code")
    for record in (septet.home / ".local/share/septet/hooks/settings").iterdir():
        record.unlink()
    assert septet("hooks", "uninstall", "claude-code")[0] == 0
    written = path.read_text(encoding="utf-8")
    left, before = plain(written), plain(text)
    assert "septet" not in written
    others = {event: groups for event, groups in before.get("hooks", {}).items() if groups}
    assert {event: groups for event, groups in left["hooks"].items() if groups} == others
    assert {name: left[name] for name in left if name != "hooks"} == {n: before[n] for n in before if n != "hooks"}


@pytest.mark.parametrize("raw", WRONG.values(), ids=WRONG)
def test_settings_that_are_not_valid_are_refused_and_untouched(septet, path, raw):
    path.write_bytes(raw)
    for action in ("install", "uninstall"):
        code, out, err = septet("hooks", action, "claude-code")
        assert (code, out) == (3, "") or (action == "uninstall" and code == 1), (code, out, err)
    assert path.read_bytes() == raw
    assert list(path.parent.iterdir()) == [path]


def test_a_change_of_another_program_stays(septet, path):
    path.write_text('{\n  "model": "opus"\n}\n')
    septet("hooks", "install", "claude-code")
    changed = path.read_text().replace('"opus"', '"sonnet"').replace('"hooks": {', '"hooks": { // ours too')
    path.write_text(changed)
    assert septet("hooks", "uninstall", "claude-code")[0] == 0
    assert "sonnet" in path.read_text() and "// ours too" in path.read_text() and "septet" not in path.read_text()


def test_a_handler_beside_one_of_another_program_is_taken_out_alone(septet, path):
    other = {"type": "command", "command": "make context"}
    path.write_text(json.dumps({"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [OURS, other, OURS]}]}}))
    assert septet("hooks", "uninstall", "claude-code")[0] == 0
    assert json.loads(path.read_text()) == {"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [other]}]}}


def test_other_options_replace_the_hooks(septet, path):
    text = '{\n  "model": "opus"\n}\n'
    path.write_text(text)
    septet("hooks", "install", "claude-code")
    septet("hooks", "install", "claude-code", "--vault", "other.db", "--max-tokens", "300", "--min-confidence", "0.8")
    (group,) = json.loads(path.read_text())["hooks"]["SessionStart"]
    wanted = f"--vault {(septet.home / 'other.db').as_posix()} --max-tokens 300 --min-confidence 0.8"
    assert group["hooks"][0]["command"].endswith(wanted)
    septet("hooks", "uninstall", "claude-code")
    assert path.read_text() == text


def test_settings_that_did_not_exist_are_made_private_and_go_again(septet):
    path = septet.home / ".claude" / "settings.json"
    assert septet("hooks", "install", "claude-code")[0] == 0
    assert set(json.loads(path.read_text())) == {"hooks"}
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert septet("hooks", "uninstall", "claude-code")[0] == 0
    assert not path.exists()


@pytest.mark.skipif(os.name != "posix", reason="modes and links are those of Linux and macOS")
def test_permissions_stay_and_a_link_stays_a_link(septet, path):
    real = septet.home / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    real.chmod(0o640)
    path.symlink_to(real)
    septet("hooks", "install", "claude-code")
    assert path.is_symlink() and "septet" in real.read_text() and stat.S_IMODE(real.stat().st_mode) == 0o640
    septet("hooks", "uninstall", "claude-code")
    assert path.is_symlink() and real.read_text() == "{}\n" and stat.S_IMODE(real.stat().st_mode) == 0o640


def test_settings_that_another_program_changes_in_between_are_not_overwritten(septet, path, monkeypatch):
    from septet.hooks import settings

    path.write_text("{}\n")

    def changing(*arguments, **options):
        path.write_text('{"theirs": 1}\n')
        return added(*arguments, **options)

    monkeypatch.setattr(settings, "added", changing)
    code, _, err = septet("hooks", "install", "claude-code")
    assert code == 3 and "changed by another program" in err
    assert path.read_text() == '{"theirs": 1}\n'


@pytest.mark.parametrize("program", ["claude-code", "openclaw"])
def test_without_a_place_for_its_record_nothing_is_changed(septet, path, program):
    data = septet.home / ".local" / "share" / "septet"
    data.mkdir(parents=True)
    (data / "hooks").write_text("a file in the way")
    path.write_text("{}\n")
    code, out, err = septet("hooks", "install", program)
    assert (code, out) == (3, "") and "hooks" in err
    assert path.read_text() == "{}\n" and list(path.parent.iterdir()) == [path]
    assert not (septet.home / ".openclaw").exists()


def test_the_settings_of_a_project_name_its_vault(septet, monkeypatch):
    project = septet.home / "my project"
    project.mkdir()
    monkeypatch.delenv("SEPTET_VAULT")
    assert septet("hooks", "install", "claude-code", "--project", str(project))[0] == 0
    (group,) = json.loads((project / ".claude" / "settings.local.json").read_text())["hooks"]["PreCompact"]
    assert (project / ".septet" / "vault.db").as_posix() in group["hooks"][0]["command"]
    assert septet("hooks", "status", "--project", str(project))[1].count("hooks run claude-code") == 1
    assert septet("hooks", "uninstall", "claude-code", "--project", str(project))[0] == 0


def test_the_folder_that_the_program_is_configured_with_is_used(septet, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(septet.home / "elsewhere"))
    septet("hooks", "install", "claude-code")
    assert "septet" in (septet.home / "elsewhere" / "settings.json").read_text()


def test_the_status_shows_programs_waiting_transcripts_and_failures(septet, path):
    assert "claude-code  not installed" in septet("hooks", "status")[1]
    septet("hooks", "install", "claude-code")
    transcript = septet.home / "a.jsonl"
    septet("hooks", "run", "claude-code", stdin="garbage")
    event = {"hook_event_name": "SessionEnd", "transcript_path": str(transcript)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("septet.hooks.running.start_apart", lambda *words: None)
        patch.setattr("septet.hooks.running.DEADLINE_S", 600.0)
        septet("hooks", "run", "claude-code", stdin=json.dumps(event))
    code, out, _ = septet("hooks", "status")
    assert code == 0
    assert "claude-code  4 hooks in" in out and "1 transcript to sync" in out and "is not JSON" in out
    printed = json.loads(septet("hooks", "status", "--json")[1])
    assert printed["pending"] == [str(transcript)] and len(printed["failures"]) == 1
    assert [len(program["commands"]) for program in printed["programs"] if program["program"] == "claude-code"] == [4]
    path.write_text("garbage")
    assert "is not JSON" in septet("hooks", "status")[1]


@pytest.mark.parametrize(
    "arguments", [["install"], ["install", "emacs"], ["install", "claude-code", "--project", "no"]]
)
def test_a_wrong_argument_is_named(septet, arguments):
    code, _, err = septet("hooks", *arguments)
    assert code == 2 and err


def test_a_vault_on_a_server_is_refused(septet):
    code, _, err = septet("hooks", "install", "claude-code", "--vault", "postgresql://host/db")
    assert code == 2 and "in a file" in err
    assert not (septet.home / ".claude").exists()


@pytest.mark.parametrize(
    "text, number, left",
    [
        ("[1, 2, 3]", 0, "[2, 3]"),
        ("[1, 2, 3]", 1, "[1, 3]"),
        ("[1, 2, 3]", 2, "[1, 2]"),
        ("[1]", 0, "[]"),
        ("[ 1 ]", 0, "[]"),
        ("[\n  1,\n  2\n]", 1, "[\n  1\n]"),
        ("[\n  1,\n  2,\n]", 1, "[\n  1,\n]"),
        ("[\n  1, // first\n  2 // second\n]", 1, "[\n  1 // first // second\n]"),
        ("[\n  1\n]", 0, "[]"),
    ],
)
def test_an_item_is_taken_out_with_its_comma(text, number, left):
    assert without(text, parsed(text), number) == left


def test_a_value_that_is_there_is_not_set_again():
    assert added('{"version": 2}', ["version"], 1, to_array=False) == []
    assert json.loads(apply('{"a": 1}', added('{"a": 1}', ["version"], 1, to_array=False))) == {"a": 1, "version": 1}


def test_json5_is_read():
    text = "{a: 'it''s', $b: +.5e3, \"c\": 0xff, d: [Infinity, NaN,], e: '\\'\"',}".replace("it''s", "its")
    value = parsed(text)
    assert value.names == ("a", "$b", "c", "d", "e")
    assert [item.text for item in value.items] == ["its", "", "", "", "'\""]


OTHERS = {"codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json", "openclaw": ".openclaw/openclaw.json"}


@pytest.mark.parametrize("program", OTHERS)
@pytest.mark.parametrize("recorded", [True, False])
def test_the_settings_of_the_other_programs_are_restored(septet, program, recorded):
    path = septet.home / OTHERS[program]
    path.parent.mkdir()
    text = '// mine\n{\n  "version": 1, // of the file\n  "theirs": {"a": [1]}\n}\n'
    path.write_text(text)
    assert septet("hooks", "install", program)[0] == 0
    after = path.read_text()
    assert is_subsequence(text, after) and after != text
    assert septet("hooks", "install", program)[1].endswith("there already\n")
    assert f"hooks run {program} " in septet("hooks", "status")[1]
    if not recorded:
        for record in (septet.home / ".local/share/septet/hooks/settings").iterdir():
            record.unlink()
    assert septet("hooks", "uninstall", program)[0] == 0
    left = path.read_text()
    assert left == text if recorded else plain(left)["theirs"] == {"a": [1]} and "septet" not in left
    assert septet("hooks", "uninstall", program)[0] == 1


@pytest.mark.parametrize("program", ["opencode", "openclaw"])
def test_a_plugin_is_written_and_removed(septet, program):
    folder = {"opencode": ".config/opencode/plugins", "openclaw": ".openclaw/extensions"}[program]
    assert septet("hooks", "install", program)[0] == 0
    files = [path for path in (septet.home / folder).rglob("*") if path.is_file()]
    assert len(files) == {"opencode": 1, "openclaw": 3}[program]
    assert septet("hooks", "install", program)[1].endswith("there already\n")
    assert septet("hooks", "uninstall", program)[0] == 0
    assert list((septet.home / folder).iterdir()) == []
    assert septet("hooks", "uninstall", program)[0] == 1


def test_a_plugin_of_another_is_refused(septet):
    path = septet.home / ".config" / "opencode" / "plugins" / "septet.js"
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = 1\n")
    for action in ("install", "uninstall"):
        assert septet("hooks", action, "opencode")[0] == 3
    assert path.read_text() == "export const Mine = 1\n"


@pytest.mark.parametrize("program, step", [("codex", "/hooks"), ("openclaw", "plugins.allow"), ("cursor", "restart")])
def test_the_step_that_is_left_to_the_user_is_named(septet, program, step):
    assert step in septet("hooks", "install", program)[2]


def test_openclaw_has_no_hooks_of_a_project(septet):
    assert septet("hooks", "install", "openclaw", "--project", ".")[0] == 2


def test_no_file_of_the_edit_is_left_behind(septet, path):
    path.write_text("{}")
    for action in ("install", "uninstall"):
        septet("hooks", action, "claude-code")
    assert [entry.name for entry in Path(path.parent).iterdir()] == ["settings.json"]
