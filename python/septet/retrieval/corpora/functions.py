"""Whatever else can be asked: a function of the query and a limit, and what it returns as hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from itertools import islice
from typing import Any, TypeAlias

from septet._core import Lock
from septet.errors import EntryError, QueryError, SeptetError
from septet.inputs.arguments import called, cut, printable, real, shown, utf8
from septet.model.drafts import draft
from septet.model.entry import Entry
from septet.model.results import Hit, hits_of
from septet.retrieval.corpora.kept import Kept
from septet.retrieval.corpora.legs import MOST_ITEMS, time_left
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import items_of
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

__all__ = ["Asks", "FunctionCorpus", "made_hits"]

#: A function of a query and the number of results that are wanted, which returns them best first.
Asks: TypeAlias = "Callable[[str, int], Iterable[Mapping[str, Any] | Hit]]"
TIMEOUT_S, MOST_WAIT_S = 4.0, 86_400.0
#: So many calls may hang before it is left alone until one of them comes back.
MOST_HANGING = 4


def made_hits(given: object, most: int, tier: str) -> tuple[Hit, ...]:
    """Return results of another program as hits, each id once, in their order.

    Args:
        given: dicts with the fields of `Vault.add`, of which ``title`` is needed, and ``score``, a finite number (1 /
            place if there is none); or whole hits of a search.
        most: so many of them at most.
        tier: the name that the hits carry.

    Raises:
        EntryError: one of them is no result.
    """
    if given is None or isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise EntryError(f"{shown(given)}: wanted a list of dicts or hits")
    hits: dict[str, Hit] = {}
    for place, item in enumerate(islice(given, most), 1):
        if isinstance(item, Hit):
            if item.entry is None:
                raise EntryError(f"hit {shown(item.id)} without its entry: search with mode='full'")
            hits.setdefault(item.id, changed_hit(item, tier=tier))
        elif isinstance(item, Mapping):
            fields = {name: item[name] for name in item if name != "score"}
            score = real(item["score"], "score", EntryError) if "score" in item else 1.0 / place
            entry = draft(fields, now=0.0).entry
            hits.setdefault(entry.id, hits_of([entry], [(score, tier, {}, {}, 0.0, {})], full=True)[0])
        else:
            raise EntryError(f"{shown(item)}: wanted a dict with the fields of an entry")
    return tuple(hits.values())


class FunctionCorpus:
    """Another program's search as a corpus: a service, an index of vectors elsewhere, a table of a database.

    The function runs on a thread of its own. What is late is left out, so a function that hangs delays nobody; it
    is asked again when it has come back.

    Args:
        name: what lists and hits call it.
        function: called with the query and the number of results; see `made_hits` for what it may return.
        timeout_s: how long it is waited for, 0.01 to 86,400 seconds, and no longer than the deadline.
        backend: what the account of a retrieval calls it; None for its name.

    Raises:
        QueryError: an argument is none of these.
    """

    def __init__(self, name: str, function: Asks, *, timeout_s: float = TIMEOUT_S, backend: str | None = None) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        if function is None:
            raise QueryError("function is None: wanted a function of the query and the number of results")
        self._function = called(function, "function", QueryError)
        self._timeout_s = real(timeout_s, "timeout_s", QueryError, 0.01, MOST_WAIT_S)
        self._backend = self.name if backend is None else utf8(backend, "backend", QueryError, 256)
        self._kept = Kept()
        self._running: list[Future[tuple[Hit, ...]]] = []
        self._lock = Lock()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Renew the lock in a forked child, where no call of the parent's runs."""
        self._lock = Lock()
        self._running = []

    def search(self, asked: Asked) -> Answered:
        """Return what the function finds as one list, ``external``.

        Raises:
            SeptetError: it raised, was late, or returned what is no list of results; or calls of it hang.
        """
        limit = max(1, min(asked.limit, MOST_ITEMS))
        query, within_s = asked.query, self._timeout_s
        if (left_s := time_left(asked)) is not None:
            within_s = min(within_s, left_s)
        with self._lock.hold():
            self._running = [future for future in self._running if not future.done()]
            if len(self._running) >= MOST_HANGING:
                raise SeptetError(f"{self.name} has not answered {len(self._running)} earlier calls; it is left alone")
        try:
            future = call_on_thread(lambda: made_hits(self._function(query, limit), limit, self.name), "septet-corpus")
            with self._lock.hold():
                self._running.append(future)
            done = wait([future], within_s).done
            hits = future.result() if done else None
        except Exception as fault:  # noqa: BLE001 - foreign code; an interrupt is raised
            raise SeptetError(f"{self.name} {_said(fault)}") from None
        if hits is None:
            raise SeptetError(f"{self.name} gave no answer within {within_s:.3g} s")
        self._kept.keep(hits)
        ranked = RankedList("external", self.name, items_of(self.name, hits), variant=asked.variant)
        return Answered([ranked], [self._backend])

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry that was found lately by its id; None for any other."""
        return self._kept.get(entry_id)


def _said(fault: Exception) -> str:
    try:
        cause = printable(cut(str(fault)))
    except Exception:  # noqa: BLE001 - foreign code
        cause = "without a message"
    if isinstance(fault, EntryError):
        return f"gave what is no result: {cause}"
    return f"raised {type(fault).__name__}: {cause}"
