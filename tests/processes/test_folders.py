"""Tests of `integration/test_folders.py` that start processes."""

import os
import subprocess
import sys

import pytest

from children import NOBODY, ROOT, open_to_others
from consoles import was_killed
from integration.test_folders import names
from septet import StoreError, Vault
from septet.sqlite.store.restoring import full_text_faults
from septet.system import filesystem

WORKER = """
import sys
from septet import Vault
path, name = sys.argv[1:]
with Vault(path) as vault:
    for i in range(8):
        vault.add(id=f"{name}-{i}", title=f"word {name} {i}", vector=[1, i])
        assert f"{name}-{i}" in vault.search(f"word {name} {i}", query_vector=[1, i], limit=100).ids
print("done")
"""
KILLED = """
import os, sys
from septet import Vault
vault = Vault(sys.argv[1])
for i in range(8):
    vault.add(id=f"kept{i}", title=f"word kept {i}")
with vault._store.writing() as write:
    write.sql.execute("PRAGMA cache_spill = 1")
    write.sql.execute("PRAGMA cache_size = 1")
    write.sql.execute("UPDATE entries SET title = 'lost ' || title || hex(randomblob(9000))")
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(params=["network", "synchronised"])
def folder(request, tmp_path, monkeypatch):
    if request.param == "network":
        monkeypatch.setattr(filesystem, "file_system", lambda _path: "nfs4")
        return tmp_path
    made = tmp_path / "Dropbox" / "notes"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def synchronised(tmp_path):
    made = tmp_path / "Dropbox"
    made.mkdir()
    return made


def test_processes_that_read_and_write_get_on_and_lose_nothing(synchronised):
    path = synchronised / "v.db"
    command = [sys.executable, "-c", WORKER, str(path)]
    running = [subprocess.Popen([*command, f"p{i}"], stdout=subprocess.PIPE, text=True) for i in range(3)]
    assert [process.communicate(timeout=120)[0] for process in running] == ["done\n"] * 3
    assert names(synchronised) == ["v.db"]
    with Vault(path) as vault:
        assert len(vault) == len(vault.search("word", limit=100)) == 24
    assert full_text_faults(str(path)) == []


def test_a_process_that_is_killed_while_it_writes_loses_nothing_that_it_acknowledged(synchronised):
    path = synchronised / "v.db"
    ran = subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60)
    assert was_killed(ran.returncode)
    assert names(synchronised) == ["v.db", "v.db-journal"]
    with Vault(path) as vault:
        assert sorted(vault.search("word", limit=100).ids) == [f"kept{i}" for i in range(8)]
        assert vault.search("lost").ids == []
    assert full_text_faults(str(path)) == []


@pytest.mark.skipif(not ROOT, reason="permissions bind root only after it has stepped down")
def test_a_write_that_was_broken_off_is_never_read_as_if_it_were_at_rest(synchronised):
    path = synchronised / "v.db"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60)
    open_to_others(synchronised)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with Vault(path, read_only=True) as vault:
                vault.search("lost")
        except StoreError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_command_line_says_so(synchronised):
    pytest.importorskip("typer")
    vault = ["--vault", str(synchronised / "v.db")]
    for command in (["add", "word"], ["stats"]):
        done = subprocess.run([sys.executable, "-m", "septet", *command, *vault], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert command[0] == "add" or "note synchronised_folder" in done.stderr
