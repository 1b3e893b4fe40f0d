"""A store on a server: transactions, connections, threads, forks and closing."""

import gc
import os
import signal
import threading
import time
import warnings

import psycopg
import pytest

from septet.errors import Closed, ReadOnly, StoreBusy, StoreError, Unreachable
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.store.store import PostgresStore


@pytest.fixture
def store(dsn, vault_name):
    made = PostgresStore(dsn, vault_name)
    yield made
    made.close()


def setting(transaction, name):
    return transaction.sql.execute("SELECT current_setting(%s)", (name,)).fetchone()[0]


def keep(write, key, value):
    write.sql.execute("INSERT INTO septet.settings VALUES (%s, %s, %s)", (write.vault.number, key, value))


def kept(read, key):
    found = read.sql.execute(
        "SELECT value FROM septet.settings WHERE vault = %s AND key = %s", (read.vault.number, key)
    ).fetchone()
    return None if found is None else found[0]


def test_a_write_is_there_after_its_block_and_not_after_an_error(store):
    with store.writing() as write:
        keep(write, "a", "1")
    with pytest.raises(ZeroDivisionError), store.writing() as write:
        keep(write, "b", "2")
        1 / 0  # noqa: B018
    with store.reading() as read:
        assert (kept(read, "a"), kept(read, "b")) == ("1", None)
        assert read.generation >= store.last_generation > 0


def test_a_read_is_one_snapshot_whatever_is_written_meanwhile(store):
    session = store.begin_reading(5.0)
    assert kept(session.reading, "a") is None
    with store.writing() as write:
        keep(write, "a", "1")
    assert kept(session.reading, "a") is None
    assert setting(session.reading, "transaction_isolation") == "repeatable read"
    assert setting(session.reading, "transaction_read_only") == "on"
    assert setting(session.reading, "statement_timeout") == "5s"
    session.end()
    session.end()
    with store.reading() as read:
        assert kept(read, "a") == "1"
        assert setting(read, "statement_timeout") == "30s"


def test_bookkeeping_takes_no_number_of_the_clock(store):
    with store.writing() as write:
        before = write.generation
    with store.bookkeeping() as write:
        assert write.generation >= before
        keep(write, "a", "1")
    assert store.last_generation == before


def test_settings_of_a_transaction_end_with_it(store):
    with store.writing() as write:
        assert setting(write, "lock_timeout") == "10s"
    with store.maintaining() as sql:
        assert sql.execute("SHOW lock_timeout").fetchone()[0] == "0"
        assert sql.execute("SHOW statement_timeout").fetchone()[0] == "0"


def test_a_transaction_that_failed_gives_back_a_connection_that_works(store):
    for _ in range(20):
        with pytest.raises(StoreError, match="42P01"), store.reading() as read:
            read.sql.execute("SELECT * FROM nothing_of_this_name")
    with store.reading() as read:
        assert kept(read, "a") is None


def test_a_read_that_nobody_ends_ends_with_its_last_reference(dsn, vault_name):
    store = PostgresStore(dsn, vault_name, most_connections=1)
    store.begin_reading()
    with store.reading() as read:
        assert kept(read, "a") is None
    held = store.begin_reading()
    with pytest.raises(StoreBusy, match="all 1 connections"):
        store.begin_reading(0.2)
    held.end()
    store.close()


def test_sixteen_threads_share_four_connections(dsn, vault_name):
    store = PostgresStore(dsn, vault_name, most_connections=4)
    faults = []

    def work(number):
        try:
            for turn in range(10):
                with store.writing() as write:
                    keep(write, f"{number}:{turn}", "x")
                with store.reading() as read:
                    assert kept(read, f"{number}:{turn}") == "x"
        except BaseException as fault:  # noqa: BLE001 - told below
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with store.reading() as read:
        count = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'septet' AND datname = current_database()"
        )
        assert read.sql.execute(count).fetchone()[0] <= 4 + 1
        rows = "SELECT count(*) FROM septet.settings WHERE vault = %s"
        assert read.sql.execute(rows, (store.vault.number,)).fetchone()[0] == 160
    store.close()


def test_closing_lets_reads_of_other_threads_finish_and_refuses_new_ones(store):
    begun, closing, answers = threading.Event(), threading.Event(), []

    def read():
        with store.reading() as reading:
            begun.set()
            closing.wait()
            answers.append(kept(reading, "a"))

    reader = threading.Thread(target=read)
    reader.start()
    begun.wait()
    closer = threading.Thread(target=store.close)
    closer.start()
    while not store.closed:
        time.sleep(0)
    with pytest.raises(Closed):
        store.begin_reading()
    with pytest.raises(Closed), store.writing():
        pass
    closing.set()
    reader.join()
    closer.join()
    assert answers == [None]
    store.close()


def test_a_thread_may_close_what_it_reads_itself(store):
    session = store.begin_reading()
    store.close()
    assert kept(session.reading, "a") is None
    session.end()
    assert session.reading.sql.closed


def test_a_closed_store_leaves_no_thread_and_no_connection(dsn, vault_name):
    before = {thread.name for thread in threading.enumerate()}
    store = PostgresStore(dsn, vault_name)
    sessions = [store.begin_reading() for _ in range(5)]
    for session in sessions:
        session.end()
    links = list(store._reads.pool._idle)
    assert len(links) == 5
    store.close()
    assert all(link.closed for link in links)
    assert {thread.name for thread in threading.enumerate() if not thread.name.startswith("septet-connect")} <= before


def test_a_store_that_nobody_closes_warns_of_nothing(dsn, vault_name):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        store = PostgresStore(dsn, vault_name)
        with store.reading() as read:
            assert kept(read, "a") is None
        del store, read
        gc.collect()
    assert told == []


