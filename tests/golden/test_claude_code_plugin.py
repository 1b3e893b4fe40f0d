"""The plugin for Claude Code is valid by the documented schema, and its parts are those of the package."""

import json
from pathlib import Path

import pytest

from golden.loader import other_recording
from septet.mcp.clients import NAME

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "claude-code"
SKILL = ROOT / "python" / "septet" / ".agents" / "skills" / "septet"
PARTS = {"manifest": ".claude-plugin/plugin.json", "hooks": "hooks/hooks.json", "mcp": ".mcp.json"}
RECORDED = other_recording("claude-code-plugin-schema")


def part(name):
    return json.loads((PLUGIN / PARTS[name]).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_valid_by_the_documented_schema(name):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(part(name), RECORDED[name])


def test_the_folder_has_the_documented_parts_and_no_others():
    files = {path.relative_to(PLUGIN).as_posix() for path in PLUGIN.rglob("*") if path.is_file()}
    assert {path for path in files if not path.startswith("skills/septet/")} == set(PARTS.values())
    assert part("manifest")["name"] == "septet"


def test_the_hooks_are_those_that_install_writes():
    recorded = other_recording("hooks-claude-code")["settings"]["hooks"]
    command = json.dumps("septet hooks run claude-code")
    assert part("hooks")["hooks"] == json.loads(json.dumps(recorded).replace('"<command>"', command))


def test_the_server_is_started_as_by_mcp():
    assert part("mcp")["mcpServers"] == {NAME: {"command": "septet", "args": ["mcp"]}}


def test_the_skill_is_that_of_the_package():
    def texts(folder):
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.md")}

    remedy = "cp -r python/septet/.agents/skills/septet plugins/claude-code/skills/"
    assert texts(PLUGIN / "skills" / "septet") == texts(SKILL), remedy
