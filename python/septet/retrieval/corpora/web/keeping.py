"""Keeping: hits of the web become entries of a vault, in the background, and never fail a retrieval."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import replace

from septet._core import Lock
from septet.inputs.arguments import cut, printable
from septet.model.entry import Entry
from septet.retrieval.corpora.web.entries import DAY_S, KIND
from septet.retrieval.knowledge import Knowledge
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

__all__ = ["Keeper"]

#: So many entries wait to be written; of more, the oldest are not kept.
MOST_WAITING = 1_000
#: An entry that is found again with the same text is written again after so long, so that it stays valid.
_FRESH_S = DAY_S


class Keeper:
    """Writes entries to a vault on a thread of its own, one after another. Safe to share between threads."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._fault: str | None = None
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Leave to the parent what waits there."""
        self._lock = Lock()
        self._waiting: OrderedDict[str, Entry] = OrderedDict()
        self._writing: Future[None] | None = None

    def keep(self, entries: Iterable[Entry]) -> None:
        """Write entries soon."""
        with self._lock.hold():
            for entry in entries:
                self._waiting[entry.id] = entry
                self._waiting.move_to_end(entry.id)
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popitem(last=False)
            if self._waiting and (self._writing is None or self._writing.done()):
                # Where no thread can be started, the next hits bring one along.
                with suppress(RuntimeError):
                    self._writing = call_on_thread(self._write, "septet-web-keeping")

    def told(self) -> str | None:
        """Return, once, why an entry could not be written; None if all could."""
        fault, self._fault = self._fault, None
        return fault

    def flush(self, timeout_s: float) -> bool:
        """Wait until all is written; return whether it is."""
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
                # The text of the page says more than what a service shows of it.
                kept = {"page": True}
                entry = replace(
                    entry,
                    title=known.title,
                    description=known.description,
                    context=entry.description,
                    attrs={**entry.attrs, **kept},
                )
            texts = [(one.title, one.description, one.context, one.source) for one in (known, entry)]
            if texts[0] == texts[1] and entry.updated_at - known.updated_at < _FRESH_S:
                return
        self._knowledge.add_many([entry])
