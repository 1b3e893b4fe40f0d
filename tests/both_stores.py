"""A vault on PostgreSQL with the same rows as a local one, and searches of both at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

from septet import SeptetError, Vault
from septet.model.results import Results
from septet.postgres.store.store import PostgresStore
from septet.postgres.tables import entries, feedback, links, vectors
from septet.postgres.tier.spaces import SpaceCache
from septet.postgres.tier.tier import PostgresTier
from septet.query.options import DEFAULTS
from septet.query.plan import make_plan
from septet.search.run import run
from septet.sqlite.tables import feedback as local_feedback
from septet.sqlite.tables import links as local_links
from septet.sqlite.tables import vectors as local_vectors
from septet.store.rows import EntryRow, GivenVectors, Keeping
from septet.tiers.protocol import Tier

__all__ = ["alike", "copied", "differences", "searched", "searched_many", "server_tier"]

NOTHING_KEPT = Keeping("copy", 0.0, 0)
#: Rows a transaction.
PAGE = 2_000
#: How far scores may lie apart.
EXACT = 1e-9


def copied(local: Vault, dsn: str, name: str) -> PostgresStore:
    """Return a store on a server with the entries, vectors, links and feedback of a local vault."""
    store = PostgresStore(dsn, name)
    with local._store.reading() as read:
        stored = f"SELECT {', '.join(EntryRow._fields[:-1])} FROM entries WHERE live ORDER BY row"
        rows = [EntryRow(*row, True) for row in read.sql.execute(stored)]
        given: dict[str, dict[str, Any]] = {}
        for entry_id, model, blob in local_vectors.given(read):
            given.setdefault(entry_id, {})[model] = np.frombuffer(blob, dtype="<f4")
        linked, judged = list(local_links.all_links(read)), list(local_feedback.all_rows(read))
    hashes = {row.id: row.text_hash for row in rows}
    for start in range(0, len(rows), PAGE):
        with store.writing() as write:
            page = rows[start : start + PAGE]
            entries.upsert(write, page, [], NOTHING_KEPT)
            own = [GivenVectors(row.id, hashes[row.id], given[row.id]) for row in page if row.id in given]
            vectors.put(write, own, one_per_entry=False, now=1.0)
    with store.writing() as write:
        links.put(write, linked)
        for row in judged:
            feedback.restore(write, row)
    # As the server does by itself, a little later.
    with psycopg.connect(dsn, autocommit=True) as sql:
        sql.execute("ANALYZE")
    return store


def server_tier(store: PostgresStore, name: str = "vault", priority: float = 1.0) -> PostgresTier:
    """Return a store as a tier."""
    return PostgresTier(name, priority, store, SpaceCache())


def searched_many(tiers: Sequence[Tier], queries: Sequence[str], now: float, **options: Any) -> list[Results] | str:
    """Return what tiers find for some queries together, or the error."""
    profile = options.pop("profile", "septet")
    try:
        first = make_plan(queries[0], now=now, profile=profile, options={**DEFAULTS, **options})
        vector = options.get("query_vector")
        plans = [first, *(first.of_query(query, vector, False) for query in queries[1:])]
        return run(tiers, plans)
    except SeptetError as fault:
        return str(fault)


def searched(tiers: Sequence[Tier], query: str, now: float, **options: Any) -> Results | str:
    """Return what tiers find, or the error."""
    found = searched_many(tiers, [query], now, **options)
    return found if isinstance(found, str) else found[0]


def alike(one: float | None, other: float | None) -> bool:
    """Whether two numbers are equal but for rounding."""
    return one == other if one is None or other is None else abs(one - other) <= EXACT


def differences(ours: Results | str, theirs: Results | str) -> list[str]:
    """Return in what two answers differ."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return [] if ours == theirs else [f"{ours} / {theirs}"]
    found = []
    if [hit.id for hit in ours] != [hit.id for hit in theirs]:
        found.append(f"ids {[hit.id for hit in ours][:10]} / {[hit.id for hit in theirs][:10]}")
    told = [(name, getattr(ours, name), getattr(theirs, name)) for name in ("total", "notes", "matched_by")]
    found += [f"{name} {one} / {other}" for name, one, other in told if one != other]
    if not alike(ours.confidence, theirs.confidence) or ours.weights.keys() != theirs.weights.keys():
        found.append(f"confidence {ours.confidence} / {theirs.confidence}")
    for hit, other in zip(ours, theirs):
        pairs = [(hit.score, other.score), (hit.confidence, other.confidence)]
        for name in ("breakdown", "signals"):
            values, others = getattr(hit, name), getattr(other, name)
            pairs += [(values[key], others[key]) for key in values] if values.keys() == others.keys() else [(0.0, 1.0)]
        if hit.entry != other.entry or not all(alike(*pair) for pair in pairs):
            found.append(f"{hit.id}: {hit.breakdown} {hit.signals} / {other.breakdown} {other.signals}")
    return found
