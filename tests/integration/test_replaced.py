"""A vault whose file is deleted, moved or replaced while it is open acknowledges nothing that goes nowhere."""

import os
import sqlite3
import sys
import threading
from contextlib import closing

import pytest

from septet import SeptetError, Vault, VaultReplaced
from septet.sqlite.store import identity

WRITES = {
    "add": lambda vault: vault.add(id="x", title="word x"),
    "add_many": lambda vault: vault.add_many([{"title": "word x"}, {"title": "word y"}]),
    "update": lambda vault: vault.update("e1", title="other"),
    "delete": lambda vault: vault.delete("e1"),
    "remember": lambda vault: vault.remember("something"),
    "link": lambda vault: vault.link("e1", "e2"),
    "unlink": lambda vault: vault.unlink("e1", "e2"),
    "feedback": lambda vault: vault.feedback("word", "e1", "accepted"),
    "purge": lambda vault: vault.purge(feedback=True),
    "import": lambda vault: vault.import_(['{"title": "word z"}']),
}


def fill(path, mark="e", count=5):
    with Vault(path) as vault:
        vault.add_many({"id": f"{mark}{i}", "title": f"word {mark} {i}", "vector": [1.0, i]} for i in range(count))


def delete(path):
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink()


def move(path):
    path.rename(path.with_name("elsewhere.db"))


def replace(path):
    fill(path.with_name("new.db"), "n", 9)
    path.with_name("new.db").replace(path)


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


@pytest.mark.parametrize("change", [delete, move, replace])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_refused_with_what_was_seen_and_how_to_go_on(vault, path, change, write):
    change(path)
    for _ in range(2):
        with pytest.raises(SeptetError) as told:
            WRITES[write](vault)
        fault = told.value if isinstance(told.value, VaultReplaced) else told.value.__cause__
        assert isinstance(fault, VaultReplaced)
        assert "close this vault and open it again" in str(fault)
        assert str(path) in str(fault)


def test_a_write_of_many_is_a_batch_error_that_says_why(vault, path):
    replace(path)
    with pytest.raises(ValueError, match="is another file than the one that was opened"):
        vault.add_many([{"title": "a"}])


@pytest.mark.parametrize("change", [delete, move, replace])
def test_searches_go_on_from_what_they_have_and_say_so(vault, path, change):
    before = vault.search("word", query_vector=[1, 1])
    assert before.notes == ()
    change(path)
    for _ in range(2):
        after = vault.search("word", query_vector=[1, 1])
        assert after.ids == before.ids
        assert [note.code for note in after.notes] == ["vault_replaced"]
        assert after.degraded
        assert vault.get("e1") is not None
        assert len(vault) == vault.stats().entries == 5


def test_a_file_that_comes_back_is_the_one_that_was_opened(vault, path):
    move(path)
    with pytest.raises(VaultReplaced):
        vault.add(title="lost")
    path.with_name("elsewhere.db").rename(path)
    vault.add(id="x", title="word x")
    assert vault.search("word x", limit=1).ids == ["x"]
    assert vault.search("word").notes == ()


def test_what_took_the_place_of_the_file_is_read_when_it_is_opened_anew(vault, path):
    replace(path)
    vault.close()
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    with Vault(path) as again:
        assert len(again) == 9
        again.add(id="x", title="word x")
        assert "e1" not in again


