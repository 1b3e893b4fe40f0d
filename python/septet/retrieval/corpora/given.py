"""What a caller gives as a corpus: a corpus, another vault, another search, or a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from septet.errors import QueryError
from septet.inputs.arguments import shown
from septet.model.entry import Entry
from septet.model.results import Results
from septet.retrieval.corpora.functions import Asks, FunctionCorpus
from septet.retrieval.corpora.kept import Kept
from septet.retrieval.corpora.legs import MOST_ITEMS, time_left
from septet.retrieval.corpus import Answered, Asked, Corpus, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge, items_of
from septet.search.searchable import Searchable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from septet.query.options import SearchOptions

__all__ = ["CorpusLike", "SearchedCorpus", "Searches", "corpus_of"]


class Searches(Protocol):
    """Something that is searched like a vault: a `Vault`, a `Federation`, an `ExternalFirst`."""

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """Return what answers a query, best first; ``limit``, ``mode`` and ``timeout_s`` are given."""


#: What `Vault.retriever` takes as a corpus: one, something that is searched, or a function of a query and a number.
CorpusLike: TypeAlias = "Corpus | Searches | Asks"


def corpus_of(name: str, given: object, of_vault: Callable[[str, Knowledge], Corpus]) -> Corpus:
    """Return what a caller gives as a corpus of this name.

    Args:
        name: what lists and hits call it.
        given: a corpus of this name, a vault or a federation, something with a ``search`` like theirs, or a function.
        of_vault: makes a corpus of a vault.

    Raises:
        QueryError: it is none of these, or has another name.
    """
    if isinstance(given, Searchable):
        return of_vault(name, cast("Knowledge", given))
    searches, gets = (callable(getattr(given, method, None)) for method in ("search", "get"))
    if searches and gets and not isinstance(given, type):
        if getattr(given, "name", None) != name:
            raise QueryError(
                f"corpora[{shown(name)}] calls itself {shown(getattr(given, 'name', None))}: name it alike"
            )
        return cast("Corpus", given)
    if isinstance(given, type) or not (searches or callable(given)):
        wanted = "an object with search, get and name, a vault, or a function of the query and a number"
        raise QueryError(f"corpora[{shown(name)}] is {shown(given)}: wanted {wanted}")
    return SearchedCorpus(name, cast("Searches", given)) if searches else FunctionCorpus(name, cast("Asks", given))


class SearchedCorpus:
    """What is searched like a vault, but has no entries of its own to look into, as an `ExternalFirst`: one list.

    Args:
        name: what lists and hits call it.
        searches: what is searched, with ``limit``, ``mode`` and the time that is left.
    """

    def __init__(self, name: str, searches: Searches) -> None:
        self.name, self._searches = name, searches
        self._kept = Kept()

    def search(self, asked: Asked) -> Answered:
        """Return the list ``external``; nothing in mode ``vector``.

        Raises:
            Exception: whatever the search raises.
        """
        if asked.mode == "vector":
            return Answered(())
        options: SearchOptions = {"limit": max(1, min(asked.limit, MOST_ITEMS)), "mode": "full"}
        if (left_s := time_left(asked)) is not None:
            options["timeout_s"] = left_s
        results = self._searches.search(asked.query, **options)
        hits = [changed_hit(hit, tier=self.name) for hit in results.hits]
        self._kept.keep(hits)
        ranked = RankedList("external", self.name, items_of(self.name, hits), variant=asked.variant)
        return Answered([ranked], [self.name], results.notes, confidence=results.confidence or None)

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry that was found lately by its id; None for any other."""
        return self._kept.get(entry_id)
