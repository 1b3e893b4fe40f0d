"""What the system tells of changes on the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from septet.errors import EntryError

__all__ = ["events_of_system"]

#: How often the system's list of changes is fetched, and how long it may grow, in milliseconds.
STEP_MS, GROUP_MS = 250, 1_000
#: It says so often that events can come, in milliseconds.
FIRST_MS = 2_000


def events_of_system() -> Callable[..., Iterable[Iterable[tuple[Any, str]]]]:
    """Return what tells of changes.

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
        def those(blind: bool) -> Iterable[Iterable[tuple[Any, str]]]:
            return watch(
                *paths,
                watch_filter=None,
                debounce=GROUP_MS,
                step=STEP_MS,
                stop_event=stop_event,
                rust_timeout=FIRST_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
                ignore_permission_denied=blind,
            )

        try:
            yield from those(blind=False)
        except PermissionError:
            # Then it also says nothing of other folders that it cannot watch: not before it must.
            yield from those(blind=True)

    return events
