"""Two processes use one vault: both write, and each finds what the other wrote."""

import subprocess
import sys

import pytest

from septet import StoreBusy, Vault
from septet.exchange import restore

WRITER = """
import sys
from septet import Vault
with Vault(sys.argv[1]) as vault:
    print("open", flush=True)
    for number in range(int(sys.argv[2])):
        vault.add(id=f"other-{number}", title=f"Written elsewhere {number}")
    print("done", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Start the writer, which goes on after a line on its standard input."""
    with Vault(tmp_path / "vault.db"):
        pass

    started = []

    def start(count):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "vault.db"), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline().strip() == "open"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_both_write_and_nothing_is_lost(tmp_path, other):
    with Vault(tmp_path / "vault.db") as vault:
        process = other(60)
        for number in range(60):
            vault.add(id=f"own-{number}", title=f"Written here {number}")
        assert process.stdout.readline().strip() == "done"
        assert len(vault) == 120
        assert len(vault.search("written", limit=200).ids) == 120


def test_each_searches_while_the_other_has_the_index_open(tmp_path, other):
    with Vault(tmp_path / "vault.db") as vault:
        vault.optimize()
        vault.search("written")
        process = other(20)
        assert process.stdout.readline().strip() == "done"
        assert len(vault.search("elsewhere", limit=50).ids) == 20
        # The arrays of the first generation are in use here, and a new file is beside them.
        vault.optimize()
        assert len(vault.search("elsewhere", limit=50).ids) == 20


def test_a_vault_that_another_process_has_open_is_not_restored(tmp_path, other):
    with Vault(tmp_path / "vault.db") as vault:
        vault.backup(tmp_path / "backup.db")
    process = other(1)
    assert process.stdout.readline().strip() == "done"
    with pytest.raises(StoreBusy, match="open"):
        restore(tmp_path / "backup.db", tmp_path / "vault.db")
    process.communicate("\n")
    assert restore(tmp_path / "backup.db", tmp_path / "vault.db") == 0


def test_old_arrays_are_removed_when_nothing_uses_them(tmp_path):
    path = tmp_path / "vault.db"
    for number in range(4):
        with Vault(path) as vault:
            vault.add(title=f"Entry {number}")
            vault.optimize()
            vault.search("entry")
    assert len(list((tmp_path / "vault.db.septet").glob("*.arrays"))) == 1
