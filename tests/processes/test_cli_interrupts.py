"""Ctrl-C at any moment of a command: it says what is stored, the vault is whole, and the next run goes on."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from commands import Commands
from consoles import CONSOLE, INTERRUPTED, STOPS, home_at, interrupt
from embedding_server import EmbeddingServer
from embedding_server.parts import text_rows
from septet import Vault

pytest.importorskip("typer")
pytest.importorskip("rich")

ENTRIES = 7_000


@pytest.fixture(autouse=True)
def interruptible():
    """Who starts the tests in the background has them ignore interrupts, and so would their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def running(home, *arguments, **more):
    """Start a command; it is ended if it outlives the block."""
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"}
    environment |= {**home_at(home), "SEPTET_EMBEDDING": "", "SEPTET_VAULT": str(home / "v.db"), **more}
    command = [sys.executable, "-m", "septet", *arguments]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, env=environment, cwd=home, **pipes, **CONSOLE) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupted_after(process, seconds):
    """Interrupt a command when it has run so long, unless it is done; return its exit code and what it said."""
    timer = threading.Timer(seconds, interrupt, [process])
    timer.start()
    _, said = process.communicate(timeout=120)
    timer.cancel()
    return process.returncode, said


def traced(said):
    """Tell whether a traceback was shown, other than Python's own of its start, before Septet was loaded."""
    return "Traceback" in said and re.search(r"(python|site-packages)[/\\]septet[/\\]", said) is not None


def held(home):
    """Return how many entries a vault holds, after SQLite and its full-text index were checked."""
    if not (home / "v.db").exists():
        return 0
    # A file that was just made has no tables yet, which whoever opens it makes.
    with Vault(home / "v.db") as vault:
        count = len(vault)
    with contextlib.closing(sqlite3.connect(home / "v.db")) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        file.execute("INSERT INTO entries_fts(entries_fts, rank) VALUES ('integrity-check', 0)")
    return count


#: While modules load, while the vault is made, and in the midst of storing: which one depends on the machine.
MOMENTS = (0.3, 0.7, 1.1, 1.8)


@pytest.mark.parametrize("seconds", MOMENTS)
def test_an_import_that_is_stopped_says_what_is_stored(tmp_path, seconds):
    lines = tmp_path / "entries.jsonl"
    lines.write_text("".join(f'{{"id": "e{i}", "title": "title {i}", "text": "words"}}\n' for i in range(ENTRIES)))
    with running(tmp_path, "import", str(lines)) as process:
        code, said = interrupted_after(process, seconds)
    assert not traced(said)
    stored = held(tmp_path)
    if told := re.search(r"stopped: ([\d,]+) stored; import again to continue", said):
        assert (code, stored) == (130, int(told[1].replace(",", "")))
    elif code == 0 or f"stored {ENTRIES} entries" in said:
        assert stored == ENTRIES
    else:
        # Before there was anything to stop.
        assert (code in (130, INTERRUPTED), stored) == (True, 0), said
    with running(tmp_path, "import", str(lines)) as process:
        assert process.communicate(timeout=120)[1].startswith(f"stored {ENTRIES} entries")
    assert held(tmp_path) == ENTRIES


def test_an_import_that_is_stopped_while_its_vault_is_closed_says_what_is_stored(tmp_path, monkeypatch):
    lines = tmp_path / "entries.jsonl"
    lines.write_text("".join(f'{{"id": "e{i}", "title": "title {i}"}}\n' for i in range(3)))
    septet, close = Commands(tmp_path, monkeypatch), Vault.close

    def stopped(vault):
        """Close a vault, and be interrupted."""
        close(vault)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Vault, "close", stopped)
        code, _, said = septet("import", str(lines))
    assert (code, held(tmp_path)) == (130, 3)
    assert "stopped: 3 stored; import again to continue" in said


@pytest.mark.parametrize("seconds", MOMENTS[:3])
def test_a_sync_that_is_stopped_says_what_is_stored(tmp_path, seconds):
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(600):
        (folder / f"note-{i}.md").write_text(f"# Note {i}\n\nSome words about {i}.\n")
    with running(tmp_path, "sync", str(folder)) as process:
        code, said = interrupted_after(process, seconds)
    held(tmp_path)
    if told := re.search(r"stopped: ([\d,]+) files? in ([\d,]+) chunks? stored; sync again to continue", said):
        with Vault(tmp_path / "v.db") as vault:
            roots = vault.sync_status().roots
        counts = sum(one.files for one in roots), sum(one.chunks for one in roots)
        assert (code, counts) == (130, tuple(int(number.replace(",", "")) for number in told.groups()))
    else:
        assert code in (0, 130, INTERRUPTED), said
    with running(tmp_path, "sync", str(folder)) as process:
        process.communicate(timeout=120)
    with Vault(tmp_path / "v.db") as vault:
        assert vault.sync_status().roots[0].files == 600


