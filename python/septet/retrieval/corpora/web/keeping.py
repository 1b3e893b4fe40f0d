"""Stores web hits in a vault, in the background; failures do not affect a retrieval."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import replace

from septet._core import Lock
from septet.errors import printable
from septet.inputs.arguments import cut
from septet.model.entry import Entry
from septet.retrieval.corpora.web.results import DAY_S, KIND
from septet.retrieval.knowledge import Knowledge
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

#: Maximum entries in the queue; the oldest are dropped.
MOST_WAITING = 1_000
#: An unchanged entry is rewritten after this time, to extend its validity.
_FRESH_S = DAY_S


class Keeper:
    """Writes entries to a vault on its own thread, one after another. Safe to share between threads."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._fault: str | None = None
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset the queue in a forked child: the parent writes its own."""
        self._lock = Lock()
        self._waiting: OrderedDict[str, Entry] = OrderedDict()
        self._writing: Future[None] | None = None

    def keep(self, entries: Iterable[Entry]) -> None:
        """Queue entries."""
        with self._lock.hold():
            for entry in entries:
                self._waiting[entry.id] = entry
                self._waiting.move_to_end(entry.id)
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popitem(last=False)
            if self._waiting and (self._writing is None or self._writing.done()):
                # If no thread can be started, the next hits try again.
                with suppress(RuntimeError):
                    self._writing = call_on_thread(self._write, "septet-web-keeping")

    def fault(self) -> str | None:
        """Return the last write error once; None if there is none."""
        with self._lock.hold():
            fault, self._fault = self._fault, None
        return fault

    def flush(self, timeout_s: float) -> bool:
        """Wait until the queue is empty; return True if it is."""
        ends_at = time.monotonic() + timeout_s
        while True:
            with self._lock.hold():
                writing = self._writing
            if writing is None or writing.done():
                return not self._waiting
            if not wait([writing], max(0.0, ends_at - time.monotonic())).done:
                return False

    def _write(self) -> None:
        while True:
            with self._lock.hold():
                if not self._waiting:
                    self._writing = None
                    return
                _, entry = self._waiting.popitem(last=False)
            try:
                self._store(entry)
            except Exception as fault:  # noqa: BLE001 - a vault may be closed, full, or another's code
                self._fault = f"{type(fault).__name__}: {printable(cut(str(fault)))}"

    def _store(self, entry: Entry) -> None:
        known = self._knowledge.get(entry.id)
        if known is not None:
            if known.kind != KIND:
                return
            if known.attrs.get("page") and not entry.attrs.get("page"):
                # Keep the text of the page: it is longer than the service's excerpt.
                entry = replace(
                    entry,
                    title=known.title,
                    description=known.description,
                    context=entry.description,
                    attrs={**entry.attrs, "page": True},
                )
            texts = [
                (version.title, version.description, version.context, version.source) for version in (known, entry)
            ]
            if texts[0] == texts[1] and entry.updated_at - known.updated_at < _FRESH_S:
                return
        self._knowledge.add_many([entry])
