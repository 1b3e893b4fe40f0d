"""Shapes: the types of what a server answers the sessions and listings of a remote tier."""

# No `from __future__ import annotations`: pydantic reads the annotations as values.
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, PlainValidator
from pydantic_core import from_json
from typing_extensions import NotRequired, TypedDict

from septet.errors import QueryError
from septet.inputs.checked import LARGE
from septet.ranking.pool import Candidate
from septet.tiers.remote.packing import floats_of, singles_of, unpacked, wholes_of
from septet.tiers.remote.received import Count, Finite, Many, Said

__all__ = ["CountedShape", "InspectedAnswer", "LikenessAnswer", "NeighboursAnswer", "NoteShape", "OverridesAnswer"]
__all__ += ["PoolAnswer", "RecalledAnswer", "shape_of"]

#: So many steps of a walk over links.
MOST_STEPS = 1_000
_FACTS = ("kind", "severity", "domain")
_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")


# -- numbers that travel as base64 -------------------------------------------------------------------------------------


def _column(text: object) -> NDArray[np.float64]:
    values = floats_of(text)
    if np.isinf(values).any():
        raise QueryError("wanted finite numbers, or NaN for an unknown one")
    return values


def _components(text: object) -> NDArray[np.float32]:
    values = singles_of(text)
    if (np.abs(values) > LARGE).any():
        raise QueryError("wanted vectors of unit length, or NaN")
    return values


def _vector(text: object) -> NDArray[np.float32]:
    values = singles_of(text)
    if not np.isfinite(values).all() or not values.any():
        raise QueryError("wanted a vector of finite numbers that are not all zero")
    return values


def _limits(text: object) -> NDArray[np.float64]:
    values = floats_of(text)
    if np.isnan(values).any():
        raise QueryError("wanted times, infinite where there is no limit")
    return values


def _wholes(text: object) -> list[int]:
    values = wholes_of(text)
    if values and min(values) < 0:
        raise QueryError("wanted numbers of 0 or more")
    return values


def _steps(text: object) -> list[int]:
    values = _wholes(text)
    if values and max(values) > MOST_STEPS:
        raise QueryError(f"wanted at most {MOST_STEPS:,} steps")
    return values


#: The length of vectors.
Dimensions = Annotated[int, Field(ge=1, le=65_536)]
Column = Annotated[Any, PlainValidator(_column)]
Wholes = Annotated[Any, PlainValidator(_wholes)]
Steps = Annotated[Any, PlainValidator(_steps)]


# -- candidates --------------------------------------------------------------------------------------------------------


def _candidate(found: Candidate) -> Candidate:
    """Return a candidate whose tags are a list of texts, whose attrs are an object, and whose times are finite."""
    tags, attrs = from_json(found.tags_json), from_json(found.attrs_json, allow_inf_nan=False)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise QueryError("wanted tags as a JSON list of texts")
    if not isinstance(attrs, dict):
        raise QueryError("wanted attrs as a JSON object")
    times = (found.created_at, found.updated_at, found.valid_from or 0.0, found.valid_until or 0.0)
    if not all(map(math.isfinite, times)) or not 0 <= found.row < 1 << 63:
        raise QueryError("wanted a row of 0 or more, and finite times")
    return found


ACandidate = Annotated[Candidate, AfterValidator(_candidate)]


class LabelsAnswer(TypedDict):
    """Facts of candidates: for each the texts that differ, and the number of that of each candidate."""

    kind: tuple[Many[str], Many[Count]]
    severity: tuple[Many[str], Many[Count]]
    domain: tuple[Many[str], Many[Count]]


class PoolAnswer(TypedDict):
    """Candidates; see `septet.tiers.remote.answers.pool_data`."""

    rows: Wholes
    ids: Many[str] | None
    columns: dict[str, Column]
    labels: LabelsAnswer
    vectors: NotRequired[tuple[Dimensions, Annotated[Any, PlainValidator(_components)]]]


def _pool(found: PoolAnswer) -> PoolAnswer:
    """Return a pool whose parts are of one length.

    Raises:
        QueryError: they are not, a row or an id comes twice, or a number is too large.
    """
    count, ids = len(found["rows"]), found["ids"]
    if len(set(found["rows"])) != count or (ids is not None and (len(ids) != count or len(set(ids)) != count)):
        raise QueryError(f"wanted {count} rows that differ, and as many ids")
    if count and not found["columns"].keys() >= set(_TIMES):
        raise QueryError(f"wanted the columns {', '.join(_TIMES)}")
    for name, values in found["columns"].items():
        if len(values) != count or (name not in _TIMES and (np.abs(values) > LARGE).any()):
            raise QueryError(f"wanted {count} numbers of at most {LARGE:g} in each column")
    labels: Mapping[str, Any] = found["labels"]
    for texts, numbers in labels.values():
        if len(numbers) != count or (numbers and max(numbers) >= len(texts)):
            raise QueryError(f"wanted a label for each of {count} candidates")
    if "vectors" in found and found["vectors"][0] * count != len(found["vectors"][1]):
        raise QueryError(f"wanted a vector for each of {count} candidates")
    return found


APool = Annotated[PoolAnswer, AfterValidator(_pool)]


# -- what a session answers --------------------------------------------------------------------------------------------


