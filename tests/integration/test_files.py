"""Files that are no vault, that cannot be written, or that somebody else holds: a clear error, and nothing touched."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from septet import NotAVault, SchemaTooNew, StoreError, Vault

FILE_NAMES = ["we?ird #%41 é'\".db", "a b.db", "日本.db", "%00.db", "-.db", "x" * 200, ":memory:x", "v.db?mode=ro"]


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "v.db"
    with Vault(made) as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {i}", "description": "text " * 50} for i in range(200))
    return made


@pytest.mark.parametrize("content", [b"just text\n", b"\x00" * 4096, b"SQLite format 3", os.urandom(0) + b"\xff" * 100])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content, read_only):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(NotAVault, match=r"notes\.txt"):
        Vault(path, read_only=read_only)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("read_only", [False, True])
def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path, read_only):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as sql, sql:
        sql.execute("CREATE TABLE entries (id TEXT)")
        sql.execute("PRAGMA user_version = 1")
    before = path.read_bytes()
    with pytest.raises(NotAVault, match=r"other\.db is a database of another program"):
        Vault(path, read_only=read_only)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["other.db"]


def test_a_vault_of_a_newer_schema_is_refused_and_left_alone(path):
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("PRAGMA user_version = 99")
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(SchemaTooNew, match=r"schema version 99.*upgrade"):
            Vault(path, read_only=read_only)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_vault_but_not_when_it_is_only_read(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(NotAVault, match="contains no vault"):
        Vault(path, read_only=True)
    assert path.stat().st_size == 0
    with Vault(path) as vault:
        vault.add(title="word")
        assert len(vault.search("word")) == 1


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"folder .*missing does not exist"):
        Vault(tmp_path / "missing" / "v.db")


def test_a_missing_file_is_not_made_when_it_is_only_read(tmp_path):
    with pytest.raises(StoreError, match="does not exist"):
        Vault(tmp_path / "v.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_vault(tmp_path):
    with pytest.raises(NotAVault, match="is a folder"):
        Vault(tmp_path)


def test_a_device_is_no_vault_and_gets_no_journal(tmp_path):
    link = tmp_path / "v.db"
    link.symlink_to("/dev/null")
    with pytest.raises(NotAVault, match="is a device or a pipe: name a file"):
        Vault(link)
    assert not Path("/dev/null-journal").exists() and [*tmp_path.iterdir()] == [link]


@pytest.mark.parametrize("name", FILE_NAMES)
def test_any_file_name_works(tmp_path, name):
    with Vault(tmp_path / name) as vault:
        vault.add(title="word")
        assert len(vault.search("word")) == 1
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a\x00b.db", "y" * 300], ids=["NUL", "too long"])
def test_an_impossible_file_name_is_an_error_and_nothing_is_made(tmp_path, name):
    with pytest.raises((StoreError, ValueError)):
        Vault(f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


def test_a_change_of_folder_does_not_lose_the_vault(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Vault("v.db") as vault:
        vault.add(id="x", title="word")
        monkeypatch.chdir(tmp_path / "elsewhere")
        try:
            found = vault.search("word").ids
        except StoreError as fault:
            found = str(fault)
    assert (found, list((tmp_path / "elsewhere").iterdir())) == (["x"], [])


def test_a_file_deleted_under_an_open_vault_is_not_made_anew(path):
    with Vault(path) as vault:
        path.unlink()
        with pytest.raises(StoreError, match=r"v\.db"):
            vault.search("word")
        assert not path.exists()


def test_a_path_may_be_a_link(tmp_path, path):
    link: Path = tmp_path / "link.db"
    link.symlink_to(path)
    with Vault(link) as vault, Vault(path) as other:
        vault.add(id="via link", title="unique")
        assert other.search("unique").ids == ["via link"]
