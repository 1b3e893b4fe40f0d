"""The other end of a remote tier: a session here, and what is asked of it over the wire."""

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
    counted_data,
    faceted_of,
    inspected_data,
    known_of,
    likeness_data,
    neighbours_data,
    overrides_data,
    recalled_data,
)
from septet.tiers.remote.packing import floats, wholes_of
from septet.tiers.remote.plans import filters_of

__all__ = ["answered", "recalled"]

#: So many ids, rows or paths one call names.
MOST_NAMED = 1_000_000
MOST_FACETS = 16


def recalled(session: ServedSession) -> list[dict[str, Any]]:
    """Return what the session found for each query, JSON-ready."""
    return [recalled_data(one, _facts(session, one.pool)) for one in session.recall()]


def answered(session: ServedSession, method: str, asked: Mapping[str, Any]) -> Any:
    """Return what a session answers to a call of a remote one, JSON-ready.

    Raises:
        QueryError: a call that no remote session makes.
        SeptetError: as the method of the session.
    """
    try:
        return _METHODS[method](session, asked)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as fault:
        if isinstance(fault, QueryError):
            raise
        raise QueryError(f"no call of a session: {type(fault).__name__}") from fault


def _facts(session: ServedSession, pool: Pool) -> Facts:
    """Return what a pool does not tell of its candidates."""
    labels = session.labels(pool.rows)
    if "vectors" not in session.plans[0].corpus_columns or "cosine" not in pool.columns:
        return labels, None
    _, found = session.vectors(0, pool.rows)
    return labels, None if found is None or np.isnan(found).all() else found.astype(np.float32)


def _rows(session: ServedSession, asked: Mapping[str, Any]) -> list[int]:
    """Return the rows that are asked for, all of which the vault has."""
    rows = wholes_of(asked["rows"])
    if len(rows) > MOST_NAMED or not session.holds(rows):
        raise QueryError("rows names what was not recalled")
    return rows


def _query(session: ServedSession, asked: Mapping[str, Any]) -> int:
    return whole(asked["query"], "query", QueryError, 0, len(session.plans) - 1)


def _id(asked: Mapping[str, Any]) -> str:
    return utf8(asked["id"], "id", QueryError)


def _neighbours(session: ServedSession, asked: Mapping[str, Any]) -> dict[str, Any]:
    known = known_of(asked["known"])
    anchors = [whole(at, "anchors", QueryError, 0, len(known) - 1) for at in asked["anchors"]]
    found = session.neighbours(_query(session, asked), anchors, known)
    return neighbours_data(found, _facts(session, found.pool))


def _overrides(session: ServedSession, asked: Mapping[str, Any]) -> dict[str, Any]:
    ids = listed(asked["ids"], "ids", QueryError, "a list of ids", MOST_NAMED, of=str)
    found = session.overrides(_query(session, asked), [utf8(one, "id", QueryError) for one in ids])
    return overrides_data(found, _facts(session, found.pool))


def _inspect(session: ServedSession, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    found = session.inspect(_id(asked))
    return None if found is None else inspected_data(found)


def _numbers(session: ServedSession, asked: Mapping[str, Any]) -> list[str]:
    paths = [[utf8(name, "a path", QueryError) for name in path] for path in asked["paths"]]
    return [floats(values) for values in session.numbers(_rows(session, asked), paths)]


def _vectors(session: ServedSession, asked: Mapping[str, Any]) -> list[Any]:
    model, found = session.vectors(_query(session, asked), _rows(session, asked))
    return [model, None if found is None else floats(found)]


def _likeness(session: ServedSession, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    model = asked["model"]
    found = session.likeness(_id(asked), None if model is None else utf8(model, "model", QueryError))
    return None if found is None else likeness_data(found)


def _facets(session: ServedSession, asked: Mapping[str, Any]) -> list[Any]:
    fields = faceted_of(asked["fields"])
    if len(fields) > MOST_FACETS:
        raise QueryError(f"facets names {len(fields)} fields: at most {MOST_FACETS} are taken")
    return [counted_data(one) for one in session.facets(_query(session, asked), fields)]


def _any_passing(session: ServedSession, asked: Mapping[str, Any]) -> list[bool]:
    given = listed(asked["filters"], "filters", QueryError, "a list of filters", MOST_NAMED)
    filters = filters_of({str(at): one for at, one in enumerate(given)})
    return [*session.any_passing([*filters.values()])]


_METHODS = {
    "ids": lambda session, asked: session.ids(_rows(session, asked)),
    "groups": lambda session, asked: session.groups(_rows(session, asked)),
    "neighbours": _neighbours,
    "overrides": _overrides,
    "read": lambda session, asked: [list(one) for one in session.read(_rows(session, asked))],
    "inspect": _inspect,
    "numbers": _numbers,
    "places": lambda session, asked: [list(one) for one in session.places(_rows(session, asked))],
    "vectors": _vectors,
    "likeness": _likeness,
    "facets": _facets,
    "any_passing": _any_passing,
}
