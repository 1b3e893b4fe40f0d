"""The logger ``septet`` and its children. A program that does not load `logging` does not wait for it here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger

__all__ = ["DEBUG", "INFO", "WARNING", "logger", "say", "searches_heard", "writes_heard"]

#: As in `logging`.
DEBUG = 10
INFO = 20
WARNING = 30


def logger(child: str) -> Logger | None:
    """Return the logger ``septet.CHILD``; None while the program has not loaded `logging`, so that nobody listens."""
    logging = sys.modules.get("logging")
    # While it is being loaded it may lack what is needed.
    if logging is None or not hasattr(logging, "NullHandler"):
        return None
    root = logging.getLogger("septet")
    if not any(isinstance(handler, logging.NullHandler) for handler in root.handlers):
        # Otherwise warnings would go to standard error in programs that set up no handler.
        root.addHandler(logging.NullHandler())
    found: Logger = root.getChild(child)
    return found


def say(child: str, level: int, message: str, *values: object) -> None:
    """Log what is rare, and no text of a query or an entry."""
    found = logger(child)
    if found is not None and found.isEnabledFor(level):
        found.log(level, message, *values)


def _searches_heard(level: int) -> bool:
    global searches_heard
    found = logger("search")
    if found is None:
        return False
    searches_heard = found.isEnabledFor
    return searches_heard(level)


def _writes_heard(level: int) -> bool:
    global writes_heard
    found = logger("write")
    if found is None:
        return False
    writes_heard = found.isEnabledFor
    return writes_heard(level)


#: Whether somebody listens to ``septet.search`` at a level. Every search asks, so this becomes the logger's own method.
searches_heard: Callable[[int], bool] = _searches_heard
writes_heard: Callable[[int], bool] = _writes_heard