class NoteShape(TypedDict):
    """A note."""

    code: Said
    cause: Said
    cure: Said
    tier: Said


def _counts(found: tuple[int, dict[str, int], float]) -> tuple[int, dict[str, int], float]:
    if found[1] and max(found[1].values()) > found[0]:
        raise QueryError(f"wanted terms that at most all {found[0]} entries hold")
    if not 0 <= found[2] <= LARGE:
        raise QueryError("wanted a k1 of 0 or more")
    return found


class RecalledAnswer(TypedDict):
    """What a tier found for a query; see `septet.tiers.protocol.Recalled`."""

    pool: APool
    matches: Count
    with_vectors: bool
    mismatch: Said | None
    memories: Many[ACandidate]
    counts: Annotated[tuple[Count, dict[str, Count], Finite], AfterValidator(_counts)] | None
    notes: Many[NoteShape]
    more: Count
    guesses: dict[str, Many[tuple[str, Count, Count]]]
    whole: Count | None
    step: Count | None


class NeighboursAnswer(TypedDict):
    """What is near over links."""

    known: Steps
    pool: APool
    steps: Steps


class OverridesAnswer(TypedDict):
    """What a tier holds of lower ones."""

    ids: Many[str]
    pool: APool


class InspectedAnswer(TypedDict):
    """How an entry fares."""

    candidate: ACandidate
    filters: dict[str, bool]
    legs: Many[tuple[str, bool, Count | None, Count, Count, Finite | None, Said]]


class LikenessAnswer(TypedDict):
    """What entries like one are compared with."""

    ids: Many[str]
    words: str
    document: str
    model: str | None
    vector: Annotated[Any, PlainValidator(_vector)] | None


Value = str | bool | int | Finite
#: The values of a field with their counts, and the numbers of `septet.listing.counting.Counted`.
CountedShape = tuple[Many[tuple[Value, Count]], Count, Count, Count, Count]


# -- what a vault answers ----------------------------------------------------------------------------------------------


class AboutAnswer(TypedDict):
    """Whether the server embeds queries."""

    embeds: bool
    embeds_now: bool


class PartAnswer(TypedDict):
    """Some hundred entries, and the last row of all."""

    entries: Many[ACandidate]
    last: Annotated[int, Field(ge=0, lt=1 << 63)]


def _mirror(found: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a listing, and unless it is known already the id and the limits of each entry.

    Raises:
        QueryError: there is not one of each.
    """
    if len(found) > 1:
        ids, begins, ends = (found.get(name, ()) for name in ("ids", "from", "until"))
        if not len(set(ids)) == len(ids) == len(begins) == len(ends):
            raise QueryError("wanted ids that differ, and as many times from and until which they are valid")
    return found


Limits = Annotated[Any, PlainValidator(_limits)]
_MIRROR = TypedDict(
    "_MIRROR",
    {"state": str, "ids": NotRequired[Many[str]], "from": NotRequired[Limits], "until": NotRequired[Limits]},
)
MirrorShape = Annotated[_MIRROR, AfterValidator(_mirror)]


def _telling(shape: Any) -> Any:
    """Return the type of an answer, or of why it has to be asked for anew."""

    class Told(TypedDict):
        answer: NotRequired[shape]
        again: NotRequired[Said]

    return Annotated[Told, AfterValidator(_told("answer"))]


def _told(*names: str) -> Callable[[Any], Any]:
    """Return what checks that there are fields, or why to ask anew."""

    def checked(found: Any) -> Any:
        if "again" not in found and (missing := [name for name in names if name not in found]):
            raise QueryError(f"wanted the field {missing[0]}")
        return found

    return checked


class OpenedAnswer(TypedDict, total=False):
    """A session that has begun, with what it recalled if that is asked for."""

    again: Said
    session: str
    generation: Count
    standing: tuple[dict[str, Count], bool]
    embeds: bool
    recalled: Many[RecalledAnswer]


_ANSWERS: Mapping[str, Any] = {
    "open": Annotated[OpenedAnswer, AfterValidator(_told("session", "generation", "standing"))],
    **{
        method: _telling(shape)
        for method, shape in {
            "close": bool,
            "ids": Many[str],
            "groups": Many[str],
            "neighbours": NeighboursAnswer,
            "overrides": OverridesAnswer,
            "read": Many[ACandidate],
            "inspect": InspectedAnswer | None,
            "numbers": Many[Column],
            "places": Many[tuple[str, Count, Count, str]],
            "vectors": tuple[str, Column | None],
            "likeness": LikenessAnswer | None,
            "facets": Many[CountedShape],
            "any_passing": Many[bool],
            "about": AboutAnswer,
            "feedback_counts": dict[str, Count],
            "held": Many[str],
            "holds": Many[str],
            "part": PartAnswer,
            "layouts": Many[tuple[str, Dimensions, Count]],
            "vectors_of": dict[str, Annotated[Any, PlainValidator(unpacked)]],
            "mirror": MirrorShape,
            "page": Many[tuple[ACandidate, list[Value | None]]],
            "counts": CountedShape,
            "number": Count,
        }.items()
    },
}


def shape_of(call: Mapping[str, Any]) -> Any:
    """Return the type of the answer to a call."""
    if call["method"] != "listed":
        return _ANSWERS[call["method"]]
    return _ANSWERS[next(name for name in ("page", "counts", "number") if name in call["asked"])]
