"""Tests of `unit/test_tier_threads.py` that start processes."""

import os

import pytest

from septet.search.threads import TierThreads
from unit.test_tier_threads import Tiers


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


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(made):
    tiers, threads = made(1.0, 1.0)
    assert [tiers.search(threads) for _ in range(3)] == [True, True, False]
    child = os.fork()
    if not child:
        try:
            ok = not tiers.search(threads)
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
