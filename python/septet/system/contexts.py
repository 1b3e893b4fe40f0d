"""Context variables of threads that outlive the call that starts them."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from functools import partial
from typing import TypeVar

Result = TypeVar("Result")


def without_context(work: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function that calls `work`, once, without the context variables of the thread that starts it.

    Free-threaded Pythons pass these to new threads: one that outlives a search would keep those of that search.
    """
    return partial(contextvars.Context().run, work)
