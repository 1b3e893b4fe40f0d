"""Answers of a session as JSON-ready values and back, and a server's answers to calls; columns are exact to the bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import QueryError, VectorError
from septet.inputs.arguments import listed, utf8, whole
from septet.listing.queries import Counted
from septet.model.explanation import LegReport
from septet.notes import Note
from septet.query.facets import Faceted
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import EMPTY, Pool
from septet.tiers.protocol import Inspected, Likeness, Neighbours, Overrides, ServedSession, TierCandidates
from septet.tiers.remote.packing import floats, singles, wholes, wholes_of
from septet.tiers.remote.plans import filters_of
from septet.tiers.remote.shapes import (
    CandidatesAnswer,
    CountedShape,
    InspectedAnswer,
    LikenessAnswer,
    NeighboursAnswer,
    NoteShape,
    OverridesAnswer,
    PoolAnswer,
)

#: Facts that the columns of a pool lack: kind, severity and domain of each candidate, and its vectors ``(m, d)`` at
#: unit length, NaN for a candidate without; None if no vectors are compared.
Facts = tuple[Mapping[str, Sequence[str]], "NDArray[np.float32] | None"]

#: Full-text weights of a corpus without full text.
_NO_WEIGHTS = np.ones(5)
_FACTS = ("kind", "severity", "domain")


# -- candidates --------------------------------------------------------------------------------------------------------


def pool_data(pool: Pool, facts: Facts) -> dict[str, Any]:
    """Return candidates of one tier as a JSON-ready value, with the facts that the pool lacks."""
    labels, vectors = facts
    out: dict[str, Any] = {
        "rows": wholes(pool.rows),
        "ids": pool.ids,
        "columns": {name: floats(values) for name, values in pool.columns.items()},
        "labels": {name: _numbered(labels[name]) for name in _FACTS},
    }
    if vectors is not None:
        out["vectors"] = [vectors.shape[1], singles(vectors)]
    return out


def pool_of(data: PoolAnswer, place: int) -> Pool:
    """Return the candidates of `pool_data` as candidates of the tier at ``place``."""
    rows, columns = data["rows"], data["columns"]
    if not rows:
        return EMPTY
    facts: Mapping[str, Any] = data["labels"]
    labels: dict[str, Sequence[str]] = {
        name: [texts[at] for at in numbers] for name, (texts, numbers) in ((name, facts[name]) for name in _FACTS)
    }
    if "vectors" in data:
        dimensions, values = data["vectors"]
        pool = _with_vectors(rows, labels, columns, values.reshape(len(rows), dimensions), place)
    else:
        pool = Pool(rows, [place] * len(rows), labels, columns)
    return pool if data["ids"] is None else pool.with_ids(data["ids"])


def _with_vectors(
    rows: Sequence[int],
    labels: Mapping[str, Sequence[str]],
    columns: Mapping[str, NDArray[np.float64]],
    vectors: NDArray[np.float32],
    place: int,
) -> Pool:
    """Return candidates with vectors; a temporary corpus holds the vectors."""
    m, d = len(rows), vectors.shape[1]
    names = _core.NameTable()
    texts = list(dict.fromkeys(text for name in _FACTS for text in labels[name]))
    names.extend(texts)
    number = {text: at for at, text in enumerate(texts)}
    arrays: dict[str, NDArray[Any]] = {"rows": np.array(rows, dtype=np.int64)}
    for name in ("created_at", "updated_at", "valid_from", "valid_until"):
        arrays[name] = np.array(columns[name])
    for name in _FACTS:
        arrays[name] = np.array([number[text] for text in labels[name]], dtype=np.int32)
    for array in arrays.values():
        array.flags.writeable = False
    has = ~np.isnan(vectors[:, 0])
    stored, slots = np.ascontiguousarray(vectors[has]), np.flatnonzero(has).astype(np.int64)
    positions = np.full(m, -1, dtype=np.int32)
    positions[slots] = np.arange(len(slots), dtype=np.int32)
    # No row is sampled: the sample would fill columns that exist.
    sample = _core.Sample((stored, stored[:0]), _core.row_keys(stored), slots, np.zeros(m, dtype=bool), None)
    unit = np.zeros(d)
    unit[0] = 1.0
    pool = _core.Corpus(arrays, names).candidates_at(
        ("", (), 0, False, (unit, unit.astype(np.float32)), None, (), ()),
        np.arange(m, dtype=np.int64),
        tier=place,
        weights=_NO_WEIGHTS,
        columns={"cosine", "vectors"},
        space=(1, (stored, stored[:0]), slots, None, positions, sample),
    )
    return pool.with_columns(dict(columns))


def known_data(known: Pool) -> dict[str, Any]:
    """Return the keys of candidates of any tiers: place of the tier, row, and id."""
    return {"rows": wholes(known.rows), "tiers": wholes(known.tiers), "ids": known.ids}


def _numbered(texts: Sequence[str]) -> list[Any]:
    """Return the distinct texts and, for each text, its index among them."""
    number = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    return [list(number), [number[text] for text in texts]]


# -- results of a session ----------------------------------------------------------------------------------------------


def candidates_data(result: TierCandidates, facts: Facts) -> dict[str, Any]:
    """Return the result of a query as a JSON-ready value."""
    counts = result.counts
    return {
        "pool": pool_data(result.pool, facts),
        "matches": result.matches,
        "with_vectors": result.with_vectors,
        "mismatch": None if result.mismatch is None else str(result.mismatch),
        "memories": [list(values) for values in result.memories],
        "counts": None if counts is None else [counts.entries, dict(counts.holding), counts.k1],
        "notes": [note.to_dict() for note in result.notes],
        "more": result.more,
        "guesses": {word: [list(values) for values in near] for word, near in result.guesses.items()},
        "whole": result.whole,
        "step": result.step,
    }


def candidates_of(data: CandidatesAnswer, place: int) -> TierCandidates:
    """Return the result of `candidates_data`."""
    counts, mismatch = data["counts"], data["mismatch"]
    return TierCandidates(
        pool_of(data["pool"], place),
        data["matches"],
        data["with_vectors"],
        None if mismatch is None else VectorError(mismatch),
        data["memories"],
        None if counts is None else TermCounts(*counts),
        [note_of(note) for note in data["notes"]],
        data["more"],
        MappingProxyType(data["guesses"]),
        data["whole"],
        data["step"],
    )


def note_of(data: NoteShape) -> Note:
    """Return the note of `Note.to_dict`."""
    # A newer server may send codes unknown here.
    code: Any = data["code"]
    return Note(code, data["cause"], data["cure"], data["tier"])


def neighbours_of(data: NeighboursAnswer, place: int) -> Neighbours:
    """Return the neighbours over links."""
    return Neighbours(data["known"], pool_of(data["pool"], place), data["steps"])


def overrides_of(data: OverridesAnswer, place: int) -> Overrides:
    """Return the tier's entries that override those of lower tiers."""
    return Overrides(frozenset(data["ids"]), pool_of(data["pool"], place))


