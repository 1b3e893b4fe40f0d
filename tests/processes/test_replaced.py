"""Tests of `integration/test_replaced.py` that start processes."""

import subprocess
import sys

import pytest

from integration.test_replaced import fill
from septet import Vault, VaultReplaced


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "v.db"
    fill(made)
    return made


@pytest.fixture
def vault(path):
    with Vault(path) as made:
        made.search("word", query_vector=[1, 1])
        yield made


@pytest.mark.parametrize("own", [True, False], ids=["in_this_process", "in_another"])
def test_a_log_that_somebody_uses_with_the_new_file_stays(path, own):
    program = (
        "import sys, septet; v = septet.Vault(sys.argv[1]); v.add(id='x', title='x'); print(1, flush=True); input()"
    )
    fill(path.with_name("new.db"), "n", 9)
    with Vault(path) as vault:
        vault.search("word")
        path.with_name("new.db").replace(path)
        if own:
            other = Vault(path)
            other.add(id="x", title="x")
        else:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            child = subprocess.Popen([sys.executable, "-c", program, str(path)], **pipes)
            assert child.stdout.readline() == "1\n"
    assert path.with_name("v.db-wal").exists()
    if own:
        other.close()
    else:
        child.communicate("\n", timeout=60)
    with Vault(path, read_only=True) as vault:
        assert "x" in vault
        assert "n8" in vault


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
@pytest.mark.parametrize("link", [False, True], ids=["file", "link"])
def test_a_log_that_was_removed_under_an_open_vault_is_noticed(path, ending, link):
    opened = path.with_name("link.db") if link else path
    if link:
        opened.symlink_to(path)
    with Vault(opened) as vault:
        vault.add(title="word in the log")
        path.with_name("v.db" + ending).unlink()
        # Another process makes a new one, and neither would see what the other writes.
        subprocess.run([sys.executable, "-c", LAST, str(path)], check=True)
        with pytest.raises(VaultReplaced, match=rf"the log .*v\.db{ending} was removed or replaced"):
            vault.add(title="lost")


#: Closing any descriptor of a file gives back the locks that its process has on it, so that another process takes
#: itself for the last one that has the vault open, and removes its log.
LAST = "import septet, sys; septet.Vault(sys.argv[1]).close()"


def test_a_log_that_is_removed_during_a_write_takes_no_acknowledged_write_along(vault, path):
    with (
        pytest.raises(VaultReplaced, match=r"v\.db-wal was removed .* during a write"),
        vault._store.writing() as write,
    ):
        write.sql.execute("INSERT INTO meta VALUES ('x', 1)")
        path.read_bytes()
        subprocess.run([sys.executable, "-c", LAST, str(path)], check=True)
    vault.close()
    with Vault(path) as again:
        assert len(again) == 5


REPLACED = """
import os, sys
from septet import Vault, VaultReplaced
vault = Vault(sys.argv[1])
vault.search("word")
print("open", flush=True)
sys.stdin.readline()
try:
    vault.add(id="lost", title="word")
except VaultReplaced as fault:
    print(fault)
vault.close()
"""


def test_another_process_that_has_the_old_file_open_does_no_harm_to_the_new_one(path, tmp_path):
    command = [sys.executable, "-c", REPLACED, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "open\n"
        fill(tmp_path / "new.db", "n", 9)
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink()
        (tmp_path / "new.db").replace(path)
        with Vault(path) as vault:
            vault.add(id="kept", title="word kept")
            told, _ = process.communicate("\n", timeout=30)
            assert "is another file than the one that was opened" in told
            assert process.returncode == 0
            vault.add(id="kept too", title="word kept")
            assert len(vault) == 11
    with Vault(path) as again:
        assert len(again) == 11
        assert sorted(again.search("kept").ids) == ["kept", "kept too"]
