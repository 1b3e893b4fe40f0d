"""Merge what tiers answered: candidates in one pool, entries linked to the best of them, and facets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from septet._core import Ranking
from septet.notes import Note
from septet.query.plan import SearchPlan
from septet.ranking.bm25_scale import factors
from septet.ranking.pool import EMPTY, Pool, role_of, values_by_role
from septet.ranking.score import best_of, rank
from septet.search.federated import FederatedSearch
from septet.tiers.protocol import Neighbours

if TYPE_CHECKING:
    from septet.model.pages import Facets
    from septet.ranking.pool import Candidate

#: Roles of messages that are no person's.
_PROGRAMS = frozenset({"developer", "function", "system", "tool"})


def merged(search: FederatedSearch, query: int, pools: Sequence[Pool]) -> Pool:
    """Merge the pools of the answering tiers: scores on one scale, and one candidate per id, the highest tier's.

    A higher tier's copy replaces a lower one's even if no leg matched it; if it fails the filters, both are dropped.
    """
    if len(pools) < 2:
        return pools[0]
    scales = _scales(search, query)
    scaled = [_scaled(scales, i, pool) for i, pool in enumerate(pools)]
    for i, answer in enumerate(search.answers[:-1]):
        ids = set(scaled[i].ids or ())
        lower = [c for pool in scaled[i + 1 :] for c in pool.ids or () if c not in ids]
        if not lower:
            continue
        over = search.or_degrade(answer.place, partial(answer.session.overrides, query, lower), None)
        if over is not None and over.ids:
            scaled[i] = Pool.united([scaled[i], _scaled(scales, i, over.pool)])
            scaled[i + 1 :] = [
                pool.at([n for n, c in enumerate(pool.ids or ()) if c not in over.ids]) for pool in scaled[i + 1 :]
            ]
    return Pool.united(scaled)


def _scales(search: FederatedSearch, query: int) -> Sequence[float] | None:
    """Return the factor of each answering tier that puts its BM25 on the common scale; None without one."""
    counts = [answer.candidates[query].counts for answer in search.answers]
    reported = [c for c in counts if c is not None]
    if len(reported) < len(counts):
        return None
    query_terms = search.plans[query].query.terms
    if search.plans[query].query.begun:
        # Each tier has its own words with the prefix.
        query_terms = tuple(dict.fromkeys([*query_terms, *(term for tier in reported for term in tier.holding)]))
    return factors(reported, query_terms)


def _scaled(scales: Sequence[float] | None, tier: int, pool: Pool) -> Pool:
    columns = {} if scales is None else pool.columns
    if scales is None or "bm25" not in columns:
        return pool
    return pool.with_columns({"bm25": columns["bm25"] * scales[tier], "bm25_given": columns["bm25"]})


def completed(search: FederatedSearch, pool: Pool, plan: SearchPlan) -> Pool:
    """Return the candidates with the columns and the tie order of a profile that `asks_store`."""
    profile = plan.profile
    if profile.reads_entries:
        pool = _with_entries(search, pool, plan)
    if profile.cuts.ties == "path":
        pool = _by_path(search, pool)
    return _with_attrs(search, pool, profile.attrs_columns) if profile.attrs_columns else pool


def _with_attrs(search: FederatedSearch, pool: Pool, paths: Mapping[str, Sequence[str]]) -> Pool:
    """Return the candidates with a column for each path into attrs, read by one query per tier; NaN where unknown."""
    tiers, rows = np.array(pool.tiers, dtype=np.int64), np.array(pool.rows, dtype=np.int64)
    values = np.full((len(paths), len(rows)), np.nan)
    for answer in search.answers:
        positions = np.flatnonzero(tiers == answer.place)
        if len(positions):
            ask = partial(answer.session.numbers, rows[positions].tolist(), list(paths.values()))
            columns = search.or_degrade(answer.place, ask, None)
            if columns is not None:
                values[:, positions] = columns
    return pool.with_columns(dict(zip(paths, values)))


def _with_entries(search: FederatedSearch, pool: Pool, plan: SearchPlan) -> Pool:
    """Return the candidates with the columns that are read from entries, NaN where a tier does not answer.

    ``role`` is the value of ``attrs.role``, unknown if the query asks for a summary, and its square if it asks for the
    order in which things were brought up. ``instruction`` is 1 for a standing instruction, for requests only. ``span``
    is 1 for entries of the time that the query names, if there are any. Where messages are compared
    (`septet.search.turns`), ``said_at`` is the time of an entry, ``speaker`` the value of its role, and ``turn`` the
    number of its conversation for a message of a person, whose role has no value.
    """
    # Imported here: most profiles read no entries.
    from septet.query.conversation import is_instruction, is_listing, is_request, is_summary
    from septet.query.times import asked_order, asked_spans

    text, asks = plan.query.text, plan.profile.text.conversation
    speakers = values_by_role(plan.profile.facts.roles)
    wants_help, sums_up = asks and is_request(text), asks and is_summary(text)
    roles = {} if sums_up else speakers
    if not sums_up and asks and is_listing(text):
        roles = {role: value * value for role, value in speakers.items()}
    spans = asked_spans(text, plan.now) if asks and "span" in plan.profile.columns else []
    compares = sums_up or (asks and asked_order(text) is not None)
    wanted = {"role": True, "instruction": wants_help, "span": spans, "said_at": spans or compares, "speaker": compares}
    columns = {name: np.full(len(pool), np.nan) for name, is_wanted in wanted.items() if is_wanted}
    tiers, rows = np.array(pool.tiers, dtype=np.int64), np.array(pool.rows, dtype=np.int64)
    for answer in search.answers:
        positions = np.flatnonzero(tiers == answer.place)
        ask = partial(answer.session.read, rows[positions].tolist())
        entries = search.or_degrade(answer.place, ask, None) if len(positions) else None
        if entries is None:
            continue
        # Messages share few attrs.
        names = {attrs: role_of(attrs) for attrs in {entry.attrs_json for entry in entries}}
        values = {attrs: roles.get(name, np.nan) for attrs, name in names.items()}
        columns["role"][positions] = [values[entry.attrs_json] for entry in entries]
        people = {attrs for attrs, name in names.items() if name and name not in speakers and name not in _PROGRAMS}
        if asks and people:
            for name in ("turn", "said_at"):
                columns.setdefault(name, np.full(len(pool), np.nan))
            columns["turn"][positions] = _conversations(entries, people)
        if compares:
            columns["speaker"][positions] = [speakers.get(names[entry.attrs_json], np.nan) for entry in entries]
        if wants_help:
            # Instructions are of the role that counts most; others answer.
            most = max(roles.values(), default=0.0)
            columns["instruction"][positions] = [
                not values[entry.attrs_json] < most and is_instruction(entry.description) for entry in entries
            ]
        if "said_at" in columns:
            columns["said_at"][positions] = [_said_at(entry) for entry in entries]
        if spans:
            dates = [span.names for span in spans if span.names is not None]
            columns["span"][positions] = [
                any(date.search(entry.description or entry.title) is not None for date in dates) for entry in entries
            ]
    if spans:
        from septet.query.spans import inside

        said_then = inside(spans, columns["said_at"])
        # A date that is in texts alone is left to its words.
        columns["span"] = np.maximum(columns["span"], said_then) if said_then.any() else np.full(len(pool), np.nan)
    return pool.with_columns(columns)


def _conversations(entries: Sequence[Candidate], people: Collection[str]) -> list[float]:
    """Return the number of each message's conversation, NaN for entries without the attrs of a person."""
    numbers: dict[tuple[str | None, ...], int] = {}
    return [
        numbers.setdefault((entry.domain, entry.source, entry.path), len(numbers))
        if entry.attrs_json in people
        else np.nan
        for entry in entries
    ]


