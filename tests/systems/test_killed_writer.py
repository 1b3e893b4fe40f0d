"""A process that is killed in the middle of a write loses nothing that it acknowledged."""

import subprocess
import sys

import pytest

from septet import Vault
from septet.exchange import restore
from septet.sqlite.store.restoring import full_text_faults

WRITER = """
import sys
from septet import Vault
with Vault(sys.argv[1]) as vault:
    for number in range(100_000):
        print(vault.add(id=f"{sys.argv[2]}-{number}", title=f"Entry {number}", description="words " * 50), flush=True)
"""
BULK = """
import sys
from septet import Vault
with Vault(sys.argv[1]) as vault:
    print("begun", flush=True)
    vault.add_many({"id": f"bulk-{number}", "title": f"Bulk {number}"} for number in range(2_000_000))
"""


def started(program, *words):
    return subprocess.Popen([sys.executable, "-c", program, *map(str, words)], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("acknowledged", [1, 7, 40])
def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path, acknowledged):
    path = tmp_path / "vault.db"
    writer = started(WRITER, path, "a")
    ids = [writer.stdout.readline().strip() for _ in range(acknowledged)]
    writer.kill()
    ids += writer.communicate()[0].split()
    with Vault(path) as vault:
        assert all(vault.get(id) is not None for id in ids)
        # One more may have been committed whose line was not printed.
        assert len(ids) <= len(vault) <= len(ids) + 1
        assert vault.search("entry", limit=5).ids
        assert vault.add(id="after", title="After the kill") == "after"
    assert full_text_faults(str(path)) == []


def test_a_writer_killed_in_a_transaction_leaves_nothing_of_it(tmp_path):
    path = tmp_path / "vault.db"
    with Vault(path) as vault:
        vault.add(id="before", title="Before")
    writer = started(BULK, path)
    assert writer.stdout.readline().strip() == "begun"
    with pytest.raises(subprocess.TimeoutExpired):
        writer.wait(2)
    writer.kill()
    writer.communicate()
    with Vault(path) as vault:
        # A bulk load commits batches, each as a whole.
        assert len(vault) == 1 or (len(vault) - 1) % 100 == 0
        assert vault.get("before") is not None
    assert full_text_faults(str(path)) == []


def test_a_vault_of_a_killed_process_can_be_restored(tmp_path):
    path, backup = tmp_path / "vault.db", tmp_path / "backup.db"
    with Vault(path) as vault:
        vault.add(id="kept", title="Kept")
        vault.backup(backup)
    writer = started(WRITER, path, "b")
    writer.stdout.readline()
    writer.kill()
    writer.communicate()
    assert restore(backup, path) == 1
    with Vault(path) as vault:
        assert vault.search("kept").ids == ["kept"]
