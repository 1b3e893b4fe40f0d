"""`septet.exchange.restore` puts a backup in the place of a vault: checked, whole or not at all."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from septet import NotAVault, SchemaTooNew, StoreBusy, StoreError, Vault, VectorIndex
from septet.exchange import restore
from septet.sqlite.store.connection import APPLICATION_ID
from septet.sqlite.store.restoring import full_text_faults
from small_files import no_larger_than

NEW = {f"new{i}" for i in range(7)}
OLD = {f"old{i}" for i in range(9)}


def fill(path, ids):
    with Vault(path) as vault:
        vault.add_many(
            {"id": i, "title": f"word {i}", "description": "text " * 60, "vector": [1, 2]} for i in sorted(ids)
        )


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def held(path):
    """What a vault holds, if its file is sound in every respect."""
    with Vault(path) as vault:
        found = set(vault.search("word", limit=99).ids)
        assert len(found) == len(vault)
        assert all(vault.get(i) is not None for i in found)
    assert full_text_faults(str(path)) == []
    with closing(sqlite3.connect(path)) as sql:
        assert sql.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return found


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


def damaged(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes(len(whole) // 2 - 100))


@pytest.mark.parametrize("read_only", [True, False])
def test_a_vault_that_this_process_has_open_is_refused(backup, path, read_only):
    with Vault(path, read_only=read_only) as vault:
        with pytest.raises(StoreBusy, match="is open"):
            restore(backup, path)
        assert set(vault.search("word", limit=99).ids) == OLD
    assert restore(backup, path) == 7


def test_a_backup_that_a_limit_on_files_ends_names_the_limit(tmp_path):
    with Vault(tmp_path / "large.db") as vault:
        vault.add_many({"title": f"word {i}", "description": "text " * 200} for i in range(300))
        with (
            no_larger_than(100_000),
            pytest.raises(StoreError, match=r"file size limit of this process is 100000 bytes"),
        ):
            vault.backup(tmp_path / "copy.db")
        assert not (tmp_path / "copy.db").exists()
        vault.backup(tmp_path / "copy.db")


def test_a_backup_in_use_with_a_log_of_its_own_is_restored_with_what_is_in_the_log(tmp_path, path):
    fill(tmp_path / "live.db", NEW)
    with Vault(tmp_path / "live.db") as live:
        live.add(id="in the log", title="word")
        assert restore(tmp_path / "live.db", path) == 8
        live.add(id="later", title="word")
    assert held(path) == NEW | {"in the log"}


def test_a_backup_of_a_newer_version_is_refused(backup, path):
    with closing(sqlite3.connect(backup)) as sql:
        sql.execute("PRAGMA user_version = 99")
    with pytest.raises(SchemaTooNew):
        restore(backup, path)
    assert held(path) == OLD


def test_a_backup_of_an_older_version_is_restored_and_brought_up_to_date(tmp_path, path):
    first = Path(__file__).with_name("data") / "schema-1.sql"
    with closing(sqlite3.connect(tmp_path / "old.db")) as sql:
        sql.executescript(first.read_text())
        sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        sql.execute("PRAGMA user_version = 1")
        sql.execute("INSERT INTO meta VALUES ('store_id', 'first'), ('generation', 0)")
        sql.commit()
    count = restore(tmp_path / "old.db", path)
    with Vault(path) as vault:
        assert len(vault) == count
        vault.add(title="word")


@pytest.mark.parametrize("link", [None, os.link, os.symlink])
def test_backup_and_vault_may_not_be_one_file(path, tmp_path, link):
    backup = path
    if link is not None:
        backup = tmp_path / "copy.db"
        link(path, backup)
    for one, other in ((backup, path), (path, backup)):
        with pytest.raises(StoreError, match=r"the vault .* itself, or a part of it"):
            restore(one, other)
    assert held(path) == OLD


def test_what_is_no_vault_is_not_replaced(backup, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("precious " * 100)
    with closing(sqlite3.connect(tmp_path / "other.db")) as sql, sql:
        sql.execute("CREATE TABLE t (x)")
    os.mkfifo(tmp_path / "pipe")
    for name in ("notes.txt", "other.db", "pipe", "kept", ".", "kept/backup.db-wal"):
        with pytest.raises(StoreError):
            restore(backup, tmp_path / name)
    assert notes.read_text() == "precious " * 100
    with closing(sqlite3.connect(tmp_path / "other.db")) as sql:
        assert sql.execute("SELECT * FROM t").fetchall() == []


@pytest.mark.parametrize("given", ["", "a\0b", "missing/v.db"])
def test_impossible_names_are_errors(backup, tmp_path, given):
    for one, other in ((backup, given and f"{tmp_path}/{given}"), (given, tmp_path / "v.db")):
        with pytest.raises(StoreError):
            restore(one, other)
    assert not (tmp_path / "v.db").exists()


def test_the_folder_of_arrays_of_the_old_vault_goes_but_not_what_others_put_there(backup, path):
    with Vault(path) as vault:
        vault.optimize()
    assert restore(backup, path) == 7
    assert names(path.parent) == ["v.db"]
    with Vault(path) as vault:
        vault.optimize()
    (path.parent / "v.db.septet" / "mine").write_text("mine")
    restore(backup, path)
    assert names(path.parent / "v.db.septet") == ["mine"]
    assert held(path) == NEW


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_stays_and_a_new_vault_is_its_owners_alone(backup, path, mode):
    path.chmod(mode)
    restore(backup, path)
    assert path.stat().st_mode & 0o777 == mode
    path.unlink()
    restore(backup, path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_goes_on_pointing_to_the_vault(backup, path, tmp_path):
    (tmp_path / "link.db").symlink_to(path)
    restore(backup, tmp_path / "link.db")
    assert (tmp_path / "link.db").is_symlink()
    assert held(path) == NEW


def test_an_interrupted_restore_leaves_everything_as_it_was(backup, path):
    def progress(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(backup, path, progress=progress)
    assert names(path.parent) == ["v.db"]
    assert held(path) == OLD


def test_a_folder_that_takes_no_writes_is_named(backup, path):
    shutil.rmtree(path.parent)
    with pytest.raises(StoreError, match=r"the folder .*place does not exist"):
        restore(backup, path)


def test_every_message_that_speaks_of_restoring_names_the_way(path):
    damaged(path)
    with pytest.raises(NotAVault, match=r"septet\.exchange\.restore\(backup, path\) or `septet restore BACKUP VAULT`"):
        Vault(path)


@pytest.mark.parametrize(
    "call",
    [
        lambda folder, name: restore(folder / name, folder / "v.db"),
        lambda folder, name: restore(folder / "backup.db", folder / name),
        lambda folder, name: Vault(folder / name),
        lambda folder, name: VectorIndex(2).save(folder / name),
    ],
    ids=["backup", "target", "vault", "index"],
)
def test_a_name_of_more_bytes_than_files_have_is_refused(tmp_path, call):
    with pytest.raises(StoreError, match="has a name of 256 bytes: at most 255"):
        call(tmp_path, "é" * 128)
    assert list(tmp_path.iterdir()) == []
