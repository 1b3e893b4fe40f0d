"""A server that fails again and again is left alone, and asked in the background whether it is back."""

import gc
import os
import threading

import pytest

from septet.errors import StoreBusy, Unreachable
from septet.postgres.store.faults import MOST_TRIES, again
from septet.postgres.store.server import THREAD, ServerBreaker
from septet.postgres.store.store import PostgresStore

FAULT = "the server is away"
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s::text, 0))"


class Asked:
    """A server that gives no sign of life before it is let to."""

    def __init__(self, refusals=0):
        self.refusals, self.asked, self.answers = refusals, 0, threading.Event()

    def __call__(self):
        self.asked += 1
        if self.asked <= self.refusals:
            raise OSError("refused")
        self.answers.set()


def breaker(probe, **more):
    return ServerBreaker(probe, first_s=0.001, longest_s=0.002, **more)


def probes():
    return [thread for thread in threading.enumerate() if thread.name == THREAD]


def until_answered(one):
    while one.is_open:
        for thread in probes():
            thread.join()


def test_calls_are_made_until_three_failed_in_a_row():
    asked = Asked(refusals=10**9)
    one = ServerBreaker(asked, first_s=100)
    for _ in range(2):
        one.failed(FAULT)
        one.check()
    one.succeeded()
    for _ in range(2):
        one.failed(FAULT)
        one.check()
    one.failed(FAULT)
    with pytest.raises(Unreachable, match="the server is away; it failed 3 times and is asked in the background"):
        one.check()
    one.close()
    for thread in probes():
        thread.join()
    assert asked.asked == 1


def test_the_first_sign_of_life_lets_calls_be_made_again():
    asked = Asked(refusals=5)
    one = breaker(asked)
    for _ in range(4):
        one.failed(FAULT)
    assert asked.answers.wait(20)
    until_answered(one)
    one.check()
    assert asked.asked == 6
    # It may fail as often as before until it is left alone again.
    one.failed(FAULT)
    one.check()


def test_a_server_that_is_only_slow_is_left_alone_for_no_longer_than_one_sign_of_life_takes():
    one = ServerBreaker(Asked(), first_s=100)
    for _ in range(3):
        one.failed(FAULT)
    until_answered(one)
    one.check()


def test_one_thread_asks_however_many_calls_fail():
    blocked, begun = threading.Event(), threading.Event()

    def probe():
        begun.set()
        blocked.wait()

    one = breaker(probe)
    for _ in range(20):
        one.failed(FAULT)
    assert begun.wait(20)
    assert len(probes()) == 1
    blocked.set()
    until_answered(one)


def test_nobody_asks_for_a_vault_that_is_closed_or_forgotten():
    closed = breaker(Asked(refusals=10**9))
    for _ in range(3):
        closed.failed(FAULT)
    closed.close()
    for thread in probes():
        thread.join()
    closed.failed(FAULT)
    forgotten = breaker(Asked(refusals=10**9))
    for _ in range(3):
        forgotten.failed(FAULT)
    del forgotten
    gc.collect()
    for thread in probes():
        thread.join()


def test_a_forked_child_asks_for_itself():
    one = ServerBreaker(Asked(refusals=10**9), first_s=100)
    for _ in range(3):
        one.failed(FAULT)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            one.check()
            assert not one.is_open
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert one.is_open
    one.close()


def count(write, key):
    write.sql.execute(
        "INSERT INTO septet.settings VALUES (%s, %s, '1') ON CONFLICT (vault, key) "
        "DO UPDATE SET value = (septet.settings.value::bigint + 1)::text",
        (write.vault.number, key),
    )


def test_a_call_that_met_another_one_is_run_again(dsn, vault_name):
    store = PostgresStore(dsn, vault_name)
    meet, calls = threading.Barrier(2), []

    @again
    def both(first, second):
        calls.append(first)
        with store.writing() as write:
            write.sql.execute(LOCK, (first,))
            if len(calls) <= 2:
                # Both hold what the other one wants.
                meet.wait()
            write.sql.execute(LOCK, (second,))
            count(write, first)
            count(write, second)

    other = threading.Thread(target=both, args=("b", "a"))
    other.start()
    both("a", "b")
    other.join()
    assert len(calls) == 3
    with store.reading() as read:
        found = read.sql.execute("SELECT value FROM septet.settings WHERE vault = %s", (store.vault.number,)).fetchall()
    assert found == [("2",), ("2",)]
    store.close()


def test_a_call_is_run_a_few_times_and_not_again_by_one_around_it(dsn, vault_name):
    store = PostgresStore(dsn, vault_name)
    calls = []

    @again
    @again
    def call():
        calls.append(1)
        with store.writing() as write:
            write.sql.execute("DO $$ BEGIN RAISE EXCEPTION 'met' USING ERRCODE = '40P01'; END $$")

    with pytest.raises(StoreBusy, match=f"it was tried {MOST_TRIES} times"):
        call()
    assert len(calls) == MOST_TRIES

    @again
    def busy():
        calls.append(1)
        raise StoreBusy("of another kind")

    with pytest.raises(StoreBusy, match="of another kind"):
        busy()
    assert len(calls) == MOST_TRIES + 1
    store.close()
