"""Several processes that write the same entries on PostgreSQL: nothing is lost, and counts stay exact."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from postgres_server import PostgresServer, why_not
from postgres_writer import NUMBERED
from septet.postgres.store.store import PostgresStore
from written import faults, fold, number, state

TESTS = Path(__file__).parent.parent
WRITERS = 8
STRESS_S = float(os.environ.get("SEPTET_STRESS_S", "5"))


@pytest.fixture
def store(dsn, vault_name):
    """A vault's store."""
    made = PostgresStore(dsn, vault_name, buckets=8)
    yield made
    made.close()


def writer(store, dsn, seed, seconds):
    """Start a process that writes."""
    command = [sys.executable, "-m", "postgres_writer", dsn, store.name, str(seed), str(seconds)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=TESTS, text=True, **pipes)


def assert_versions_are_whole(store, told):
    """Each number of a version was given once, none is left out, and the last one is what is stored."""
    versions = defaultdict(dict)
    for entry_id, version, title in told:
        assert version not in versions[entry_id]
        versions[entry_id][version] = title
    with store.reading() as read:
        stored = read.tables.entries.find(read, NUMBERED)
    assert stored.keys() == versions.keys()
    for entry_id, own in versions.items():
        assert sorted(own) == [*range(1, len(own) + 1)]
        assert json.loads(stored[entry_id].attrs_json)["n"] == len(own)
        assert stored[entry_id].title == own[len(own)]


def assert_sound(store):
    """Everything that is stored fits together, before a fold and behind it."""
    assert faults(store) == []
    fold(store)
    assert faults(store) == []
    found = state(store)
    ids = {entry[0] for entry in found["entries"]}
    assert {end for link in found["links"] for end in link[:2]} <= ids
    assert sorted({link for own in found["links of each"].values() for link in own}) == found["links"]
    with store.reading() as read:
        ends = "SELECT count(*) FROM septet.links WHERE vault = %s"
        assert number(read, ends) == 2 * len(found["links"])
        dead = (
            "h.vault = %s AND NOT EXISTS (SELECT 1 FROM septet.entries e "
            "WHERE e.vault = h.vault AND e.bucket = h.bucket AND e.row = h.entry)"
        )
        assert number(read, f"SELECT count(*) FROM septet.history h WHERE {dead}") == 0


def test_eight_processes_on_the_same_entries_lose_nothing(store, dsn):
    running = [writer(store, dsn, seed, STRESS_S) for seed in range(WRITERS)]
    told, done = [], Counter()
    for process in running:
        out, fault = process.communicate(timeout=STRESS_S + 120)
        assert process.returncode == 0, fault
        *lines, last = map(json.loads, out.splitlines())
        told += [version for line in lines for version in line]
        done.update(last)
    print(f"{sum(done.values())} transactions: {dict(done)}")
    assert all(done[what] for what in ("numbered", "rewrite", "change", "link"))
    assert_versions_are_whole(store, told)
    assert_sound(store)


def test_a_writer_that_is_killed_in_the_middle_leaves_whole_writes_only(store, dsn):
    told = []
    for seed in range(4):
        process = writer(store, dsn, seed, 60)
        lines = [process.stdout.readline() for _ in range(3 + 7 * seed)]
        process.kill()
        rest, fault = process.stdout.read(), process.stderr.read()
        process.wait()
        assert process.returncode == -9, fault
        told += [
            version for line in (*lines, *rest.splitlines()) if line.endswith("]\n") for version in json.loads(line)
        ]
        process.stdout.close()
        process.stderr.close()
        wait_for_the_server_to_notice(store)
        assert_sound(store)
    with store.reading() as read:
        stored = {one: json.loads(c.attrs_json)["n"] for one, c in read.tables.entries.find(read, NUMBERED).items()}
    acknowledged = Counter(entry_id for entry_id, _, _ in told)
    # What was not acknowledged may have been committed: one transaction of each process, of any entry once.
    assert all(0 <= stored[one] - acknowledged[one] <= 4 for one in stored)


def test_a_server_that_is_shut_down_in_the_middle_has_whole_writes_and_all_that_it_acknowledged():
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    server = PostgresServer(durable=True)
    try:
        store = PostgresStore(server.dsn(), "cut", buckets=8)
        running = [writer(store, server.dsn(), seed, 60) for seed in range(2)]
        said = [[process.stdout.readline() for _ in range(25)] for process in running]
        server.stop(immediate=True)
        server.start()
        told = []
        for process, lines in zip(running, said):
            process.kill()
            rest, _ = process.communicate()
            whole = [line for line in (*lines, *rest.splitlines(keepends=True)) if line.endswith("]\n")]
            told += [version for line in whole for version in json.loads(line)]
        store.close()
        store = PostgresStore(server.dsn(), "cut")
        wait_for_the_server_to_notice(store)
        assert_sound(store)
        with store.reading() as read:
            stored = {one: json.loads(c.attrs_json)["n"] for one, c in read.tables.entries.find(read, NUMBERED).items()}
        for entry_id, version, _ in told:
            assert version <= stored[entry_id]
        store.close()
    finally:
        server.close()


def wait_for_the_server_to_notice(store):
    """Wait until no transaction of a process that is gone holds a lock."""
    others = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
    with store.maintaining() as sql:
        while sql.execute(others).fetchone()[0]:
            pass
