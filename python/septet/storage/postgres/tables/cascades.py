"""The text leg of a cascade: entries that hold all words of a query by their beginnings, else fewer, else any.

As in `fulltext`, the server ranks to choose, by FTS5's formula, in which the words that begin alike count as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.fulltext import PASSING, VALID
from septet.storage.postgres.tables.memories import HELD, PHRASES, RANKED
from septet.storage.postgres.tables.vocabulary import range_of

if TYPE_CHECKING:
    from septet.storage.postgres.tables.conditions import Condition
    from septet.storage.postgres.tables.fulltext import Posting, TextLeg
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["Asked", "best", "holding", "memories"]


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


_BEGUN = """
JOIN septet.postings p ON p.term >= a.low COLLATE "C" AND p.term < a.high COLLATE "C"
"""
_HOLDING = f"""
SELECT (g.place - 1)::integer, count(*) FROM (
    SELECT p.bucket, p.row, a.place FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS a (low, high, place)
    CROSS JOIN (SELECT %s::float8[] AS w) c {_BEGUN}
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0 AND p.memory = ANY(%s::boolean[])
        AND p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.context * c.w[4] + p.tags * c.w[5] > 0
    GROUP BY p.bucket, p.row, a.place
) g GROUP BY g.place
"""

# Whoever holds a word in a column that counts, how often, and which of the words it holds.
_HELD = f"""
    SELECT p.bucket, p.row, a.place, f.f, p.tokens
    FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS a (low, high, place)
    CROSS JOIN (SELECT %s::float8[] AS w) c {_BEGUN} CROSS JOIN LATERAL (
        SELECT p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.context * c.w[4] + p.tags * c.w[5] AS f
    ) f
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0 AND f.f > 0 AND (%s OR NOT p.memory)
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
    "coalesce(c.idf[{place}] * ((g.f{place} * (c.k1 + 1)) "
    "/ (g.f{place} + c.k1 * (1 - c.b + c.b * g.tokens / c.average))), 0)"
)
# The first step that any entry takes answers, and those that take it are its matches.
_BEST = """
WITH taken AS MATERIALIZED (
    SELECT g.row, CASE {taken} END AS step, CASE {scores} END AS score
    FROM ({passing}) g
    CROSS JOIN (SELECT %s::float8 AS k1, %s::float8 AS b, %s::float8 AS average, %s::float8[] AS idf) c
    WHERE {any}
), scored AS (SELECT t.* FROM taken t WHERE t.step = (SELECT min(t.step) FROM taken t))
SELECT (SELECT count(*) FROM scored), t.step, t.score, t.row FROM scored t ORDER BY t.score DESC, t.row LIMIT %s
"""

# Memories by FTS5's rank over memories alone; as in a local vault, full text knows no context of them.
_POSTED = f"""
    SELECT p.bucket, p.row, a.place, f.f AS times, f.f
    FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS a (low, high, place)
    CROSS JOIN (SELECT %s::float8[] AS w) c {_BEGUN} CROSS JOIN LATERAL (
        SELECT p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.tags * c.w[5] AS f
    ) f
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0 AND p.memory
"""


def holding(vault: VaultRow, stems: Sequence[str], weights: Sequence[float], memories: Sequence[bool]) -> Statement:
    """Return what counts by the place of a stem the rows that hold what begins with it in columns of a weight above 0.

    A stem of which nothing is said begins nothing.

    Args:
        memories: whether these are counted, or others, or both.
    """
    lows, highs = _ranges(stems)
    return Statement(_HOLDING, (lows, highs, list(weights), vault.number, vault.all_buckets, list(memories)))


def best(vault: VaultRow, asked: Asked, leg: TextLeg) -> Statement:
    """Return what asks for the best of the first step that has an answer, by score, then by row; else for nothing.

    Each row has the number of all matches, the step, the score and the row.

    Args:
        leg: what is wanted beside the words.
    """
    ranking = leg.ranking
    lows, highs = _ranges(asked.stems)
    held = _HELD
    of_held: list[object] = [lows, highs, list(ranking.weights), vault.number, vault.all_buckets, leg.memories]
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
    sql = _BEST.format(
        passing=passing,
        taken=" ".join(f"WHEN {holding} THEN {at}" for at, holding in enumerate(holds)),
        scores=" ".join(f"WHEN {holding} THEN {score}" for holding, score in zip(holds, scores)),
        any=_joined(" OR ", [f"({one})" for one in holds]),
    )
    return Statement(sql, (*of_held, ranking.k1, ranking.b, ranking.average[0], list(asked.idf), leg.most))


def memories(
    vault: VaultRow,
    step: tuple[bool, Sequence[str]],
    weights: Sequence[float],
    totals: tuple[int, float],
    condition: Condition,
    most: int,
    phrases: Sequence[Posting] = (),
) -> Statement:
    """Return what asks for the best memories of a step, as `septet.storage.postgres.tables.memories.scored` does.

    Args:
        step: whether memories must hold all stems, or any, and these, as they are stored, as often as they count.
        weights: of the columns, as `septet.storage.postgres.tables.memories.EQUAL` has them; where one is above 0,
            memories are looked for.
        phrases: postings of the phrases among the stems.
    """
    every, stems = step
    lows, highs = _ranges(stems)
    # Of no context.
    own = [*weights[:3], 0.0, weights[4]]
    posted = [
        (place, one.bucket, one.row, 1, one.weighed(own))
        for place, stem in enumerate(stems, 1)
        for one in phrases
        if one.memory and one.part == 0 and one.term == stem and one.weighed(own) > 0
    ]
    sql, given = _POSTED, [lows, highs, own, vault.number, vault.all_buckets]
    if posted:
        sql += PHRASES
        given += [*map(list, zip(*posted)), vault.number]
    # Who must hold all holds each.
    passing = f"{condition.sql} AND cardinality(s.places) >= %s"
    sql = HELD.format(posted=sql) + RANKED.format(whole="false", condition=passing)
    given += [*totals, vault.number, len(stems), vault.number, *condition.parameters, len(stems) if every else 1, most]
    return Statement(sql, given)


def _joined(by: str, parts: Sequence[str], none: str = "false") -> str:
    return by.join(parts) or none


def _ranges(stems: Sequence[str]) -> tuple[list[str], list[str]]:
    ranges = [range_of(stem) if stem and " " not in stem else ("", "") for stem in stems]
    return [low for low, _ in ranges], [high for _, high in ranges]
