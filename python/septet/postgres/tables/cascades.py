"""The text leg of a cascade: entries that match all stems of a query by prefix, else fewer, else any.

As in `fulltext`, the server ranks candidates by FTS5's formula; all words with the same prefix count as one term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.counts import range_of
from septet.postgres.tables.fulltext import PASSING, VALID
from septet.postgres.tables.memories import HELD, RANKED

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.fulltext import Posting, TextLeg
    from septet.store.rows import Condition


class Cascade(NamedTuple):
    """Stems of a query, and the steps of the cascade.

    Attributes:
        stems: unique, as stored; an empty stem matches nothing, and postings of phrases are passed separately.
        idf: inverse document frequency of each stem.
        steps: for each step, True if entries must hold all stems rather than any, and their places, with repetitions.
    """

    stems: Sequence[str]
    idf: Sequence[float]
    steps: Sequence[tuple[bool, Sequence[int]]]


# Postings of one stem, by prefix. One statement per stem: a join with all stems gets a generic plan that scans most of
# the table, as the planner cannot estimate a range with unknown bounds.
_BEGUN = """
    SELECT p.bucket, p.row, {place}::bigint AS place, f.f, p.tokens
    FROM septet.postings p CROSS JOIN (SELECT %s::float8[] AS w) c CROSS JOIN LATERAL (
        SELECT p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.context * c.w[4] + p.tags * c.w[5] AS f
    ) f
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0
        AND p.term >= %s::text COLLATE "C" AND p.term < %s::text COLLATE "C"
        AND f.f > 0 AND p.memory = ANY(%s::boolean[])
"""

# Postings of phrases are parameters; joining entries assigns each to its shard.
_PHRASES = """
    UNION ALL
    SELECT e.bucket, e.row, p.place, p.f, p.tokens
    FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::float8[], %s::int[]) AS p (place, bucket, row, f, tokens)
    JOIN septet.entries e ON e.vault = %s AND e.bucket = p.bucket AND e.row = p.row
"""
# Weighted frequency of each stem by entry, and the tokens of its texts.
_GROUPED = """
SELECT h.bucket, h.row, min(h.tokens) AS tokens, {times} FROM ({held}) h GROUP BY h.bucket, h.row
"""
_TIMES = "sum(h.f) FILTER (WHERE h.place = {place}) AS f{place}"
_OF_WORD = (
    "coalesce(%s::float8 * ((g.f{place} * (%s::float8 + 1)) "
    "/ (g.f{place} + %s::float8 * (1 - %s::float8 + %s::float8 * g.tokens / %s::float8))), 0)"
)
# The first step with a match answers; its entries are the matches.
_BEST = """
WITH taken AS MATERIALIZED (
    SELECT g.row, CASE {taken} END AS step, CASE {scores} END AS score
    FROM ({passing}) g WHERE {any}
), scored AS (SELECT t.* FROM taken t WHERE t.step = (SELECT min(t.step) FROM taken t))
SELECT (SELECT count(*) FROM scored), t.step, t.score, t.row FROM scored t ORDER BY t.score DESC, t.row LIMIT %s
"""


def best(vault: VaultRow, query: Cascade, leg: TextLeg) -> Statement:
    """Return the statement for the best matches of the first step that has any, by score, then by row.

    Each result has the number of all matches, the step, the score and the row.
    """
    ranking = leg.ranking
    posted, parameters = _prefix_postings(
        vault, query.stems, ranking.weights, (False, True) if leg.memories else (False,)
    )
    # Only phrases contain a space.
    places = {stem: place for place, stem in enumerate(query.stems, 1)}
    weighed = [(p, p.weighed(ranking.weights)) for p in leg.phrases if p.part == 0 and (leg.memories or not p.memory)]
    phrases = [(places[p.term], p.bucket, p.row, f, p.tokens) for p, f in weighed if f > 0]
    if phrases:
        posted += _PHRASES
        parameters += [*map(list, zip(*phrases)), vault.number]
    passing = _GROUPED.format(times=", ".join(_TIMES.format(place=at) for at in places.values()), held=posted)
    if leg.condition is not None:
        passing = PASSING.format(grouped=passing, condition=leg.condition.sql)
        parameters += [vault.number, *leg.condition.parameters]
    elif leg.now is not None:
        passing = VALID.format(grouped=passing)
        parameters += [vault.number, leg.now, leg.now]
    holds = [_join(" AND " if every else " OR ", [f"g.f{at + 1} > 0" for at in words]) for every, words in query.steps]
    # Sum in FTS5's order: stems in the order of the step, repeated ones included.
    scores = [_join(" + ", [_OF_WORD.format(place=at + 1) for at in words], "0") for _, words in query.steps]
    k1, b, average = ranking.k1, ranking.b, ranking.average[0]
    constants = [value for _, words in query.steps for at in words for value in (query.idf[at], k1, k1, b, b, average)]
    sql = _BEST.format(
        passing=passing,
        taken=" ".join(f"WHEN {holding} THEN {at}" for at, holding in enumerate(holds)),
        scores=" ".join(f"WHEN {holding} THEN {score}" for holding, score in zip(holds, scores)),
        any=_join(" OR ", [f"({holding})" for holding in holds]),
    )
    return Statement(sql, (*constants, *parameters, leg.most))


def memories(
    vault: VaultRow,
    step: tuple[bool, Sequence[str]],
    weights: Sequence[float],
    totals: tuple[int, float],
    condition: Condition,
    most: int,
    phrases: Sequence[Posting] = (),
) -> Statement:
    """Return the statement for the best memories of a step, as `septet.postgres.tables.memories.scored` does.

    Args:
        step: True if memories must hold all stems rather than any, and the stems as stored, with repetitions.
        weights: as in `septet.postgres.tables.memories.EQUAL`; columns of weight 0 are not searched.
    """
    every, stems = step
    # Full text does not index the context of memories.
    without_context = [*weights[:3], 0.0, weights[4]]
    posted = [
        (place, p.bucket, p.row, p.weighed(without_context), p.tokens)
        for place, stem in enumerate(stems, 1)
        for p in phrases
        if p.memory and p.part == 0 and p.term == stem and p.weighed(without_context) > 0
    ]
    posted_sql, values = _prefix_postings(vault, stems, without_context, (True,))
    if posted:
        posted_sql += _PHRASES
        values += [*map(list, zip(*posted)), vault.number]
    passing = f"{condition.sql} AND cardinality(s.places) >= %s"
    sql = HELD.format(posted=posted_sql, any="p.f > 0") + RANKED.format(whole="false", condition=passing)
    values += [*totals, vault.number, len(stems), vault.number, *condition.parameters, len(stems) if every else 1, most]
    return Statement(sql, values)


def _join(by: str, parts: Sequence[str], none: str = "false") -> str:
    return by.join(parts) or none


def _prefix_postings(
    vault: VaultRow, stems: Sequence[str], weights: Sequence[float], memories: Sequence[bool]
) -> tuple[str, list[object]]:
    """Return the SQL for the postings of stems by place, from 1, and its parameters.

    Empty stems and phrases match nothing here.
    """
    parameters: list[object] = []
    for stem in stems:
        low, high = range_of(stem) if stem and " " not in stem else ("", "")
        parameters += [list(weights), vault.number, vault.all_buckets, low, high, list(memories)]
    return " UNION ALL ".join(_BEGUN.format(place=place) for place, _ in enumerate(stems, 1)), parameters
