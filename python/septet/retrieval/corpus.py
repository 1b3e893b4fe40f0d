"""The interface of a corpus: it answers a query with ranked lists, which are checked, as it may be foreign code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from septet.inputs.arguments import exact, real, utf8, whole
from septet.model.results import Hit
from septet.notes import Note
from septet.query.refine import Deadline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.entry import Entry

#: The legs of a retrieval: words, vectors, or both.
RetrievalMode: TypeAlias = Literal["full_text", "vector", "hybrid"]


class Item(NamedTuple):
    """One place of a ranked list.

    Attributes:
        key: identity of the text, equal in all lists that contain it.
        hit: the hit, with its score in the list.
    """

    key: str
    hit: Hit


class RankedList(NamedTuple):
    """One list of a corpus, best first.

    Attributes:
        name: unique within its corpus: ``text``, ``vector``, ``recent``, …
        corpus: the name of the corpus.
        items: the items; each key at most once.
        weight: weight of its ranks in a fusion.
        variant: number of the phrasing; 0 is the original query.
    """

    name: str
    corpus: str
    items: Sequence[Item]
    weight: float = 1.0
    variant: int = 0


class CorpusRequest(NamedTuple):
    """A request to a corpus: one phrasing of a query.

    Attributes:
        query: the text.
        limit: maximum number of items in each list.
        mode: the legs to use.
        variant: number of the phrasing; only the original, 0, is compared by vectors.
        vector: the query as a vector ``(d,)``, if the caller passed one.
        model: the model of that vector.
        scope: names and values that corpora may use to narrow their search, such as ``{"session": "s1"}``.
        deadline: the deadline; None for none.
    """

    query: str
    limit: int
    mode: RetrievalMode = "hybrid"
    variant: int = 0
    vector: NDArray[np.float32] | None = None
    model: str | None = None
    scope: Mapping[str, object] = {}
    deadline: Deadline | None = None


class CorpusAnswer(NamedTuple):
    """The response of a corpus.

    Attributes:
        lists: its lists; empty ones are included, to show that they were searched.
        backends: the backends used, such as ``memory_bm25``.
        notes: problems, as notes.
        step: the style of matching that produced the hits; None if there is only one.
        fallback: True if only a fallback produced hits.
        contradictions: number of hits that contradict others.
        confidence: probability that the hits contain an answer, 0 to 1; None if unknown.
    """

    lists: Sequence[RankedList]
    backends: Sequence[str] = ()
    notes: Sequence[Note] = ()
    step: str | None = None
    fallback: bool = False
    contradictions: int = 0
    confidence: float | None = None


class Corpus(Protocol):
    """A searchable source; several threads may call it at once.

    Two optional attributes: ``local = True`` if it does not wait for another machine, so that it may run on the
    caller's thread where that is faster; ``phrasings = False`` if it accepts only the original phrasing, for example
    because each query costs money.
    """

    @property
    def name(self) -> str:
        """The name in lists, hits and plans."""

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Search for one phrasing.

        Raises:
            Exception: any failure; the retrieval goes on with the other corpora and adds a note with the reason.
        """

    def get(self, entry_id: str) -> Entry | None:
        """Return a whole entry by the id of a hit; None if there is none."""


#: The same maximum as for the weights of a fusion.
MOST_WEIGHT = 1e9
MOST_NAME = 1_000


class InvalidAnswer(Exception):
    """A corpus returned something other than a valid `CorpusAnswer`."""


def checked_answer(answer: object) -> CorpusAnswer:
    """Return the answer with its lists checked; a NaN confidence becomes None. Nothing else is repaired.

    Raises:
        InvalidAnswer: the answer is invalid.
    """
    if answer is None:
        raise InvalidAnswer("it returned None: return a CorpusAnswer")
    if not isinstance(answer, CorpusAnswer):
        raise InvalidAnswer(f"it returned {type(answer).__name__} instead of a CorpusAnswer")
    try:
        return CorpusAnswer(
            [*map(_list, answer.lists)],
            [*map(_name, answer.backends)],
            [*map(_note, answer.notes)],
            None if answer.step is None else _name(answer.step),
            bool(answer.fallback),
            whole(answer.contradictions, "contradictions", InvalidAnswer, 0),
            _confidence(exact(answer.confidence)),
        )
    except TypeError:
        raise InvalidAnswer(
            "its CorpusAnswer has fields of the wrong type: lists, backends and notes are sequences"
        ) from None


def _list(ranked: object) -> RankedList:
    if not isinstance(ranked, RankedList):
        raise InvalidAnswer(f"its lists contain {type(ranked).__name__} instead of RankedList")
    for text in (ranked.name, ranked.corpus):
        _name(text)
    real(ranked.weight, "the weight of a list", InvalidAnswer, 0.0, MOST_WEIGHT)
    whole(ranked.variant, "the variant of a list", InvalidAnswer, 0)
    items = [*ranked.items]
    for item in items:
        if not (isinstance(item, Item) and isinstance(item.key, str) and isinstance(item.hit, Hit)):
            raise InvalidAnswer("a RankedList of it contains something other than Item(key, hit)")
    for item in items:
        if not isfinite(item.hit.score):
            raise InvalidAnswer("a hit of it has a score that is not finite")
    return ranked._replace(items=items)


def _confidence(value: Any) -> float | None:
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    return real(value, "its confidence", InvalidAnswer, 0.0, 1.0)


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidAnswer(f"the name of a list, backend or step is {type(value).__name__} instead of str")
    return utf8(value, "a name", InvalidAnswer, MOST_NAME)


def _note(note: object) -> Note:
    if not isinstance(note, Note):
        raise InvalidAnswer(f"its notes contain {type(note).__name__} instead of Note")
    for text in (note.code, note.cause, note.cure, note.tier):
        utf8(text, "a note", InvalidAnswer)
    return note
