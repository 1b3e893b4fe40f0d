"""The logger ``septet`` and its children; `logging` is used only if the program imports it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger

#: Levels of `logging`.
DEBUG = 10
INFO = 20
WARNING = 30


def is_used() -> bool:
    """Return True if the program has imported `logging`."""
    # A half-imported module lacks attributes.
    return hasattr(sys.modules.get("logging"), "NullHandler")


def logger(child: str) -> Logger | None:
    """Return the logger ``septet.CHILD``; None while the program has not imported `logging`."""
    if not is_used():
        return None
    logging = sys.modules["logging"]
    root = logging.getLogger("septet")
    if not any(isinstance(handler, logging.NullHandler) for handler in root.handlers):
        # Otherwise `logging.lastResort` prints warnings in programs without a handler.
        root.addHandler(logging.NullHandler())
    listener: Logger = root.getChild(child)
    return listener


def say(child: str, level: int, message: str, *values: object) -> None:
    """Log a rare event; never pass the text of a query or an entry."""
    listener = logger(child)
    if listener is not None and listener.isEnabledFor(level):
        listener.log(level, message, *values)


def _searches_heard(level: int) -> bool:
    global searches_heard
    listener = logger("search")
    if listener is None:
        return False
    searches_heard = listener.isEnabledFor
    return searches_heard(level)


def _writes_heard(level: int) -> bool:
    global writes_heard
    listener = logger("write")
    if listener is None:
        return False
    writes_heard = listener.isEnabledFor
    return writes_heard(level)


#: Return True if ``septet.search`` is enabled for a level. Every search calls this, so the logger's method replaces it.
searches_heard: Callable[[int], bool] = _searches_heard
writes_heard: Callable[[int], bool] = _writes_heard
