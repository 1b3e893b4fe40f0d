"""Observability of searches and writes: hooks, loggers, spans and progress bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For type checkers and editors; a test compares these names with the table below.
    from septet.watch.events import SearchEvent as SearchEvent
    from septet.watch.events import SearchMethod as SearchMethod
    from septet.watch.events import WriteEvent as WriteEvent
    from septet.watch.progress import Progress as Progress
else:
    from septet.system.late import loaded_late

    #: Loaded on first access.
    _NAMES = {
        "events": "SearchEvent SearchMethod WriteEvent",
        "progress": "Progress",
    }
    __all__, __getattr__, __dir__ = loaded_late(__name__, _NAMES)
