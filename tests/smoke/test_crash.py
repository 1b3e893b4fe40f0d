"""A crash: whatever a writer acknowledged before it was killed is in the vault."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from septet import Vault

ACKNOWLEDGE = """
import sys
from septet import Vault
with Vault(sys.argv[1]) as vault:
    for number in range(1_000_000):
        entry = vault.add(id=f"e{number}", title=f"word {number}", vector=[1.0, float(number)])
        print(entry, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 200])
def test_entries_that_a_killed_process_acknowledged_are_found(tmp_path, acknowledged):
    path = tmp_path / "v.db"
    command = [sys.executable, "-c", ACKNOWLEDGE, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        ids = [writer.stdout.readline().strip() for _ in range(acknowledged)]
        writer.kill()
        ids += writer.stdout.read().split("\n")[:-1]
    with Vault(path) as vault:
        assert len(vault) >= len(ids) >= acknowledged
        assert all(vault.get(entry) is not None for entry in ids)
        assert vault.search(f"word {acknowledged - 1}", query_vector=[0, 1]).hits
        assert vault.stats().spaces[0].entries == len(vault)
        vault.add(id="later", title="word")
    with closing(sqlite3.connect(path)) as sql:
        assert sql.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
