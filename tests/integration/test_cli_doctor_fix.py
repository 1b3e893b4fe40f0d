"""`septet doctor` says what is wrong with a vault, `--fix` mends what can be mended, and no entry is lost by it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from commands import Commands
from septet import Vault
from septet.storage.tables import claims

pytest.importorskip("typer")

ENTRIES = 2_500
NOW = 1_790_000_000.0


@pytest.fixture
def vault(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "v.db"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    with Vault(folder / "v.db") as made:
        made.add_many(
            {"id": f"e{i}", "title": f"title {i} größer", "description": "words of it", "vector": [1.0, i]}
            for i in range(ENTRIES)
        )
        made.add(id="m", kind="memory", title="remember the words")
        made.optimize()
    return folder


@pytest.fixture
def doctor(vault, monkeypatch):
    command = Commands(vault.parent, monkeypatch)

    def run(*arguments):
        return told(*command("doctor", "--json", *arguments))

    return run


@pytest.fixture
def doctor_process(vault):
    def run(*arguments):
        environment = {**os.environ, "HOME": str(vault.parent), "SEPTET_EMBEDDING": ""}
        environment.pop("XDG_CONFIG_HOME", None)
        command = [sys.executable, "-m", "septet", "doctor", "--json", "--vault", str(vault), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
        return told(done.returncode, done.stdout, done.stderr)

    return run


def told(code, printed, said):
    assert "Traceback" not in said, said
    return code, json.loads(printed)["checks"], said


def content(path):
    """Return everything that was stored, and what a search finds."""
    with Vault(path, read_only=True, clock=lambda: NOW) as opened:
        entries = [entry.to_dict() for entry in opened.entries()]
        found = [(hit.id, hit.score) for hit in opened.search("title 17 größer", limit=20)]
        memories = opened.search("remember", include_memories=True).ids
    return entries, found, memories


def changed(path, *statements):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as sql:
        for statement in statements:
            sql.execute(statement)
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_sound_vault_is_left_as_it_is(vault, doctor_process):
    before = vault.read_bytes()
    assert doctor_process()[0] == 0
    code, found, said = doctor_process("--fix")
    assert (code, said) == (0, "")
    assert [found[name]["state"] for name in ("vault", "file", "full text", "sidecar", "left behind")] == [
        *["ok"] * 4,
        "none",
    ]
    assert vault.read_bytes() == before


FULL_TEXT = {
    "a row is missing": ["DELETE FROM entries_fts_docsize WHERE id IN (5, 6, 7)"],
    "everything is missing": ["INSERT INTO entries_fts (entries_fts) VALUES ('delete-all')"],
    "memories are missing": ["INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')"],
    "grams are missing": ["INSERT INTO grams_fts (grams_fts) VALUES ('delete-all')"],
    "blocks are random": ["UPDATE entries_fts_data SET block = randomblob(40) WHERE id > 10"],
    "its structure is random": ["UPDATE entries_fts_data SET block = randomblob(40) WHERE id = 10"],
    "its blocks are gone": ["DELETE FROM entries_fts_data WHERE id > 10"],
    "a table is gone": ["DROP TABLE entries_fts"],
    "a table that FTS5 keeps it in is gone": ["DROP TABLE grams_fts_idx", "DROP TABLE memories_fts_config"],
}


@pytest.mark.parametrize("how", FULL_TEXT)
def test_full_text_that_disagrees_with_the_entries_is_made_anew(vault, doctor, how):
    wanted = content(vault)
    changed(vault, *FULL_TEXT[how])
    code, found, said = doctor()
    assert (code, found["full text"]["state"]) == (3, "fault"), said
    # It only says so.
    assert doctor()[0] == 3
    code, found, said = doctor("--fix")
    assert (code, found["full text"]["state"]) == (0, "ok"), said
    assert "full text: made anew" in said
    assert content(vault) == wanted
    assert doctor()[0] == 0


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 0.95])
def test_a_sidecar_that_was_overwritten_is_written_anew(vault, doctor, at):
    wanted = content(vault)
    (file,) = (vault.parent / "v.db.septet").glob("*.arrays")
    with file.open("r+b") as damaged:
        damaged.seek(int(file.stat().st_size * at))
        damaged.write(os.urandom(2_000))
    code, found, _ = doctor()
    assert (code, found["sidecar"]["state"]) == (3, "fault")
    assert file.exists()
    code, found, said = doctor("--fix")
    assert (code, found["sidecar"]["state"], found["sidecar"]["behind"]) == (0, "ok", 0), said
    assert content(vault) == wanted


def test_a_sidecar_that_is_behind_or_gone_is_no_fault_and_is_brought_up_to_date(vault, doctor):
    with Vault(vault) as opened:
        opened.add(id="new", title="one more")
    code, found, _ = doctor()
    assert (code, found["sidecar"]["behind"], found["sidecar"]["cure"]) == (0, 1, "bring it up to date")
    assert doctor("--fix")[1]["sidecar"]["behind"] == 0
    for file in (vault.parent / "v.db.septet").glob("*.arrays"):
        file.unlink()
    assert doctor()[1]["sidecar"]["cure"] == "write one"
    assert doctor("--fix")[1]["sidecar"]["state"] == "ok"


def test_what_ended_processes_left_is_cleared_and_what_running_ones_hold_stays(vault, doctor_process):
    dead = subprocess.run(
        [sys.executable, "-c", "from septet.storage.tables.claims import new_owner; print(new_owner())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    later = time.time() + 3_600
    with contextlib.closing(sqlite3.connect(vault)) as sql, sql:
        rows = [
            ("m/1", "a", dead, later),
            ("m/1", "b", claims.new_owner(), later),
            ("m/1", "c", "elsewhere 1 2 3", 5.0),
        ]
        sql.executemany("INSERT INTO claims (model, key, owner, until) VALUES (?, ?, ?, ?)", rows)
    half, export = vault.parent / "v.db.septet/9-abc.arrays.part", vault.parent / f".septet-{'a' * 16}.part"
    for file in (half, export):
        file.write_bytes(b"half")
        os.utime(file, (1.0, 1.0))
    code, found, _ = doctor_process()
    assert (code, found["left behind"]["claims"], found["left behind"]["files"]) == (0, 2, 2)
    code, found, said = doctor_process("--fix")
    assert "cleared 2 claims and 2 files" in said
    assert (code, found["left behind"]["state"]) == (0, "none")
    assert not half.exists()
    assert not export.exists()
    with contextlib.closing(sqlite3.connect(vault)) as sql:
        assert sql.execute("SELECT key FROM claims").fetchall() == [("b",)]


def test_a_file_that_is_damaged_itself_is_left_as_it_is(vault, doctor):
    with contextlib.closing(sqlite3.connect(vault)) as sql:
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = sql.execute("SELECT rootpage FROM sqlite_master WHERE name = 'history'").fetchone()
        (size,) = sql.execute("PRAGMA page_size").fetchone()
    with vault.open("r+b") as damaged:
        damaged.seek((page - 1) * size)
        damaged.write(b"\xff" * size)
    changed(vault, "DELETE FROM entries_fts_docsize WHERE id = 5")
    before = vault.read_bytes()
    code, found, said = doctor("--fix")
    assert code == 3
    assert "restore a backup" in found["file"]["said"]
    assert "full text could not be mended" in said
    assert vault.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_vault_that_takes_no_writes_is_not_mended_and_says_so(vault, doctor):
    changed(vault, "DELETE FROM entries_fts_docsize WHERE id = 5")
    vault.chmod(0o444)
    assert doctor("--fix")[0] in (0, 3)
