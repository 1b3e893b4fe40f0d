"""The parts of an envelope: waves, corpora and phrasings; and the readers of their fields."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import exact, shown, utf8
from septet.model.codec import as_dict
from septet.notes import Note

MOST_DEPTH, MOST_TEXT = 32, 1_000_000


class CorpusTrace(NamedTuple):
    """The result of one phrasing in one corpus.

    Attributes:
        corpus: name of the corpus.
        variant: number of the phrasing; 0 is the original.
        state: ``answered``, ``late``, ``failed`` or ``resting``.
        took_ms: duration in milliseconds; for ``late``, the time waited.
        hits: number of distinct hits in all lists.
        lists: number of items by list.
        backends: the backends used.
        step: the style of matching that produced the hits.
        contradictions: number of hits that contradict others.
        confidence: probability that the hits contain an answer.
    """

    corpus: str
    variant: int = 0
    state: str = "answered"
    took_ms: float = 0.0
    hits: int = 0
    lists: Mapping[str, int] = {}
    backends: tuple[str, ...] = ()
    step: str | None = None
    contradictions: int = 0
    confidence: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return as_dict(self)


class WaveTrace(NamedTuple):
    """One round of requests.

    Attributes:
        reason: ``query``, ``verification``, ``corrective`` (a paid web service was used) or ``follow_up``.
        query: the query.
        why: the reason of a further wave.
        kept: True if the hits come from it.
        took_ms: duration in milliseconds.
        asked: by corpus and phrasing.
    """

    reason: str = "query"
    query: str = ""
    why: str = ""
    kept: bool = True
    took_ms: float = 0.0
    asked: tuple[CorpusTrace, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return as_dict(self)


class ExpansionTrace(NamedTuple):
    """The phrasings of a query.

    Attributes:
        variants: all of them, the original first.
        took_ms: duration of the rephrasing in milliseconds.
    """

    variants: tuple[str, ...] = ()
    took_ms: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return as_dict(self)


def as_number(value: float | None) -> float | None:
    """Return a number for JSON: None for NaN and infinity."""
    return None if value is None or not math.isfinite(value) else float(value)


def as_texts(values: Iterable[str]) -> tuple[str, ...]:
    """Return texts without duplicates, in order."""
    return tuple(dict.fromkeys(values))


def read_field(name: str, declared: str, value: Any) -> Any:
    """Return the value of a field, converted to its declared type.

    Args:
        name: for the error.
        declared: the annotation: ``int``, ``str | None``, ``tuple[WaveTrace, ...]``, …
        value: from the caller, or read from JSON.

    Raises:
        QueryError: the value has another type.
    """
    value = exact(value)
    type_name = declared.removesuffix(" | None")
    if value is None and type_name != declared:
        return None
    reader = _known if declared == "float" else _READERS[type_name]
    try:
        return reader(value)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError):
        raise QueryError(
            f"{name} of an envelope is {shown(value)}: wanted {_EXPECTED.get(type_name, type_name)}"
        ) from None


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (number := operator.index(value)) < 0:
        raise TypeError
    return int(number)


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    return as_number(float(value))


def _known(value: Any) -> float:
    number = _float(value)
    return 0.0 if number is None else number


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _text(value: Any) -> str:
    return utf8(value, "a text", TypeError, MOST_TEXT)


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value)


def _all_texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(exact(text)) for text in _list(value))


def _list(value: Any) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError
    return value


def _counts(value: Mapping[str, Any]) -> Mapping[str, int]:
    return {_text(name): _whole(count) for name, count in value.items()}


def _spoken(value: Any) -> ExpansionTrace:
    phrasings = value if isinstance(value, ExpansionTrace) else _built(ExpansionTrace, value)
    return ExpansionTrace(_all_texts(phrasings.variants), _known(phrasings.took_ms))


def _corpus(value: Any) -> CorpusTrace:
    corpus = value if isinstance(value, CorpusTrace) else _built(CorpusTrace, value)
    return CorpusTrace(
        _text(corpus.corpus),
        _whole(corpus.variant),
        _text(corpus.state),
        _known(corpus.took_ms),
        _whole(corpus.hits),
        _counts(corpus.lists),
        _all_texts(corpus.backends),
        _optional_text(corpus.step),
        _whole(corpus.contradictions),
        None if corpus.confidence is None else _float(corpus.confidence),
    )


def _wave(value: Any) -> WaveTrace:
    wave = value if isinstance(value, WaveTrace) else _built(WaveTrace, value)
    corpora = tuple(_corpus(corpus) for corpus in _list(wave.asked))
    return WaveTrace(
        _text(wave.reason), _text(wave.query), _text(wave.why), _flag(wave.kept), _known(wave.took_ms), corpora
    )


def _built(kind: Any, value: Mapping[str, Any]) -> Any:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError
    return kind(**{name: value[name] for name in kind._fields if name in value})


def _note(value: Any) -> Note:
    if isinstance(value, Note):
        return value
    # An envelope of a newer version may have newer codes.
    code: Any = _text(value["code"])
    return Note(code, *(_text(value.get(name, "")) for name in ("cause", "cure", "tier")))


def _object(value: Any, depth: int = 0) -> Any:
    """Return plain JSON; NaN and infinity become None."""
    if depth > MOST_DEPTH:
        raise TypeError
    value = exact(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return as_number(value)
    if isinstance(value, Mapping):
        return {_text(exact(name)): _object(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_object(inner, depth + 1) for inner in value]
    raise TypeError


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError
    data: Mapping[str, Any] = _object(value)
    return data


_READERS: Mapping[str, Any] = {
    "int": _whole,
    "float": _float,
    "bool": _flag,
    "str": _text,
    "tuple[str, ...]": _all_texts,
    "Mapping[str, Any]": _mapping,
    "ExpansionTrace": _spoken,
    "tuple[WaveTrace, ...]": lambda value: tuple(_wave(wave) for wave in _list(value)),
    "tuple[Note, ...]": lambda value: tuple(_note(note) for note in _list(value)),
}
_EXPECTED = {
    "int": "a whole number of at least 0",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "tuple[str, ...]": "a list of texts",
    "Mapping[str, Any]": "an object",
    "ExpansionTrace": "an object with variants",
    "tuple[WaveTrace, ...]": "a list of waves",
    "tuple[Note, ...]": "a list of notes",
}
