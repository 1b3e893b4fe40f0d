"""Tests of `integration/test_cli_doctor_fix.py` that start processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from commands import Commands
from integration.test_cli_doctor_fix import ENTRIES, told
from septet import Vault
from septet.store.owners import new_owner

pytest.importorskip("typer")


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


def test_what_ended_processes_left_is_cleared_and_what_running_ones_hold_stays(vault, doctor_process):
    dead = subprocess.run(
        [sys.executable, "-c", "from septet.store.owners import new_owner; print(new_owner())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    later = time.time() + 3_600
    with contextlib.closing(sqlite3.connect(vault)) as sql, sql:
        rows = [
            ("m/1", "a", dead, later),
            ("m/1", "b", new_owner(), later),
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
