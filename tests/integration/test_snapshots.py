"""Snapshots under pressure: older readers, failures in the middle, rebuilds."""

import numpy as np
import pytest

from septet import Vault
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables.vectors import choose

NOW = 1_000.0


class Failing:
    """A connection that fails at the first statement that contains a text."""

    def __init__(self, sql, text, fault):
        self._sql, self._text, self._fault = sql, text, fault

    def execute(self, statement, *parameters):
        if self._text in statement:
            raise self._fault
        return self._sql.execute(statement, *parameters)


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db", clock=lambda: NOW, profile="seven-signals") as made:
        made.add(id="a", title="alpha", vector=[1, 0])
        yield made


def frequencies(vault, manager=None):
    with vault._store.reading() as read:
        return (manager or vault._tier.manager).view(read, NOW, terms=True).terms.frequencies.to_dict()


def nearest(vault, *vector):
    return [h.id for h in vault.search("", query_vector=vector)]


def test_a_snapshot_once_given_never_changes(vault):
    manager = vault._tier.manager
    with vault._store.reading() as read:
        old = manager.view(read, NOW, terms=True)
    before = (old.rows.tolist(), old.alive.tolist(), old.terms.frequencies.to_dict(), len(old.valid_until))
    for i in range(50):
        vault.add(id=f"e{i}", title=f"beta {i}")
        frequencies(vault)
    vault.delete("a")
    frequencies(vault)
    assert (old.rows.tolist(), old.alive.tolist(), old.terms.frequencies.to_dict(), len(old.valid_until)) == before
    with pytest.raises(ValueError, match="read-only"):
        old.rows[0] = 5


def test_a_reader_of_an_older_generation_is_told_to_begin_again(vault):
    manager = vault._tier.manager
    with vault._store.reading() as older:
        vault.add(id="b", title="beta", vector=[0, 1])
        with vault._store.reading() as newer:
            assert manager.view(newer, NOW).generation == newer.generation
        assert manager.view(older, NOW, space=choose(older, None, 2)) is None
    assert nearest(vault, 0, 1) == ["b", "a"]


FAULTS = [KeyboardInterrupt(), MemoryError(), RuntimeError()]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("where", ["JOIN vectors", "SELECT e.title"], ids=["vectors", "texts"])
def test_a_search_interrupted_while_it_catches_up_does_not_spoil_the_next(vault, fault, where):
    assert vault.search("alpha", query_vector=[1, 0]).ids == ["a"]
    vault.add(id="b", title="beta", vector=[0, 1])
    with vault._store.reading() as read, pytest.raises(type(fault)):
        failing = SqliteReading(Failing(read.sql, where, fault), read.generation)
        vault._tier.manager.view(failing, NOW, terms=True, space=choose(read, None, 2))
    assert nearest(vault, 0, 1) == ["b", "a"]
    assert frequencies(vault) == frequencies(vault, SnapshotManager())


@pytest.mark.parametrize("where", ["JOIN vectors", "SELECT e.title"], ids=["vectors", "texts"])
def test_a_first_search_that_was_interrupted_does_not_spoil_the_next(vault, where):
    vault.add(id="b", title="beta", vector=[0, 1])
    with vault._store.reading() as read, pytest.raises(RuntimeError):
        failing = SqliteReading(Failing(read.sql, where, RuntimeError()), read.generation)
        vault._tier.manager.view(failing, NOW, terms=True, space=choose(read, None, 2))
    assert nearest(vault, 0, 1) == ["b", "a"]
    assert frequencies(vault) == frequencies(vault, SnapshotManager())


def test_very_many_changes_end_in_a_rebuild_that_equals_counting_anew(vault):
    vault.add_many({"id": f"e{i}", "title": f"word{i % 7} alpha", "vector": [1, i]} for i in range(1_500))
    nearest(vault, 1, 0)
    for turn in range(4):
        vault.add_many({"id": f"e{i}", "title": f"turn{turn} alpha", "vector": [1, i]} for i in range(turn, 1_500))
        assert frequencies(vault) == frequencies(vault, SnapshotManager())
        with vault._store.reading() as read:
            snapshot = vault._tier.manager.view(read, NOW)
            assert int(np.count_nonzero(snapshot.alive)) == 1_501
    assert nearest(vault, 1, 1)[0] == "e1"


