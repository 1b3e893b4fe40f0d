"""Tests of `integration/test_restore.py` that start processes."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from consoles import was_killed
from integration.test_restore import NEW, OLD, damaged, fill, held, names
from septet import NotAVault, StoreBusy, StoreError, Vault
from septet.exchange import restore

STEPS = ["lock", "copy", "complete", "aside-wal", "rename", "sync", "clean"]
HOLDER = """
import sys
from septet import Vault
vault = Vault(sys.argv[1], read_only=sys.argv[2] == "read")
vault.search("word")
print("open", flush=True)
sys.stdin.readline()
"""
WRITER = """
import os, sys
from septet import Vault
vault = Vault(sys.argv[1])
for i in range(5):
    vault.add(id=f"log{i}", title=f"word log {i}")
os.kill(os.getpid(), 9)
"""
RESTORING = """
import os, sys
from septet.sqlite.store import restoring
backup, path, last = sys.argv[1:]
restoring.restore(backup, path, step=lambda name: os.kill(os.getpid(), 9) if name == last else None)
"""


def killed(program, *words):
    """Run a program in a child that kills itself in the middle; False when it came to its end."""
    child = subprocess.run([sys.executable, "-c", program, *map(str, words)], capture_output=True, timeout=60)
    assert not child.stderr and (child.returncode == 0 or was_killed(child.returncode))
    return child.returncode != 0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A backup, and a vault to replace."""
    folder = tmp_path_factory.mktemp("made")
    fill(folder / "source.db", NEW)
    with Vault(folder / "source.db") as vault:
        vault.backup(folder / "backup.db")
    fill(folder / "v.db", OLD)
    return folder


@pytest.fixture
def backup(made, tmp_path):
    (tmp_path / "kept").mkdir()
    return shutil.copy(made / "backup.db", tmp_path / "kept" / "backup.db")


@pytest.fixture
def path(made, tmp_path):
    (tmp_path / "place").mkdir()
    return shutil.copy(made / "v.db", tmp_path / "place" / "v.db")


def at_rest(path):
    return OLD


def crashed(path):
    assert killed(WRITER, path)
    assert path.with_name("v.db-wal").stat().st_size > 0
    return OLD | {f"log{i}" for i in range(5)}


def missing(path):
    path.unlink()


def missing_with_a_log(path):
    crashed(path)
    return missing(path)


def damaged_with_a_log(path):
    crashed(path)
    return damaged(path)


STATES = [at_rest, crashed, missing, missing_with_a_log, damaged, damaged_with_a_log]


@pytest.mark.parametrize("state", STATES)
def test_a_backup_takes_the_place_of_a_vault_in_any_state(backup, path, state):
    state(path)
    assert restore(backup, path) == 7
    assert names(path.parent) == ["v.db"]
    assert held(path) == NEW
    with Vault(path) as vault:
        vault.add(id="more", title="word more")
    assert held(path) == NEW | {"more"}
    assert held(backup) == NEW


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("state", [crashed, missing_with_a_log, damaged_with_a_log])
def test_a_kill_at_any_step_leaves_the_old_vault_or_the_new_one_whole(backup, path, state, step):
    old = state(path)
    stopped = killed(RESTORING, backup, path, step)
    try:
        if path.exists():
            assert held(path) in (old, NEW)
        else:
            assert old is None
    except NotAVault:
        assert old is None
    if stopped and old is not None and STEPS.index(step) <= STEPS.index("rename"):
        assert held(path) == old
    assert restore(backup, path) == 7
    assert held(path) == NEW


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_vault_that_another_process_has_open_is_refused(backup, path, mode):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().strip() == b"open"
        with pytest.raises(StoreBusy, match=r"v\.db is open: close it in every program"):
            restore(backup, path)
        process.communicate(b"\n", timeout=30)
    assert held(path) == OLD


def test_a_damaged_vault_that_another_process_has_open_is_refused(backup, path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), "write"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().strip() == b"open"
        damaged(path)
        before = path.read_bytes()
        with pytest.raises(StoreBusy):
            restore(backup, path)
        assert path.read_bytes() == before
        process.kill()


@pytest.mark.parametrize("damage", ["half", "noise", "header", "text", "other", "empty", "index"])
def test_a_backup_that_is_not_sound_is_refused_before_anything_is_touched(backup, path, damage):
    old = crashed(path)
    whole = backup.read_bytes()
    if damage == "other":
        backup.unlink()
        with closing(sqlite3.connect(backup)) as sql, sql:
            sql.execute("CREATE TABLE t (x)")
    elif damage == "index":
        with closing(sqlite3.connect(backup)) as sql, sql:
            sql.execute("DELETE FROM entries_fts_docsize WHERE id = 3")
    else:
        half = len(whole) // 2 // 4096 * 4096
        backup.write_bytes(
            {
                "half": whole[:half],
                "noise": whole[:8192] + os.urandom(half) + whole[8192 + half :],
                "header": bytes(100) + whole[100:],
                "text": b"no database at all" * 500,
                "empty": b"",
            }[damage]
        )
    before = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.name != "v.db-shm"}
    with pytest.raises(StoreError, match=r"backup\.db"):
        restore(backup, path)
    after = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.name != "v.db-shm"}
    assert "v.db-wal" in before and held(path) == old
    assert after == before or set(after) == {"v.db"}


def test_the_command_line_restores(backup, path):
    pytest.importorskip("typer")
    command = [sys.executable, "-m", "septet", "restore", str(backup), str(path), "--force"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"restored 7 entries to {path}, replacing 9 entries")
    assert held(path) == NEW
    backup.write_bytes(b"text")
    failed = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert failed.returncode == 3
    assert "backup.db is not a readable SQLite database" in failed.stderr
