"""`septet edit` of a chunk of a followed file, at a real terminal, with editors that are scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from septet import Chunking, Vault

pytest.importorskip("typer")
pytest.importorskip("rich")
pty = pytest.importorskip("pty")

FILLER = "Old pumps are oiled in spring, before they run.\n" * 12
TEXT = f"# Pumps\n\n{FILLER}\n## Valves\n\nThe valve opens at noon.\n\n## Filters\n\n{FILLER}"
#: Writes down how it was called, and changes the file as a user would.
EDITOR = """#!{python}
import json, os, sys
from pathlib import Path
Path({log!r}).write_text(json.dumps([os.isatty(0), sys.argv[1:]]))
path = Path({file!r})
path.write_text(path.read_text("utf-8").replace("at noon", os.environ.get("SAYS", "at dusk")), "utf-8")
sys.exit(int(os.environ.get("CODE", "0")))
"""


@pytest.fixture
def home(tmp_path):
    notes = tmp_path / "my notes"
    notes.mkdir()
    (notes / "pumps.md").write_text(TEXT, "utf-8")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes, name="notes", chunking=Chunking(tokens=60, overlap=0))
    return tmp_path


def environment(home, **more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SEPTET_", "XDG_", "VISUAL", "EDITOR"))}
    return {**kept, "HOME": str(home), "SEPTET_VAULT": str(home / "v.db"), "TERM": "xterm", "COLUMNS": "300", **more}


def editor(home, name):
    """Return the command of an editor of this name."""
    (home / "bin").mkdir(exist_ok=True)
    path = home / "bin" / name
    script = EDITOR.format(python=sys.executable, log=str(home / "called"), file=str(home / "my notes" / "pumps.md"))
    path.write_text(script, "utf-8")
    path.chmod(0o755)
    return str(path)


def at_a_terminal(home, *arguments, **more):
    """Run a command of which all streams are a terminal; return what it showed, and its exit code."""
    master, terminal = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    command = [sys.executable, "-m", "septet", *arguments]
    with subprocess.Popen(command, env=environment(home, **more), cwd=home, **streams) as process:
        os.close(terminal)
        said = b""
        try:
            while part := os.read(master, 65_536):
                said += part
        except OSError:
            # Nobody has the terminal open any more.
            pass
        code = process.wait(60)
    os.close(master)
    return said.decode().replace("\r\n", "\n"), code


def valve(home):
    """The chunk about valves, and its line."""
    with Vault(home / "v.db", read_only=True) as vault:
        (found,) = (entry for entry in vault if "valve opens" in entry.description)
        return found, found.span.first_line


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("vi", ["+{line}", "{file}"]),
        ("vim", ["+{line}", "{file}"]),
        ("nvim", ["+{line}", "{file}"]),
        ("nano", ["+{line}", "{file}"]),
        ("emacs", ["+{line}", "{file}"]),
        ("kak", ["+{line}", "{file}"]),
        ("hx", ["{file}:{line}"]),
        ("helix", ["{file}:{line}"]),
        ("subl", ["{file}:{line}"]),
        ("code", ["--goto", "{file}:{line}"]),
        ("some-editor", ["{file}"]),
    ],
)
def test_an_editor_opens_the_file_at_the_line_of_the_chunk_and_the_folder_is_synced(home, name, arguments):
    chunk, line = valve(home)
    said, code = at_a_terminal(home, "edit", chunk.id, EDITOR=editor(home, name))
    assert code == 0, said
    wanted = [one.format(file=home / "my notes" / "pumps.md", line=line) for one in arguments]
    assert line > 1 and json.loads((home / "called").read_text()) == [True, wanted]
    assert "notes: 1 file" in said
    with Vault(home / "v.db", read_only=True) as vault:
        texts = " ".join(entry.description for entry in vault)
    assert "at dusk" in texts and "at noon" not in texts


def test_options_of_the_editor_stay_and_a_line_that_was_named_is_the_one(home):
    given = f"'{editor(home, 'code')}' --wait"
    said, code = at_a_terminal(home, "edit", "pumps.md#L7", VISUAL=given, EDITOR="false")
    assert code == 0, said
    file = home / "my notes" / "pumps.md"
    assert json.loads((home / "called").read_text()) == [True, ["--wait", "--goto", f"{file}:7"]]


def test_an_editor_that_fails_says_how_to_go_on(home):
    chunk, _ = valve(home)
    said, code = at_a_terminal(home, "edit", chunk.id, EDITOR=editor(home, "vim"), CODE="3")
    assert (code, said) == (1, "the editor exited with 3: `septet sync` reads what it saved\n")
    said, code = at_a_terminal(home, "edit", chunk.id, EDITOR="/no/such/vim")
    assert code == 2 and "the editor /no/such/vim cannot be run" in said
    (home / "my notes" / "pumps.md").unlink()
    said, code = at_a_terminal(home, "edit", chunk.id, EDITOR=editor(home, "vim"))
    assert code == 2 and "pumps.md no longer exists: `septet sync` updates the vault" in said


def test_a_file_that_is_left_as_it_was_is_in_step(home):
    chunk, _ = valve(home)
    said, code = at_a_terminal(home, "edit", chunk.id, EDITOR=editor(home, "vim"), SAYS="at noon")
    assert code == 0 and valve(home)[0] == chunk, said


def test_chunks_of_a_tier_are_edited_where_they_are(home):
    with Vault(home / "agent.db") as vault:
        vault.add(title="Something else")
    (home / "tiers.toml").write_text(
        '[tiers.agent]\npath = "agent.db"\n[tiers.project]\npath = "v.db"\n', encoding="utf-8"
    )
    chunk, line = valve(home)
    said, code = at_a_terminal(home, "edit", chunk.id, "--config", "tiers.toml", EDITOR=editor(home, "vi"))
    assert code == 0, said
    assert json.loads((home / "called").read_text())[1][0] == f"+{line}"
    assert "at dusk" in valve(home)[0].description


@pytest.mark.parametrize("more", [[], ["--from", "other.md"]])
def test_without_a_terminal_file_and_line_are_named_and_nothing_is_opened(home, more):
    (home / "other.md").write_text("x", "utf-8")
    chunk, line = valve(home)
    done = subprocess.run(
        [sys.executable, "-m", "septet", "edit", chunk.id, *more],
        env=environment(home, EDITOR=editor(home, "vim")), cwd=home, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "") and not (home / "called").exists()
    file = home / "my notes" / "pumps.md"
    assert (
        f"{chunk.id} is line {line} of {file}, which the vault follows: edit it there, and `septet sync`" in done.stderr
    )
