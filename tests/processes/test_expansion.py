"""Tests of `integration/test_expansion.py` that start processes."""

import pytest

from children import forked
from integration.test_expansion import LONG_S, Held, patient


@pytest.fixture
def held():
    made = Held()
    yield made
    made.go.set()


def test_a_forked_child_asks_anew_and_waits_for_no_call_of_its_parent(held):
    expanding = patient(held, timeout_s=LONG_S)
    expanding.begin("q")
    assert held.reached.wait(LONG_S)

    def child():
        held.answer = lambda query: [f"{query} of the child"]
        assert expanding.begin("q").result().variants == ("q", "q of the child")

    assert forked(child)
    held.go.set()
    assert expanding.begin("q").result().variants == ("q", "q late")
