"""The sidecar: opened in place of building, ignored when it does not fit, lost without loss."""

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from septet import ReadOnly, StoreError, _core
from septet.sqlite.snapshot.state import GROWN_SLOTS, LEAST_SLOTS
from sidecars import answers, entry, files, folder_of, made, opened, restored, until, wanted


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "v.db"
    found = made(path)
    assert found.entries == 298
    assert found.path == str(folder_of(path) / files(path)[0])
    assert found.size_bytes == Path(found.path).stat().st_size
    return path


def test_a_process_begins_with_what_another_left(path):
    expected = wanted(path)
    with opened(path) as vault:
        first = vault.search("alpha", limit=20)
        newest = vault._tier.manager.current
        assert newest.postings is not None and newest.vectors
        assert [(hit.id, hit.score) for hit in first] == expected[0]
        assert answers(vault) == expected


def test_a_closed_vault_has_its_file_neither_mapped_nor_open(path):
    with opened(path) as vault:
        vault.search("alpha")
        assert restored(vault)
    assert not restored(vault) and vault._tier.manager.current is None


def test_a_process_begins_with_the_token_counts_that_another_left(path):
    with opened(path) as vault:
        vault.search("alpha", profile="seven-signals")
        terms = vault._tier.manager.current.terms
        assert (len(terms.index), terms.index.size_bytes) == (298, 0)
        assert answers(vault) == wanted(path)


def test_a_vault_without_use_for_token_counts_keeps_none_until_a_search_wants_them(tmp_path):
    path = tmp_path / "plain.db"
    with opened(path) as vault:
        vault.add_many(entry(i) for i in range(LEAST_SLOTS))
        assert "terms.numbers" not in columns(vault.optimize().path)
        vault.search("alpha")
        assert vault._tier.manager.current.terms is None
        # They are worth a new file then, which the background writes.
        manager = vault._tier.manager
        # A file that is being written is not looked at.
        until(
            lambda: answers(vault) and not manager.busy and "terms.numbers" in columns(folder_of(path) / files(path)[0])
        )
        assert answers(vault) == wanted(path)
        assert vault._tier.manager.current.terms.index.size_bytes == 0
        first = files(path)
        assert vault.optimize().path == str(folder_of(path) / first[0])


def test_token_counts_are_kept_by_those_who_have_no_use_for_them(path):
    with opened(path) as vault:
        vault.add_many(entry(i) for i in range(300, 350))
        vault.delete("e9", "e310")
        vault.search("alpha")
        vault.optimize()
        # Only those of the slots that another process had cut into tokens.
        assert len(vault._tier.manager.current.terms.index) == 298
    with opened(path) as vault:
        assert answers(vault) == wanted(path)
        assert restored(vault)
        vault.add(**entry(400))
        assert answers(vault) == wanted(path)


def columns(path):
    return _core.ArrayFile(path).names()


def test_what_was_written_since_is_added(path):
    with opened(path) as vault:
        vault.update("e3", title="alpha alpha alpha", vector=[1.0, 0.5, 0.25])
        vault.add_many(entry(i) for i in range(300, 350))
        vault.delete("e5")
    with opened(path) as vault:
        assert answers(vault) == wanted(path)
        assert restored(vault)
        vault.add(**entry(400))
        assert answers(vault) == wanted(path)
        vault.optimize()
        assert answers(vault) == wanted(path)
    assert len(files(path)) == 1


def test_optimizing_again_writes_nothing(path):
    before = files(path)
    with opened(path) as vault:
        assert vault.optimize().path == str(folder_of(path) / before[0])
        assert vault.optimize().entries == 298
    assert files(path) == before


def test_a_vault_in_use_goes_on_with_the_files(path):
    with opened(path) as vault:
        before = answers(vault)
        vault.add(**entry(500))
        vault.optimize()
        layers = vault._tier.manager._buffers.vectors.values()
        assert layers and all(layer.added == 0 for layer in layers)
        vault.delete("e500")
        assert answers(vault) == before


