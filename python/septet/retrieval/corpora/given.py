"""The caller's corpora: a corpus, another vault, another search, or a function whose results become hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from septet.errors import EntryError, QueryError, SeptetError, printable
from septet.inputs.arguments import called, cut, real, shown, utf8
from septet.model.drafts import draft
from septet.model.results import Hit, Results, hits_of
from septet.retrieval.corpora.legs import RecentEntries, limit_of, time_left
from septet.retrieval.corpus import Corpus, CorpusAnswer, CorpusRequest
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge
from septet.search.searchable import Searchable
from septet.system.threads import call_on_thread

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from septet.query.options import SearchOptions

#: A function of a query and a maximum number of results; returns these, best first.
CorpusFunction: TypeAlias = "Callable[[str, int], Iterable[Mapping[str, Any] | Hit]]"
TIMEOUT_S, MOST_WAIT_S = 4.0, 86_400.0
#: Maximum hanging calls; at the maximum the function is skipped until one returns.
MOST_HANGING = 4


def made_hits(results: object, most: int, tier: str) -> tuple[Hit, ...]:
    """Return results of another program as hits, without duplicate ids, in their order.

    Args:
        results: dicts with the fields of `Vault.add`, of which ``title`` is required, and ``score``, a finite number
            (default 1 / place); or hits of a search with mode ``full``.
        most: maximum number of results read.
        tier: name of the corpus in the hits.

    Raises:
        EntryError: an item is not a result.
    """
    if results is None or isinstance(results, (str, bytes, Mapping)) or not isinstance(results, Iterable):
        raise EntryError(f"{shown(results)}: wanted a list of dicts or hits")
    hits: dict[str, Hit] = {}
    for place, item in enumerate(islice(results, most), 1):
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


class FunctionCorpus(RecentEntries):
    """Another program's search as a corpus: a service, an index of vectors elsewhere, a table of a database.

    The function runs on its own thread. A late result is dropped, so a hanging function delays nothing; it is called
    again after it returned.

    Args:
        name: the name in lists and hits.
        function: called with the query and the maximum number of results; see `made_hits` for its return value.
        timeout_s: maximum wait, 0.01 to 86,400 seconds; at most until the deadline.
        backend: the backend's name in the account of a retrieval; None for `name`.

    Raises:
        QueryError: an argument is invalid.
    """

    def __init__(
        self, name: str, function: CorpusFunction, *, timeout_s: float = TIMEOUT_S, backend: str | None = None
    ) -> None:
        super().__init__(name, name)
        if function is None:
            raise QueryError("function is None: wanted a function of the query and the number of results")
        self._function = called(function, "function", QueryError)
        self._timeout_s = real(timeout_s, "timeout_s", QueryError, 0.01, MOST_WAIT_S)
        self._backend = self.name if backend is None else utf8(backend, "backend", QueryError, 256)

    def after_fork(self) -> None:
        """Reset the lock and the calls in a forked child: the parent's threads do not exist there."""
        super().after_fork()
        self._running: list[Future[tuple[Hit, ...]]] = []

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the results of the function as one list, ``external``.

        Raises:
            SeptetError: it raised, was late, or did not return a list of results; or too many calls hang.
        """
        limit = limit_of(request)
        query, within_s = request.query, self._timeout_s
        if (left_s := time_left(request)) is not None:
            within_s = min(within_s, left_s)
        with self._lock.hold():
            self._running = [future for future in self._running if not future.done()]
            if len(self._running) >= MOST_HANGING:
                raise SeptetError(f"{self.name} still runs {len(self._running)} earlier calls; it is skipped")
        try:
            future = call_on_thread(lambda: made_hits(self._function(query, limit), limit, self.name), "septet-corpus")
            with self._lock.hold():
                self._running.append(future)
            done = wait([future], within_s).done
            hits = future.result() if done else None
        except Exception as fault:  # noqa: BLE001 - foreign code; an interrupt is raised
            raise SeptetError(f"{self.name} {_cause_of(fault)}") from None
        if hits is None:
            raise SeptetError(f"{self.name} gave no answer within {within_s:.3g} s")
        return CorpusAnswer([self._list("external", request, hits)], [self._backend])


def _cause_of(fault: Exception) -> str:
    try:
        cause = printable(cut(str(fault)))
    except Exception:  # noqa: BLE001 - foreign code
        cause = "without a message"
    if isinstance(fault, EntryError):
        return f"returned an invalid result: {cause}"
    return f"raised {type(fault).__name__}: {cause}"


class Searches(Protocol):
    """An object searched like a vault: a `Vault`, a `Federation`, an `ExternalFirst`."""

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """Return the results for a query, best first; called with ``limit``, ``mode`` and ``timeout_s``."""


#: A corpus for `Vault.retriever`: a `Corpus`, an object searched like a vault, or a function of a query and a number.
CorpusLike: TypeAlias = "Corpus | Searches | CorpusFunction"


def corpus_of(name: str, source: object, of_vault: Callable[[str, Knowledge], Corpus]) -> Corpus:
    """Return a value as a corpus of this name: a corpus, a vault, an object with a ``search``, or a function."""
    if isinstance(source, Searchable):
        return of_vault(name, cast("Knowledge", source))
    searches, gets = (callable(getattr(source, method, None)) for method in ("search", "get"))
    if searches and gets and not isinstance(source, type):
        if getattr(source, "name", None) != name:
            raise QueryError(
                f"corpora[{shown(name)}] has the name {shown(getattr(source, 'name', None))}: use one name"
            )
        return cast("Corpus", source)
    if isinstance(source, type) or not (searches or callable(source)):
        expected = "an object with search, get and name, a vault, or a function of the query and a number"
        raise QueryError(f"corpora[{shown(name)}] is {shown(source)}: wanted {expected}")
    return (
        SearchedCorpus(name, cast("Searches", source))
        if searches
        else FunctionCorpus(name, cast("CorpusFunction", source))
    )


class SearchedCorpus(RecentEntries):
    """An object searched like a vault but without entries of its own, such as an `ExternalFirst`, as one list.

    Args:
        name: the name in lists and hits.
        searches: the object; called with ``limit``, ``mode`` and the remaining time.
    """

    def __init__(self, name: str, searches: Searches) -> None:
        super().__init__(name, name)
        self._searches = searches

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the list ``external``; nothing in mode ``vector``.

        Raises:
            Exception: any error of the search.
        """
        if request.mode == "vector":
            return CorpusAnswer(())
        options: SearchOptions = {"limit": limit_of(request), "mode": "full"}
        if (left_s := time_left(request)) is not None:
            options["timeout_s"] = left_s
        results = self._searches.search(request.query, **options)
        hits = [changed_hit(hit, tier=self.name) for hit in results.hits]
        ranked = self._list("external", request, hits)
        return CorpusAnswer([ranked], [self.name], results.notes, confidence=results.confidence or None)