def _said_at(entry: Candidate) -> float:
    return entry.created_at if entry.valid_from is None else entry.valid_from


def _by_path(search: FederatedSearch, pool: Pool) -> Pool:
    """Sort the candidates of each tier by path, line and id: ranking is stable, so ties keep this order."""
    tiers, rows = np.array(pool.tiers, dtype=np.int64), np.array(pool.rows, dtype=np.int64)
    order: list[int] = []
    for answer in search.answers:
        positions = np.flatnonzero(tiers == answer.place).tolist()
        ask = partial(answer.session.places, rows[positions].tolist())
        places = search.or_degrade(answer.place, ask, None) if positions else None
        order += positions if places is None else [position for _, position in sorted(zip(places, positions))]
    return pool.at(order)


def with_graph(search: FederatedSearch, query: int, first: Ranking, weights: Mapping[str, float]) -> Ranking:
    """Follow links from the best candidates of a first ranking, add the linked entries, and rank again."""
    plan = search.plans[query]
    at = _anchors(plan, first)
    if not at:
        return first
    known = first.pool
    near = [
        search.or_degrade(answer.place, partial(answer.session.neighbours, query, at, known), None)
        for answer in search.answers
    ]
    reached = [neighbours for neighbours in near if neighbours is not None]
    steps = [min((s for s in by_tier if s), default=0) for by_tier in zip(*(n.known for n in reached))] or [0] * len(
        known
    )
    pulled = merged(search, query, [EMPTY if neighbours is None else neighbours.pool for neighbours in near])
    pool = Pool.united([known, pulled])
    if len(near) == 1:
        steps += [step for neighbours in reached for step in neighbours.steps]
    elif len(pulled):
        steps += _steps_by_id(reached, pool.ids or ())[len(known) :]
    proximity = np.array((0.0, *plan.profile.graph.proximity))
    pool = pool.with_columns({"graph": proximity[steps]})
    # Ties keep the order of the first pass, with linked entries last.
    order = [*first.order.tolist(), *range(len(known), len(pool))]
    pool = pool.at(order)
    if plan.profile.asks_store:
        pool = completed(search, pool, plan)
    return rank(pool, plan.profile, weights, now=plan.now, domain=plan.domain, least=plan.min_score, taken=plan.taken())


