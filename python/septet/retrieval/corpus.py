"""What a corpus is: a name, and something that answers a query with ranked lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from septet.model.results import Hit, Note
from septet.query.deadline import Deadline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.entry import Entry

__all__ = ["Answered", "Asked", "Corpus", "Item", "RankedList", "RetrievalMode"]

#: Which legs a retrieval uses: words, vectors, or both.
RetrievalMode: TypeAlias = Literal["full_text", "vector", "hybrid"]


class Item(NamedTuple):
    """One place of a ranked list.

    Attributes:
        key: the identity: the same text has the same key in each list that holds it, whatever found it.
        hit: what stands there; its score is that of the list.
    """

    key: str
    hit: Hit


class RankedList(NamedTuple):
    """One list of a corpus, best first.

    Attributes:
        name: tells it from the others of its corpus: ``text``, ``vector``, ``recent``, …
        corpus: the name of the corpus.
        items: each key at most once.
        weight: how much a rank in it counts.
        variant: which phrasing of the query found it; 0 is the original.
    """

    name: str
    corpus: str
    items: Sequence[Item]
    weight: float = 1.0
    variant: int = 0


class Asked(NamedTuple):
    """One phrasing of a query, as it is asked of a corpus.

    Attributes:
        query: the text.
        limit: at most so many items in each list.
        mode: which legs to use.
        variant: which phrasing it is; only the original, 0, is compared by vectors.
        vector: the query as a vector ``(d,)``, if the caller gave one.
        model: the model of that vector.
        scope: names and values that corpora may use to narrow what they search, such as ``{"session": "s1"}``.
        deadline: when it is too late; None for never.
    """

    query: str
    limit: int
    mode: RetrievalMode = "hybrid"
    variant: int = 0
    vector: NDArray[np.float32] | None = None
    model: str | None = None
    scope: Mapping[str, object] = {}
    deadline: Deadline | None = None


class Answered(NamedTuple):
    """What a corpus found.

    Attributes:
        lists: those that it has, also empty ones, so that it can be told what was asked.
        backends: what was used, such as ``memory_bm25``.
        notes: what it could not do.
        step: which style of matching answered; None where there is one style only.
        fallback: only a fallback found something.
        contradictions: how many hits contradict others.
        confidence: how likely an answer is there, 0 to 1; None where nothing tells.
    """

    lists: Sequence[RankedList]
    backends: Sequence[str] = ()
    notes: Sequence[Note] = ()
    step: str | None = None
    fallback: bool = False
    contradictions: int = 0
    confidence: float | None = None


class Corpus(Protocol):
    """Something that can be asked; it may be asked by several threads at once.

    Two more attributes count where a corpus has them: ``local = True`` says that it waits for no other machine, so that
    it may be asked on the caller's thread where that is faster; ``phrasings = False`` that it is asked the original
    phrasing alone, as where each question costs.
    """

    @property
    def name(self) -> str:
        """The name that lists, hits and plans carry."""

    def search(self, asked: Asked) -> Answered:
        """Return what it finds for one phrasing.

        Raises:
            Exception: it fails; the other corpora answer, and a note says why.
        """

    def get(self, entry_id: str) -> Entry | None:
        """Return a whole entry by the id that a hit carried; None if there is none."""
