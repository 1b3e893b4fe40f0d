"""Retries of a call, from its beginning: a few after conflicts with other writers, one after a lost worker.

A connection that a coordinator kept may have ended with the worker's restart; the coordinator then opens another one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from septet.errors import StoreBusy, Unreachable
from septet.postgres.store.faults import AGAIN, of_worker

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")

MOST_TRIES = 10
#: The longest pause after the first try; twice as long after each further one. Its length is random, so that two
#: writers which met do not meet again.
PAUSE_S = 0.01


def again(call: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
    """Return a call that is retried after a deadlock, and once after the loss of a worker; neither applied anything.

    Its arguments must be the same when they are read twice: no iterator, and nothing that the call changes.

    Raises:
        StoreBusy: other writers were in the way each time.
    """

    @wraps(call)
    def tried(*given: _Asked.args, **more: _Asked.kwargs) -> _Answer:
        lost = False
        for tries in range(1, MOST_TRIES + 1):
            try:
                return call(*given, **more)
            except Unreachable as fault:
                if lost or not of_worker(fault.__cause__):
                    raise
                lost = True
                continue
            except StoreBusy as fault:
                if not isinstance(fault.__cause__, AGAIN):
                    raise
                if tries == MOST_TRIES:
                    # Not told as something that a call around this one should try again.
                    raise StoreBusy(f"{fault}; it was tried {tries} times") from fault
            time.sleep(random.uniform(0.0, PAUSE_S * 2 ** (tries - 1)))
        raise AssertionError("the last try returns or raises")

    return tried
