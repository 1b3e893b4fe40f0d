"""An interrupt leaves what it stopped usable."""

import _thread
import sqlite3
import sys
import threading
from contextlib import closing

import pytest

from septet import Vault
from septet.sqlite.store import connection
from septet.system.forks import Connection


@pytest.mark.parametrize(
    "function", ["begin_reading", "open_read_view", "open", "candidates", "ranked", "read", "close"]
)
@pytest.mark.parametrize("event", ["call", "return"])
def test_an_interrupted_search_leaves_a_vault_in_memory_to_other_threads(function, event):
    def interrupt(frame, what, _argument):
        if frame.f_code.co_name == function and "septet" in frame.f_code.co_filename and what == event:
            sys.settrace(None)
            raise KeyboardInterrupt
        return interrupt

    with Vault(":memory:") as vault:
        vault.add(id="a", title="token")
        vault.search("token")
        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                vault.search("token")
        finally:
            sys.settrace(before)
        found = []
        other = threading.Thread(target=lambda: found.append(vault.search("token").ids), daemon=True)
        other.start()
        other.join(10)
        assert found == [["a"]]


def test_an_interrupt_while_connections_are_closed_before_a_fork_leaves_the_vault_usable(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        writer = vault._store._writer

        def interrupted():
            sqlite3.Connection.close(writer)
            raise KeyboardInterrupt

        writer.close = interrupted
        with pytest.raises(KeyboardInterrupt):
            vault._store.close_connections()
        vault.add(id="a", title="token")
        assert vault.search("token").ids == ["a"]


class Late(Connection):
    """A connection with an interrupt right after a transaction was committed."""

    def execute(self, sql, *arguments):
        done = super().execute(sql, *arguments)
        if sql == "COMMIT":
            raise KeyboardInterrupt
        return done


def test_an_interrupt_right_after_a_vault_was_made_is_an_interrupt_and_the_vault_is_whole(tmp_path):
    made = tmp_path / "v.db"
    with closing(sqlite3.connect(made, isolation_level=None, factory=Late)) as sql, pytest.raises(KeyboardInterrupt):
        connection.prepare(sql, str(made), read_only=False, busy_timeout_s=1.0)
    with Vault(made) as vault:
        vault.add(title="A word")
        assert vault.search("word").total == 1


@pytest.mark.parametrize(
    "where",
    [
        {"description": {"$contains": "LONG"}},
        {"attrs.x": {"$contains": "LONG"}},
        {"attrs.nul": "long\0"},
        {"tags": {"$contains": "LONG"}},
    ],
    ids=lambda where: next(iter(where)),
)
@pytest.mark.parametrize("change", [Vault.update_many, Vault.delete], ids=lambda change: change.__name__)
def test_an_interrupt_while_sqlite_filters_is_an_interrupt_and_nothing_is_changed(tmp_path, change, where):
    given = {"description": "a long text", "attrs": {"x": "long", "nul": "long\0"}, "tags": ["long"]}
    options = {"domain": "new"} if change is Vault.update_many else {}
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{i}", "title": "word", "attrs": {"nul": "\0"}} for i in range(400))
        vault.add(id="last", title="word", **given)
        # Called in the middle of a statement, after so many of SQLite's steps: no row has come back by then.
        vault._store._writer.set_progress_handler(_thread.interrupt_main, 2_000)
        with pytest.raises(KeyboardInterrupt):
            change(vault, where=where, **options)
        vault._store._writer.set_progress_handler(None, 0)
        assert vault.get("last").domain != "new"
        assert vault.count() == 401
        assert change(vault, where=where, **options) == 1
