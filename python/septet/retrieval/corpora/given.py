"""The caller's corpora: a corpus, another vault, another search, or a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from septet.errors import QueryError
from septet.inputs.arguments import shown
from septet.model.entry import Entry
from septet.model.results import Results
from septet.retrieval.corpora.entry_cache import EntryCache
from septet.retrieval.corpora.functions import Asks, FunctionCorpus
from septet.retrieval.corpora.legs import MOST_ITEMS, time_left
from septet.retrieval.corpus import Answered, Asked, Corpus, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge, items_of
from septet.search.searchable import Searchable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from septet.query.options import SearchOptions


class Searches(Protocol):
    """An object searched like a vault: a `Vault`, a `Federation`, an `ExternalFirst`."""

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """Return the results for a query, best first; called with ``limit``, ``mode`` and ``timeout_s``."""


#: A corpus for `Vault.retriever`: a `Corpus`, an object searched like a vault, or a function of a query and a number.
CorpusLike: TypeAlias = "Corpus | Searches | Asks"


def corpus_of(name: str, source: object, of_vault: Callable[[str, Knowledge], Corpus]) -> Corpus:
    """Return a caller's value as a corpus of this name.

    Args:
        name: the name in lists and hits.
        source: a corpus of this name, a vault or a federation, an object with a ``search`` like theirs, or a function.
        of_vault: returns the corpus of a vault.

    Raises:
        QueryError: the value is none of these, or has another name.
    """
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
    return SearchedCorpus(name, cast("Searches", source)) if searches else FunctionCorpus(name, cast("Asks", source))


class SearchedCorpus:
    """An object searched like a vault but without entries of its own, such as an `ExternalFirst`, as one list.

    Args:
        name: the name in lists and hits.
        searches: the object; called with ``limit``, ``mode`` and the remaining time.
    """

    def __init__(self, name: str, searches: Searches) -> None:
        self.name, self._searches = name, searches
        self._cache = EntryCache()

    def search(self, asked: Asked) -> Answered:
        """Return the list ``external``; nothing in mode ``vector``.

        Raises:
            Exception: any error of the search.
        """
        if asked.mode == "vector":
            return Answered(())
        options: SearchOptions = {"limit": max(1, min(asked.limit, MOST_ITEMS)), "mode": "full"}
        if (left_s := time_left(asked)) is not None:
            options["timeout_s"] = left_s
        results = self._searches.search(asked.query, **options)
        hits = [changed_hit(hit, tier=self.name) for hit in results.hits]
        self._cache.keep(hits)
        ranked = RankedList("external", self.name, items_of(self.name, hits), variant=asked.variant)
        return Answered([ranked], [self.name], results.notes, confidence=results.confidence or None)

    def get(self, entry_id: str) -> Entry | None:
        """Return the entry of a recent hit; None for other ids."""
        return self._cache.get(entry_id)