def test_a_purge_of_what_was_seen_deleted_makes_nothing_anew(vault):
    vault.add_many({"id": f"b{i}", "title": f"beta {i}", "vector": [0, 1]} for i in range(10))
    vault.delete([f"b{i}" for i in range(10)])
    assert nearest(vault, 1, 0) == ["a"]
    buffers = vault._tier.manager._buffers
    vault.purge()
    # SQLite gives the numbers of rows that are gone to new ones.
    vault.add_many({"id": f"c{i}", "title": f"gamma {i}", "vector": [0, 1 + i]} for i in range(3))
    assert sorted(nearest(vault, 1, 0)) == ["a", "c0", "c1", "c2"]
    assert sorted(vault.search("gamma").ids) == ["c0", "c1", "c2"]
    assert vault._tier.manager._buffers is buffers


def test_a_purge_of_what_was_not_seen_deleted_begins_anew(vault):
    vault.add(id="b", title="beta", vector=[1, 0])
    # Behind b, so that no later entry gets the number of b's row, which would hide that b was missed.
    vault.add(id="last", title="delta", vector=[1, 0])
    assert sorted(nearest(vault, 1, 0)) == ["a", "b", "last"]
    vault.delete("b")
    vault.purge()
    vault.add(id="c", title="gamma", vector=[1, 0])
    assert sorted(nearest(vault, 1, 0)) == ["a", "c", "last"]
    assert vault.search("beta").ids == []


def test_the_mask_of_a_deleted_entry_is_made_once_for_all_searches(vault):
    vault.add_many({"id": f"b{i}", "title": f"beta {i}", "vector": [i, 1]} for i in range(9))
    assert nearest(vault, 5, 1)[0] == "b5"
    vault.delete("b5")
    assert "b5" not in nearest(vault, 5, 1)
    snapshot = vault._tier.manager.current
    made = dict(snapshot.selections)
    assert snapshot.mask(None).sum() == 9 and len(made) == 1, "ten entries, one of them dead"
    assert "b5" not in nearest(vault, 5, 1)
    assert vault._tier.manager.current is snapshot and snapshot.selections == made


def test_frequencies_are_counted_again_when_an_edge_is_passed_and_not_in_between():
    with Vault(":memory:", clock=lambda: NOW, profile="seven-signals") as vault:
        vault.add_many(
            [
                {"title": "always"},
                {"title": "from here", "valid_from": NOW},
                {"title": "until there", "created_at": 1.0, "valid_until": NOW + 10},
            ]
        )
        with vault._store.reading() as read:

            def counted(at):
                return vault._tier.manager.view(read, at, terms=True).terms

            before, within, after = (NOW - 5, NOW - 1e-6), (NOW, NOW + 1e-6, NOW + 10 - 1e-6), (NOW + 10, NOW + 99)
            # Each stretch is walked from its first moment, which is an edge, to its last, and back.
            for stretch in (before, within, after, within, before):
                found = [counted(at) for at in (*stretch, *stretch[::-1])]
                assert all(terms is found[0] for terms in found)
            assert counted(NOW - 1e-6) is not counted(NOW)
            assert counted(NOW + 10 - 1e-6) is not counted(NOW + 10)


@pytest.mark.parametrize("changes", [1, 2, 3, 8])
@pytest.mark.parametrize("entries", [1, 2, 30])
def test_the_newest_entry_may_be_updated_again_and_again(entries, changes):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many({"id": f"e{i:02d}", "title": f"alpha {i}", "vector": [1, 0]} for i in range(entries))
        vault.optimize()
        newest, words = f"e{entries - 1:02d}", "kiwi plum quince cherry fig grape lemon mango".split()
        for change, word in enumerate(words[:changes]):
            assert len(vault.search("alpha", query_vector=[1, 0], limit=99)) == entries
            vault.update(newest, title=f"alpha {word}")
            assert vault.search(word, legs="text").ids == [newest]
            if change:
                assert vault.search(words[change - 1], legs="text").ids == []
            assert [hit.title for hit in vault.search("alpha", where={"id": newest})] == [f"alpha {word}"]