# -- single entries ----------------------------------------------------------------------------------------------------


def inspected_of(data: InspectedAnswer) -> Inspected:
    """Return the inspected entry."""
    return Inspected(data["candidate"], data["filters"], [LegReport(*leg) for leg in data["legs"]])


def likeness_of(data: LikenessAnswer) -> Likeness:
    """Return the features that similar entries are searched by."""
    return Likeness(frozenset(data["ids"]), data["words"], data["document"], data["model"], data["vector"])


# -- facets ------------------------------------------------------------------------------------------------------------


def faceted_data(fields: Sequence[Faceted]) -> list[list[str | None]]:
    """Return facet fields as a JSON-ready value."""
    return [[item.field, item.by] for item in fields]


def counted_data(counted: Counted) -> list[Any]:
    """Return the counts of a field's values as a JSON-ready value."""
    return [[list(value) for value in counted.values], *counted[1:]]


def counted_of(data: CountedShape, facet: Faceted) -> Counted:
    """Return the counts of `counted_data`.

    Raises:
        QueryError: the values do not fit the field.
    """
    values, *numbers = data
    if not facet.field.startswith("attrs.") and not all(isinstance(value, str) for value, _ in values):
        raise QueryError(f"the values of {facet.field} must be strings")
    return Counted(values, *numbers)


# -- calls of a remote session, answered by a local one ----------------------------------------------------------------

#: Maximum number of ids, rows or paths per call.
MOST_NAMED = 1_000_000
MOST_FACETS = 16


def candidates(session: ServedSession) -> list[dict[str, Any]]:
    """Return the result of each query of a served session as a JSON-ready value."""
    return [candidates_data(result, _facts(session, result.pool)) for result in session.candidates()]


def answered(session: ServedSession, method: str, call: Mapping[str, Any]) -> Any:
    """Return the answer of a session to a call of a remote one as a JSON-ready value.

    Raises:
        QueryError: an unknown or invalid call.
        SeptetError: as the method of the session.
    """
    try:
        return _METHODS[method](session, call)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as fault:
        if isinstance(fault, QueryError):
            raise
        raise QueryError(f"invalid call of a session: {type(fault).__name__}") from fault


