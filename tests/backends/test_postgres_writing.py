"""Writes on PostgreSQL: they store what SQLite stores, keep others off what they read, refuse what cannot be kept."""

from __future__ import annotations

import json
import threading
from itertools import count

import pytest
from hypothesis import given

from examples import heavy
from septet.errors import EntryError
from septet.postgres.store import transactions
from septet.postgres.store.faults import again
from septet.postgres.store.store import PostgresStore
from septet.query.filters import parse_where
from septet.sqlite.store.store import SqliteStore
from written import NOW, STEPS, act, add, faults, fold, keeping, state, told

_names = count(1)


@pytest.fixture
def store(dsn, vault_name):
    """A vault's store."""
    with_buckets = PostgresStore(dsn, vault_name, buckets=5)
    yield with_buckets
    with_buckets.close()


@given(STEPS)
@heavy()
def test_any_writes_leave_what_sqlite_has_and_counts_of_all_of_it(dsn, steps):
    local = SqliteStore(":memory:")
    remote = PostgresStore(dsn, f"twin-{next(_names)}", buckets=3)
    try:
        for at, step in enumerate(steps):
            one, other = (told(store, (NOW + at, *step)) for store in (local, remote))
            assert one == other
        assert state(remote) == state(local)
        assert faults(remote) == []
        fold(remote)
        assert faults(remote) == []
    finally:
        local.close()
        remote.close()


def test_rows_come_in_the_order_of_arrival_and_say_their_bucket(store):
    ids = add(store, *({"id": f"e{n}", "title": "x y"} for n in range(99, -1, -1)))
    with store.reading() as read:
        rows = [read.tables.entries.find(read, [one])[one].row for one in ids]
        assert rows == sorted(rows)
        assert [store.vault.bucket_of_row(row) for row in rows] == [store.bucket_of(one) for one in ids]
        assert read.tables.entries.ids_at(read, rows[::-1]) == ids[::-1]
        assert read.tables.entries.ids_beginning(read, "e9", 3) == ["e9", "e90", "e91"]


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "a\0b"},
        {"description": "a\0b"},
        {"attrs": {"x": ["a\0b"]}},
        {"attrs": {"a\0b": 1}},
        {"domain": "a\0b"},
    ],
)
def test_an_entry_with_a_nul_is_refused_before_anything_is_written(store, fields):
    with pytest.raises(EntryError, match="NUL character, which PostgreSQL does not store"):
        add(store, {"id": "fine", "title": "fine"}, {"id": "other", "title": "other", **fields})
    assert state(store)["entries"] == []
    assert faults(store) == []


def test_text_that_only_looks_like_a_nul_in_json_is_stored(store):
    add(store, {"id": "a", "title": "\\u0000", "attrs": {"x": "\\u0000"}, "tags": ["\\u0000"]})
    (stored,) = state(store)["entries"]
    assert stored[5] == "\\u0000"
    assert json.loads(stored[9]) == {"x": "\\u0000"}


def test_an_id_with_a_nul_is_no_entry(store):
    add(store, {"id": "a", "title": "a"})
    with store.reading() as read:
        t = read.tables
        assert t.entries.find(read, ["a\0", "a"]).keys() == {"a"}
        assert t.entries.rows_of(read, ["a\0"]) == t.entries.ids_beginning(read, "a\0", 9) == []
        assert t.listings.held(read, ["a\0", "a"]) == {"a"}
        assert t.links.links_of(read, ["a\0"]) == t.history.of_entry(read, "a\0") == []


def test_a_change_of_columns_with_a_nul_changes_nothing(store):
    add(store, {"id": "a", "title": "a"})
    for columns in ({"domain": "a\0b"}, {"tags": '["a\\u0000b"]'}, {"attrs": '{"a":"\\u0000"}'}):
        with pytest.raises(EntryError, match="NUL"):
            act(store, NOW, "set_columns", ["a"], columns)
    assert state(store)["entries"][0][3] == "general"


def test_entries_are_chosen_by_a_filter_and_stay_locked(store, dsn, vault_name):
    add(store, *({"id": f"e{n}", "title": "retry", "domain": "old" if n % 2 else "new"} for n in range(10)))
    other = PostgresStore(dsn, vault_name)
    chosen, done = threading.Event(), []

    def rewrite():
        chosen.wait(10)
        add(other, {"id": "e1", "title": "later", "domain": "late"})
        done.append("rewritten")

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        with store.writing() as write:
            t = write.tables
            rows = t.changing.rows_where(write, parse_where({"domain": "old"}))
            assert t.entries.ids_at(write, rows) == ["e1", "e3", "e5", "e7", "e9"]
            chosen.set()
            waits = (
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objsubid = 1 "
                "AND ((classid::bigint << 32) | objid::bigint) = %s::bigint"
            )
            while not write.sql.execute(waits, (transactions.lock_key(store.vault.number, "id", "e1"),)).fetchone()[0]:
                assert not done
            t.changing.set_columns(write, rows, {"domain": "moved"}, keeping(NOW), touch=False)
        thread.join(10)
        assert done == ["rewritten"]
        with store.reading() as read:
            domains = {one: c.domain for one, c in read.tables.entries.find(read, [f"e{n}" for n in range(10)]).items()}
        assert domains == {f"e{n}": ("late" if n == 1 else "moved" if n % 2 else "new") for n in range(10)}
    finally:
        thread.join(10)
        other.close()


def test_more_entries_than_a_server_has_locks_for_lock_the_vault(store, dsn, vault_name):
    with store.writing() as write:
        transactions.hold(write, [f"e{n}" for n in range(transactions.MOST_IDS)])
        assert len(write.held.keys) == transactions.MOST_IDS
        assert not write.held.all
        transactions.hold(write, ["e0", "e1"])
        assert not write.held.all
        transactions.hold(write, ["one more"])
        assert write.held.all
        own = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        (held,) = write.sql.execute(own).fetchone()
        # Those of the ids, and the vault's twice: shared and alone.
        assert held == transactions.MOST_IDS + 2


def test_two_writers_that_wait_for_each_other_both_write_in_the_end(store, dsn, vault_name):
    add(store, *({"id": one, "title": "before"} for one in "ab"))
    both, tries, faulted = threading.Barrier(2), [], []

    @again
    def write_more(mine):
        tries.append(mine)
        with own[mine].writing() as write:
            write.tables.entries.find(write, [mine])
            if tries.count(mine) == 1:
                both.wait(10)
            # Each wants what the other one has.
            transactions.hold_all(write)
            rows = write.tables.entries.rows_of(write, ["a", "b"])
            write.tables.changing.set_columns(write, rows, {"source": mine}, keeping(NOW), touch=False)

    def run(mine):
        try:
            write_more(mine)
        except BaseException as fault:  # noqa: BLE001 - told below
            faulted.append(fault)

    own = {one: PostgresStore(dsn, vault_name) for one in "ab"}
    threads = [threading.Thread(target=run, args=(one,)) for one in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for one in own.values():
        one.close()
    assert faulted == []
    # One of them had to begin again, and wrote last.
    assert sorted(tries) in (["a", "a", "b"], ["a", "b", "b"])
    last = max("ab", key=tries.count)
    with store.reading() as read:
        assert {c.source for c in read.tables.entries.find(read, ["a", "b"]).values()} == {last}
    assert faults(store) == []