@pytest.mark.parametrize("at", [1, 2, 4])
def test_embedding_that_is_stopped_says_how_many_have_a_vector(tmp_path, at):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{i}", "title": f"title {i}"} for i in range(700))
    asked, stopping = [], threading.Event()

    def embed(texts, *rest, **more):
        asked.append(len(texts))
        if len(asked) == at:
            interrupt(process)
            stopping.wait(0.2)
        return text_rows(texts, *rest, **more)

    with EmbeddingServer(embed) as server:
        block = {"provider": "voyage", "model": "small", "apiKey": "good-key", "baseUrl": server.url}
        configured = tmp_path / "config.json"
        configured.write_text(json.dumps({"embedding": block}))
        with running(tmp_path, "embed", "--embedding", str(configured)) as process:
            _, said = process.communicate(timeout=120)
        told = re.search(r"stopped: (?:([\d,]+) of ([\d,]+) entries have|no entry has) a vector", said)
        assert told, said
        assert process.returncode == 130
        with Vault(tmp_path / "v.db", read_only=True) as vault:
            spaces = [space for space in vault.embedding_status().spaces if not space.given]
        assert sum(space.entries for space in spaces) == int((told[1] or "0").replace(",", ""))
        held(tmp_path)
        with running(tmp_path, "embed", "--embedding", str(configured)) as process:
            assert "none lacks a vector" in process.communicate(timeout=120)[1]


@pytest.mark.parametrize("seconds", MOMENTS[1:3])
def test_optimizing_that_is_stopped_leaves_nothing_half_done(tmp_path, seconds):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{i}", "title": f"title {i}", "vector": [1.0, i]} for i in range(6_000))
    with running(tmp_path, "optimize") as process:
        code, said = interrupted_after(process, seconds)
    assert code in (0, 130, INTERRUPTED), said
    # An interrupt while modules were loaded has nothing to say.
    assert ("stopped" in said) == (code == 130 and said != "")
    assert held(tmp_path) == 6_000
    assert list(tmp_path.glob("v.db.septet/*.part")) == []
    with running(tmp_path, "optimize", "--json") as process:
        told = json.loads(process.communicate(timeout=120)[0])
    assert told["entries"] == 6_000
    assert Path(told["path"]).exists()


@pytest.mark.parametrize("stop", STOPS)
def test_watching_ends_well_when_it_is_told_to_end(tmp_path, stop):
    pytest.importorskip("watchfiles")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\nSteep it.\n")
    with running(tmp_path, "watch", "notes") as process:
        assert process.stdout.readline().endswith(" s\n")
        assert process.stderr.readline().startswith("watching ")
        stop(process)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "stopped\n")
    assert held(tmp_path) == 1


def test_a_sync_that_leaves_a_file_out_is_done_and_one_that_has_no_folder_is_not(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tea.md").write_text("# Tea\n\nSteep it.\n")
    (notes / "odd.md").write_bytes(b"\0\1\2")
    for ready, code in ((True, 0), (False, 1)):
        if not ready:
            notes.rename(tmp_path / "away")
        with running(tmp_path, "sync", *(["notes"] if ready else [])) as process:
            _, said = process.communicate(timeout=60)
        assert (process.returncode, "skipped odd.md: binary" in said) == (code, ready), said


DEAF = """
import sys, time
from septet.cli.exits import heed_interrupts
heed_interrupts()
try:
    print("ready", flush=True)
    sys.stdin.read()
except KeyboardInterrupt:
    print("stopping", flush=True)
    while True:
        try:
            sum(range(10**6))
        except KeyboardInterrupt:
            pass
"""


def test_a_second_interrupt_ends_the_process_whatever_it_does(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", DEAF], text=True, **pipes, **CONSOLE) as process:
        for said in ("ready\n", "stopping\n"):
            assert process.stdout.readline() == said
            interrupt(process)
        assert process.wait(30) == INTERRUPTED


def test_two_interrupts_end_a_process_that_waits_for_a_pipe():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", DEAF], text=True, **pipes, **CONSOLE) as process:
        assert process.stdout.readline() == "ready\n"
        interrupt(process)
        # Signals that come together are one.
        time.sleep(1)
        interrupt(process)
        assert process.wait(30) == INTERRUPTED


def test_a_command_that_is_to_ignore_interrupts_does(tmp_path):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with running(tmp_path, "import", "-") as process:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        process.stdin.write('{"title": "one"}\n')
        process.stdin.flush()
        interrupt(process)
        _, said = process.communicate('{"title": "two"}\n', timeout=60)
    assert process.returncode == 0
    assert said.startswith("stored 2 entries")
