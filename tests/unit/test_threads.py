"""Things are made ahead of whoever asks for them: in order, on no more threads than named, and none is left behind."""

import threading
import time

import pytest

from septet.threads import made_ahead


def never(_):
    raise AssertionError("nothing was to be discarded")


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
def test_each_thing_comes_once_and_in_order(threads, count):
    assert list(made_ahead(lambda n: n * n, range(count), threads, discard=never)) == [n * n for n in range(count)]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_more_threads_work_than_named_the_callers_one_of_them(threads):
    lock, busy, seen = threading.Lock(), set(), []

    def make(n):
        with lock:
            busy.add(threading.get_ident())
            seen.append(len(busy))
        time.sleep(0.001)
        with lock:
            busy.discard(threading.get_ident())
        return n

    assert list(made_ahead(make, range(60), threads, discard=never)) == list(range(60))
    assert max(seen) <= threads
    assert threads == 1 or max(seen) > 1


def test_threads_do_not_run_far_ahead_of_a_caller_who_is_slow():
    made = []
    ahead = made_ahead(lambda n: made.append(n) or n, range(1000), 3, discard=lambda _: None)
    assert next(ahead) == 0
    time.sleep(0.05)
    assert len(made) <= 1 + 2 * 3
    ahead.close()


def test_the_caller_helps_while_what_it_wants_is_under_way():
    caller, makers = threading.get_ident(), []
    under_way = threading.Event()

    def make(n):
        makers.append(threading.get_ident())
        if n == 0 and threading.get_ident() != caller:
            # Goes on only when the caller has made the next thing meanwhile.
            assert under_way.wait(30)
        if n == 1:
            under_way.set()
        return n

    assert list(made_ahead(make, range(2), 2, discard=never)) == [0, 1]
    assert caller in makers


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_comes_where_its_thing_would_have_come_and_the_rest_is_discarded(threads):
    made, discarded, got = [], [], []

    def make(n):
        if n == 5:
            raise ValueError("the sixth")
        made.append(n)
        return n

    with pytest.raises(ValueError, match="the sixth"):
        got.extend(made_ahead(make, range(100), threads, discard=discarded.append))
    wait_for(lambda: sorted(made) == sorted([*range(5), *discarded]))
    assert len(made) < 100


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_the_items_comes_behind_what_was_before_it(threads):
    def items():
        yield from range(3)
        raise OSError("no fourth")

    got = []
    with pytest.raises(OSError, match="no fourth"):
        for n in made_ahead(lambda n: n, items(), threads, discard=never):
            got.append(n)  # noqa: PERF402 - the error comes in the middle
    assert got == [0, 1, 2]


@pytest.mark.parametrize("threads", [2, 4])
def test_a_caller_who_stops_leaves_nothing_open_and_no_thread_waiting(threads):
    before, made, discarded = set(threading.enumerate()), [], []
    ahead = made_ahead(lambda n: made.append(n) or n, range(1000), threads, discard=discarded.append)
    got = [next(ahead), next(ahead)]
    ahead.close()
    wait_for(lambda: not set(threading.enumerate()) - before)
    assert sorted(made) == sorted(got + discarded)


@pytest.mark.parametrize("threads", [2, 4])
def test_when_all_is_made_no_thread_is_left(threads):
    before = set(threading.enumerate())
    assert len(list(made_ahead(lambda n: n, range(50), threads, discard=never))) == 50
    wait_for(lambda: not set(threading.enumerate()) - before)


def test_an_interrupt_of_the_caller_does_not_wait_for_what_comes_before():
    before, caller, release = set(threading.enumerate()), threading.get_ident(), threading.Event()
    made, discarded = [], []

    def make(n):
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        assert release.wait(30)
        made.append(n)
        return n

    with pytest.raises(KeyboardInterrupt):
        list(made_ahead(make, range(10), 2, discard=discarded.append))
    assert not made
    release.set()
    wait_for(lambda: not set(threading.enumerate()) - before)
    assert made == discarded


def wait_for(done):
    for _ in range(3000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within 30 s")
