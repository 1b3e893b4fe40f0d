"""What is read in one transaction belongs to one generation, and an ended transaction holds nothing."""

import sqlite3

import pytest

from septet.sqlite.store.store import SqliteStore

COUNT = "SELECT count(*) FROM meta"


@pytest.fixture
def store(tmp_path):
    made = SqliteStore(str(tmp_path / "v.db"))
    yield made
    made.close()


def generation(sql):
    return sql.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0]


def write(store, key):
    with store.writing() as write:
        write.sql.execute("INSERT INTO meta VALUES (?, 1)", (key,))


def log_is_free(store):
    """Whether SQLite may empty its log: not while any reader holds a transaction."""
    other = sqlite3.connect(store.path)
    try:
        return other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    finally:
        other.close()


def test_every_statement_of_a_transaction_sees_the_same_generation_while_others_write(store):
    with store.reading() as read:
        before = read.sql.execute(COUNT).fetchall()
        for key in ("a", "b"):
            write(store, key)
            assert read.sql.execute(COUNT).fetchall() == before
            assert generation(read.sql) == read.generation
    with store.reading() as later:
        assert later.generation == read.generation + 2
        assert later.sql.execute(COUNT).fetchall()[0][0] >= before[0][0] + 2


def test_a_transaction_holds_its_generation_before_anything_else_is_read(store):
    with store.reading() as read:
        write(store, "a")
        assert generation(read.sql) == read.generation


def test_two_transactions_of_one_thread_have_each_their_generation(store):
    with store.reading() as older:
        write(store, "a")
        with store.reading() as newer:
            assert (generation(older.sql), generation(newer.sql)) == (
                older.generation,
                older.generation + 1,
            )


@pytest.mark.parametrize("read_rows", [0, 1, 2])
def test_an_ended_transaction_holds_nothing_however_far_its_statements_came(store, read_rows):
    write(store, "a")
    with store.reading() as read:
        cursor = read.sql.execute("SELECT key FROM meta")
        assert None not in [cursor.fetchone() for _ in range(read_rows)]
        write(store, "b")
        assert not log_is_free(store)
        del cursor
    assert log_is_free(store)
    assert store._readers.idle == 1


def test_a_transaction_that_an_error_ended_holds_nothing(store):
    with pytest.raises(ZeroDivisionError), store.reading():
        write(store, "a")
        _ = 1 / 0
    assert log_is_free(store)


def test_a_transaction_that_was_never_ended_goes_with_the_last_reference_to_it(store):
    transaction = store.begin_reading()
    write(store, "a")
    assert not log_is_free(store)
    del transaction
    assert log_is_free(store)
