"""Work on a thread of its own."""

import contextvars
import signal
import threading

import pytest

from septet import EmbeddingUnavailable
from septet.system.threads import call_on_thread, call_uninterrupted, call_within

LATE = EmbeddingUnavailable("late")
LANGUAGE = contextvars.ContextVar("LANGUAGE", default="none")


def here():
    return threading.current_thread()


def fail():
    raise KeyError("of the work")


@pytest.fixture
def released():
    event = threading.Event()
    yield event
    event.set()


def test_the_work_runs_on_a_daemon_thread_of_the_given_name():
    thread = call_on_thread(here, "named").result(10)
    assert thread is not here() and thread.daemon and thread.name == "named"


def test_an_error_of_the_work_is_handed_back():
    assert isinstance(call_on_thread(fail).exception(10), KeyError)


def test_the_work_sees_the_context_of_its_caller():
    token = LANGUAGE.set("cs")
    try:
        assert call_on_thread(LANGUAGE.get).result(10) == "cs"
    finally:
        LANGUAGE.reset(token)


def test_a_result_in_time_is_returned():
    assert call_within(10, lambda: 7, LATE) == 7


def test_late_work_is_given_up_with_the_error_of_the_caller(released):
    late = EmbeddingUnavailable("someone: no answer within 0.01 s", provider="someone")
    with pytest.raises(EmbeddingUnavailable) as caught:
        call_within(0.01, released.wait, late)
    assert caught.value is late


@pytest.mark.parametrize("call", [lambda work: call_within(10, work, LATE), call_uninterrupted])
def test_errors_of_the_work_are_raised_unchanged(call):
    with pytest.raises(KeyError, match="of the work"):
        call(fail)


def test_a_timeout_of_the_work_itself_is_not_taken_for_the_deadline():
    def late():
        raise TimeoutError("of the work")

    with pytest.raises(TimeoutError, match="of the work"):
        call_within(10, late, LATE)


def test_uninterrupted_work_leaves_the_main_thread_to_the_interrupt():
    assert call_uninterrupted(here) is not here()


def test_uninterrupted_work_of_another_thread_stays_there():
    outer, inner = call_on_thread(lambda: (here(), call_uninterrupted(here))).result(10)
    assert outer is inner


def test_an_interrupt_is_raised_when_the_work_is_done():
    interrupted, done = threading.Event(), []

    def interrupt(number, frame):
        interrupted.set()
        raise KeyboardInterrupt

    def work():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        done.append(interrupted.wait(10))

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            call_uninterrupted(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [True]
