"""Changes by filter from several processes, and from one that is killed in the middle."""

import subprocess
import sys

from consoles import was_killed
from septet import Vault

CHANGING = """
import sys
from septet import Vault

with Vault(sys.argv[1]) as vault:
    for n in range(10):
        assert vault.update_many({"id": {"$exists": True}}, merge_attrs={sys.argv[2]: n}) == 300
"""
KILLED = """
import os, sys
from septet import Vault
from septet.sqlite.tables import history

erase = history.erase

def erase_and_die(write, rows):
    erase(write, rows)
    os.kill(os.getpid(), 9)

history.erase = erase_and_die
with Vault(sys.argv[1]) as vault:
    vault.delete(where={"domain": "d1"})
"""


def filled(path):
    with Vault(path) as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {i}", "domain": f"d{i % 2}"} for i in range(300))


def run(script, *arguments):
    return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)])


def test_two_processes_that_change_every_entry_lose_nothing_of_each_other(tmp_path):
    filled(tmp_path / "v.db")
    both = [run(CHANGING, tmp_path / "v.db", name) for name in ("one", "two")]
    assert [one.wait(60) for one in both] == [0, 0]
    with Vault(tmp_path / "v.db") as vault:
        found = vault.load([f"e{i}" for i in range(300)])
        assert len(found) == 300 and all(e.attrs == {"one": 9, "two": 9} for e in found)
        assert len(vault.history("e7")) == 10


def test_a_process_that_is_killed_in_a_delete_has_deleted_nothing(tmp_path):
    filled(tmp_path / "v.db")
    assert was_killed(run(KILLED, tmp_path / "v.db").wait(60))
    with Vault(tmp_path / "v.db") as vault:
        assert len(vault) == 300
        assert len(vault.search("word", domain="d1", limit=300).ids) == 150
        assert vault.delete(where={"domain": "d1"}) == 150 and len(vault) == 150
