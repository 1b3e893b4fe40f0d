"""The second round trip of a search: the best of each leg, as the server ranks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.storage.postgres.pipeline import Statement, together
from septet.storage.postgres.tables import found, fulltext, nearest
from septet.storage.postgres.tables.conditions import chosen, conditions, conjunction
from septet.storage.postgres.tables.fulltext import Asked, Needed, Ranking, TextLeg
from septet.storage.postgres.analysis import GRAMS, TEXTS

if TYPE_CHECKING:
    from septet.query.plan import Plan
    from septet.spaces import Space
    from septet.storage.postgres.store import PostgresReading
    from septet.storage.postgres.tables.found import Found
    from septet.tiers.postgres.statistics import QueryTerms, Statistics

__all__ = ["Answered", "Chosen", "look", "read_candidates"]


class Answered(NamedTuple):
    """What the legs found of one query.

    Attributes:
        by_text: rows in the order of full text.
        scores: of these.
        matches: how many hold a term and pass the filters.
        whole: how many of these hold every word that is needed.
        by_vector: rows that may be among the nearest.
    """

    by_text: Sequence[int] = ()
    scores: Sequence[float] = ()
    matches: int = 0
    whole: int = 0
    by_vector: Sequence[int] = ()


class Chosen(NamedTuple):
    """What the server chose for some queries.

    Attributes:
        found: by row.
        either: how many rows hold terms, as they are stored, in their texts or among their grams, where both do.
    """

    found: Mapping[int, Found]
    answered: Sequence[Answered]
    either: Mapping[str, int]


def look(plan: Plan) -> int:
    """Return how many full-text matches to bring: to know whether the small-corpus guard fires, enough to count."""
    return plan.candidates if plan.limit is not None else max(plan.candidates, plan.profile.cuts.guard_below)


def read_candidates(
    read: PostgresReading, plans: Sequence[Plan], statistics: Statistics, terms: QueryTerms, space: Space | None
) -> Chosen:
    """Ask for the candidates of some queries, in one round trip."""
    statements: list[Statement] = []
    of_legs = []
    for plan in plans:
        text = vector = None
        if plan.asks_text and statistics.rows:
            text = len(statements)
            statements.append(fulltext.best(read.vault, _text_leg(plan, statistics, terms, space)))
        if space is not None and plan.asks_vectors:
            vector = len(statements)
            statements.append(_nearest(read, plan, space))
        of_legs.append((text, vector))
    both = _in_both(plans, statistics, terms)
    if both:
        statements.append(fulltext.holding_either(read.vault, both, memories=statistics.memories))
    rows = together(read, statements)
    known: dict[int, Found] = {}
    answered = [
        _answered(read, known, space, () if text is None else rows[text], () if vector is None else rows[vector])
        for text, vector in of_legs
    ]
    return Chosen(known, answered, dict(rows[-1]) if both else {})  # type: ignore[arg-type]


def _answered(
    read: PostgresReading,
    known: dict[int, Found],
    space: Space | None,
    by_text: Sequence[Sequence[Any]],
    by_vector: Sequence[Sequence[Any]],
) -> Answered:
    matches, whole = by_text[0][:2] if by_text else (0, 0)
    texts = found.all_of(read.vault, [row[3:] for row in by_text], space)
    vectors = found.all_of(read.vault, by_vector, space)
    known.update((one.candidate.row, one) for one in (*texts, *vectors))
    return Answered(
        [one.candidate.row for one in texts],
        [row[2] for row in by_text],
        matches,
        whole,
        [one.candidate.row for one in vectors],
    )


def _text_leg(plan: Plan, statistics: Statistics, terms: QueryTerms, space: Space | None) -> TextLeg:
    rules = plan.profile.text
    return TextLeg(
        _asked(plan, statistics, terms),
        _needed(plan, terms),
        Ranking(rules.weights.array.tolist(), (statistics.average(TEXTS), statistics.average(GRAMS)), rules.k1, rules.b),
        chosen(plan) and conjunction(conditions(plan)),
        None if plan.include_expired else plan.now,
        plan.scores_memories,
        look(plan),
        space,
    )


def _asked(plan: Plan, statistics: Statistics, terms: QueryTerms) -> Asked:
    # As FTS5 sums: the terms of the query in their order, a repeated one again, in one table after the other.
    stored = [terms.stored[token] for term in plan.query.terms if (token := terms.single(term)) is not None]
    tables = (TEXTS, GRAMS) if plan.query.grams else (TEXTS,)
    wanted: list[tuple[int, str, float | None]] = [
        (part, name, statistics.idf(part, name)) for part in tables for name in stored
    ]
    ranked = frozenset(stored)
    more = dict.fromkeys(name for name in _needed(plan, terms).terms if name not in ranked)
    wanted += [(part, name, None) for part in tables for name in more]
    return Asked(*zip(*wanted)) if wanted else Asked()


def _needed(plan: Plan, terms: QueryTerms) -> Needed:
    rows: list[tuple[int, str, int, int]] = []
    for word, (forms, pieces) in enumerate(plan.query.needed):
        singles = [terms.single(form) for form in forms]
        rows += [(word, terms.stored[token], 0, 0) for token in singles if token is not None]
        held = [token for token in map(terms.single, pieces) if token is not None]
        rows += [(word, terms.stored[token], number, len(held)) for number, token in enumerate(held, 1)]
    return Needed(*zip(*rows), len(plan.query.needed)) if rows else Needed(count=len(plan.query.needed))


def _nearest(read: PostgresReading, plan: Plan, space: Space) -> Statement:
    assert plan.vector is not None
    passing = conjunction(conditions(plan))
    return nearest.nearest(read.vault, space, plan.vector.scan, plan.candidates, passing)


def _in_both(plans: Sequence[Plan], statistics: Statistics, terms: QueryTerms) -> list[str]:
    """Return the terms that both tables hold, where they have to be counted: a row that is in both counts once."""
    if not (plans[0].comparable or plans[0].typos) or not plans[0].query.grams:
        return []
    stored = dict.fromkeys(
        terms.stored[token] for p in plans for term in p.query.terms if (token := terms.single(term)) is not None
    )
    return [name for name in stored if statistics.count(TEXTS, name) and statistics.count(GRAMS, name)]