def test_the_background_writes_one_when_the_vault_is_large_and_has_grown(tmp_path):
    path = tmp_path / "large.db"
    with opened(path) as vault:
        vault.add_many(entry(i) for i in range(LEAST_SLOTS))
        threads = set()
        vault._tier.manager.sidecar.step = lambda _name: threads.add(threading.current_thread().name)

        def searched_and_written(more_than=()):
            answers(vault)
            found = files(path) if folder_of(path).exists() else []
            return [name for name in found if name.endswith(".arrays") and name not in more_than]

        until(searched_and_written)
        until(lambda: not vault._tier.manager.busy)
        first = files(path)
        assert answers(vault) == wanted(path)
        vault.add_many(entry(i) for i in range(10_000, 10_000 + GROWN_SLOTS + 1))
        until(lambda: searched_and_written(first))
        until(lambda: not vault._tier.manager.busy)
        assert len(files(path)) == 1
        assert answers(vault) == wanted(path)
    # Never by a thread that searches.
    assert threads and all(name.startswith("septet-maintenance") for name in threads)


@pytest.mark.parametrize("options", [{"sidecar": False}, {"read_only": True}])
def test_vaults_that_want_none_make_none(path, options):
    shutil.rmtree(folder_of(path))
    with opened(path, **options) as vault:
        for _ in range(3):
            answers(vault)
        if "sidecar" in options:
            assert vault.optimize().path is None
        else:
            with pytest.raises(ReadOnly):
                vault.optimize()
    assert not folder_of(path).exists()


def test_a_vault_in_memory_has_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with opened(":memory:") as vault:
        vault.add_many(entry(i) for i in range(50))
        made = vault.optimize()
        assert (made.path, made.size_bytes, bool(answers(vault))) == (None, 0, True)
        assert vault._tier.manager.current.postings is not None
    assert list(tmp_path.iterdir()) == []


def test_a_reader_uses_one_and_writes_none(path):
    before = files(path)
    with opened(path, read_only=True) as vault:
        assert answers(vault) == wanted(path)
        assert restored(vault)
    assert files(path) == before


def test_a_file_that_names_other_rows_is_given_up_before_they_are_asked_for(path):
    file = folder_of(path) / files(path)[0]
    whole = file.read_bytes()
    rows = _core.ArrayFile(file).column("rows").tobytes()
    expected = wanted(path)
    for at in range(0, len(rows), 331):
        bad = bytearray(rows)
        bad[at] ^= 1
        file.write_bytes(whole.replace(rows, bytes(bad)))
        with opened(path) as vault:
            assert answers(vault) == expected
            assert "sidecar_damaged" in [note.code for note in vault.search("alpha").notes]
        assert files(path) == []


def test_one_whose_postings_are_not_fts5s_is_given_up_as_a_whole(path):
    expected = wanted(path)
    with opened(path) as vault:
        # Behind the vault's back: the next process finds other totals than those of the sidecar.
        vault._store._writer.execute("INSERT INTO entries_fts (rowid, title) VALUES (99999, 'nobody')")
    with opened(path) as vault:
        results = vault.search("alpha", query_vector=[1.0, 0.5, 0.25], limit=20)
        assert "sidecar_damaged" in [note.code for note in results.notes]
        assert not vault._tier.manager.restored and not files(path)
        # FTS5 answers; one row more moves its scores by little.
        assert set(results.ids[:3]) == {hit_id for hit_id, _ in expected[1][:3]}


def test_one_of_another_store_is_ignored(path, tmp_path):
    other = tmp_path / "other.db"
    with opened(other) as vault:
        vault.add_many(entry(i, title="alpha elsewhere") for i in range(300))
        vault.delete("e7", "e8")
    shutil.copytree(folder_of(path), folder_of(other))
    with opened(other) as vault:
        assert answers(vault) == wanted(other)
        assert not restored(vault)
        vault.optimize()
        assert len(files(other)) == 1
    with opened(other) as vault:
        assert answers(vault) == wanted(other)
        assert restored(vault)


