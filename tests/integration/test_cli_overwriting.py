"""Commands that would replace a file say so, and want ``--force`` where nobody can be asked."""

from __future__ import annotations

import pytest

from commands import Commands
from septet import Vault


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(title="Queue storage", id="queue")
    return Commands(tmp_path, monkeypatch)


@pytest.mark.parametrize("command", ["backup", "export"])
def test_a_file_that_is_there_is_replaced_only_by_force(septet, command):
    there = septet.home / "notes.txt"
    there.write_text("mine")
    code, _, said = septet(command, "notes.txt")
    assert (code, there.read_text()) == (2, "mine")
    assert "--force" in said
    assert septet(command, "notes.txt", "--force")[0] == 0
    assert there.read_bytes() != b"mine"


def test_a_new_file_needs_no_force(septet):
    assert septet("backup", "copy.db")[0] == 0
    assert septet("restore", "copy.db", "other.db")[0] == 0


def test_restoring_says_what_it_replaces_and_keeps_newer_entries_until_forced(septet):
    septet("backup", "copy.db")
    assert septet("add", "Retry policy")[0] == 0
    code, _, said = septet("restore", "copy.db", "v.db")
    assert code == 2
    assert "2 entries, 1 of them newer" in said
    with Vault(septet.home / "v.db", read_only=True) as vault:
        assert vault.stats().entries == 2
    code, _, said = septet("restore", "copy.db", "v.db", "--force")
    assert code == 0
    assert "replacing 2 entries, 1 of them newer" in said


def test_a_damaged_vault_is_replaced_by_force(septet):
    septet("backup", "copy.db")
    whole = (septet.home / "copy.db").read_bytes()
    (septet.home / "broken.db").write_bytes(whole[:100] + bytes(len(whole) - 100))
    assert "cannot be read" in septet("restore", "copy.db", "broken.db")[2]
    assert septet("restore", "copy.db", "broken.db", "--force")[0] == 0
