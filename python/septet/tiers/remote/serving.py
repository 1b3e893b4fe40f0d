"""The server's end of a remote tier: a local session, and the calls of the remote one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from septet.errors import QueryError
from septet.inputs.arguments import listed, utf8, whole
from septet.ranking.pool import Pool
from septet.tiers.protocol import ServedSession
from septet.tiers.remote.answers import (
    Facts,
    candidates_data,
    counted_data,
    faceted_of,
    inspected_data,
    known_of,
    likeness_data,
    neighbours_data,
    overrides_data,
)
from septet.tiers.remote.packing import floats, wholes_of
from septet.tiers.remote.plans import filters_of

#: Maximum number of ids, rows or paths per call.
MOST_NAMED = 1_000_000
MOST_FACETS = 16


def candidates(session: ServedSession) -> list[dict[str, Any]]:
    """Return the result of each query as a JSON-ready value."""
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
    known = known_of(call["known"])
    anchors = [whole(at, "anchors", QueryError, 0, len(known) - 1) for at in call["anchors"]]
    near = session.neighbours(_query(session, call), anchors, known)
    return neighbours_data(near, _facts(session, near.pool))


def _overrides(session: ServedSession, call: Mapping[str, Any]) -> dict[str, Any]:
    ids = listed(call["ids"], "ids", QueryError, "a list of ids", MOST_NAMED, of=str)
    overrides = session.overrides(_query(session, call), [utf8(id_, "id", QueryError) for id_ in ids])
    return overrides_data(overrides, _facts(session, overrides.pool))


def _inspect(session: ServedSession, call: Mapping[str, Any]) -> dict[str, Any] | None:
    inspected = session.inspect(_id(call))
    return None if inspected is None else inspected_data(inspected)


def _numbers(session: ServedSession, call: Mapping[str, Any]) -> list[str]:
    paths = [[utf8(name, "a path", QueryError) for name in path] for path in call["paths"]]
    return [floats(values) for values in session.numbers(_rows(session, call), paths)]


def _vectors(session: ServedSession, call: Mapping[str, Any]) -> list[Any]:
    model, vectors = session.vectors(_query(session, call), _rows(session, call))
    return [model, None if vectors is None else floats(vectors)]


def _likeness(session: ServedSession, call: Mapping[str, Any]) -> dict[str, Any] | None:
    model = call["model"]
    likeness = session.likeness(_id(call), None if model is None else utf8(model, "model", QueryError))
    return None if likeness is None else likeness_data(likeness)


def _facets(session: ServedSession, call: Mapping[str, Any]) -> list[Any]:
    fields = faceted_of(call["fields"])
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
