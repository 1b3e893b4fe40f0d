"""Vaults on a server that refuses, freezes or dies: searches degrade or raise in time, writes raise."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from psycopg import OperationalError
from psycopg.errors import SerializationFailure

from postgres_server import PostgresServer, why_not
from septet import Federation, PostgresVault, Vault
from septet.errors import BatchError, EntryError, StoreBusy, Unreachable, VectorError
from septet.postgres.store import store as storing
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.tables.checking import faults
from septet.postgres.tier import tier, view


@pytest.fixture(scope="module")
def own():
    """A server that the tests of this module may freeze and kill."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    server = PostgresServer(durable=True)
    yield server
    server.close()


@contextmanager
def frozen(server):
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True, text=True, check=True
    )
    processes = [server.process.pid, *map(int, children.stdout.split())]
    for one in processes:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in processes:
            os.kill(one, signal.SIGCONT)


def entry(number, of):
    return {
        "id": f"{of}-{number}",
        "title": f"Cookies, {of} {number}",
        "description": "Where they are kept",
        "tags": [of],
    }


@pytest.fixture
def vaults(own, dsn, vault_name, tmp_path):
    """A file, and vaults on two servers, of which the second may be frozen and killed."""
    vaults = {
        "agent": Vault(tmp_path / "agent.db"),
        "team": PostgresVault(dsn, vault_name),
        "away": PostgresVault(own.dsn(), vault_name, timeout_s=0.5),
    }
    for name, vault in vaults.items():
        vault.add_many([entry(number, name) for number in range(5)])
        breaker = getattr(vault._store, "_reads", None)
        if breaker is not None:
            breaker.breaker.first_s = 0.01
    yield vaults
    for vault in vaults.values():
        vault.close()


@pytest.fixture
def three(vaults):
    return Federation(vaults)


def tiers(results):
    return {hit.tier for hit in results}


def until_back(vault):
    while vault._store._reads.breaker.is_open:
        time.sleep(0.001)


def test_of_three_tiers_one_is_down_and_the_others_answer(own, three):
    away = PostgresVault(own.dsn(), "of-a-caller")
    assert tiers(three.search("cookies", limit=15)) == {"agent", "team", "away"}
    own.stop(immediate=True)
    try:
        for turn in range(5):
            found = three.search("cookies", limit=15)
            assert tiers(found) == {"agent", "team"}
            assert len(found) == 10
            (note,) = [one for one in found.notes if one.code == "tier_failed"]
            assert note.tier == "away"
            assert ("refused" in note.cause) or ("57P01" in note.cause) or turn >= 3
            assert ("is asked in the background" in note.cause) == (turn >= 3)
            (report,) = [one for one in found.tiers if one.name == "away"]
            assert report.error == note.cause
        with pytest.raises(Unreachable, match=r"refused|57P01"):
            away.search("cookies")
        with pytest.raises(Unreachable, match=r"refused|57P01|background"):
            away.add(**entry(9, "away"))
    finally:
        own.start()
    away.close()
    while "away" not in tiers(found := three.search("cookies", limit=15)):
        assert len(found) == 10
    assert [one for one in found.notes if one.code == "tier_failed"] == []
    assert len(found) == 15


@pytest.mark.parametrize("step", ["begin", "candidates"])
def test_a_search_that_a_standby_broke_off_is_asked_again_until_its_time_is_over(own, vault_name, step, monkeypatch):
    """A standby answers so for a transaction that still sees what it must remove."""
    vault = PostgresVault(own.dsn(), vault_name, timeout_s=5)
    vault.add_many([entry(number, "away") for number in range(5)])
    asked, broken = [], 2
    place, name = (view, "PostgresView") if step == "begin" else (view.PostgresView, "candidates")
    real = getattr(place, name)

    def breaking(*given):
        asked.append(given)
        if len(asked) <= broken:
            raise SerializationFailure("canceling statement due to conflict with recovery")
        return real(*given)

    monkeypatch.setattr(tier if step == "begin" else place, name, breaking)
    assert len(vault.search("cookies")) == 5
    assert len(asked) == 3
    broken = 1_000
    with pytest.raises((StoreBusy, Unreachable)):
        vault.search("cookies")
    assert len(asked) > 5
    monkeypatch.undo()
    assert len(vault.search("cookies")) == 5
    vault.close()


def test_a_frozen_server_costs_a_search_its_time_and_then_nothing(own, three, vault_name):
    alone = PostgresVault(own.dsn(), vault_name, timeout_s=0.3)
    alone._store._reads.breaker.first_s = 0.01
    with frozen(own):
        for turn in range(5):
            found = three.search("cookies", limit=15)
            assert tiers(found) == {"agent", "team"}
            (note,) = [one for one in found.notes if one.code == "tier_failed"]
            assert ("in time" in note.cause, "in the background" in note.cause) == (True, turn >= 3)
        for _ in range(3):
            with pytest.raises(Unreachable, match="in time"):
                alone.search("cookies")
        with pytest.raises(Unreachable, match="asked in the background until it answers"):
            alone.search("cookies")
        with pytest.raises(Unreachable, match="asked in the background until it answers"):
            alone.add(**entry(9, "away"))
    until_back(alone)
    assert len(alone.search("cookies")) == 5
    alone.close()
    while "away" not in tiers(three.search("cookies", limit=15)):
        pass


