"""What a session answers as JSON-ready values, and back: the same candidates, with the same doubles in every column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import QueryError, VectorError
from septet.listing.counting import Counted
from septet.model.explanation import LegReport
from septet.model.results import Note
from septet.query.facets import Faceted
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import EMPTY, Pool
from septet.tiers.protocol import Inspected, Likeness, Neighbours, Overrides, Recalled
from septet.tiers.remote.packing import floats, singles, wholes, wholes_of
from septet.tiers.remote.shapes import (
    CountedShape,
    InspectedAnswer,
    LikenessAnswer,
    NeighboursAnswer,
    NoteShape,
    OverridesAnswer,
    PoolAnswer,
    RecalledAnswer,
)

__all__ = ["Facts", "counted_data", "counted_of", "faceted_data", "faceted_of", "inspected_data", "inspected_of"]
__all__ += ["known_data", "known_of", "likeness_data", "likeness_of", "neighbours_data", "neighbours_of", "note_of"]
__all__ += ["overrides_data", "overrides_of", "pool_data", "pool_of", "recalled_data", "recalled_of"]

#: What a pool has beside its columns: kind, severity and domain of each candidate, and its vectors ``(m, d)`` at unit
#: length, NaN where there is none; None where none are compared.
Facts = tuple[Mapping[str, Sequence[str]], "NDArray[np.float32] | None"]

#: Weights of full text where none is searched.
_NO_WEIGHTS = np.ones(5)
_FACTS = ("kind", "severity", "domain")


# -- candidates --------------------------------------------------------------------------------------------------------


def pool_data(pool: Pool, facts: Facts) -> dict[str, Any]:
    """Return candidates of one tier as a JSON-ready value, with what the pool does not tell of itself."""
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
    """Return the candidates that `pool_data` described, as those of the tier at a place."""
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
    """Return candidates with vectors: those of a corpus that holds nothing else, which fills no column that stays."""
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
    own, slots = np.ascontiguousarray(vectors[has]), np.flatnonzero(has).astype(np.int64)
    positions = np.full(m, -1, dtype=np.int32)
    positions[slots] = np.arange(len(slots), dtype=np.int32)
    # Of no row is a sample taken: it would fill columns that are there already.
    sample = _core.Sample((own, own[:0]), _core.row_keys(own), slots, np.zeros(m, dtype=bool), None)
    unit = np.zeros(d)
    unit[0] = 1.0
    pool = _core.Corpus(arrays, names).candidates_at(
        ("", (), 0, False, (unit, unit.astype(np.float32)), None, (), ()),
        np.arange(m, dtype=np.int64),
        tier=place,
        weights=_NO_WEIGHTS,
        columns={"cosine", "vectors"},
        space=(1, (own, own[:0]), slots, None, positions, sample),
    )
    return pool.with_columns(dict(columns))


def known_data(known: Pool) -> dict[str, Any]:
    """Return by what candidates of any tiers are known: place of the tier, row, and id."""
    return {"rows": wholes(known.rows), "tiers": wholes(known.tiers), "ids": known.ids}


def known_of(data: Mapping[str, Any]) -> Pool:
    """Return the candidates that `known_data` described."""
    rows, tiers = wholes_of(data["rows"]), wholes_of(data["tiers"])
    nothing = [""] * len(rows)
    pool = Pool(rows, tiers, dict.fromkeys(_FACTS, nothing), {})
    return pool if data["ids"] is None else pool.with_ids(data["ids"])


def _numbered(texts: Sequence[str]) -> list[Any]:
    """Return texts, most of which come often, as those that differ and the number of each."""
    number = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    return [list(number), [number[text] for text in texts]]


def _texts_of(texts: Sequence[str], numbers: Sequence[int]) -> list[str]:
    return [texts[at] for at in numbers]


# -- what a tier found -------------------------------------------------------------------------------------------------


def recalled_data(found: Recalled, facts: Facts) -> dict[str, Any]:
    """Return what a tier found for a query as a JSON-ready value."""
    counts = found.counts
    return {
        "pool": pool_data(found.pool, facts),
        "matches": found.matches,
        "with_vectors": found.with_vectors,
        "mismatch": None if found.mismatch is None else str(found.mismatch),
        "memories": [list(one) for one in found.memories],
        "counts": None if counts is None else [counts.entries, dict(counts.holding), counts.k1],
        "notes": [note.to_dict() for note in found.notes],
        "more": found.more,
        "guesses": {word: [list(one) for one in near] for word, near in found.guesses.items()},
        "whole": found.whole,
        "step": found.step,
    }


def recalled_of(data: RecalledAnswer, place: int) -> Recalled:
    """Return what `recalled_data` described."""
    counts, mismatch = data["counts"], data["mismatch"]
    return Recalled(
        pool_of(data["pool"], place),
        data["matches"],
        data["with_vectors"],
        None if mismatch is None else VectorError(mismatch),
        data["memories"],
        None if counts is None else TermCounts(*counts),
        [note_of(one) for one in data["notes"]],
        data["more"],
        MappingProxyType(data["guesses"]),
        data["whole"],
        data["step"],
    )


def note_of(data: NoteShape) -> Note:
    """Return the note that `Note.to_dict` described."""
    # A later version has more codes.
    code: Any = data["code"]
    return Note(code, data["cause"], data["cure"], data["tier"])


def neighbours_data(near: Neighbours, facts: Facts) -> dict[str, Any]:
    """Return what is near over links as a JSON-ready value."""
    return {"known": wholes(near.known), "pool": pool_data(near.pool, facts), "steps": wholes(near.steps)}


def neighbours_of(data: NeighboursAnswer, place: int) -> Neighbours:
    """Return what `neighbours_data` described."""
    return Neighbours(data["known"], pool_of(data["pool"], place), data["steps"])


def overrides_data(over: Overrides, facts: Facts) -> dict[str, Any]:
    """Return what a tier holds of lower ones as a JSON-ready value."""
    return {"ids": sorted(over.ids), "pool": pool_data(over.pool, facts)}


def overrides_of(data: OverridesAnswer, place: int) -> Overrides:
    """Return what `overrides_data` described."""
    return Overrides(frozenset(data["ids"]), pool_of(data["pool"], place))


# -- single entries ----------------------------------------------------------------------------------------------------


def inspected_data(found: Inspected) -> dict[str, Any]:
    """Return how an entry fares as a JSON-ready value."""
    legs = [[getattr(leg, name) for name in LegReport.__slots__] for leg in found.legs]
    return {"candidate": list(found.candidate), "filters": dict(found.filters), "legs": legs}


def inspected_of(data: InspectedAnswer) -> Inspected:
    """Return what `inspected_data` described."""
    return Inspected(data["candidate"], data["filters"], [LegReport(*leg) for leg in data["legs"]])


def likeness_data(found: Likeness) -> dict[str, Any]:
    """Return what entries like one are compared with as a JSON-ready value."""
    vector = None if found.vector is None else singles(found.vector)
    return {**found._asdict(), "ids": sorted(found.ids), "vector": vector}


def likeness_of(data: LikenessAnswer) -> Likeness:
    """Return what `likeness_data` described."""
    return Likeness(frozenset(data["ids"]), data["words"], data["document"], data["model"], data["vector"])


# -- facets ------------------------------------------------------------------------------------------------------------


def faceted_data(asked: Sequence[Faceted]) -> list[list[str | None]]:
    """Return what entries are counted by as a JSON-ready value."""
    return [[one.field, one.by] for one in asked]


def faceted_of(data: object) -> list[Faceted]:
    """Return what `faceted_data` described.

    Raises:
        QueryError: an unknown field.
    """
    if not isinstance(data, list):
        raise QueryError("facets is no list of fields")
    return [Faceted.of(field, by) for field, by in data]


def counted_data(counted: Counted) -> list[Any]:
    """Return the values of a field by number of entries as a JSON-ready value."""
    return [[list(one) for one in counted.values], *counted[1:]]


def counted_of(data: CountedShape, what: Faceted) -> Counted:
    """Return what `counted_data` described.

    Raises:
        QueryError: the values are none of the field.
    """
    values, *numbers = data
    if not what.field.startswith("attrs.") and not all(isinstance(value, str) for value, _ in values):
        raise QueryError(f"the values of {what.field} are no texts")
    return Counted(values, *numbers)
