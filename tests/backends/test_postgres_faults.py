"""What a caller sees when a server refuses, is silent, slow, frozen or killed: an error in bounded time."""

import os
import signal
import socket
import subprocess
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import psycopg
import pytest

from postgres_server import PostgresServer, why_not
from septet.errors import EntryError, ReadOnly, StoreBusy, StoreError, Unauthorized, Unreachable, VectorError
from septet.postgres.store.store import PostgresStore


@pytest.fixture(scope="module")
def own():
    """A server that the tests of this module may freeze and kill."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    server = PostgresServer(durable=True)
    yield server
    server.close()


@pytest.fixture
def store(own, vault_name):
    made = PostgresStore(own.dsn(), vault_name)
    yield made
    made.close()


@contextmanager
def stopped(*processes):
    for one in processes:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in processes:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGCONT)


def processes_of(server):
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True, text=True, check=True
    )
    return [server.process.pid, *map(int, found.stdout.split())]


def keep(write, key, value="x"):
    write.sql.execute("INSERT INTO septet.settings VALUES (%s, %s, %s)", (write.vault.number, key, value))


def kept(store):
    with store.reading() as read:
        found = read.sql.execute(
            "SELECT key FROM septet.settings WHERE vault = %s ORDER BY key", (store.vault.number,)
        ).fetchall()
    return [key for (key,) in found]


def quick(store):
    """Have the server asked soon whether it is back."""
    store._reads.breaker.first_s = 0.01
    return store


def until_back(store):
    while store._reads.breaker.is_open:
        time.sleep(0.001)


def test_a_closed_port_refuses_a_store(closed_port):
    with pytest.raises(Unreachable, match=r"postgresql://127\.0\.0\.1:\d+/db\?vault=v cannot be reached .*refused"):
        PostgresStore(f"postgresql://u@127.0.0.1:{closed_port}/db", "v")


@pytest.mark.parametrize(
    ("address", "kind", "cure"),
    [
        ("postgresql://postgres@127.0.0.1:{port}/not_there", Unreachable, "see the name of the database"),
        ("postgresql://nobody_at_all@127.0.0.1:{port}/postgres", Unauthorized, "check the user name in the address"),
        ("postgresql://u@nothing.invalid/db", Unreachable, "see the host of the address"),
    ],
)
def test_a_connection_that_is_refused_says_what_to_see(own, address, kind, cure):
    with pytest.raises(kind, match=cure):
        PostgresStore(address.format(port=own.port), "v")


def test_who_may_not_make_the_extension_is_told_who_may(own):
    with psycopg.connect(own.dsn(), autocommit=True) as sql:
        sql.execute("CREATE ROLE maker LOGIN")
        sql.execute("CREATE DATABASE makers OWNER maker")
    with pytest.raises(ReadOnly, match="superuser run CREATE EXTENSION vector"):
        PostgresStore(f"postgresql://maker@127.0.0.1:{own.port}/makers", "v")


def test_vectors_are_stored_as_one_of_two_types(own):
    with pytest.raises(StoreError, match="wanted one of vector, halfvec"):
        PostgresStore(own.dsn(), "v", vectors="float16")


def test_a_socket_that_accepts_and_is_silent_costs_the_time_for_connecting():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/db"
        with pytest.raises(Unreachable, match=r"no connection in time .no connection within 0\.3 s"):
            PostgresStore(address, "v", connect_timeout_s=0.3)


def test_a_silent_server_among_several_leaves_time_for_the_others(own, vault_name):
    PostgresStore(own.dsn(), vault_name).close()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = PostgresStore(own.dsn().replace("@", f"@127.0.0.1:{silent.getsockname()[1]},"), vault_name)
        with store.writing() as write:
            keep(write, "a")
        assert kept(store) == ["a"]
        store.close()


def test_a_statement_that_takes_too_long_is_ended_by_the_server_and_its_connection_goes_on(own, vault_name):
    store = PostgresStore(own.dsn(), vault_name, statement_timeout_s=0.2)
    with store.reading() as read:
        before = read.sql.info.backend_pid
    for _ in range(5):
        with pytest.raises(Unreachable, match="57014"), store.reading() as read:
            read.sql.execute("SELECT pg_sleep(60)")
    with store.reading() as read:
        assert read.sql.info.backend_pid == before
    with pytest.raises(Unreachable, match="57014"), store.writing() as write:
        keep(write, "a")
        write.sql.execute("SELECT pg_sleep(60)")
    assert kept(store) == []
    # It answered each time.
    assert not store._reads.breaker.is_open
    store.close()


def test_a_slow_statement_of_a_search_is_ended_by_the_server_too(store):
    session = store.begin_reading(0.3)
    with pytest.raises(Unreachable, match="did not answer in time"), session.asking() as read:
        read.sql.execute("SELECT pg_sleep(60)")
    session.end()


def test_a_search_waits_for_all_answers_together_no_longer_than_it_may(own, vault_name):
    store = PostgresStore(own.dsn(), vault_name)
    session = store.begin_reading(0.6)
    with session.asking() as read:
        read.sql.execute("SELECT pg_sleep(0.3)")
    with stopped(session.reading.sql.info.backend_pid):
        began = session.reading.sql.left_s
        assert 0 < began <= 0.3
        with pytest.raises(Unreachable, match="no answer within"), session.asking() as read:
            read.sql.execute("SELECT 1")
        assert session.reading.sql.left_s == 0
    session.end()
    store.close()


def test_a_frozen_backend_costs_a_search_its_time_and_the_next_one_gets_another(store):
    session = store.begin_reading(0.2)
    frozen = session.reading.sql.info.backend_pid
    with stopped(frozen):
        with (
            pytest.raises(Unreachable, match=r"did not answer in time .no answer within 0\."),
            session.asking() as read,
        ):
            read.sql.execute("SELECT 1")
        session.end()
        assert session.reading.sql.closed
        with store.reading() as read:
            assert read.sql.info.backend_pid != frozen
    # A transaction would see the same backends again and again.
    with store.maintaining() as sql:
        # When it goes on, it finds that nobody is there.
        while sql.execute("SELECT 1 FROM pg_stat_get_activity(%s::int)", (frozen,)).fetchone():
            time.sleep(0.001)


def test_a_frozen_backend_that_lay_in_the_pool_takes_half_of_the_time_and_another_one_answers(store):
    session = store.begin_reading(2.0)
    frozen = session.reading.sql.info.backend_pid
    with stopped(frozen):
        # It must not come to answer the end of that.
        session.end()
        session = store.begin_reading(2.0)
        assert session.reading.sql.info.backend_pid != frozen
        assert 0 < session.reading.sql.left_s <= 1.0
        session.end()


def test_a_frozen_server_is_left_alone_after_three_searches_and_found_when_it_goes_on(own, store):
    quick(store)
    with store.writing() as write:
        keep(write, "before")
    with stopped(*processes_of(own)):
        for _ in range(3):
            with pytest.raises(Unreachable, match="in time"):
                store.begin_reading(0.1)
        with pytest.raises(Unreachable, match="it failed 3 times and is asked in the background until it answers"):
            store.begin_reading(600)
        with pytest.raises(Unreachable, match="asked in the background"), store.writing():
            pass
    until_back(store)
    assert kept(store) == ["before"]
    with store.writing() as write:
        keep(write, "later")
    assert kept(store) == ["before", "later"]


def test_a_backend_that_is_ended_in_mid_read_is_told_with_its_code(store):
    session = store.begin_reading(20.0)
    with store.maintaining() as sql:
        sql.execute("SELECT pg_terminate_backend(%s)", (session.reading.sql.info.backend_pid,))
    with pytest.raises(Unreachable, match="57P01"), session.asking() as read:
        read.sql.execute("SELECT pg_sleep(10)")
    session.end()
    assert kept(store) == []


def test_a_write_whose_backend_is_ended_before_its_commit_says_that_nobody_knows(store):
    with pytest.raises(Unreachable, match="the write may or may not have been stored"), store.writing() as write:
        keep(write, "a")
        with store.maintaining() as sql:
            sql.execute("SELECT pg_terminate_backend(%s)", (write.sql.info.backend_pid,))
            while sql.execute("SELECT 1 FROM pg_stat_get_activity(%s::int)", (write.sql.info.backend_pid,)).fetchone():
                time.sleep(0.001)
    assert kept(store) == []


def test_a_crash_in_mid_write_loses_that_write_alone(own, store):
    quick(store)
    with store.writing() as write:
        keep(write, "whole")
    with pytest.raises(Unreachable), store.writing() as write:
        keep(write, "half")
        own.stop(immediate=True)
        write.sql.execute("SELECT 1")
    for _ in range(3):
        with pytest.raises(Unreachable, match=r"refused|57P01|closed|terminat"):
            store.begin_reading(5.0)
    own.start()
    until_back(store)
    assert kept(store) == ["whole"]
    with store.writing() as write:
        keep(write, "later")
    assert kept(store) == ["later", "whole"]


def test_values_that_cannot_be_stored_are_refused_by_name_and_nothing_of_the_write_stays(store):
    space = (
        "INSERT INTO septet.vectors (vault, bucket, space, key, vector, sample) VALUES (%s, 0, 1, 'k', %s::vector, 0)"
    )
    for value in ("[NaN]", "[1,Infinity]"):
        with pytest.raises(VectorError, match="not allowed in vector"), store.writing() as write:
            keep(write, "a")
            write.sql.execute(space, (store.vault.number, value))
    with pytest.raises(VectorError, match="different vector dimensions 3 and 2"), store.reading() as read:
        read.sql.execute("SELECT '[1,2,3]'::vector <=> '[1,2]'::vector")
    with pytest.raises(EntryError, match="NUL"), store.writing() as write:
        keep(write, "a\0b")
    assert kept(store) == []


@pytest.fixture
def few(own, vault_name):
    """The address for a role that may have two connections, and a vault of its own."""
    PostgresStore(own.dsn(), vault_name).close()
    role = vault_name.replace("-", "_")
    with psycopg.connect(own.dsn(), autocommit=True) as sql:
        sql.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 2")
        sql.execute(f"GRANT USAGE ON SCHEMA septet TO {role}")
        sql.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA septet TO {role}")
        sql.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA septet TO {role}")
    return own.dsn().replace("postgres@", f"{role}@")


def test_threads_share_the_connections_that_a_full_server_gives(few, vault_name):
    store = PostgresStore(few, vault_name)

    def work(number):
        for turn in range(5):
            with store.writing() as write:
                keep(write, f"{number}-{turn}")
            store.begin_reading(5.0).end()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert len(kept(store)) == 40
    assert not store._reads.breaker.is_open
    # Whether the server is back can be asked on what is there, too.
    first, second = store.begin_reading(5.0), store.begin_reading(5.0)
    first.end()
    store._reads.pool.probe(2)
    with pytest.raises(Unreachable, match=r"accepts no more connections .*too many connections for role"):
        PostgresStore(few, vault_name)
    second.end()
    first, second = store.begin_reading(5.0), store.begin_reading(5.0)
    with pytest.raises(StoreBusy, match="accepts no more connections, and all connections of this process are in use"):
        store.begin_reading(0.2)
    for one in (first, second):
        one.end()
    store.close()


SECRETS = [
    "postgresql://user:{0}@127.0.0.1:{1}/db",
    "postgresql://user@127.0.0.1:{1}/db?password={0}",
    "host=127.0.0.1 port={1} user=user dbname=db password={0}",
    "host=127.0.0.1 port={1} user=user dbname=db password='{0}'",
    # None of these is an address, as the password holds what ends it.
    "postgresql://user:{0}@more@127.0.0.1:{1}/db",
    "postgresql://user:one/{0}@127.0.0.1:{1}/db",
    "postgresql://user:one?{0}@127.0.0.1:{1}/db",
    "postgresql://user:one%{0}@127.0.0.1:{1}/db",
    "host=127.0.0.1 password=one {0} port={1}",
    "host=127.0.0.1 password='one {0} port={1}",
]


@pytest.mark.parametrize("address", SECRETS)
def test_a_password_is_in_no_error_log_or_traceback(address, closed_port, caplog, capfd):
    caplog.set_level(0)
    for word in ("s3cr3tw0rd", "%73%33cr3tw0rd"):
        with pytest.raises(StoreError) as told:
            PostgresStore(address.format(word, closed_port), "v")
        said = (
            "".join(traceback.format_exception(told.value))
            + repr(told.value)
            + caplog.text
            + "".join(capfd.readouterr())
        )
        # The lines of this test hold the address by its template only.
        assert "s3cr3tw0rd" not in said
        assert "cr3tw0rd" not in said


@pytest.mark.parametrize("word", ["s3cr3tw0rd", "s3%40%2F%3Ar3t"])
def test_a_password_is_in_nothing_that_an_open_store_shows(own, vault_name, word, caplog):
    caplog.set_level(0)
    store = PostgresStore(own.dsn().replace("postgres@", f"postgres:{word}@"), vault_name)
    with store.reading() as read:
        shown = [repr(read), repr(read.sql), repr(read.sql.info.dsn)]
        activity = read.sql.execute("SELECT * FROM pg_stat_activity WHERE pid = pg_backend_pid()").fetchone()
    shown += [repr(store), store.path, store.file, repr(store._address), str(store._address), repr(vars(store))]
    shown += [repr(store._writes.pool), repr(activity), caplog.text]
    command = subprocess.run(["ps", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    for secret in (word, "s3@/:r3t"):
        assert secret not in "".join(shown) + command
    store.close()


def test_a_password_file_that_everybody_may_read_is_told_without_the_password(own, vault_name, tmp_path, capfd):
    file = tmp_path / "passwords"
    file.write_text("*:*:*:*:s3cr3tw0rd\n")
    file.chmod(0o644)
    store = PostgresStore(f"{own.dsn()}?passfile={file}", vault_name)
    assert kept(store) == []
    store.close()
    assert "s3cr3tw0rd" not in "".join(capfd.readouterr())