@pytest.mark.parametrize("lost", ["frozen", "killed"])
def test_a_server_that_is_lost_in_mid_search_takes_nothing_of_the_others_with_it(own, vaults, lost, monkeypatch):
    from septet.postgres.tier.tier import PostgresSession

    candidates, stack = PostgresSession.candidates, []

    def lose(session):
        found = candidates(session)
        if session.name == "away":
            if lost == "frozen":
                stack.append(frozen(own))
                stack[-1].__enter__()
            else:
                own.stop(immediate=True)
        return found

    monkeypatch.setattr(PostgresSession, "candidates", lose)
    # The highest tier is asked, after its candidates, which of the others' entries it has.
    upside_down = Federation({"agent": vaults["agent"], "team": vaults["team"]})
    upside_down.connect("away", vaults["away"], priority=2.0)
    try:
        found = upside_down.search("cookies", limit=15)
    finally:
        for one in stack:
            one.__exit__(None, None, None)
        if lost == "killed":
            own.start()
    assert sorted(hit.tier for hit in found if hit.tier != "away") == ["agent"] * 5 + ["team"] * 5
    assert [one.tier for one in found.notes if one.code == "tier_failed"] == ["away"]


def test_what_cannot_be_stored_is_refused_and_nothing_of_its_call_is_stored(dsn, vault_name):
    vault = PostgresVault(dsn, vault_name)
    vault.add(**{**entry(0, "a"), "vector": [1.0, 0.0, 0.0]})
    good = {**entry(1, "a"), "vector": [0.0, 1.0, 0.0]}
    for vector in ([1.0, 0.0], [0.0, 0.0, 0.0], [float("nan"), 1.0, 0.0], [float("inf"), 1.0, 0.0], [1e39, 1.0, 0.0]):
        with pytest.raises(EntryError, match=r"vector|finite|zero"):
            vault.add_many([good, {**entry(2, "a"), "vector": vector}])
        with pytest.raises(VectorError):
            vault.add(**entry(2, "a"), vector=vector)
        assert [one.id for one in vault.entries()] == ["a-0"]
    for field in ("title", "description", "context", "domain"):
        with pytest.raises(EntryError, match="NUL"):
            vault.add_many([good, {**entry(2, "a"), field: "a\0b"}])
        assert [one.id for one in vault.entries()] == ["a-0"]
    with pytest.raises(EntryError, match="control character"):
        vault.add(**{**entry(2, "a"), "tags": ["a\0b"]})
    with pytest.raises(EntryError, match="NUL"):
        vault.update("a-0", title="a\0b")
    # A query is no entry: what it holds is not stored.
    assert vault.search("cook\0ies cookies").ids == ["a-0"]
    for query in ([1.0, 0.0], [0.0, 0.0, 0.0]):
        with pytest.raises(VectorError):
            vault.search("cookies", query_vector=np.array(query))
    with vault._store.reading() as read:
        assert faults(read) == []
    vault.close()


def test_a_batch_whose_end_nobody_knows_is_not_told_to_be_missing(dsn, vault_name, monkeypatch):
    vault = PostgresVault(dsn, vault_name)
    monkeypatch.setattr(storing, "_COMMIT", Statement("SELECT pg_terminate_backend(pg_backend_pid())"))
    with pytest.raises(BatchError, match="the write may or may not have been stored") as told:
        vault.add_many([entry(1, "a")])
    assert "are not" not in str(told.value) and (told.value.written, told.value.index) == (0, 0)
    monkeypatch.undo()
    assert len(vault) == 0
    vault.close()


def test_a_connection_that_is_lost_in_mid_search_is_told_to_the_caller_and_nobody_else(dsn, vault_name, caplog):
    caplog.set_level(0)
    vault = PostgresVault(dsn, vault_name, timeout_s=60)
    with vault._store.reading() as read, vault._store.maintaining() as sql:
        sql.execute("SELECT pg_terminate_backend(%s::integer, 60000)", (read.sql.info.backend_pid,))
        with pytest.raises(OperationalError):
            together(read, [Statement("SELECT 1"), Statement("SELECT 2")])
    assert caplog.text == ""
    vault.close()


#: Adds, changes and deletes, and says what was acknowledged.
WRITER = """
import sys
from itertools import count
from septet import PostgresVault
vault = PostgresVault(sys.argv[1], "crashed")
for turn in count():
    vault.add_many([{"id": f"{turn}-{n}", "title": f"Cookies {turn} of {n}", "tags": ["t"], "vector": [1.0, n, turn]}
                    for n in range(20)])
    vault.update(f"{turn}-3", title=f"Changed {turn}")
    vault.link(f"{turn}-1", f"{turn}-2")
    vault.delete(f"{turn}-5")
    print(turn, flush=True)
"""


def test_after_a_crash_in_mid_write_all_tables_agree_and_all_that_was_acknowledged_is_there(own):
    vault = PostgresVault(own.dsn(), "crashed")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, own.dsn()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as writer:
        told = [writer.stdout.readline() for _ in range(3)]
        own.stop(immediate=True)
        told += writer.stdout.readlines()
        assert "Unreachable" in writer.stderr.read()
    own.start()
    until_back(vault)
    turns = [int(one) for one in told]
    with vault._store.reading() as read:
        assert faults(read) == []
    ids = {one.id for one in vault.entries(limit=None)}
    for turn in turns:
        assert {f"{turn}-{n}" for n in range(20)} - ids == {f"{turn}-5"}
        assert vault.get(f"{turn}-3").title == f"Changed {turn}"
        assert [one.target for one in vault.links(f"{turn}-1")] == [f"{turn}-2"]
    # Of the call in which the server died all is there, or nothing.
    for turn in {int(one.partition("-")[0]) for one in ids} - set(turns):
        assert len([one for one in ids if one.startswith(f"{turn}-")]) in (19, 20)
    assert vault.search("changed", limit=10).total == len(
        [one for one in vault.entries(limit=None) if "Ch" in one.title]
    )
    vault.close()
