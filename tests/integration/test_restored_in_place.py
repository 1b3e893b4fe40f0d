"""A vault whose content goes back while it is open, as SQLite's own ``.restore`` does it: the next search notices."""

import shutil
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import StoreBusy, Vault, VaultReplaced
from septet.sqlite.snapshot.catch_up import precedes
from septet.sqlite.snapshot.maintenance import build
from septet.sqlite.tier import read_view

NOW = 1_700_000_000.0
QUERY = np.array([1.0, 0.2, 0.1])


def keep(vault, copy):
    copy.unlink(missing_ok=True)
    vault.backup(copy)


def restore(copy, path):
    """What the command ``.restore`` of SQLite's shell does to a file that others have open."""
    with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)


def fill(vault, mark, count):
    for i in range(count):
        vector = np.cos(np.arange(3) * (i + len(mark)))
        vault.add(id=f"{mark}{i}", title=f"word {mark} {i}", vector=vector, tags=[mark])


def answers(vault):
    """What searches of every kind find."""
    found = [
        vault.search("word", limit=50),
        vault.search("word", query_vector=QUERY, limit=50),
        vault.search("late other", limit=50, profile="six-signals"),
        vault.search("word", where={"tags": {"$contains": "late"}}, limit=50),
    ]
    return [[(hit.id, hit.score) for hit in one] for one in found], vault.weights().values


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as made:
        fill(made, "early", 5)
        keep(made, tmp_path / "copy.db")
        fill(made, "late", 10)
        made.link("early1", "late1")
        answers(made)
        yield made


def same_as_new(vault):
    with Vault(vault.path, sidecar=False, clock=lambda: NOW) as new:
        return answers(vault) == answers(new) and vault.stats() == new.stats()


@pytest.mark.parametrize("writes", [0, 1, 5, 10, 11, 12, 40])
def test_the_next_search_finds_what_is_there_however_many_writes_follow(vault, tmp_path, writes):
    restore(tmp_path / "copy.db", vault.path)
    with Vault(vault.path) as another:
        fill(another, "other", writes)
    assert same_as_new(vault)
    found = {hit.id for hit in vault.search("word", limit=99)}
    assert found == {f"early{i}" for i in range(5)} | {f"other{i}" for i in range(writes)}


def test_links_go_back_too(vault, tmp_path):
    vault.link("early2", "late2")
    keep(vault, tmp_path / "later.db")
    vault.unlink("early1", "late1")
    vault.link("early3", "late3")
    vault.link("late4", "early3")
    answers(vault)
    restore(tmp_path / "later.db", vault.path)
    with Vault(vault.path) as another:
        for end in ("late5", "late6", "late7"):
            another.link("early4", end)
    assert vault.stats().generation == vault._tier.manager.current.generation
    assert same_as_new(vault)


def test_generations_that_are_written_again_and_again_are_told_apart(vault, tmp_path):
    for mark in ("first", "second", "third"):
        restore(tmp_path / "copy.db", vault.path)
        with Vault(vault.path) as another:
            fill(another, mark, 3)
        assert {hit.id for hit in vault.search(mark, limit=99)} == {f"{mark}{i}" for i in range(3)}
        assert same_as_new(vault)


def test_what_was_opened_before_does_not_write_to_what_was_restored(vault, tmp_path):
    restore(tmp_path / "copy.db", vault.path)
    for _ in range(2):
        with pytest.raises(
            VaultReplaced, match=r"a successor of generation 16, found generation 5.*close this vault and open it again"
        ):
            vault.add(title="lost")
        assert {hit.id for hit in vault.search("word", limit=99)} == {f"early{i}" for i in range(5)}
    with Vault(vault.path) as another:
        fill(another, "other", 40)
    for write in (lambda: vault.add(title="lost"), vault.purge, lambda: vault.delete("early1")):
        with pytest.raises(VaultReplaced):
            write()
    assert same_as_new(vault)
    vault.close()
    with Vault(vault.path) as again:
        again.add(id="kept", title="word kept")
        assert len(again) == 46


def test_what_was_seen_by_a_search_counts_as_what_was_written(vault, tmp_path):
    with Vault(vault.path) as another:
        another.search("word")
        fill(vault, "seen", 1)
        keep(vault, tmp_path / "later.db")
        fill(vault, "more", 1)
        another.search("word")
        restore(tmp_path / "later.db", vault.path)
        with pytest.raises(VaultReplaced):
            another.add(title="lost")


def test_copies_that_were_written_separately_are_told_apart(vault, tmp_path):
    shutil.copy(tmp_path / "copy.db", tmp_path / "copy2.db")
    for name, mark in (("copy.db", "one"), ("copy2.db", "two")):
        with Vault(tmp_path / name) as copy:
            fill(copy, mark, 4)
    for name, mark in (("copy.db", "one"), ("copy2.db", "two"), ("copy.db", "one")):
        restore(tmp_path / name, vault.path)
        assert [hit.id for hit in vault.search(mark, limit=9)] != []
        assert same_as_new(vault)
        # The next write continues what it found, under a name of its own.
        with Vault(vault.path) as another:
            another.add(id="more", title=f"word more {mark}")
        assert same_as_new(vault)


