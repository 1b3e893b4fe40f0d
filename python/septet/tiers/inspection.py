"""How one entry of a local store fares in a search: its place in each leg."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from septet import _core
from septet.explanation import LegReport
from septet.profiles.plan import MEMORY, Plan
from septet.ranking.pool import Candidate
from septet.storage import fulltext
from septet.storage.filters import conditions
from septet.tiers.moment import Moment

__all__ = ["filters_passed", "legs_of"]


def filters_passed(moment: Moment, candidate: Candidate) -> dict[str, bool]:
    """Return every filter of the search by name, and whether the entry passes it."""
    named = conditions(moment.plan, memories=_as_memory(moment, candidate))
    sql = ", ".join(f"coalesce(({c.sql}), 0)" for c in named.values())
    values = [v for c in named.values() for v in c.parameters]
    passed = moment.read.sql.execute(
        f"SELECT {sql} FROM entries e WHERE e.row = ?", (*values, candidate.row)
    ).fetchone()
    return {name: bool(ok) for name, ok in zip(named, passed) if name != "live"}


def legs_of(moment: Moment, candidate: Candidate, filters: Mapping[str, bool]) -> list[LegReport]:
    """Return the entry's place in every leg that the search asks."""
    passes = all(filters.values())
    if _as_memory(moment, candidate):
        return [_memory_place(moment, candidate, passes)]
    legs = []
    if "text" in moment.plan.legs:
        legs.append(_text_place(moment, candidate, passes))
    if moment.plan.asks_vectors:
        legs.append(_vector_place(moment, candidate, passes))
    return legs


def _as_memory(moment: Moment, candidate: Candidate) -> bool:
    return moment.plan.include_memories and candidate.kind == MEMORY


def _text_place(moment: Moment, candidate: Candidate, passes: bool) -> LegReport:
    plan, read = moment.plan, moment.read
    if not plan.query.terms:
        return LegReport("text", False, None, 0, plan.taken, None, "no term is left of the query")
    rank, of, score = fulltext.place(read, plan, candidate.row)
    asked = list(dict.fromkeys(plan.query.terms))
    hit = [t for t in asked if fulltext.score_rows(read, _one_term(moment, t), [candidate.row])]
    detail = f"matches {', '.join(hit)}" if hit else f"holds none of {', '.join(asked)}"
    taken = fulltext.taken(plan, of)
    return LegReport("text", rank is not None, rank if passes else None, of, taken, score, detail)


def _one_term(moment: Moment, term: str) -> Plan:
    return moment.plan._replace(query=moment.plan.query._replace(terms=(term,)))


def _memory_place(moment: Moment, candidate: Candidate, passes: bool) -> LegReport:
    plan = moment.plan
    rows = fulltext.recall_memories(moment.read, plan, -1) if plan.asks_text else []
    rank = rows.index(candidate.row) + 1 if candidate.row in rows and passes else None
    detail = "memories have a fixed score" if rank else f"holds none of {', '.join(dict.fromkeys(plan.query.terms))}"
    return LegReport("memories", rank is not None, rank, len(rows), plan.taken, None, detail)


def _vector_place(moment: Moment, candidate: Candidate, passes: bool) -> LegReport:
    vectors, plan = moment.vectors, moment.plan
    if vectors is None or plan.vector is None or moment.space is None:
        cause = "the vault holds no vectors" if moment.mismatch is None else str(moment.mismatch)
        return LegReport("vector", False, None, 0, plan.taken, None, cause)
    allowed = moment.rows_allowed
    of = len(vectors.slots) if allowed is None else int(np.count_nonzero(allowed))
    at = vectors.at(moment.snapshot.slots_of([candidate.row]))
    if at[0] < 0:
        return LegReport("vector", False, None, of, plan.taken, None, f"no vector of model {moment.space.model!r}")
    own = float(_core.cosine_at(plan.vector.exact, vectors.rows, at)[0])
    order, _ = vectors.nearest(plan.vector.scan, of, allowed)
    place = np.flatnonzero(order == at[0])
    rank = int(place[0]) + 1 if len(place) and passes else None
    return LegReport("vector", True, rank, of, plan.taken, own, f"cosine {own:.4f}")
