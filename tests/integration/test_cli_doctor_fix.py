"""`septet doctor` says what is wrong with a vault, `--fix` mends what can be mended, and no entry is lost by it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3

import pytest

from children import ROOT
from commands import Commands
from septet import StoreError, Vault

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


FULL_TEXT = {
    "a row is missing": ["DELETE FROM entries_fts_docsize WHERE id IN (5, 6, 7)"],
    "everything is missing": ["INSERT INTO entries_fts (entries_fts) VALUES ('delete-all')"],
    "memories are missing": ["INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')"],
    "grams are missing": ["INSERT INTO grams_fts (grams_fts) VALUES ('delete-all')"],
    "blocks are random": ["UPDATE entries_fts_data SET block = randomblob(40) WHERE id > 10"],
    "its structure is random": ["UPDATE entries_fts_data SET block = randomblob(40) WHERE id = 10"],
    "its structure names more levels than memory has room for": [
        "UPDATE entries_fts_data SET block = x'3596e50a4202255eeeb0f5964097f49ab98df104b42990394ec59d83' WHERE id = 10"
    ],
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
    assert "full text: rebuilt" in said
    assert content(vault) == wanted
    assert doctor()[0] == 0


def test_a_write_into_full_text_that_asks_for_more_memory_than_there_is_names_the_cure(vault):
    changed(vault, *FULL_TEXT["its structure names more levels than memory has room for"])
    with Vault(vault) as opened:
        for write in (
            lambda: opened.add(id="x", title="new"),
            lambda: opened.update("e3", title="y"),
            lambda: opened.delete("e4"),
        ):
            with pytest.raises(StoreError, match="septet doctor"):
                write()
        assert len(opened) == ENTRIES + 1  # the memory


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
    assert (code, found["sidecar"]["behind"], found["sidecar"]["cure"]) == (0, 1, "update it")
    assert doctor("--fix")[1]["sidecar"]["behind"] == 0
    for file in (vault.parent / "v.db.septet").glob("*.arrays"):
        file.unlink()
    assert doctor()[1]["sidecar"]["cure"] == "write one"
    assert doctor("--fix")[1]["sidecar"]["state"] == "ok"


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
    assert "full text could not be repaired" in said
    assert vault.read_bytes() == before


@pytest.mark.skipif(ROOT, reason="root may write everywhere")
def test_a_vault_that_takes_no_writes_is_not_mended_and_says_so(vault, doctor):
    changed(vault, "DELETE FROM entries_fts_docsize WHERE id = 5")
    vault.chmod(0o444)
    assert doctor("--fix")[0] in (0, 3)


def test_a_vault_of_an_older_version_is_read_as_it_is_and_upgraded_when_asked(vault, doctor):
    with contextlib.closing(sqlite3.connect(vault)) as sql:
        (newest,) = sql.execute("PRAGMA user_version").fetchone()
        # As version 6 left it, which had none of these tables.
        for table in ("roots", "files", "mentions", "staged"):
            sql.execute(f"DROP TABLE {table}")
        sql.execute("PRAGMA user_version = 6")
    doctor()
    with contextlib.closing(sqlite3.connect(vault)) as sql:
        assert sql.execute("PRAGMA user_version").fetchone() == (6,)
    doctor("--fix")
    with contextlib.closing(sqlite3.connect(vault)) as sql:
        assert sql.execute("PRAGMA user_version").fetchone() == (newest,)
