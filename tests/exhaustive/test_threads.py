"""Tests of `unit/test_threads.py` that take seconds."""

import _thread
import threading
import time

import pytest

from septet.system.threads import IDLE_S, MOST_WAITING, worked_ahead
from unit.test_threads import never, wait_for


@pytest.fixture
def no_thread_left():
    # Of all threads, also those that `threading` does not know.
    before = _thread._count()
    yield
    wait_for(lambda: _thread._count() <= before)


def test_the_caller_does_everything_when_threads_have_gone_for_want_of_work(no_thread_left):
    caller, workers = threading.get_ident(), []
    ahead = worked_ahead(lambda n: workers.append((n, threading.get_ident())), range(40), 2, discard=never)
    found = [next(ahead)]
    time.sleep(2 * IDLE_S)
    found += ahead
    assert found == list(range(40))
    assert all(thread == caller for n, thread in workers if n > 1 + 2 + MOST_WAITING)
