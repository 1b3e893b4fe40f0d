"""Tiers are searched side by side where that hides time, else in turn."""

import threading

import pytest

from septet.search.threads import MEASURED, TierThreads

NAMES = ["a", "b", "c"]
#: No test waits so long, unless it fails.
PATIENCE_S = 20


class Clock:
    """Time that passes only when somebody works."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Tiers:
    """Tiers that take as long as they are told, and note the thread they were asked on."""

    def __init__(self, *seconds):
        self.clock = Clock()
        self.seconds = list(seconds)
        self.threads = {}
        self.meet = None

    def ask(self, place):
        self.threads[place] = threading.get_ident()
        if self.meet is not None:
            self.meet.wait(PATIENCE_S)
        self.clock.now += self.seconds[place]
        return f"answer {place}"

    def search(self, threads, queries=1):
        """Return whether all were asked on this thread."""
        answers = threads.each(self.ask, NAMES[: len(self.seconds)], queries)
        assert answers == [f"answer {place}" for place in range(len(self.seconds))]
        return set(self.threads.values()) == {threading.get_ident()}


@pytest.fixture
def made():
    opened = []

    def make(*seconds):
        tiers = Tiers(*seconds)
        opened.append(TierThreads(tiers.clock))
        return tiers, opened[-1]

    yield make
    for threads in opened:
        threads.close()


def test_quick_tiers_are_asked_in_turn_on_the_thread_that_searches(made):
    tiers, threads = made(3e-4, 3e-4, 3e-4)
    assert all(tiers.search(threads) for _ in range(3 * MEASURED))


@pytest.mark.parametrize(("seconds", "alone"), [((9.0, 9e-4), True), ((9.0, 2e-3), False), ((2e-3, 9.0), False)])
def test_threads_are_used_when_they_hide_more_than_they_cost(made, seconds, alone):
    tiers, threads = made(*seconds)
    for _ in range(3):
        last = tiers.search(threads)
    assert last == alone
    # The longest one is not handed over.
    assert tiers.threads[seconds.index(9.0)] == threading.get_ident()


def test_slow_tiers_work_at_the_same_time(made):
    tiers, threads = made(1.0, 1.0, 1.0)
    tiers.search(threads), tiers.search(threads)
    tiers.meet = threading.Barrier(3)
    assert not tiers.search(threads)


def test_a_batch_of_queries_counts_as_many_times(made):
    tiers, threads = made(1e-4, 1e-4)
    assert tiers.search(threads)
    tiers.seconds = [64e-4, 64e-4]
    assert tiers.search(threads, queries=64)
    assert not tiers.search(threads, queries=64)
    assert tiers.search(threads)


def test_one_slow_search_in_the_beginning_does_not_count(made):
    tiers, threads = made(0.5, 0.5)
    tiers.search(threads)
    tiers.seconds = [1e-4, 1e-4]
    assert all(tiers.search(threads) for _ in range(2 * MEASURED))


def test_tiers_that_become_quick_are_asked_in_turn_again(made):
    tiers, threads = made(0.5, 0.5)
    tiers.search(threads), tiers.search(threads)
    assert not tiers.search(threads)
    tiers.seconds = [1e-4, 1e-4]
    found = [tiers.search(threads) for _ in range(2 * MEASURED)]
    assert not found[0]
    assert found[-1]


@pytest.mark.parametrize("failing", range(3))
def test_an_error_is_raised_when_no_thread_is_at_work_any_more(made, failing):
    tiers, threads = made(1.0, 1.0, 1.0)
    tiers.search(threads), tiers.search(threads)
    tiers.meet, ask, finished = threading.Barrier(3), tiers.ask, []

    def fails(place):
        ask(place)
        finished.append(place)
        if place == failing:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        threads.each(fails, NAMES, 1)
    assert sorted(finished) == [0, 1, 2]


def test_threads_that_were_stopped_start_again(made):
    tiers, threads = made(1.0, 1.0)
    tiers.search(threads), tiers.search(threads)
    threads.close()
    threads.close()
    assert not tiers.search(threads)
