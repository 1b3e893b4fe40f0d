"""A circuit breaker pauses calls after failures, for twice as long after each, and allows one trial after a pause."""

import pytest

from septet.system.breaker import CircuitBreaker


class World:
    time = 0.0

    def clock(self):
        return self.time


@pytest.fixture
def world():
    return World()


def test_each_further_failure_doubles_the_pause_up_to_the_longest(world):
    breaker = CircuitBreaker(1, 5, clock=world.clock)
    pauses = []
    for _ in range(5):
        assert breaker.allows()
        breaker.failed("away")
        pauses.append(breaker.remaining_s)
        world.time += breaker.remaining_s
    assert pauses == [1, 2, 4, 5, 5]
    assert breaker.succeeded() and not breaker.succeeded()
    assert breaker.fault is None and breaker.allows() and not breaker.is_open
    breaker.failed("away")
    assert breaker.remaining_s == 1


def test_concurrent_failures_count_once(world):
    breaker = CircuitBreaker(1, 60, clock=world.clock)
    for _ in range(10):
        breaker.failed("away")
    assert breaker.pause_s == 1
    world.time = 0.5
    breaker.failed("still away")
    assert (breaker.fault, breaker.pause_s, breaker.remaining_s) == ("still away", 1, 1)


def test_after_a_pause_one_call_is_a_trial(world):
    breaker = CircuitBreaker(1, 60, clock=world.clock)
    breaker.failed("away")
    assert not breaker.allows() and not breaker.is_due
    world.time = 1
    assert breaker.is_due and breaker.allows(3) and breaker.is_trying
    assert not breaker.allows(3)
    world.time = 4
    assert breaker.allows(3)
    breaker.cancel_trial()
    assert breaker.allows(3)
    breaker.failed("away")
    assert not breaker.is_trying and breaker.remaining_s == 2


def test_a_service_may_request_a_longer_pause(world):
    breaker = CircuitBreaker(1, 60, clock=world.clock)
    breaker.failed("limited", wait_s=30)
    breaker.failed("away")
    assert breaker.remaining_s == 30


def test_several_failures_in_a_row_may_be_needed(world):
    breaker = CircuitBreaker(30, 30, failures=3, clock=world.clock)
    assert [breaker.failed("away") for _ in range(2)] == [False, False]
    assert breaker.allows() and not breaker.remaining_s
    breaker.succeeded()
    assert [breaker.failed("away") for _ in range(4)] == [False, False, True, False]
    assert not breaker.allows() and breaker.remaining_s == 30


def test_a_resumed_service_that_fails_again_pauses_twice_as_long(world):
    breaker = CircuitBreaker(1, 60, clock=world.clock)
    breaker.failed("away")
    breaker.resume()
    assert breaker.allows() and breaker.fault is None
    breaker.failed("away")
    assert breaker.remaining_s == 2


def test_a_forked_child_keeps_the_pause_but_not_the_trial(world):
    breaker = CircuitBreaker(1, 60, clock=world.clock)
    breaker.failed("away")
    world.time = 1
    assert breaker.allows() and not breaker.allows()
    breaker.after_fork()
    assert breaker.fault == "away" and breaker.allows() and not breaker.allows()