def test_a_vault_made_anew_at_the_same_path_does_not_take_the_old_one(path):
    path.unlink()
    with opened(path) as vault:
        vault.add_many(entry(i) for i in range(100))
        vault.add_many(entry(i) for i in range(100, 200))
        assert answers(vault) == wanted(path)
        assert not restored(vault)


def test_a_restored_backup_takes_neither_a_newer_one_nor_one_of_its_lost_future(path, tmp_path):
    backup = tmp_path / "backup.db"
    with opened(path) as vault:
        vault.backup(backup)
        vault.add(id="lost", title="alpha lost")
        vault.optimize()
        lost = vault.stats().generation
    path.unlink()
    shutil.copy(backup, path)
    with opened(path) as vault:
        assert "lost" not in vault.search("alpha lost").ids
        assert not restored(vault)
        # Other entries, the same generation, and then later ones.
        for generation in range(vault.stats().generation, lost + 2):
            vault.add(id=f"other{generation}", title="alpha other")
            with opened(path) as again:
                assert answers(again) == wanted(path)
                assert not restored(again)
                assert "lost" not in again.search("alpha lost").ids


def test_a_copy_of_vault_and_folder_is_as_good(path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / "w.db"
    shutil.copy(path, copy)
    shutil.copytree(folder_of(path), folder_of(copy))
    with opened(copy) as vault:
        assert answers(vault) == wanted(path)
        assert restored(vault)


def test_a_purge_of_what_was_deleted_before_leaves_it_useful(path):
    with opened(path) as vault:
        assert vault.purge() > 0
    with opened(path) as vault:
        assert answers(vault) == wanted(path)
        assert restored(vault)


def test_a_purge_of_what_was_deleted_since_makes_it_useless(path):
    with opened(path) as vault:
        deleted = vault.search("alpha").ids[0]
        vault.delete(deleted)
        vault.purge()
    with opened(path) as vault:
        assert deleted not in vault.search("alpha", limit=1_000).ids
        assert answers(vault) == wanted(path)
        assert not restored(vault)


def test_what_others_left_half_written_is_cleaned_up(path):
    (folder_of(path) / "12-bbbbbbbbbbbb.arrays.part").write_bytes(b"half")
    (folder_of(path) / "9-cccccccccccc.arrays").write_bytes(b"old")
    with opened(path) as vault:
        vault.add(**entry(600))
        vault.optimize()
    assert len(files(path)) == 1


def test_it_is_as_private_as_the_vault(path):
    path.chmod(0o600)
    shutil.rmtree(folder_of(path))
    with opened(path) as vault:
        vault.optimize()
    assert folder_of(path).stat().st_mode & 0o777 == 0o700
    assert (folder_of(path) / files(path)[0]).stat().st_mode & 0o777 == 0o600


def test_a_vault_closed_while_one_is_written_stops_it(path):
    with opened(path) as vault:
        vault.add(**entry(700))
        before = files(path)
        vault._tier.manager.sidecar.step = lambda name: vault.close() if name == "alive" else None
        with pytest.raises(StoreError):
            vault.optimize()
    assert files(path) == before


def test_what_a_search_returns_is_read_from_the_vault_and_not_from_the_files(path):
    with opened(path) as vault:
        found = vault.search("alpha", limit=1).ids[0]
    with closing(sqlite3.connect(path)) as sql, sql:
        # Behind Septet's back, so that the files still count as those of this vault.
        sql.execute("UPDATE entries SET context = 'as the vault has it' WHERE id = ?", (found,))
    with opened(path) as vault:
        assert vault.search("alpha", limit=1).hits[0].entry.context == "as the vault has it"
        assert restored(vault)