def test_a_reader_that_began_before_is_told_to_begin_again_and_not_to_start_anew(vault, tmp_path):
    manager, store = vault._tier.manager, vault._store
    with store.reading() as before:
        seen = manager.current
        vault.add(id="x", title="word x")
        vault.search("word")
        assert manager.current is not seen
        assert manager.view(before, NOW, seen=seen) is None
        assert manager.view(before, NOW) is None


def test_a_later_state_of_what_was_restored_is_caught_up_with(vault, tmp_path):
    manager = vault._tier.manager
    before = manager.current
    with vault._store.reading() as read:
        assert precedes(before, read)
    vault.add(id="x", title="word x")
    with vault._store.reading() as read:
        assert precedes(before, read)
    restore(tmp_path / "copy.db", vault.path)
    with vault._store.reading() as read:
        assert not precedes(before, read)
    with Vault(vault.path) as another:
        fill(another, "other", 30)
    with vault._store.reading() as read:
        assert read.generation > before.generation
        assert not precedes(before, read)


def test_postings_that_were_begun_before_are_not_gone_on_with(vault, tmp_path):
    manager, taken = vault._tier.manager, []
    step = build(vault._store, manager.current, taken.append)
    restore(tmp_path / "copy.db", vault.path)
    with Vault(vault.path) as another:
        fill(another, "other", 30)
    while step():
        pass
    assert taken == []


def test_arrays_of_what_was_before_are_never_saved_as_those_of_what_is_there(vault, tmp_path):
    vault.search("word")
    checkpoint = vault._tier.manager.freeze()
    assert checkpoint is not None
    restore(tmp_path / "copy.db", vault.path)
    with Vault(vault.path) as another:
        fill(another, "other", 11)
        assert another.stats().generation == checkpoint.snapshot.generation
    from septet.sqlite.snapshot.maintenance import save

    save(vault._store, vault._tier.manager.sidecar, checkpoint)
    with vault._store.reading() as read:
        assert vault._tier.manager.sidecar.latest(read) is None
    with Vault(vault.path, clock=lambda: NOW) as again:
        assert same_as_new(again)


def test_a_sidecar_of_what_was_before_is_not_used_by_an_open_vault(vault, tmp_path):
    vault.optimize()
    restore(tmp_path / "copy.db", vault.path)
    with Vault(vault.path) as another:
        fill(another, "other", 11)
    assert same_as_new(vault)
    vault.optimize()
    assert same_as_new(vault)


def test_a_search_that_is_overtaken_without_end_gives_up(vault, monkeypatch):
    manager = vault._tier.manager
    monkeypatch.setattr(type(manager), "view", lambda *_a, **_k: None)
    monkeypatch.setattr(read_view, "TURNS", 3)
    with pytest.raises(StoreBusy, match=r"changed 3 times .* search again"):
        vault.search("word")
    assert not vault._store._readers.out


def test_threads_that_search_while_the_file_goes_back_find_one_state_or_the_other(vault, tmp_path):
    states = {"early": {f"early{i}" for i in range(5)}}
    states["late"] = states["early"] | {f"late{i}" for i in range(10)}
    keep(vault, tmp_path / "later.db")
    wrong, stop = [], threading.Event()

    def search():
        while not stop.is_set():
            found = {hit.id for hit in vault.search("word", limit=99)}
            if found not in states.values():
                wrong.append(found)

    threads = [threading.Thread(target=search, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(30):
        restore(tmp_path / ("copy.db" if turn % 2 else "later.db"), vault.path)
    stop.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert wrong == []
    assert same_as_new(vault)


STEPS = st.lists(
    st.sampled_from(["add", "delete", "link", "purge", "keep", "restore", "search", "reader searches"]),
    max_size=14,
)


@given(steps=STEPS)
@heavy()
def test_any_order_of_writes_and_restores_leaves_searches_equal_to_those_of_a_new_vault(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("any")
    with Vault(folder / "v.db", clock=lambda: NOW) as vault, Vault(folder / "v.db", clock=lambda: NOW) as other:
        fill(vault, "early", 3)
        keep(vault, folder / "copy.db")
        for number, step in enumerate(steps):
            if step in ("add", "delete", "link", "purge"):
                # The others may have seen what is no longer there, and may not write.
                with Vault(vault.path, clock=lambda: NOW) as writer:
                    if step == "add":
                        fill(writer, f"late{number}x", 2)
                    elif step == "delete":
                        writer.delete("early1", f"late{number - 1}x0")
                    elif step == "link" and "early1" in writer:
                        writer.link("early1", "early2")
                    elif step == "purge":
                        writer.purge()
            elif step == "keep":
                keep(other, folder / "copy.db")
            elif step == "restore":
                restore(folder / "copy.db", vault.path)
            elif step == "search":
                assert same_as_new(vault)
            elif step == "reader searches":
                assert same_as_new(other)
        assert same_as_new(vault)
        assert same_as_new(other)
