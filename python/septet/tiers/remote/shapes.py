"""Shapes: the types of a server's answers to the sessions and listings of a remote tier."""

# No `from __future__ import annotations`: pydantic reads the annotations as values.
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field, PlainValidator
from pydantic_core import from_json
from typing_extensions import NotRequired, TypedDict

from septet.errors import QueryError
from septet.inputs.checked import LARGE
from septet.ranking.pool import Candidate
from septet.tiers.remote.packing import floats_of, singles_of, unpacked, wholes_of
from septet.tiers.remote.received import Count, Finite, Many, Said

#: Maximum number of steps of a walk over links.
MOST_STEPS = 1_000
_FACTS = ("kind", "severity", "domain")
_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")


# -- numbers that travel as base64 -------------------------------------------------------------------------------------


def _numbers(read: Callable[[object], Any], *checks: tuple[Callable[[Any], Any], str]) -> PlainValidator:
    """Return a validator that reads numbers.

    Args:
        checks: each returns True for invalid numbers, with the message of the error.
    """

    def checked(text: object) -> Any:
        values = read(text)
        for fails, message in checks:
            if fails(values):
                raise QueryError(message)
        return values

    return PlainValidator(checked)


_NEGATIVE = (lambda values: min(values, default=0) < 0, "wanted numbers of 0 or more")
#: The length of vectors.
Dimensions = Annotated[int, Field(ge=1, le=65_536)]
Column = Annotated[
    Any, _numbers(floats_of, (lambda v: np.isinf(v).any(), "wanted finite numbers, or NaN for an unknown one"))
]
Components = Annotated[
    Any, _numbers(singles_of, (lambda v: (np.abs(v) > LARGE).any(), "wanted vectors of unit length, or NaN"))
]
Vector = Annotated[
    Any,
    _numbers(
        singles_of,
        (lambda v: not np.isfinite(v).all() or not v.any(), "wanted a vector of finite numbers that are not all zero"),
    ),
]
Limits = Annotated[
    Any, _numbers(floats_of, (lambda v: np.isnan(v).any(), "wanted times, infinite where there is no limit"))
]
Wholes = Annotated[Any, _numbers(wholes_of, _NEGATIVE)]
Steps = Annotated[
    Any,
    _numbers(wholes_of, _NEGATIVE, (lambda v: max(v, default=0) > MOST_STEPS, f"wanted at most {MOST_STEPS:,} steps")),
]


# -- candidates --------------------------------------------------------------------------------------------------------


def _candidate(candidate: Candidate) -> Candidate:
    """Return a candidate after checking that tags are a list of texts, attrs an object, and times finite."""
    tags, attrs = from_json(candidate.tags_json), from_json(candidate.attrs_json, allow_inf_nan=False)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise QueryError("wanted tags as a JSON list of texts")
    if not isinstance(attrs, dict):
        raise QueryError("wanted attrs as a JSON object")
    times = (candidate.created_at, candidate.updated_at, candidate.valid_from or 0.0, candidate.valid_until or 0.0)
    if not all(map(math.isfinite, times)) or not 0 <= candidate.row < 1 << 63:
        raise QueryError("wanted a row of 0 or more, and finite times")
    return candidate


ACandidate = Annotated[Candidate, AfterValidator(_candidate)]


class LabelsAnswer(TypedDict):
    """Facts of candidates: for each the distinct texts, and the index of each candidate's text."""

    kind: tuple[Many[str], Many[Count]]
    severity: tuple[Many[str], Many[Count]]
    domain: tuple[Many[str], Many[Count]]


class PoolAnswer(TypedDict):
    """Candidates; see `septet.tiers.remote.answers.pool_data`."""

    rows: Wholes
    ids: Many[str] | None
    columns: dict[str, Column]
    labels: LabelsAnswer
    vectors: NotRequired[tuple[Dimensions, Components]]


