"""The text leg of a cascade: entries that hold all words of a query by their beginnings, else fewer, else any.

As in `fulltext`, the server ranks to choose, by FTS5's formula, in which the words that begin alike count as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fulltext import PASSING, VALID
from septet.postgres.tables.memories import HELD, RANKED
from septet.postgres.tables.vocabulary import range_of

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.conditions import Condition
    from septet.postgres.tables.fulltext import Posting, TextLeg

__all__ = ["Asked", "best", "memories"]


class Asked(NamedTuple):
    """What words begin with, and what entries must hold of them.

    Attributes:
        stems: each once, as it is stored; an empty one begins nothing, and of a phrase the postings are given.
        idf: the inverse document frequency of each.
        steps: whether entries must hold all stems, or any, and the places of these, as often as they count.
    """

    stems: Sequence[str]
    idf: Sequence[float]
    steps: Sequence[tuple[bool, Sequence[int]]]


# The postings of one stem, by prefix. A statement for each stem: a join with all of them gets a generic plan that scans
# most of the table, as the planner cannot estimate a range whose ends are unknown.
_BEGUN = """
    SELECT p.bucket, p.row, {place}::bigint AS place, f.f, p.tokens
    FROM septet.postings p CROSS JOIN (SELECT %s::float8[] AS w) c CROSS JOIN LATERAL (
        SELECT p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.context * c.w[4] + p.tags * c.w[5] AS f
    ) f
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0
        AND p.term >= %s::text COLLATE "C" AND p.term < %s::text COLLATE "C"
        AND f.f > 0 AND p.memory = ANY(%s::boolean[])
"""

# The postings of phrases come with the question; the entries say in which shard each belongs.
_PHRASES = """
    UNION ALL
    SELECT e.bucket, e.row, p.place, p.f, p.tokens
    FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::float8[], %s::int[]) AS p (place, bucket, row, f, tokens)
    JOIN septet.entries e ON e.vault = %s AND e.bucket = p.bucket AND e.row = p.row
"""
# How often an entry holds each word, and the tokens of its texts.
_GROUPED = """
SELECT h.bucket, h.row, min(h.tokens) AS tokens, {times} FROM ({held}) h GROUP BY h.bucket, h.row
"""
_TIMES = "sum(h.f) FILTER (WHERE h.place = {place}) AS f{place}"
_OF_WORD = (
    "coalesce(%s::float8 * ((g.f{place} * (%s::float8 + 1)) "
    "/ (g.f{place} + %s::float8 * (1 - %s::float8 + %s::float8 * g.tokens / %s::float8))), 0)"
)
# The first step that any entry takes answers, and those that take it are its matches.
_BEST = """
WITH taken AS MATERIALIZED (
    SELECT g.row, CASE {taken} END AS step, CASE {scores} END AS score
    FROM ({passing}) g WHERE {any}
), scored AS (SELECT t.* FROM taken t WHERE t.step = (SELECT min(t.step) FROM taken t))
SELECT (SELECT count(*) FROM scored), t.step, t.score, t.row FROM scored t ORDER BY t.score DESC, t.row LIMIT %s
"""


def best(vault: VaultRow, asked: Asked, leg: TextLeg) -> Statement:
    """Return what asks for the best of the first step that has an answer, by score, then by row; else for nothing.

    Each row has the number of all matches, the step, the score and the row.

    Args:
        leg: what is wanted beside the words.
    """
    ranking = leg.ranking
    held, of_held = _begun(vault, asked.stems, ranking.weights, (False, True) if leg.memories else (False,))
    # Names of phrases have a blank.
    places = {stem: place for place, stem in enumerate(asked.stems, 1)}
    weighed = [
        (one, one.weighed(ranking.weights)) for one in leg.phrases if one.part == 0 and (leg.memories or not one.memory)
    ]
    phrases = [(places[one.term], one.bucket, one.row, f, one.tokens) for one, f in weighed if f > 0]
    if phrases:
        held += _PHRASES
        of_held += [*map(list, zip(*phrases)), vault.number]
    passing = _GROUPED.format(times=", ".join(_TIMES.format(place=at) for at in places.values()), held=held)
    if leg.condition is not None:
        passing = PASSING.format(grouped=passing, condition=leg.condition.sql)
        of_held += [vault.number, *leg.condition.parameters]
    elif leg.now is not None:
        passing = VALID.format(grouped=passing)
        of_held += [vault.number, leg.now, leg.now]
    holds = [
        _joined(" AND " if every else " OR ", [f"g.f{at + 1} > 0" for at in words]) for every, words in asked.steps
    ]
    # As FTS5 adds: the words in the order of the step, a repeated one again.
    scores = [_joined(" + ", [_OF_WORD.format(place=at + 1) for at in words], "0") for _, words in asked.steps]
    k1, b, average = ranking.k1, ranking.b, ranking.average[0]
    of_scores = [one for _, words in asked.steps for at in words for one in (asked.idf[at], k1, k1, b, b, average)]
    sql = _BEST.format(
        passing=passing,
        taken=" ".join(f"WHEN {holding} THEN {at}" for at, holding in enumerate(holds)),
        scores=" ".join(f"WHEN {holding} THEN {score}" for holding, score in zip(holds, scores)),
        any=_joined(" OR ", [f"({one})" for one in holds]),
    )
    return Statement(sql, (*of_scores, *of_held, leg.most))


def memories(
    vault: VaultRow,
    step: tuple[bool, Sequence[str]],
    weights: Sequence[float],
    totals: tuple[int, float],
    condition: Condition,
    most: int,
    phrases: Sequence[Posting] = (),
) -> Statement:
    """Return what asks for the best memories of a step, as `septet.postgres.tables.memories.scored` does.

    Args:
        step: whether memories must hold all stems, or any, and these, as they are stored, as often as they count.
        weights: of the columns, as `septet.postgres.tables.memories.EQUAL` has them; where one is above 0,
            memories are looked for.
        phrases: postings of the phrases among the stems.
    """
    every, stems = step
    # Of no context.
    own = [*weights[:3], 0.0, weights[4]]
    posted = [
        (place, one.bucket, one.row, one.weighed(own), one.tokens)
        for place, stem in enumerate(stems, 1)
        for one in phrases
        if one.memory and one.part == 0 and one.term == stem and one.weighed(own) > 0
    ]
    posted_sql, given = _begun(vault, stems, own, (True,))
    if posted:
        posted_sql += _PHRASES
        given += [*map(list, zip(*posted)), vault.number]
    # A step that needs every stem needs as many of them as there are.
    passing = f"{condition.sql} AND cardinality(s.places) >= %s"
    sql = HELD.format(posted=posted_sql, any="p.f > 0") + RANKED.format(whole="false", condition=passing)
    given += [*totals, vault.number, len(stems), vault.number, *condition.parameters, len(stems) if every else 1, most]
    return Statement(sql, given)


def _joined(by: str, parts: Sequence[str], none: str = "false") -> str:
    return by.join(parts) or none


def _begun(
    vault: VaultRow, stems: Sequence[str], weights: Sequence[float], memories: Sequence[bool]
) -> tuple[str, list[object]]:
    """Return what gives all that begins with stems, by their places from 1, and its parameters.

    A stem of which nothing is said begins nothing, and of a phrase the postings are given.
    """
    given: list[object] = []
    for stem in stems:
        low, high = range_of(stem) if stem and " " not in stem else ("", "")
        given += [list(weights), vault.number, vault.all_buckets, low, high, list(memories)]
    return " UNION ALL ".join(_BEGUN.format(place=place) for place, _ in enumerate(stems, 1)), given