def _anchors(plan: SearchPlan, first: Ranking) -> list[int]:
    """Return the positions of the best candidates whose words match, or of the best if no words were searched."""
    best = best_of(first, min(plan.profile.graph.anchors, len(first.pool)))
    if plan.asks_text and "semantic" in plan.profile.signals:
        best = [candidate for candidate in best if candidate.signals and (candidate.signals["semantic"] or 0) > 0]
    return [candidate.position for candidate in best]


def _steps_by_id(neighbours: Sequence[Neighbours], ids: Sequence[str]) -> list[int]:
    """Return the minimum number of steps to each id over all tiers, 0 if no tier reached it."""
    steps: dict[str, int] = {}
    for reached in neighbours:
        for entry_id, step in zip(reached.pool.ids or (), reached.steps):
            steps[entry_id] = min(step, steps.get(entry_id, step))
    return [steps.get(entry_id, 0) for entry_id in ids]


#: Maximum values per field.
MOST_VALUES = 100


def facets_of_all(search: FederatedSearch) -> list[Mapping[str, Facets]]:
    """Return the facets of each query by field, summed over the answering tiers."""
    from septet.listing.queries import facets_of

    fields, deadline = search.plan.facets, search.plan.deadline
    if deadline is not None and deadline.passed:
        search.add_note(Note("deadline", "timeout_s ran out: facets were not counted", "raise timeout_s"))
        return [{} for _ in search.plans]
    facets: list[Mapping[str, Facets]] = []
    for query in range(len(search.plans)):
        parts = [
            search.or_degrade(answer.place, partial(answer.session.facets, query, fields), ())
            for answer in search.answers
        ]
        answered = [part for part in parts if part]
        facets.append(
            {
                field.field: facets_of(field, [part[i] for part in answered], MOST_VALUES)
                for i, field in enumerate(fields)
            }
        )
    return facets
