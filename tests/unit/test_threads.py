"""Work is done ahead of whoever asks for it: in order, on no more threads than named, and nothing is left behind."""

import _thread
import gc
import signal
import threading
import time
import weakref

import pytest

from septet.system.threads import MOST_WAITING, call_on_thread, worked_ahead


def never(_):
    raise AssertionError("nothing was to be discarded")


def wait_for(done):
    for _ in range(3000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within 30 s")


@pytest.fixture
def no_thread_left():
    # Of all threads, also those that `threading` does not know.
    before = _thread._count()
    yield
    wait_for(lambda: _thread._count() <= before)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
def test_each_item_comes_once_in_order_and_with_its_work_done(threads, count, no_thread_left):
    items = [[n] for n in range(count)]
    found = list(worked_ahead(lambda item: item.append("done"), items, threads, discard=never))
    assert found == [[n, "done"] for n in range(count)]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_more_threads_work_than_named_the_callers_one_of_them(threads, no_thread_left):
    lock, busy, seen = threading.Lock(), set(), []

    def work(_):
        with lock:
            busy.add(threading.get_ident())
            seen.append(len(busy))
        time.sleep(0.001)
        with lock:
            busy.discard(threading.get_ident())

    assert list(worked_ahead(work, range(60), threads, discard=never)) == list(range(60))
    assert max(seen) <= threads
    assert threads == 1 or max(seen) > 1


@pytest.mark.parametrize("threads", [2, 3, 100])
def test_few_items_are_taken_ahead_of_a_caller_who_is_slow(threads, no_thread_left):
    taken = []
    items = (taken.append(n) or n for n in range(1000))
    ahead = worked_ahead(lambda _: None, items, threads, discard=lambda _: None)
    assert next(ahead) == 0
    time.sleep(0.05)
    assert len(taken) <= 1 + threads + MOST_WAITING
    ahead.close()


def test_items_are_taken_by_the_callers_thread(no_thread_left):
    takers = set()
    items = (takers.add(threading.get_ident()) or n for n in range(50))
    assert len(list(worked_ahead(lambda _: time.sleep(0.001), items, 3, discard=never))) == 50
    assert takers == {threading.get_ident()}


def test_the_caller_works_while_what_it_wants_is_under_way(no_thread_left):
    caller, workers, helped = threading.get_ident(), [], threading.Event()

    def work(n):
        workers.append(threading.get_ident())
        if n == 0 and threading.get_ident() != caller:
            # Goes on only when the caller has worked on the next one meanwhile.
            assert helped.wait(30)
        if n == 1:
            helped.set()

    assert list(worked_ahead(work, range(2), 2, discard=never)) == [0, 1]
    assert caller in workers


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_comes_where_its_item_would_have_come_and_the_rest_is_discarded(threads, no_thread_left):
    taken, discarded, got = [], [], []

    def work(n):
        if n == 5:
            raise ValueError("the sixth")

    with pytest.raises(ValueError, match="the sixth"):
        for n in worked_ahead(work, (taken.append(n) or n for n in range(100)), threads, discard=discarded.append):
            got.append(n)  # noqa: PERF402 - the error comes in the middle
    assert got == list(range(5))
    wait_for(lambda: sorted(discarded) == taken[6:])


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_of_the_items_comes_behind_what_was_before_it(threads, no_thread_left):
    def items():
        yield from range(3)
        raise OSError("no fourth")

    got = []
    with pytest.raises(OSError, match="no fourth"):
        for n in worked_ahead(lambda _: None, items(), threads, discard=never):
            got.append(n)  # noqa: PERF402 - the error comes in the middle
    assert got == [0, 1, 2]


@pytest.mark.parametrize("threads", [2, 4])
def test_a_caller_who_stops_has_everything_discarded_that_was_not_handed_out(threads, no_thread_left):
    taken, discarded = [], []
    items = (taken.append(n) or n for n in range(1000))
    ahead = worked_ahead(lambda _: time.sleep(0.002), items, threads, discard=discarded.append)
    got = [next(ahead), next(ahead)]
    ahead.close()
    wait_for(lambda: sorted(got + discarded) == taken)


def test_what_a_thread_works_on_is_discarded_by_it_when_it_is_done(no_thread_left):
    caller, begun, release, discarded = threading.get_ident(), threading.Event(), threading.Event(), []

    def work(n):
        if threading.get_ident() != caller:
            begun.set()
            assert release.wait(30)
        elif n:
            # Not before the thread has begun with one.
            assert begun.wait(30)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(worked_ahead(work, range(10), 2, discard=discarded.append))
    under_way = set(range(10)) - set(discarded)
    release.set()
    wait_for(lambda: len(discarded) == len(set(discarded)) and len(under_way - set(discarded)) < len(under_way))


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_keeps_nothing_alive(threads, no_thread_left):
    class Item:
        pass

    def work(item):
        raise ValueError(str(id(item)))

    def dead():
        item = Item()
        with pytest.raises(ValueError, match=r"\d"):
            list(worked_ahead(work, [item], threads, discard=never))
        return weakref.ref(item)

    gc.disable()
    try:
        reference = dead()
        wait_for(lambda: reference() is None)
    finally:
        gc.enable()


def test_a_thread_whose_work_failed_keeps_nothing_alive():
    class Item:
        pass

    def failed():
        item = Item()

        def work():
            raise ValueError(str(id(item)))

        with pytest.raises(ValueError, match=r"\d"):
            call_on_thread(work).result()
        return weakref.ref(item)

    gc.disable()
    try:
        reference = failed()
        wait_for(lambda: reference() is None)
    finally:
        gc.enable()


class Opened:
    """Something that is open until it is discarded, or nothing refers to it any more."""


def test_an_interrupt_at_any_moment_leaves_no_thread_and_nothing_open(no_thread_left):
    armed, opened, done = [], [], []

    def interrupt(*_):
        if armed:
            armed.clear()
            raise KeyboardInterrupt

    def items():
        for _ in range(200):
            item = Opened()
            opened.append(weakref.ref(item))
            yield item

    def once(turn):
        ahead = worked_ahead(lambda _: None, items(), 4, discard=done.append)
        try:
            armed.append(True)
            signal.setitimer(signal.ITIMER_REAL, 1e-5 + turn * 3e-6)
            done.extend(ahead)
            armed.clear()
        except KeyboardInterrupt:
            return True
        finally:
            ahead.close()
        return False

    def left():
        closed = {id(item) for item in done}
        return [item for reference in opened if (item := reference()) is not None and id(item) not in closed]

    was = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    gc.disable()
    try:
        for turn in range(600):
            interrupted += once(turn)
            wait_for(lambda: not left())
            opened.clear()
            done.clear()
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, was)
    assert interrupted > 50