@pytest.mark.parametrize("link", [False, True], ids=["file", "link"])
@pytest.mark.parametrize("left", ["closed", "with_an_error"])
def test_the_log_of_a_file_that_was_replaced_is_not_played_over_the_new_one(path, link, left):
    named = path.with_name("link.db")
    named.symlink_to(path.name)
    fill(path.with_name("new.db"), "n", 9)
    with Vault(named if link else path) as vault:
        vault.add_many({"id": f"late{i}", "title": f"word late {i}"} for i in range(300))
        path.with_name("new.db").replace(path)
        if left == "with_an_error":
            with pytest.raises(VaultReplaced):
                vault.add(title="word")
    assert not path.with_name("v.db-wal").exists()
    (kept,) = path.parent.glob("v.db.before-*-wal")
    assert kept.stat().st_size > 100_000
    with Vault(path) as vault:
        assert sorted(entry.id for entry in vault.load([f"{m}{i}" for m in ("e", "n", "late") for i in range(9)])) == [
            f"n{i}" for i in range(9)
        ]
        vault.add(id="x", title="word x")
    with closing(sqlite3.connect(path)) as sql:
        assert sql.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_no_reader_ever_opens_the_file_that_took_the_place(vault, path):
    replace(path)
    wrong, barrier = [], threading.Barrier(6)

    def read():
        barrier.wait(20)
        for _ in range(20):
            try:
                found = set(vault.search("word", limit=99).ids)
            except VaultReplaced:
                continue
            if found != {f"e{i}" for i in range(5)}:
                wrong.append(found)

    threads = [threading.Thread(target=read, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert wrong == []


def test_a_vault_that_is_read_only_notices_too(path):
    with Vault(path, read_only=True) as vault:
        assert vault.search("word").notes == ()
        replace(path)
        assert [note.code for note in vault.search("word").notes] == ["vault_replaced"]
        assert len(vault) == 5


def test_a_log_that_went_when_connections_were_closed_for_a_fork_is_no_fault(vault):
    vault._store.close_connections()
    vault._store.identity.check_log()
    vault.add(title="word")
    assert vault.search("word").notes == ()


def test_a_search_that_cannot_read_without_the_log_says_what_happened_to_it(path):
    with Vault(path) as vault:
        vault.add(title="word in the log")
        for ending in ("-wal", "-shm"):
            path.with_name("v.db" + ending).unlink()
        with pytest.raises(VaultReplaced, match="was removed or replaced under the open vault"):
            vault.search("word")


@pytest.mark.parametrize("more", [0, 3_000], ids=["of_its_size", "far_shorter"])
def test_an_older_copy_that_is_written_over_the_file_is_noticed_before_anything_is_acknowledged(path, more):
    with Vault(path) as vault:
        vault.backup(path.with_name("copy.db"))
        vault.add_many({"id": f"x{i}", "title": f"later {i} {i * 7}"} for i in range(5 + more))
        # As after any large write: all is in the file now, nothing is read from the log, and SQLite remembers pages.
        assert vault._store._writer.execute("PRAGMA wal_checkpoint").fetchone()[0] == 0
        path.write_bytes(path.with_name("copy.db").read_bytes())
        for write in ("add", "update", "delete"):
            with pytest.raises(VaultReplaced, match="found generation 1; nothing was written"):
                WRITES[write](vault)
    with Vault(path) as vault:
        vault.add(id="x", title="word x")
    with Vault(path) as vault:
        assert sorted(vault.search("word", limit=99).ids) == ["e0", "e1", "e2", "e3", "e4", "x"]


def test_a_log_that_others_write_into_the_file_is_no_replacement(vault, path):
    for turn in range(3):
        vault.add(id=f"x{turn}", title="word x")
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
            other.execute("VACUUM")
        assert vault.search("word x", limit=1).notes == ()
    assert len(vault) == 8


def test_a_link_that_points_elsewhere_now_is_another_file(path, tmp_path):
    fill(tmp_path / "other.db", "o")
    (tmp_path / "link.db").symlink_to(path)
    with Vault(tmp_path / "link.db") as vault:
        vault.add(id="x", title="word")
        (tmp_path / "link.db").unlink()
        (tmp_path / "link.db").symlink_to(tmp_path / "other.db")
        with pytest.raises(VaultReplaced):
            vault.add(id="y", title="word")


def test_what_other_vaults_write_is_no_replacement(vault, path):
    with Vault(path) as other:
        for i in range(6):
            other.add(id=f"other{i}", title=f"word other {i}")
            vault.add(id=f"mine{i}", title=f"word mine {i}")
            other.delete(f"mine{i - 3}")
        assert len(vault) == len(other) == 14


def test_writers_of_long_ago_whose_names_were_dropped_are_no_replacement(path, monkeypatch):
    monkeypatch.setattr(identity, "WRITERS", 3)
    with Vault(path) as vault:
        vault.add(id="first", title="word")
        for i in range(8):
            fill(path, f"m{i}x", 1)
        vault.add(id="last", title="word")
        assert len(vault) == 15


def test_a_vault_in_memory_is_never_replaced():
    with Vault(":memory:") as vault:
        vault.add(title="word")
        assert vault.search("word").notes == ()


def test_a_file_system_without_numbers_of_files_knows_of_no_replacement(path, monkeypatch):
    real = os.stat

    def without_numbers(*args, **kwargs):
        found = list(real(*args, **kwargs))
        found[1] = 0
        return os.stat_result(found)

    monkeypatch.setattr(identity.os, "stat", without_numbers)
    with Vault(path) as vault:
        vault.add(title="word")
        assert vault.search("word").notes == ()
        path.rename(path.with_name("elsewhere.db"))
        assert [note.code for note in vault.search("word").notes] == ["vault_replaced"]


@pytest.mark.parametrize("change", [move, replace])
def test_a_file_that_goes_away_just_when_it_is_opened_was_replaced(vault, path, change):
    known, changed = vault._store.identity, []
    check = known.check_file

    def check_just_before():
        found = check()
        if not changed:
            changed.append(change(path))
            if change is replace:
                path.write_bytes(path.read_bytes()[:700])
        return found

    known.check_file = check_just_before
    # The connection that there is, is in use.
    with vault._store.reading(), pytest.raises(VaultReplaced):
        vault.search("word")


def test_a_file_that_goes_away_while_it_is_opened_was_replaced(vault, path):
    before = sys.gettrace()

    def move_then(frame, _event, _argument):
        if frame.f_code.co_name == "register":
            sys.settrace(before)
            move(path)

    with vault._store.reading():
        sys.settrace(move_then)
        try:
            with pytest.raises(VaultReplaced):
                vault.search("word")
        finally:
            sys.settrace(before)
    assert not path.exists()