def _pool(pool: PoolAnswer) -> PoolAnswer:
    """Return a pool after checking it.

    Raises:
        QueryError: lengths differ, a row or an id is duplicate, or a number is too large.
    """
    count, ids = len(pool["rows"]), pool["ids"]
    if len(set(pool["rows"])) != count or (ids is not None and (len(ids) != count or len(set(ids)) != count)):
        raise QueryError(f"wanted {count} distinct rows, and as many ids")
    if count and not pool["columns"].keys() >= set(_TIMES):
        raise QueryError(f"wanted the columns {', '.join(_TIMES)}")
    for name, values in pool["columns"].items():
        if len(values) != count or (name not in _TIMES and (np.abs(values) > LARGE).any()):
            raise QueryError(f"wanted {count} numbers of at most {LARGE:g} in each column")
    labels: Mapping[str, Any] = pool["labels"]
    for texts, numbers in labels.values():
        if len(numbers) != count or (numbers and max(numbers) >= len(texts)):
            raise QueryError(f"wanted a label for each of {count} candidates")
    if "vectors" in pool and pool["vectors"][0] * count != len(pool["vectors"][1]):
        raise QueryError(f"wanted a vector for each of {count} candidates")
    return pool


APool = Annotated[PoolAnswer, AfterValidator(_pool)]


# -- answers of a session ----------------------------------------------------------------------------------------------


class NoteShape(TypedDict):
    """A note."""

    code: Said
    cause: Said
    cure: Said
    tier: Said


def _counts(counts: tuple[int, dict[str, int], float]) -> tuple[int, dict[str, int], float]:
    entries, holding, k1 = counts
    if holding and max(holding.values()) > entries:
        raise QueryError(f"wanted term counts of at most {entries}")
    if not 0 <= k1 <= LARGE:
        raise QueryError("wanted a k1 of 0 or more")
    return counts


class CandidatesAnswer(TypedDict):
    """The result of a query; see `septet.tiers.protocol.TierCandidates`."""

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
    """Neighbours over links."""

    known: Steps
    pool: APool
    steps: Steps


class OverridesAnswer(TypedDict):
    """Entries of a tier that override those of lower tiers."""

    ids: Many[str]
    pool: APool


class InspectedAnswer(TypedDict):
    """The inspection of an entry."""

    candidate: ACandidate
    filters: dict[str, bool]
    legs: Many[tuple[str, bool, Count | None, Count, Count, Finite | None, Said]]


class LikenessAnswer(TypedDict):
    """The features that similar entries are searched by."""

    ids: Many[str]
    words: str
    document: str
    model: str | None
    vector: Vector | None


Value = str | bool | int | Finite
#: The values of a field with their counts, and the numbers of `septet.listing.queries.Counted`.
CountedShape = tuple[Many[tuple[Value, Count]], Count, Count, Count, Count]


# -- answers of a vault ------------------------------------------------------------------------------------------------


class AboutAnswer(TypedDict):
    """The embedding state of the server."""

    embeds: bool
    embeds_now: bool


class PartAnswer(TypedDict):
    """A page of some hundred entries, and the last row of the vault."""

    entries: Many[ACandidate]
    last: Annotated[int, Field(ge=0, lt=1 << 63)]


def _mirror(mirror: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a listing, with the id and validity of each entry unless the client knows them.

    Raises:
        QueryError: the lengths differ, or an id is duplicate.
    """
    if len(mirror) > 1:
        ids, begins, ends = (mirror.get(name, ()) for name in ("ids", "from", "until"))
        if not len(set(ids)) == len(ids) == len(begins) == len(ends):
            raise QueryError("wanted distinct ids, and as many times from and until")
    return mirror


_MIRROR = TypedDict(
    "_MIRROR",
    {"state": str, "ids": NotRequired[Many[str]], "from": NotRequired[Limits], "until": NotRequired[Limits]},
)
MirrorShape = Annotated[_MIRROR, AfterValidator(_mirror)]


def _or_again(shape: Any) -> Any:
    """Return the type of an answer, or of the reason to start the search again."""

    class AnswerOrAgain(TypedDict):
        answer: NotRequired[shape]
        again: NotRequired[Said]

    return Annotated[AnswerOrAgain, AfterValidator(_requires("answer"))]


def _requires(*names: str) -> Callable[[Any], Any]:
    """Return a validator of required fields, unless the answer is a reason to start again."""

    def checked(answer: Any) -> Any:
        if "again" not in answer and (missing := [name for name in names if name not in answer]):
            raise QueryError(f"wanted the field {missing[0]}")
        return answer

    return checked


class OpenedAnswer(TypedDict, total=False):
    """A new session, with its candidates if requested."""

    again: Said
    session: str
    generation: Count
    standing: tuple[dict[str, Count], bool]
    embeds: bool
    recalled: Many[CandidatesAnswer]


_ANSWERS: Mapping[str, Any] = {
    "open": Annotated[OpenedAnswer, AfterValidator(_requires("session", "generation", "standing"))],
    **{
        method: _or_again(shape)
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
