"""A primary and its standby: the primary dies in the middle of writes and reads, and nothing acknowledged is lost.

The primary has synchronous_commit=on and names the standby in synchronous_standby_names: a write is acknowledged when
both have it on disk.
"""

import subprocess
import sys
import time

import psycopg
import pytest

from postgres_server import PostgresServer, why_not
from septet import PostgresVault
from septet.errors import ReadOnly
from septet.postgres.store.administration import status
from septet.postgres.store.store import PostgresStore
from septet.postgres.tables.checking import faults

WRITES_BEFORE, READS_BEFORE, MORE = 20, 20, 20

#: Adds entries one after the other, and says each when it is acknowledged; goes on through every error.
WRITER = """
import sys
from septet import PostgresVault
from septet.errors import SeptetError
vault = PostgresVault(sys.argv[1], "v")
vault._store._writes.breaker.first_s = vault._store._writes.breaker.longest_s = 0.02
number, who = 0, sys.argv[2]
while True:
    number += 1
    try:
        vault.add(id=f"{who}-{number}", title=f"Cookies {number} of {who}", vector=[1.0, number, 0.5])
    except SeptetError as fault:
        print("failed", type(fault).__name__, flush=True)
        continue
    print("stored", f"{who}-{number}", flush=True)
"""
#: Searches again and again, and says how much each search found and what answered.
READER = """
import sys
from septet import PostgresVault
from septet.errors import SeptetError
vault = PostgresVault(sys.argv[1], "v", reads=sys.argv[2])
vault._store._reads.breaker.first_s = vault._store._reads.breaker.longest_s = 0.02
while True:
    try:
        found = vault.search("cookies", query_vector=[1.0, 3.0, 0.5], limit=3)
        with vault._store.reading() as read:
            (standby,) = read.sql.execute("SELECT pg_is_in_recovery()").fetchone()
    except SeptetError as fault:
        print("failed", type(fault).__name__, flush=True)
        continue
    print("read", len(found), "standby" if standby else "primary", flush=True)
"""


class Program:
    """A process that says what it does, a line each."""

    def __init__(self, code, *given):
        self.process = subprocess.Popen([sys.executable, "-c", code, *given], stdout=subprocess.PIPE, text=True)
        self.said = []

    def until(self, word, times):
        """Read on until it has said a word so often from now on; return these lines."""
        found = []
        while len(found) < times:
            line = self.process.stdout.readline()
            assert line, f"it ended after {self.said[-5:]}"
            self.said.append(line.split())
            if self.said[-1][0] == word:
                found.append(self.said[-1])
        return found

    def end(self):
        self.process.terminate()
        self.said += [
            line.split() for line in self.process.communicate()[0].splitlines() if line.endswith(tuple("0123456789"))
        ]


@pytest.fixture(scope="module")
def pair():
    """A primary, and a standby that has every write before it is acknowledged."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    primary = PostgresServer(durable=True, settings=["synchronous_commit=on", "wal_level=replica", "max_wal_senders=4"])
    standby = None
    try:
        PostgresStore(primary.dsn(), "v").close()
        standby = PostgresServer(durable=True, base=primary)
        with psycopg.connect(primary.dsn(), autocommit=True) as sql:
            while not sql.execute("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'").fetchone():
                time.sleep(0.001)
            sql.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            sql.execute("SELECT pg_reload_conf()")
            while not sql.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").fetchone():
                time.sleep(0.001)
        yield primary, standby
    finally:
        if standby is not None:
            standby.close()
        primary.close()


def both(primary, standby):
    return f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/postgres"


def test_a_standby_answers_reads_and_refuses_writes_by_name(pair):
    _, standby = pair
    store = PostgresStore(standby.dsn(), "v", read_only=True)
    with store.reading() as read:
        assert read.sql.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
    store.close()
    found = status(standby.dsn())
    assert (found.standby, found.schema, [one.name for one in found.vaults]) == (True, 1, ["v"])
    store = PostgresStore(standby.dsn(), "v")
    with pytest.raises(ReadOnly, match=r"25006.*it is a standby"), store.writing():
        pass
    store.close()


def test_writes_find_the_primary_wherever_it_stands_in_the_list(pair):
    primary, standby = pair
    dsn = both(standby, primary)
    store = PostgresStore(dsn, "v")
    with store.writing() as write:
        write.sql.execute("INSERT INTO septet.settings VALUES (%s, 'a', '1')", (write.vault.number,))
        assert write.sql.info.port == primary.port
    # The first in the list answers reads; with synchronous_commit=on it may show a write a little later.
    with store.reading() as read:
        assert read.sql.info.port == standby.port
    store.close()
    store = PostgresStore(dsn, "v", reads="primary")
    with store.reading() as read:
        assert read.sql.info.port == primary.port
        assert read.sql.execute("SELECT value FROM septet.settings WHERE key = 'a'").fetchone() == ("1",)
    store.close()


def test_a_standby_that_has_a_new_vault_not_yet_answers_as_an_empty_one(pair):
    primary, standby = pair
    with psycopg.connect(standby.dsn(), autocommit=True) as sql:
        sql.execute("SELECT pg_wal_replay_pause()")
        try:
            vault = PostgresVault(both(standby, primary), "new")
            vault.add(id="a", title="Cookies")
            assert vault.search("cookies").total == 0
        finally:
            sql.execute("SELECT pg_wal_replay_resume()")
    while vault.search("cookies").total == 0:
        pass
    vault.close()


def test_a_primary_that_dies_in_mid_write_loses_nothing_acknowledged_and_reads_go_on(pair):
    primary, standby = pair
    dsn = both(*pair)
    writers = [Program(WRITER, dsn, str(number)) for number in range(2)]
    readers = [Program(READER, dsn, reads) for reads in ("any", "prefer-standby")]
    try:
        for one in writers:
            one.until("stored", WRITES_BEFORE)
        assert {line[2] for line in readers[0].until("read", READS_BEFORE)} == {"primary"}
        assert {line[2] for line in readers[1].until("read", READS_BEFORE)} == {"standby"}
        primary.process.kill()
        primary.process.wait()
        # Nothing can be written, and everything read.
        for one in writers:
            one.until("failed", 3)
        for one in readers:
            one.until("failed", 0)
            while one.until("read", 1)[0][2] != "standby":
                pass
            assert {line[2] for line in one.until("read", MORE)} == {"standby"}
        standby.promote()
        for one in writers:
            one.until("stored", MORE)
        for one in readers:
            while one.until("read", 1)[0][2] != "primary":
                pass
    finally:
        for one in (*writers, *readers):
            one.end()
    # The reader of the standby saw no error at all.
    assert [line for line in readers[1].said if line[0] == "failed"] == []
    acknowledged = {line[1] for one in writers for line in one.said if line[0] == "stored"}
    assert len(acknowledged) >= 2 * (WRITES_BEFORE + MORE)
    vault = PostgresVault(dsn, "v")
    stored = {one.id for one in vault.entries(limit=None)}
    assert acknowledged <= stored
    # Of the others the writer was told that nobody knows, or that they failed.
    tried = sum(line[0] == "failed" for one in writers for line in one.said)
    assert len(stored - acknowledged) <= tried
    assert vault.search("cookies", limit=3).total == len(stored)
    with vault._store.reading() as read:
        assert faults(read) == []
    vault.close()
