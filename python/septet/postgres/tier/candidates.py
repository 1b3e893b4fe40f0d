"""The second round trip of a search: the best of each leg, as the server ranks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.tables import blocks, cascades, fragments, memories, nearest, ranking
from septet.postgres.tables.conditions import chosen, conditions, conjunction
from septet.postgres.tables.fulltext import Needed, Posting, Ranking, TextLeg, WeightedTerms
from septet.postgres.tier.apart import (
    BestMemories,
    are_apart,
    memories_of,
    ranked,
    weights,
)
from septet.postgres.tier.completion import holds_all
from septet.postgres.tier.phrases import constants
from septet.store.rows import Condition
from septet.tiers.view import MOST_MEMORIES, look

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.vector import Space
    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.fragments import CandidateRow
    from septet.postgres.tier.apart import Apart, Rows
    from septet.postgres.tier.statistics import QueryTerms, Statistics
    from septet.query.plan import SearchPlan
    from septet.ranking.pool import Candidate


class LegCandidates(NamedTuple):
    """The candidates of one query by leg.

    Attributes:
        by_text: rows in the order of full text.
        scores: of these.
        matches: how many hold a term and pass the filters.
        whole: how many of these hold every word that is needed.
        by_vector: rows that may be among the nearest.
        memories: the best ones, where they have a fixed score, and how many match.
        left_out: number of matching memories that the search excludes.
        step: of a cascade the step that has an answer.
    """

    by_text: Sequence[int] = ()
    scores: Sequence[float] = ()
    matches: int = 0
    whole: int = 0
    by_vector: Sequence[int] = ()
    memories: Sequence[Candidate] = ()
    more: int = 0
    left_out: int = 0
    step: int | None = None


class Chosen(NamedTuple):
    """The candidates of some queries.

    Attributes:
        found: by row.
        apart: separate statistics of memories, by query.
    """

    found: Mapping[int, CandidateRow]
    answered: Sequence[LegCandidates]
    apart: Mapping[int, Apart]


def read_candidates(
    read: PostgresReading, plans: Sequence[SearchPlan], statistics: Statistics, terms: QueryTerms, space: Space | None
) -> Chosen:
    """Read the candidates of some queries: first their rows, then their data for scoring."""
    statements: list[tuple[int, str, Statement]] = []
    in_blocks: dict[int, TextLeg] = {}
    compared = [space is not None and plan.asks_vectors for plan in plans]
    legs = [plan._replace(candidates=plan.taken(compared=own)) for plan, own in zip(plans, compared)]
    for at, plan in enumerate(plans):
        if plan.asks_text and statistics.rows:
            leg = text_leg(legs[at], statistics, terms)
            if leg.condition is None or not plan.query.steps:
                in_blocks[at] = leg
            statements += [(at, *item) for item in _texts(read.vault, legs[at], statistics, terms, leg)]
        if space is not None and compared[at]:
            indexed = space.space in statistics.indexed
            if indexed:
                settings = nearest.settings(read.vault, legs[at].candidates)
                statements += [(at, "settings", setting) for setting in settings]
            statements.append((at, "vector", _nearest(read, legs[at], space, indexed=indexed)))
        if plan.asks_text and statistics.held_memories and not plan.scores_memories and not plan.query.steps:
            statements += [(at, leg, statement) for leg, statement in memories_leg(read, plan, statistics, terms)]
    # One statement for all queries: they read the same changes.
    waiting = [blocks.changes(read.vault)] if any(not plans[at].query.steps for at in in_blocks) else []
    answers = together(read, [*(statement for _, _, statement in statements), *waiting])
    rows: dict[tuple[int, str], Any] = {(at, leg): answer for (at, leg, _), answer in zip(statements, answers)}
    _rank(read, plans, statistics, terms, in_blocks, rows, answers[-1] if waiting else ())
    apart = _apart(plans, statistics, terms, rows)
    of_texts = [_of_texts(at, plan, rows, apart) for at, plan in enumerate(plans)]
    if space is not None and read.vault.distributed:
        _look_up(read, legs, space, rows)
    vectors = [nearest.near(rows.get((at, "vector"), ()), leg.candidates) for at, leg in enumerate(legs)]
    kept = [_kept(at, rows) for at in range(len(plans))]
    if plans[0].profile.text.match == "cascade" and statistics.held_memories:
        kept = memories_of(read, plans, [step for step, _, _ in of_texts], statistics, terms)
    ranked = {row[-1] for _, *both in of_texts for leg in both for row in leg}.union(*vectors)
    wanted = [*ranked.union(*(item.rows for item in kept))]
    (entries,) = together(read, [fragments.of_rows(read.vault, wanted, space)]) if wanted else ((),)
    known = {item.candidate.row: item for item in fragments.all_of(entries)}

    def answered(at: int) -> LegCandidates:
        """Return the candidates of a query by leg."""
        step, texts, beside = of_texts[at]
        matches, whole = texts[0][:2] if texts else (0, 0)
        whole = 0 if plans[at].query.steps else whole or 0
        # On a cluster another writer may have been faster in one place than in another.
        best = [(row, score) for *_, score, row in texts if row in known]
        if beside:
            scored = [(row, apart[at].scale * score) for *_, score, row in beside if row in known]
            best = merged(plans[at], [*best, *scored], known, terms)[: look(legs[at])]
            matches, whole = matches + beside[0][0], whole + beside[0][1]
        memories = [known[row].candidate for row in kept[at].rows if row in known]
        by_vector = [row for row in vectors[at] if row in known]
        by_text, scores = [row for row, _ in best], [score for _, score in best]
        return LegCandidates(
            by_text, scores, matches, whole, by_vector, memories, kept[at].more, kept[at].left_out, step
        )

    chosen = [answered(at) for at in range(len(plans))]
    # Those that have a fixed score are ranked with no other.
    return Chosen({row: item for row, item in known.items() if row in ranked}, chosen, apart)


def _rank(
    read: PostgresReading,
    plans: Sequence[SearchPlan],
    statistics: Statistics,
    terms: QueryTerms,
    legs: Mapping[int, TextLeg],
    rows: dict[tuple[int, str], Any],
    changes: Rows,
) -> None:
    """Replace the postings read for ranking by the best rows of full text.

    Args:
        legs: by the place of a query; those of other queries were ranked by the server.
        rows: results by query and leg; updated.
        changes: of postings, that wait to be folded.
    """
    matched: dict[int, tuple[ranking.Matches, Condition]] = {}
    for at, leg in legs.items():
        gone = rows.get((at, "outside"), ())
        if plans[at].query.steps:
            rows[at, "text"] = _cascade(plans[at], statistics, terms, leg, gone)
        elif leg.condition is None:
            rows[at, "text"] = ranking.ranked(leg, ranking.TermBlocks(rows[at, "text"], changes, gone))
        else:
            matched[at] = ranking.matched(leg, ranking.TermBlocks(rows[at, "text"], changes)), leg.condition
    passed = together(read, [item.passing(read.vault, condition) for item, condition in matched.values()])
    for (at, (item, _)), answer in zip(matched.items(), passed):
        rows[at, "text"] = item.filtered(answer).best(legs[at].most)


def _kept(at: int, rows: Mapping[tuple[int, str], Rows]) -> BestMemories:
    """Return the matching memories of fixed score of a query."""
    kept, left_out = rows.get((at, "memories"), ()), rows.get((at, "left out"), ())
    return BestMemories([row[-1] for row in kept], kept[0][0] if kept else 0, left_out[0][0] if left_out else 0)


def _texts(
    vault: VaultRow, plan: SearchPlan, statistics: Statistics, terms: QueryTerms, leg: TextLeg
) -> Iterator[tuple[str, Statement]]:
    """Yield the statements for the best by full text, and for memories that are ranked apart."""
    if not plan.query.steps:
        yield "text", ranking.of_terms(vault, leg)
    elif leg.condition is not None:
        yield "text", cascade(vault, plan, statistics, terms, leg)
    if leg.condition is None and leg.now is not None:
        yield "outside", ranking.outside(vault, leg.now)
    if not are_apart(plan, statistics):
        return
    statements = memories_apart(vault, plan, statistics, terms, leg)
    yield from ((f"apart {number}", statement) for number, statement in enumerate(statements))
    if not plan.query.steps:
        yield "holding", memories.holding(vault, [*dict.fromkeys(terms.of(plan.query.terms))], leg.phrases)


def _apart(
    plans: Sequence[SearchPlan], statistics: Statistics, terms: QueryTerms, rows: Mapping[tuple[int, str], Rows]
) -> dict[int, Apart]:
    """Return the separate statistics of memories, by the place of the query."""
    if plans[0].profile.text.match == "cascade":
        begun = {terms.names[term]: statistics.begun_in_memories.get(terms.stem(term), 0) for term in terms.names}
        places = [at for at, plan in enumerate(plans) if plan.query.steps and are_apart(plan, statistics)]
        return {at: ranked(plans[at], statistics, terms, begun) for at in places}
    by_plan = {}
    for (at, leg), answer in rows.items():
        if leg == "holding":
            names = [*dict.fromkeys(terms.of(plans[at].query.terms))]
            by_plan[at] = ranked(plans[at], statistics, terms, {names[place - 1]: count for place, count in answer})
    return by_plan


def _of_texts(
    at: int, plan: SearchPlan, rows: Mapping[tuple[int, str], Rows], apart: Mapping[int, Apart]
) -> tuple[int | None, Rows, Rows]:
    """Return the step of a cascade that has an answer, the entries that full text found, and memories beside them."""
    texts = rows.get((at, "text"), ())
    if not plan.query.steps:
        return None, texts, rows.get((at, "apart 0"), ())
    if at not in apart:
        return texts[0][1] if texts else None, texts, ()
    by_step = [rows[at, f"apart {number}"] for number in range(len(plan.query.steps))]
    # The first step with an entry or a memory counts; the second value of a row is its step.
    own = texts[0][1] if texts else len(by_step)
    others = next((step for step, memories_of_step in enumerate(by_step) if memories_of_step), len(by_step))
    first = min(own, others)
    if first == len(by_step):
        return None, (), ()
    return first, texts if own == first else (), by_step[first] if others == first else ()


def cascade(vault: VaultRow, plan: SearchPlan, statistics: Statistics, terms: QueryTerms, leg: TextLeg) -> Statement:
    """Return the statement for the best of a cascade, ranked by the server: with filters, or all."""
    return cascades.best(vault, _steps(plan, statistics, terms), leg)


def _steps(plan: SearchPlan, statistics: Statistics, terms: QueryTerms) -> cascades.Cascade:
    if are_apart(plan, statistics):
        statistics = statistics.of_entries()
    of_stems = {terms.stem(term): terms.names.get(term, "") for term in plan.query.terms}
    stems = list(of_stems)
    places = [stems.index(terms.stem(term)) for term in plan.query.terms]
    return cascades.Cascade(
        list(of_stems.values()),
        [statistics.idf_of(TEXTS, statistics.begun.get(stem, 0)) for stem in stems],
        [(every, [places[at] for at in words]) for _, every, words in plan.query.steps],
    )


def _cascade(plan: SearchPlan, statistics: Statistics, terms: QueryTerms, leg: TextLeg, gone: Rows) -> list[Any]:
    """Return the best of a cascade, as the statement of `septet.postgres.tables.cascades.best` gives them."""
    query, ranks = _steps(plan, statistics, terms), leg.ranking
    places, idf = statistics.places, [0.0] * len(statistics.places)
    for name, weight in zip(query.stems, query.idf):
        idf[places[name]] = weight
    assert statistics.cascade is not None
    with blocks.checked():
        rows, scores, matches, step = statistics.cascade.best(
            leg.most,
            [(every, [places[query.stems[at]] for at in words]) for every, words in query.steps],
            idf=idf,
            weights=ranks.weights,
            average=ranks.average[0],
            constants=(ranks.k1, ranks.b),
            outside=[row for (row,) in gone],
            memories=leg.memories,
        )
    return [(matches, step, score, row) for score, row in zip(scores.tolist(), rows.tolist())]


def text_leg(plan: SearchPlan, statistics: Statistics, terms: QueryTerms) -> TextLeg:
    """Return the text leg of a query."""
    alone = are_apart(plan, statistics)
    if alone:
        statistics = statistics.of_entries()
    average, weights = (statistics.average(TEXTS), statistics.average(GRAMS)), plan.profile.text.weights.array
    return TextLeg(
        _asked(plan, statistics, terms),
        _needed(plan, terms),
        Ranking(weights.tolist(), average, *constants(plan)),
        _phrases(plan, statistics, terms),
        chosen(plan) and conjunction(conditions(plan)),
        None if plan.include_expired else plan.now,
        plan.scores_memories and not alone,
        look(plan),
    )


def memories_apart(
    vault: VaultRow,
    plan: SearchPlan,
    statistics: Statistics,
    terms: QueryTerms,
    leg: TextLeg,
    only: Condition | None = None,
) -> list[Statement]:
    """Return the statements for memories with statistics of their own; in a cascade, one per step.

    Args:
        only: those that pass this rather than the filters.
    """
    totals = statistics.held_memories, statistics.average_memory
    passing, own = conjunction(conditions(plan)) if only is None else only, weights(plan)
    if plan.query.steps:
        stems = [terms.names.get(term, "") for term in plan.query.terms]
        steps = [(every, [stems[at] for at in words]) for _, every, words in plan.query.steps]
        return [cascades.memories(vault, step, own, totals, passing, leg.most, leg.phrases) for step in steps]
    names = terms.of(plan.query.terms)
    return [memories.scored(vault, names, leg.needed, totals, passing, leg.most, leg.phrases, own)]


def merged(
    plan: SearchPlan, scored: Sequence[tuple[int, float]], known: Mapping[int, CandidateRow], terms: QueryTerms
) -> list[tuple[int, float]]:
    """Return rows and their scores in the order of full text."""
    whole = {row: holds_all(plan, known[row], terms) for row, _ in scored} if plan.query.needed else {}
    return sorted(scored, key=lambda item: (not whole.get(item[0], False), -item[1], item[0]))


def _asked(plan: SearchPlan, statistics: Statistics, terms: QueryTerms) -> WeightedTerms:
    # As FTS5 sums: the terms of the query in their order, a repeated one again, in one table after the other.
    stored = terms.of(plan.query.terms)
    tables = (TEXTS, GRAMS) if plan.query.grams else (TEXTS,)
    wanted: list[tuple[int, str, float | None, int]] = [
        (part, name, statistics.idf(part, name), statistics.count(part, name)) for part in tables for name in stored
    ]
    ranked = frozenset(stored)
    more = dict.fromkeys(name for name in _needed(plan, terms).terms if name not in ranked)
    wanted += [(part, name, None, statistics.count(part, name)) for part in tables for name in more]
    return WeightedTerms(*zip(*wanted)) if wanted else WeightedTerms()


def _needed(plan: SearchPlan, terms: QueryTerms) -> Needed:
    rows: list[tuple[int, str, int, int]] = []
    for word, (forms, pieces) in enumerate(plan.query.needed):
        rows += [(word, name, 0, 0) for name in terms.of(forms)]
        held = terms.of(pieces)
        rows += [(word, name, number, len(held)) for number, name in enumerate(held, 1)]
    words, names = [row[0] for row in rows], [row[1] for row in rows]
    return Needed(words, names, [row[2] for row in rows], [row[3] for row in rows], len(plan.query.needed))


def _phrases(plan: SearchPlan, statistics: Statistics, terms: QueryTerms) -> list[Posting]:
    if not plan.query.has_phrase:
        return []
    named = {*terms.of(plan.query.terms), *_needed(plan, terms).terms}
    return [posting for name in terms.phrases() if name in named for posting in statistics.phrases.postings[name]]


def _nearest(read: PostgresReading, plan: SearchPlan, space: Space, *, indexed: bool) -> Statement:
    passing, narrowed = conjunction(conditions(plan)), bool(chosen(plan))
    return nearest.nearest(read.vault, space, _unit(plan), plan.candidates, passing, indexed=indexed, narrowed=narrowed)


def _unit(plan: SearchPlan) -> NDArray[np.float32]:
    assert plan.vector is not None
    return plan.vector.scan


def _look_up(
    read: PostgresReading, plans: Sequence[SearchPlan], space: Space, rows: dict[tuple[int, str], Any]
) -> None:
    """Replace the nearest vectors of a cluster by the nearest entries, for the plans without filters."""
    legs = {
        (at, "vector"): nearest.Leg(_unit(plan), plan.candidates, conjunction(conditions(plan)))
        for at, plan in enumerate(plans)
        if (at, "vector") in rows and not chosen(plan)
    }
    if legs:
        rows.update(zip(legs, nearest.entries(read, space, [*legs.values()], [rows[leg] for leg in legs])))


def memories_leg(
    read: PostgresReading, plan: SearchPlan, statistics: Statistics, terms: QueryTerms
) -> Sequence[tuple[str, Statement]]:
    """Return the statement for memories of fixed score, or for the number of excluded ones."""
    names, passing = terms.of(plan.query.terms), conjunction(conditions(plan, memories=True))
    phrases = _phrases(plan, statistics, terms)
    if plan.include_memories:
        totals = statistics.held_memories, statistics.average_memory
        statement = memories.scored(read.vault, names, _needed(plan, terms), totals, passing, plan.candidates, phrases)
        return [("memories", statement)]
    if "kinds" in plan.filters:
        return []
    return [("left out", memories.counted(read.vault, [*dict.fromkeys(names)], passing, MOST_MEMORIES, phrases))]
