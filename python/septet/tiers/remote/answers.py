"""Answers of a session as JSON-ready values and back; every column round-trips bit for bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import QueryError, VectorError
from septet.listing.queries import Counted
from septet.model.explanation import LegReport
from septet.notes import Note
from septet.query.facets import Faceted
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import EMPTY, Pool
from septet.tiers.protocol import Inspected, Likeness, Neighbours, Overrides, TierCandidates
from septet.tiers.remote.packing import floats, singles, wholes, wholes_of
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
    labels: dict[str, Sequence[str]] = {name: _texts_of(*facts[name]) for name in _FACTS}
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


def known_of(data: Mapping[str, Any]) -> Pool:
    """Return the candidates of `known_data`."""
    rows, tiers = wholes_of(data["rows"]), wholes_of(data["tiers"])
    nothing = [""] * len(rows)
    pool = Pool(rows, tiers, dict.fromkeys(_FACTS, nothing), {})
    return pool if data["ids"] is None else pool.with_ids(data["ids"])


def _numbered(texts: Sequence[str]) -> list[Any]:
    """Return the distinct texts and, for each text, its index among them."""
    number = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    return [list(number), [number[text] for text in texts]]


def _texts_of(texts: Sequence[str], numbers: Sequence[int]) -> list[str]:
    return [texts[at] for at in numbers]


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


def neighbours_data(near: Neighbours, facts: Facts) -> dict[str, Any]:
    """Return the neighbours over links as a JSON-ready value."""
    return {"known": wholes(near.known), "pool": pool_data(near.pool, facts), "steps": wholes(near.steps)}


def neighbours_of(data: NeighboursAnswer, place: int) -> Neighbours:
    """Return the neighbours of `neighbours_data`."""
    return Neighbours(data["known"], pool_of(data["pool"], place), data["steps"])


def overrides_data(over: Overrides, facts: Facts) -> dict[str, Any]:
    """Return the tier's entries that override those of lower tiers as a JSON-ready value."""
    return {"ids": sorted(over.ids), "pool": pool_data(over.pool, facts)}


def overrides_of(data: OverridesAnswer, place: int) -> Overrides:
    """Return the overrides of `overrides_data`."""
    return Overrides(frozenset(data["ids"]), pool_of(data["pool"], place))


# -- single entries ----------------------------------------------------------------------------------------------------


def inspected_data(inspected: Inspected) -> dict[str, Any]:
    """Return an inspected entry as a JSON-ready value."""
    legs = [[getattr(leg, name) for name in LegReport.__slots__] for leg in inspected.legs]
    return {"candidate": list(inspected.candidate), "filters": dict(inspected.filters), "legs": legs}


def inspected_of(data: InspectedAnswer) -> Inspected:
    """Return the inspected entry of `inspected_data`."""
    return Inspected(data["candidate"], data["filters"], [LegReport(*leg) for leg in data["legs"]])


def likeness_data(likeness: Likeness) -> dict[str, Any]:
    """Return the features that similar entries are searched by as a JSON-ready value."""
    vector = None if likeness.vector is None else singles(likeness.vector)
    return {**likeness._asdict(), "ids": sorted(likeness.ids), "vector": vector}


def likeness_of(data: LikenessAnswer) -> Likeness:
    """Return the features of `likeness_data`."""
    return Likeness(frozenset(data["ids"]), data["words"], data["document"], data["model"], data["vector"])


# -- facets ------------------------------------------------------------------------------------------------------------


def faceted_data(fields: Sequence[Faceted]) -> list[list[str | None]]:
    """Return facet fields as a JSON-ready value."""
    return [[item.field, item.by] for item in fields]


def faceted_of(data: object) -> list[Faceted]:
    """Return the facet fields of `faceted_data`.

    Raises:
        QueryError: an unknown field.
    """
    if not isinstance(data, list):
        raise QueryError("facets must be a list of fields")
    return [Faceted.of(field, by) for field, by in data]


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
