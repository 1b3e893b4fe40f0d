"""The best of a query by its words, without ranking everything that matches.

Most matches hold nothing but the common words of a query, and are not among the best. So the postings of the rarer
terms are added up first, and those of the common ones only for rows that hold a rarer one too; the others are counted,
and looked at where one of them may be among the best all the same. These sums are rough, as FTS5 adds in another order;
a few more rows come than are wanted, and whoever reads them ranks them anew.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.vaults import STRIDE

if TYPE_CHECKING:
    from septet.storage.postgres.tables.fulltext import TextLeg
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["best", "leads"]

#: Rough scores differ from exact ones by less than this part of the most that a row can score.
_ROUGH = 1 / 10**12
#: Of so many times the rows that are wanted the best score, as a rule, so much of a term's weight or more.
_ENOUGH, _LIKELY = 2, 3 / 2
#: So many more are returned than are wanted, where rough scores do not tell which are the best.
MORE = 16

_GIVEN = """
WITH lengths AS MATERIALIZED (
    SELECT * FROM unnest(%(l_parts)s::smallint[], %(l_fixed)s::float8[], %(l_each)s::float8[], %(l_id)s::float8[],
        %(l_title)s::float8[], %(l_description)s::float8[], %(l_context)s::float8[], %(l_tags)s::float8[]
    ) AS l (part, fixed, each, id, title, description, context, tags)
),
rarer AS MATERIALIZED (
    SELECT l.*, a.term, a.weight
    FROM unnest(%(r_parts)s::smallint[], %(r_terms)s::text[], %(r_weights)s::float8[]) AS a (part, term, weight)
    JOIN lengths l ON l.part = a.part
),
common AS MATERIALIZED (
    SELECT l.*, a.term, a.weight
    FROM unnest(%(c_parts)s::smallint[], %(c_terms)s::text[], %(c_weights)s::float8[]) AS a (part, term, weight)
    JOIN lengths l ON l.part = a.part
),
"""
# What is FTS5's formula but for the last bits, with the number of times in it once.
_ROUGHLY = """
p.row, a.weight * (1 - (a.fixed + a.each * p.tokens) / (a.fixed + a.each * p.tokens + p.id * a.id + p.title * a.title
    + p.description * a.description + p.context * a.context + p.tags * a.tags)) AS score
"""
_POSTED = """
septet.postings p
WHERE p.vault = %(vault)s AND p.bucket = ANY(%(buckets)s::int[]) AND p.part = a.part AND p.term = a.term
    AND (%(memories)s OR NOT p.memory)
