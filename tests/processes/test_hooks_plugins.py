"""The plugins for OpenCode and OpenClaw, run by Node: documented inputs of these programs, and the plugins' answers."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from consoles import home_at
from golden.loader import other_recording
from hooked import transcript
from septet import Vault
from septet.hooks.calls import HookOptions
from septet.hooks.installing import install

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")

#: Loads the plugin of OpenCode and calls its hooks, one after another.
OPENCODE = """
import { readFileSync } from "node:fs";
const [path, steps] = process.argv.slice(2);
const plugin = Object.values(await import(path))[0];
let messages = [];
const asked = [];
const client = { session: { messages: async ({ path }) => (asked.push(path.id), { data: messages }) } };
const hooks = await plugin({ client, directory: "/data/payment-service", project: {}, worktree: "/", $: null });
for (const step of JSON.parse(readFileSync(steps, "utf8"))) {
  messages = step.messages ?? [];
  const before = step.output?.parts?.length;
  await hooks[step.hook](step.input, step.output);
  console.log(JSON.stringify({ pushed: step.output?.parts?.slice(before) ?? [], asked: asked.splice(0) }));
}
"""
#: The same for OpenClaw: a handler returns its result.
OPENCLAW = """
import { readFileSync } from "node:fs";
const [path, steps] = process.argv.slice(2);
const entry = (await import(path)).default;
const handlers = {};
entry.register({ on: (name, handler) => (handlers[name] = handler) });
for (const step of JSON.parse(readFileSync(steps, "utf8"))) {
  const result = await handlers[step.hook](step.event, step.context);
  console.log(JSON.stringify({ id: entry.id, result: result ?? null }));
}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("SEPTET_", "XDG_", "OPENCODE_", "OPENCLAW_"))]:
        monkeypatch.delenv(name)
    for name, value in home_at(tmp_path).items():
        monkeypatch.setenv(name, value)
    # A folder that others can enter: no helper is started, which would outlive the test.
    (tmp_path / "run" / "septet").mkdir(parents=True, mode=0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    vault = tmp_path / ".local" / "share" / "septet" / "vault.db"
    vault.parent.mkdir(parents=True)
    with Vault(vault) as opened:
        opened.remember("Ann reviews changes of the payment service")
    return tmp_path


def run(home, program, plugin, steps):
    """Run steps in Node; return what each printed."""
    (home / "program.mjs").write_text(program, encoding="utf-8")
    (home / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
    command = [NODE, str(home / "program.mjs"), plugin.as_uri(), str(home / "steps.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def kept(home):
    """Sync the transcripts that the hooks noted, and return the text that the vault has of them."""
    from septet.hooks.keeping import sync_pending

    assert sync_pending() == 0
    with Vault(home / ".local/share/septet/vault.db") as vault:
        return "\n".join(entry.description for entry in vault.entries({"kind": "chunk"}))


def test_the_plugin_of_opencode_adds_a_part_and_keeps_the_conversation(home):
    path, _ = install(HookOptions("opencode"))
    steps = other_recording("hooks-opencode")["hooks"]
    printed = run(home, OPENCODE, path, steps)
    for step, answer in zip(steps, printed, strict=True):
        if step.get("pushes"):
            (part,) = answer["pushed"]
            assert part.pop("id").startswith("prt_") and "Ann reviews changes" in part["text"]
            assert {**part, "text": "<text>"} == step["pushes"]
        else:
            assert answer["pushed"] == []
    assert [answer["asked"] for answer in printed] == [[], [], ["ses_1"], ["ses_1"], []]
    text = kept(home)
    assert text == "User: Who reviews the payment service?\nAssistant: Ann does."


def test_the_plugin_of_openclaw_prepends_context_and_keeps_the_transcript(home):
    install(HookOptions("openclaw"))
    plugin = home / ".openclaw" / "extensions" / "septet-hooks"
    path = transcript(home / ".openclaw" / "agents" / "main" / "sessions" / "s1.jsonl")
    package = home / ".openclaw" / "extensions" / "node_modules" / "openclaw"
    package.mkdir(parents=True)
    exports = {"name": "openclaw", "type": "module", "exports": {"./plugin-sdk/plugin-entry": "./entry.js"}}
    (package / "package.json").write_text(json.dumps(exports))
    (package / "entry.js").write_text("export const definePluginEntry = (entry) => entry;\n")
    recorded = json.dumps(other_recording("hooks-openclaw")["hooks"]).replace('"<transcript>"', json.dumps(str(path)))
    steps = json.loads(recorded)
    manifest = json.loads((plugin / "openclaw.plugin.json").read_text())
    script = plugin / json.loads((plugin / "package.json").read_text())["openclaw"]["extensions"][0]
    for step, answer in zip(steps, run(home, OPENCLAW, script, steps), strict=True):
        assert answer["id"] == manifest["id"]
        if step["result"] is None:
            assert answer["result"] is None
        else:
            assert "Ann reviews changes" in answer["result"]["prependContext"]
    text = kept(home)
    assert "hokusai" in text


@pytest.mark.parametrize("damage", ["a command that is gone", "a vault that is broken"])
def test_a_plugin_whose_command_fails_answers_nothing(home, damage):
    path, _ = install(HookOptions("opencode"))
    if damage == "a command that is gone":
        text = path.read_text()
        command = text[text.index("const COMMAND = ") :].partition(";")[0]
        path.write_text(text.replace(command, 'const COMMAND = ["/nowhere/septet"]'))
    else:
        Path(home / ".local/share/septet/vault.db").write_bytes(b"no vault" * 999)
    (answer,) = run(home, OPENCODE, path, other_recording("hooks-opencode")["hooks"][:1])
    assert answer["pushed"] == []
