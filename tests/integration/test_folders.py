"""Vaults in folders that are not this machine's alone: on network file systems, and synchronised by a program."""

import threading

import pytest

from septet import CallableEmbedder, StoreBusy, Vault
from septet.exchange import restore
from septet.sqlite.store import connection
from septet.sqlite.store.store import SqliteStore
from septet.system import filesystem


@pytest.fixture(params=["network", "synchronised"])
def folder(request, tmp_path, monkeypatch):
    if request.param == "network":
        monkeypatch.setattr(filesystem, "file_system", lambda _path: "nfs4")
        return tmp_path
    made = tmp_path / "Dropbox" / "notes"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def synchronised(tmp_path):
    made = tmp_path / "Dropbox"
    made.mkdir()
    return made


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def journal(vault):
    with vault._store.reading() as read:
        return read.sql.execute("PRAGMA journal_mode").fetchone()[0]


def test_a_vault_is_written_without_a_log_and_says_so_once(folder):
    with Vault(folder / "v.db") as vault:
        vault.add(id="x", title="word")
        codes = [[note.code for note in vault.search("word").notes] for _ in range(3)]
        assert codes[1:] == [[], []]
        assert codes[0] in (["network_folder"], ["synchronised_folder"])
        assert [note.code for note in vault.stats().notes] == codes[0]
        assert vault.stats().to_dict()["notes"][0]["cure"].startswith("keep the vault")
        assert journal(vault) == "delete"
        assert names(folder) == ["v.db"]
        with vault._store.writing() as write:
            modes = [write.sql.execute(f"PRAGMA {p}").fetchone()[0] for p in ("synchronous", "mmap_size")]
        assert modes == [2, 0]
    with Vault(folder / "v.db", read_only=True) as reader:
        assert reader.search("word").ids == ["x"]
        assert reader.stats().notes


def test_a_vault_elsewhere_has_a_log_and_nothing_to_say(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(title="word")
        assert journal(vault) == "wal"
        assert vault.stats().notes == ()
        assert vault.search("word").notes == ()
    with Vault(":memory:") as vault:
        assert vault.stats().notes == ()


def test_a_vault_that_moves_gets_the_journal_of_its_place(tmp_path, synchronised):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="x", title="word")
    for place, mode in ((synchronised, "delete"), (tmp_path, "wal"), (synchronised, "delete")):
        other = tmp_path if place == synchronised else synchronised
        (other / "v.db").rename(place / "v.db")
        with Vault(place / "v.db") as vault:
            assert journal(vault) == mode
            vault.add(title="word")
            assert "x" in vault.search("word").ids


def test_a_vault_that_others_have_open_with_a_log_keeps_it_until_they_close_it(tmp_path, synchronised, monkeypatch):
    monkeypatch.setattr(connection, "UNLOG_WAIT_S", 0.05)
    monkeypatch.setattr(filesystem, "synchronised", lambda _path: "")
    before = Vault(synchronised / "v.db")
    before.add(id="x", title="word")
    monkeypatch.undo()
    monkeypatch.setattr(connection, "UNLOG_WAIT_S", 0.05)
    with Vault(synchronised / "v.db") as vault:
        assert journal(vault) == "wal"
        assert vault.search("word").ids == ["x"]
        vault.add(id="y", title="word")
        assert sorted(before.search("word").ids) == ["x", "y"]
        before.close()
    with Vault(synchronised / "v.db") as vault:
        assert journal(vault) == "delete"
        assert len(vault) == 2


def test_threads_that_read_and_write_get_on(synchronised):
    faults = []
    with Vault(synchronised / "v.db") as vault:
        vault.add(id="first", title="word first", vector=[1, 0])

        def write(name):
            for i in range(15):
                vault.add(id=f"{name}{i}", title=f"word {name} {i}", vector=[1, i])

        def read(_name):
            for _ in range(40):
                assert "first" in vault.search("word first", query_vector=[1, 0], limit=100).ids
                assert vault.get("first") is not None

        def run(task, name):
            try:
                task(name)
            except BaseException as fault:  # noqa: BLE001 - whatever it is, the test shall fail
                faults.append(fault)

        tasks = [(write, "a"), (write, "b"), (read, "c"), (read, "d"), (read, "e")]
        threads = [threading.Thread(target=run, args=task, daemon=True) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        assert faults == []
        assert len(vault) == 31
        assert vault.search_many(["word first"] * 20)[7].ids


def test_a_read_waits_for_a_write_and_a_write_for_a_read_but_not_for_ever(synchronised):
    path = str(synchronised / "v.db")
    first, second = SqliteStore(path, busy_timeout_s=0.05), SqliteStore(path, busy_timeout_s=0.05)
    with first.reading() as read:
        with pytest.raises(StoreBusy), second.writing():
            pass
        assert read.generation == 0
    with second.writing():
        pass
    with first.reading() as read:
        assert read.generation == 1
    first.close()
    second.close()


def test_everything_else_works_there_too(synchronised, tmp_path):
    def embed(texts):
        return [[float(len(text)), 1.0, 2.0] for text in texts]

    embedder = CallableEmbedder(embed, model="tiny", dimensions=3)
    with Vault(synchronised / "v.db", embedder=embedder) as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {'x' * i}"} for i in range(30))
        assert vault.embedding_status(wait_s=60).activity == "idle"
        assert vault.embed().failed == 0
        vault.link("e1", "e2")
        vault.feedback("word", "e1", "accepted")
        vault.delete("e3")
        vault.purge()
        vault.optimize()
        assert len(vault.search("word", limit=99)) == 29
        vault.backup(tmp_path / "backup.db", progress=lambda _done, _total: None)
        vault.export(tmp_path / "out.jsonl")
    assert restore(tmp_path / "backup.db", synchronised / "v.db") == 29
    with Vault(synchronised / "v.db") as vault:
        assert len(vault) == 29
        assert journal(vault) == "delete"
        with pytest.raises(StoreBusy, match="is open"):
            restore(tmp_path / "backup.db", synchronised / "v.db")