"""
# One term after the other (OFFSET), and in tables of hashes (IS TRUE), whatever sizes the planner takes for likely.
_RARE = f"""
rare AS MATERIALIZED (
    SELECT s.row, sum(s.score) AS score
    FROM rarer a CROSS JOIN LATERAL (SELECT {_ROUGHLY} FROM {_POSTED} OFFSET 0) s GROUP BY s.row
),
"""
_NONE_OUTSIDE = "outside AS MATERIALIZED (SELECT 0::bigint AS row WHERE false),"
# Few entries have a limit of their validity, and these have an index of their own.
_OUTSIDE = """
outside AS MATERIALIZED (
    SELECT e.row FROM septet.entries e
    WHERE e.vault = %(vault)s AND e.bucket = ANY(%(buckets)s::int[]) AND e.live
        AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
        AND (e.valid_from > %(now)s::float8 OR e.valid_until <= %(now)s::float8)
),
"""
_VALID = f"""
more AS MATERIALIZED (
    SELECT s.row, s.score FROM common a CROSS JOIN LATERAL (
        SELECT {_ROUGHLY} FROM {_POSTED}
            AND EXISTS (SELECT FROM rare) AND (p.row IN (SELECT r.row FROM rare r)) IS TRUE OFFSET 0
    ) s
),
first AS MATERIALIZED (
    SELECT b.row, sum(b.score) AS score FROM (SELECT * FROM rare UNION ALL SELECT * FROM more) b
    WHERE b.row NOT IN (SELECT o.row FROM outside o) GROUP BY b.row
),
sure AS MATERIALIZED (
    SELECT coalesce(
        (SELECT f.score FROM first f ORDER BY f.score DESC OFFSET {{most}} - 1 LIMIT 1) > %(bound)s::float8,
        false
    ) AS sure
),
"""
# Of one common term the postings are counted already.
_ONE = f"""
rest AS MATERIALIZED (
    SELECT s.row, s.score FROM common a CROSS JOIN LATERAL (
        SELECT {_ROUGHLY} FROM {_POSTED}
            AND NOT (SELECT c.sure FROM sure c) AND (p.row IN (SELECT r.row FROM rare r)) IS NOT TRUE
            AND p.row NOT IN (SELECT o.row FROM outside o) OFFSET 0
    ) s
),
gone AS MATERIALIZED (
    SELECT s.row FROM common a CROSS JOIN LATERAL (
        SELECT p.row FROM {_POSTED}
            AND (SELECT c.sure FROM sure c) AND EXISTS (SELECT FROM outside)
            AND (p.row IN (SELECT r.row FROM rare r)) IS NOT TRUE
            AND (p.row IN (SELECT o.row FROM outside o)) IS TRUE OFFSET 0
    ) s
),
counted AS (
    SELECT (SELECT count(*) FROM first) + CASE WHEN (SELECT c.sure FROM sure c)
        THEN %(common)s::bigint - (SELECT count(*) FROM more) - (SELECT count(*) FROM gone)
        ELSE (SELECT count(*) FROM rest) END AS rows
),
ranked AS MATERIALIZED (SELECT * FROM first UNION ALL SELECT * FROM rest)
"""
_SEVERAL = f"""
rest AS MATERIALIZED (
    SELECT s.row, sum(s.score) AS score FROM common a CROSS JOIN LATERAL (
        SELECT {_ROUGHLY} FROM {_POSTED}
            AND NOT (SELECT c.sure FROM sure c) AND (p.row IN (SELECT r.row FROM rare r)) IS NOT TRUE
            AND p.row NOT IN (SELECT o.row FROM outside o) OFFSET 0
    ) s GROUP BY s.row
),
counted AS (
    SELECT (SELECT count(*) FROM first) + (SELECT count(*) FROM rest) + (
        SELECT count(DISTINCT s.row) FROM common a CROSS JOIN LATERAL (
            SELECT p.row FROM {_POSTED}
                AND (SELECT c.sure FROM sure c) AND (p.row IN (SELECT r.row FROM rare r)) IS NOT TRUE
                AND p.row NOT IN (SELECT o.row FROM outside o) OFFSET 0
        ) s
    ) AS rows
),
ranked AS MATERIALIZED (SELECT * FROM first UNION ALL SELECT * FROM rest)
"""
_BUCKET = "%(first)s::int + (b.row %% %(stride)s::bigint)::int"
_PASSING = f"""
ranked AS MATERIALIZED (
    SELECT b.row, b.score FROM rare b
    JOIN septet.entries e ON e.vault = %(vault)s AND e.bucket = {_BUCKET} AND e.row = b.row
    WHERE {{condition}}
),
counted AS (SELECT count(*) AS rows FROM ranked)
"""
# Terms are added in one order for all rows, so that equal entries are equal here too, and lie in their order.
_BEST = """
SELECT (SELECT c.rows FROM counted c), 0::bigint, b.score, b.row FROM ranked b WHERE b.score >= coalesce(
    (SELECT b.score FROM ranked b ORDER BY b.score DESC OFFSET {most} - 1 LIMIT 1), '-infinity'
) - %(rough)s::float8 ORDER BY b.score DESC, b.row LIMIT {most} + {more}
"""
#: A parameter without a name; two percent signs are one.
_UNNAMED = re.compile(r"(?<!%)%s")


class _Term(NamedTuple):
    part: int
    term: str
    weight: float
    held: int


def leads(vault: VaultRow, leg: TextLeg) -> bool:
    """Say whether `best` answers a query: one whose terms all count, and none of which is a phrase or is needed.

    Not of a vault that is distributed: which rows are looked at depends on those of all buckets.
    """
    return not (vault.distributed or leg.needed.every or leg.phrases or None in leg.asked.weights)


def best(vault: VaultRow, leg: TextLeg) -> Statement:
    """Return what asks for the best of a query, as `septet.storage.postgres.tables.fulltext.best` does.

    Scores are rough, and there may be `MORE` rows than are wanted.
    """
    asked, ranking = leg.asked, leg.ranking
    every = [_Term._make(term) for term in zip(asked.parts, asked.terms, asked.weights, asked.counts) if term[-1]]
    terms = _rarest_first(every)
    rarer, common = _parted(terms, leg)
    most = ranking.k1 + 1
    rough = _ROUGH * most * sum(term.weight for term in terms)
    given: dict[str, object] = {
        "vault": vault.number,
        "buckets": vault.all_buckets,
        "first": vault.first_bucket,
        "stride": STRIDE,
        "memories": leg.memories,
        "now": leg.now,
        "rough": rough,
        "bound": rough + most * sum(term.weight for term in common),
        "common": sum(term.held for term in common),
        **_lengths(leg),
    }
    for name, some in (("r", rarer), ("c", common)):
        given[f"{name}_parts"] = [term.part for term in some]
        given[f"{name}_terms"] = [term.term for term in some]
        given[f"{name}_weights"] = [most * term.weight for term in some]
    if leg.condition is not None:
        left = _PASSING.format(condition=_named(leg.condition.sql, leg.condition.parameters, "condition", given))
    else:
        left = (_NONE_OUTSIDE if leg.now is None else _OUTSIDE) + _VALID.format(most=int(leg.most))
        left += _SEVERAL if len(common) > 1 else _ONE
    # A plan that is kept must know that few are wanted.
    return Statement("".join((_GIVEN, _RARE, left, _BEST.format(most=int(leg.most), more=MORE))), given)


def _rarest_first(terms: Sequence[_Term]) -> list[_Term]:
    """Return terms, each once with all of its weight."""
    once: dict[tuple[int, str], _Term] = {}
    for term in terms:
        known = once.get(term[:2])
        once[term[:2]] = term if known is None else term._replace(weight=known.weight + term.weight)
    return sorted(once.values(), key=lambda term: term.held)


def _parted(terms: Sequence[_Term], leg: TextLeg) -> tuple[Sequence[_Term], Sequence[_Term]]:
    """Return the rarer terms, and common ones that most likely do not make a row one of the best by themselves."""
    if leg.condition is not None:
        # Filters leave few, and how many is not known before.
        return terms, ()
    first, most = len(terms) - 1, leg.ranking.k1 + 1
    at = next(
        (at for at, held in enumerate(accumulate(term.held for term in terms)) if held >= _ENOUGH * leg.most), None
    )
    if at is not None:
        reach = most * terms[first].weight
        while first - 1 > at and (reach := reach + most * terms[first - 1].weight) < _LIKELY * terms[at].weight:
            first -= 1
    return terms[:first], terms[first:]


def _lengths(leg: TextLeg) -> dict[str, object]:
    """Return by part of the postings what its columns weigh, and what tokens cost: ``fixed`` and for ``each``."""
    ranking = leg.ranking
    # All grams are in the column of titles.
    columns = [[of_texts, of_grams] for of_texts, of_grams in zip(ranking.weights, (0.0, 1.0, 0.0, 0.0, 0.0))]
    return {
        "l_parts": [0, 1],
        "l_fixed": [ranking.k1 * (1 - ranking.b)] * 2,
        "l_each": [ranking.k1 * ranking.b / average for average in ranking.average],
        **{f"l_{name}": weights for name, weights in zip(("id", "title", "description", "context", "tags"), columns)},
    }


def _named(sql: str, parameters: Sequence[object], name: str, given: dict[str, object]) -> str:
    """Return SQL with names for its parameters, which are put among those that are given."""
    parts = _UNNAMED.split(sql)
    made = [parts[0]]
    for number, (value, part) in enumerate(zip(parameters, parts[1:], strict=True)):
        given[f"{name}_{number}"] = value
        made.append(f"%({name}_{number})s{part}")
    return "".join(made)