def _facts(session: ServedSession, pool: Pool) -> Facts:
    """Return the facts of candidates that the pool lacks."""
    labels = session.labels(pool.rows)
    if "vectors" not in session.plans[0].corpus_columns or "cosine" not in pool.columns:
        return labels, None
    _, vectors = session.vectors(0, pool.rows)
    return labels, None if vectors is None or np.isnan(vectors).all() else vectors.astype(np.float32)


def _rows(session: ServedSession, call: Mapping[str, Any]) -> list[int]:
    """Return the rows of a call; all of them exist in the vault."""
    rows = wholes_of(call["rows"])
    if len(rows) > MOST_NAMED or not session.holds(rows):
        raise QueryError("rows contains rows that are no candidates")
    return rows


def _query(session: ServedSession, call: Mapping[str, Any]) -> int:
    return whole(call["query"], "query", QueryError, 0, len(session.plans) - 1)


def _id(call: Mapping[str, Any]) -> str:
    return utf8(call["id"], "id", QueryError)


def _neighbours(session: ServedSession, call: Mapping[str, Any]) -> dict[str, Any]:
    keys = call["known"]
    rows, tiers = wholes_of(keys["rows"]), wholes_of(keys["tiers"])
    known = Pool(rows, tiers, dict.fromkeys(_FACTS, [""] * len(rows)), {})
    known = known if keys["ids"] is None else known.with_ids(keys["ids"])
    anchors = [whole(at, "anchors", QueryError, 0, len(known) - 1) for at in call["anchors"]]
    near = session.neighbours(_query(session, call), anchors, known)
    pool = pool_data(near.pool, _facts(session, near.pool))
    return {"known": wholes(near.known), "pool": pool, "steps": wholes(near.steps)}


def _overrides(session: ServedSession, call: Mapping[str, Any]) -> dict[str, Any]:
    ids = listed(call["ids"], "ids", QueryError, "a list of ids", MOST_NAMED, of=str)
    overrides = session.overrides(_query(session, call), [utf8(id_, "id", QueryError) for id_ in ids])
    return {"ids": sorted(overrides.ids), "pool": pool_data(overrides.pool, _facts(session, overrides.pool))}


def _inspect(session: ServedSession, call: Mapping[str, Any]) -> dict[str, Any] | None:
    inspected = session.inspect(_id(call))
    if inspected is None:
        return None
    legs = [[getattr(leg, name) for name in LegReport.__slots__] for leg in inspected.legs]
    return {"candidate": list(inspected.candidate), "filters": dict(inspected.filters), "legs": legs}


def _numbers(session: ServedSession, call: Mapping[str, Any]) -> list[str]:
    paths = [[utf8(name, "a path", QueryError) for name in path] for path in call["paths"]]
    return [floats(values) for values in session.numbers(_rows(session, call), paths)]


def _vectors(session: ServedSession, call: Mapping[str, Any]) -> list[Any]:
    model, vectors = session.vectors(_query(session, call), _rows(session, call))
    return [model, None if vectors is None else floats(vectors)]


def _likeness(session: ServedSession, call: Mapping[str, Any]) -> dict[str, Any] | None:
    model = call["model"]
    likeness = session.likeness(_id(call), None if model is None else utf8(model, "model", QueryError))
    if likeness is None:
        return None
    vector = None if likeness.vector is None else singles(likeness.vector)
    return {**likeness._asdict(), "ids": sorted(likeness.ids), "vector": vector}


def _facets(session: ServedSession, call: Mapping[str, Any]) -> list[Any]:
    if not isinstance(call["fields"], list):
        raise QueryError("facets must be a list of fields")
    fields = [Faceted.of(field, by) for field, by in call["fields"]]
    if len(fields) > MOST_FACETS:
        raise QueryError(f"facets names {len(fields)} fields, more than {MOST_FACETS}")
    return [counted_data(counted) for counted in session.facets(_query(session, call), fields)]


def _any_passing(session: ServedSession, call: Mapping[str, Any]) -> list[bool]:
    items = listed(call["filters"], "filters", QueryError, "a list of filters", MOST_NAMED)
    filters = filters_of({str(at): item for at, item in enumerate(items)})
    return [*session.any_passing([*filters.values()])]


_METHODS = {
    "ids": lambda session, call: session.ids(_rows(session, call)),
    "groups": lambda session, call: session.groups(_rows(session, call)),
    "neighbours": _neighbours,
    "overrides": _overrides,
    "read": lambda session, call: [list(row) for row in session.read(_rows(session, call))],
    "inspect": _inspect,
    "numbers": _numbers,
    "places": lambda session, call: [list(place) for place in session.places(_rows(session, call))],
    "vectors": _vectors,
    "likeness": _likeness,
    "facets": _facets,
    "any_passing": _any_passing,
}