def test_a_forked_child_has_connections_of_its_own_and_leaves_those_of_its_parent_alone(store):
    session = store.begin_reading()
    with store.writing() as write:
        keep(write, "parent", "1")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with store.writing() as write:
                keep(write, "child", "2")
            with store.reading() as read:
                assert kept(read, "child") == "2"
            # That of the parent says so, and is not touched.
            with pytest.raises(StoreError, match="forked"):
                kept(session.reading, "parent")
            session.end()
            gc.collect()
            store.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    # The snapshot of before the write goes on here.
    assert kept(session.reading, "parent") is None
    session.end()
    with store.reading() as read:
        assert (kept(read, "parent"), kept(read, "child")) == ("1", "2")


def test_connections_that_the_server_ended_are_replaced_without_an_error(store):
    sessions = [store.begin_reading() for _ in range(4)]
    ids = [session.reading.sql.info.backend_pid for session in sessions]
    for session in sessions:
        session.end()
    with store.maintaining() as sql:
        mine = sql.info.backend_pid
        for one in ids:
            if one != mine:
                sql.execute("SELECT pg_terminate_backend(%s::integer)", (one,))
        alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s::int[]) AND pid != %s"
        while sql.execute(alive, (ids, mine)).fetchone()[0]:
            time.sleep(0)
    again = [store.begin_reading() for _ in range(4)]
    assert not {session.reading.sql.info.backend_pid for session in again} & (set(ids) - {mine})
    for session in again:
        session.end()


def interrupt_when_asleep(dsn, backend):
    """Interrupts this process once the backend sleeps: an earlier interrupt would find no wait."""
    asleep = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
    with psycopg.connect(dsn, autocommit=True) as watching:
        while not watching.execute(asleep, (backend,)).fetchone()[0]:
            time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_ends_a_wait_at_once_and_the_next_read_has_another_connection(dsn, store):
    with store.reading() as read:
        before = read.sql.info.backend_pid
    with pytest.raises(KeyboardInterrupt), store.reading() as read:
        interrupting = threading.Thread(target=interrupt_when_asleep, args=(dsn, read.sql.info.backend_pid))
        interrupting.start()
        read.sql.execute("SELECT pg_sleep(25)")
    interrupting.join()
    with pytest.raises(KeyboardInterrupt), store.writing() as write:
        keep(write, "a", "1")
        raise KeyboardInterrupt
    with store.reading() as read:
        assert read.sql.info.backend_pid != before
        assert kept(read, "a") is None


def test_an_address_says_who_asks_and_which_server_if_it_wants_to(dsn, vault_name):
    store = PostgresStore(f"{dsn}?application_name=mine&target_session_attrs=primary", vault_name)
    with store.reading() as read:
        assert setting(read, "application_name") == "mine"
    store.close()
    with pytest.raises(Unreachable, match="standby"):
        PostgresStore(f"{dsn}?target_session_attrs=standby", vault_name)


def test_a_pooler_that_keeps_no_statements_gets_none_prepared(dsn, vault_name):
    for prepare, prepared in ((True, True), (False, False)):
        store = PostgresStore(dsn, vault_name, prepare=prepare)
        with store.reading() as read:
            for number in range(10):
                together(read, [Statement("SELECT %s::int", (number,))])
            found = read.sql.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0]
            assert (found > 0) is prepared
        store.close()


def test_a_store_for_reading_makes_no_vault_and_takes_no_write(dsn, store, vault_name):
    with pytest.raises(StoreError, match="the vault does not exist"):
        PostgresStore(dsn, "of nobody", read_only=True)
    reader = PostgresStore(dsn, vault_name, read_only=True)
    assert reader.vault == store.vault
    with pytest.raises(ReadOnly, match="read_only=True"), reader.writing():
        pass
    with pytest.raises(ReadOnly, match="read_only=True"), reader.maintaining():
        pass
    reader.close()


def test_vectors_are_known_on_every_connection(store):
    sessions = [store.begin_reading() for _ in range(3)]
    for session in sessions:
        found = session.reading.sql.execute("SELECT '[1,2,3]'::vector").fetchone()[0]
        assert found.to_list() == [1, 2, 3]
        session.end()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", ["a", "", "NULL", "null", None, 'say "no"', "back\\slash", "{1,2}", " x\n", "größe \u3000"]),
        ("text", ['"', "\\", '\\"', "}"]),
        ("bigint", [1, -(2**62), None, 0]),
        ("float8", [0.1, 1e-310, -0.0, float("inf"), 2.0**60 + 256, None, 5.0]),
        ("boolean", [True, None, False]),
        ("integer", [[1, 2], [3, None]]),
        ("text", [["a"], ['"']]),
        ("smallint", []),
    ],
)
def test_a_list_is_the_same_on_the_server(store, kind, values):
    with store.reading() as read:
        (found,) = read.sql.execute(f"SELECT %s::{kind}[]", (values,)).fetchone()
        assert found == values
        assert list(map(str, found)) == list(map(str, values))


def test_a_list_with_a_character_that_no_text_holds_is_refused(store):
    with store.reading() as read, pytest.raises(psycopg.DataError, match="NUL"):
        read.sql.execute("SELECT %s::text[]", (["b", "a\0b"],))


def test_a_closed_port_is_told_at_once_and_logged_nowhere(caplog, closed_port):
    with pytest.raises(Unreachable, match="refused"):
        PostgresStore(f"postgresql://postgres@127.0.0.1:{closed_port}/postgres", "any")
    assert caplog.records == []
