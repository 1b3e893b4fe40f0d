"""A fact that searches may use is one line in the table of columns."""

import numpy as np
import pytest

from septet import _core
from septet.sqlite.snapshot.columns import COLUMNS, FactColumn
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.snapshot.optimize import optimize
from septet.sqlite.snapshot.sidecar import Sidecar
from sidecars import opened, until

NOW = 1_000.0
FIRST_LINE = FactColumn("first_line", np.int32, "e.first_line", fill=-1)
PATH = FactColumn("path", np.int32, "e.path", fill="", numbered=True)
TITLE_LENGTH = FactColumn("title_length", np.float64, "length(e.title)", saved=False)
MORE = (*COLUMNS, FIRST_LINE, PATH, TITLE_LENGTH)


@pytest.fixture
def vault(tmp_path):
    with opened(tmp_path / "v.db", sidecar=False) as made:
        made.add(id="plain", title="alpha")
        made.add(id="gone", title="beta")
        made.add(id="chunk", title="gamma", span={"path": "a.md", "first_line": 7, "last_line": 9})
        made.delete("gone")
        made.add(id="again", title="delta", span={"path": "a.md", "first_line": 1, "last_line": 2})
        yield made


def manager_of(vault, columns):
    return SnapshotManager(Sidecar(vault.path), columns)


def facts(vault, manager):
    """What the snapshot of now says about every entry, by id."""
    with vault._store.reading() as read:
        snapshot = manager.view(read, NOW)
        ids = dict(read.sql.execute("SELECT row, id FROM entries"))
    found = {}
    for slot in np.flatnonzero(snapshot.alive):
        columns = {c.name: snapshot.columns[c.name][slot] for c in (FIRST_LINE, PATH, TITLE_LENGTH)}
        found[ids[snapshot.rows[slot]]] = (
            int(columns["first_line"]),
            snapshot.names[columns["path"]],
            float(columns["title_length"]),
        )
    return found


WANTED = {"plain": (-1, "", 5.0), "chunk": (7, "a.md", 5.0), "again": (1, "a.md", 5.0)}


def saved_columns(manager, vault):
    path, _ = optimize(manager, vault._store, NOW, terms=False)
    return set(_core.ArrayFile(path).names())


def test_a_column_that_is_added_to_the_table_is_in_the_snapshot(vault):
    manager = manager_of(vault, MORE)
    assert facts(vault, manager) == WANTED
    assert list(manager.current.columns) == [column.name for column in MORE]


def test_an_added_column_follows_what_is_written(vault):
    manager = manager_of(vault, MORE)
    facts(vault, manager)
    vault.update("plain", title="alphabet", span={"path": "b.md", "first_line": 3, "last_line": 3})
    vault.delete("chunk")
    assert facts(vault, manager) == {"plain": (3, "b.md", 8.0), "again": WANTED["again"]}


def test_a_sidecar_brings_an_added_column_to_the_next_process(vault):
    names = saved_columns(manager_of(vault, MORE), vault)
    assert {"first_line", "path"} <= names
    assert "title_length" not in names, "this one is read from the store"
    again = manager_of(vault, MORE)
    assert facts(vault, again) == WANTED
    assert again.restored
    vault.add(id="later", title="epsilon")
    assert facts(vault, again) == {**WANTED, "later": (-1, "", 7.0)}


def test_a_column_that_an_older_sidecar_lacks_is_read_from_the_store_and_saved_with_the_next(vault):
    assert "first_line" not in saved_columns(manager_of(vault, COLUMNS), vault)
    vault.delete("plain")
    manager = manager_of(vault, MORE)
    assert facts(vault, manager) == {"chunk": WANTED["chunk"], "again": WANTED["again"]}
    assert manager.restored and not manager.damaged
    assert "first_line" in saved_columns(manager, vault)


def test_a_sidecar_that_lacks_a_column_is_due_to_be_written_anew(vault):
    saved_columns(manager_of(vault, COLUMNS), vault)
    for columns, due in ((COLUMNS, None), (MORE, "save")):
        manager = manager_of(vault, columns)
        with vault._store.reading() as read:
            manager.view(read, NOW)
        assert manager.due() == "verify"
        # The first search of a process starts nothing.
        manager.schedule(vault._store)
        manager.schedule(vault._store)
        until(lambda manager=manager: not manager.busy)
        assert manager.due() == due


def test_no_search_can_write_to_a_snapshots_columns(vault):
    manager = manager_of(vault, COLUMNS)
    with vault._store.reading() as read:
        columns = manager.view(read, NOW).columns
    with pytest.raises(TypeError):
        columns["rows"] = columns["rows"]
    for name, column in columns.items():
        with pytest.raises(ValueError, match="read-only"):
            column[0] = column[0]
        assert len(column) == 3, name


def test_names_that_were_given_out_keep_their_numbers(vault):
    manager = manager_of(vault, COLUMNS)
    with vault._store.reading() as read:
        old = manager.view(read, NOW)
    domains = [old.names[i] for i in old.columns["domain"]]
    vault.add(id="other", title="zeta", domain="another")
    with vault._store.reading() as read:
        new = manager.view(read, NOW)
    assert new.names is old.names
    assert [old.names[i] for i in old.columns["domain"]] == domains
    assert new.names[new.columns["domain"][-1]] == "another"
