"""File system events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from septet.errors import EntryError

#: Poll interval, and maximum duration of a batch of events, in milliseconds.
STEP_MS, GROUP_MS = 250, 1_000
#: Interval of empty batches, which show that events are being received, in milliseconds.
FIRST_MS = 2_000


def events_of_system() -> Callable[..., Iterable[Iterable[tuple[Any, str]]]]:
    """Return a function that yields batches of changes.

    Raises:
        EntryError: the package for it is not installed.
    """
    try:
        from watchfiles import watch
    except ImportError as fault:
        raise EntryError(
            f"watching needs the package watchfiles ({fault}): pip install 'septet[watch]', or sync() from time to time"
        ) from None

    def events(*paths: str, stop_event: threading.Event) -> Iterable[Iterable[tuple[Any, str]]]:
        def watch_paths(ignore_denied: bool) -> Iterable[Iterable[tuple[Any, str]]]:
            return watch(
                *paths,
                watch_filter=None,
                debounce=GROUP_MS,
                step=STEP_MS,
                stop_event=stop_event,
                rust_timeout=FIRST_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
                ignore_permission_denied=ignore_denied,
            )

        try:
            yield from watch_paths(ignore_denied=False)
        except PermissionError:
            # Last resort: this also hides other folders that cannot be watched.
            yield from watch_paths(ignore_denied=True)

    return events
