"""What searches use is there after a load, for whichever process comes next."""

from __future__ import annotations

import json

import pytest

from commands import Commands
from septet import Chunking, Closed, Vault
from septet.exchange import restore
from septet.sqlite.snapshot.state import GROWN_SLOTS, LEAST_SLOTS
from sidecars import files, folder_of, restored, until

COUNT = LEAST_SLOTS + 100


def items(count=COUNT, first=0):
    return [{"id": f"e{n}", "title": f"note {n} on ponds", "description": f"word{n % 97}"} for n in range(first, count)]


def by_list(vault, _folder):
    vault.add_many(items())


def by_iterator(vault, _folder):
    vault.add_many(iter(items()))


def by_small_lists(vault, _folder):
    for start in range(0, COUNT, 100):
        vault.add_many(items(start + 100, start))


def by_import(vault, folder):
    path = folder / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, items())), encoding="utf-8")
    vault.import_(path)


def by_sync(vault, folder):
    notes = folder / "notes"
    notes.mkdir()
    (notes / "all.md").write_text("\n\n".join(f"# Part {n}\n\nponds {n}" for n in range(COUNT)), encoding="utf-8")
    vault.sync(notes, chunking=Chunking(tokens=4, overlap=0))


def searched_at_once(path):
    """Search as the first search of a process; it has to work with what lies there."""
    with Vault(path, read_only=True) as vault, pytest.MonkeyPatch.context() as patch:
        patch.setattr("septet.sqlite.snapshot.manager.links_of", lambda _read: pytest.fail("links are read one by one"))
        found = vault.search("ponds")
        assert found and not [note for note in found.notes if note.code == "index_building"]
        return restored(vault)


@pytest.mark.parametrize("load", [by_list, by_iterator, by_small_lists, by_import, by_sync])
def test_the_first_search_after_a_load_has_an_index(load, tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        load(vault, tmp_path)
        assert len(vault) >= LEAST_SLOTS
    assert searched_at_once(path)


def test_a_vault_that_is_left_open_has_an_index_in_a_while(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        by_list(vault, tmp_path)
        until(lambda: folder_of(path).is_dir() and files(path) and searched_at_once(path))


def test_backups_and_restored_vaults_have_an_index(tmp_path):
    path, backup, again = (tmp_path / name for name in ("v.db", "backup.db", "again.db"))
    with Vault(path, sidecar=False) as vault:
        by_list(vault, tmp_path)
        vault.backup(backup)
    assert not folder_of(path).exists()
    before = backup.read_bytes()
    assert searched_at_once(backup)
    assert restore(backup, again) == COUNT
    assert searched_at_once(again)
    assert backup.read_bytes() == before


def test_what_is_copied_has_an_index(tmp_path):
    from septet.exchange.copying import copy_vault

    with Vault(tmp_path / "v.db") as source, Vault(tmp_path / "copy.db") as target:
        by_list(source, tmp_path)
        copy_vault(source, target)
    assert searched_at_once(tmp_path / "copy.db")


@pytest.mark.parametrize("count", [1, 100, LEAST_SLOTS - 1])
def test_a_small_vault_has_none(count, tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add_many(items(count))
        vault.backup(tmp_path / "backup.db")
    assert not folder_of(path).exists() and not folder_of(tmp_path / "backup.db").exists()


def test_an_index_is_written_again_only_when_the_vault_has_grown(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add_many(items(3_000))
    before = files(path)
    with Vault(path) as vault:
        vault.add_many(items(3_000 + GROWN_SLOTS, 3_000))
    assert files(path) == before
    with Vault(path) as vault:
        vault.add_many(items(6_200, 3_000 + GROWN_SLOTS))
    assert files(path) != before and searched_at_once(path)


def test_a_folder_that_takes_no_index_loses_nothing(tmp_path):
    path = tmp_path / "v.db"
    folder_of(path).write_text("a file in its place", encoding="utf-8")
    with Vault(path) as vault:
        by_list(vault, tmp_path)
        vault.search("ponds")
    with Vault(path) as vault:
        assert len(vault) == COUNT and vault.search("ponds")


def test_a_vault_that_keeps_everything_in_memory_writes_none(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path, sidecar=False) as vault:
        by_list(vault, tmp_path)
    assert not folder_of(path).exists()


def test_the_second_command_has_the_index_that_the_first_had_to_do_without(tmp_path, monkeypatch):
    monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    septet = Commands(tmp_path, monkeypatch)
    with Vault(tmp_path / "v.db", sidecar=False) as vault:
        by_list(vault, tmp_path)
    code, first, said = septet("search", "ponds")
    assert code == 0 and "index_building" in said
    code, second, said = septet("search", "ponds")
    assert code == 0 and said == ""
    assert second.count("\n") == first.count("\n") > 5


def test_one_entry_added_after_a_load_is_found_at_once(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        by_list(vault, tmp_path)
    with Vault(path) as vault:
        vault.add(id="late", title="a latecomer")
    with Vault(path) as vault:
        found = vault.search("latecomer")
        assert found.ids == ["late"] and not found.notes


def test_a_close_that_is_interrupted_closes_the_vault(tmp_path, monkeypatch):
    vault = Vault(tmp_path / "v.db")
    by_list(vault, tmp_path)
    until(lambda: not vault._tier.manager.busy)
    monkeypatch.setattr(
        "septet.sqlite.snapshot.optimize.keep_up", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        vault.close()
    with pytest.raises(Closed):
        vault.count()
