"""The text leg: FTS5 finds and BM25 ranks, in SQL."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from septet.query.plan import SearchPlan
from septet.ranking.bm25_scale import TermCounts, factors, idf
from septet.ranking.cuts import guarded
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import indexing
from septet.sqlite.tables.conditions import conditions, conjunction, holding_all
from septet.store.rows import Condition

#: Maximum cached counts of terms.
MOST_COUNTS = 10_000
NOTHING = Condition("1")
#: SQLite's errors when a build has no `bm25()` or its host forbids it.
_MISSING = ("no such function: bm25", "not authorized to use function: bm25")


class FtsRows(NamedTuple):
    """Rows and their scores (BM25 made positive, higher is better), best first.

    Attributes:
        fallback: True if ``bm25()`` was missing and FTS5's default rank, all columns equal, was used.
        matches: number of matching rows, including those beyond the limit.
        whole: number of matches with every required word; 0 if none is required.
    """

    rows: list[int]
    scores: list[float]
    fallback: bool
    matches: int
    whole: int = 0


class Rank(NamedTuple):
    """The place of a row among all matches.

    Attributes:
        rank: from 1; None if the row does not match.
        matches: number of matching rows that pass the filters.
        whole: number of these with every required word; 0 if none is required.
        has_all: True if the row has every required word.
    """

    rank: int | None
    matches: int
    score: float | None
    whole: int = 0
    has_all: bool = False


def candidates(read: SqliteReading, plan: SearchPlan, limit: int) -> FtsRows:
    """Return the best rows for a plan's terms among those that pass its filters, with every required word first."""
    passing = conjunction(conditions(plan))
    first, whole = "", NOTHING
    if plan.query.needed:
        whole = _whole(read, plan)
        first = f"({whole.sql}) DESC, "
    matches = _ranked(
        read,
        plan,
        f"JOIN entries e ON e.row = t.row WHERE {passing.sql} ORDER BY {first}t.score DESC, t.row LIMIT ?",
        (*passing.parameters, *whole.parameters, limit),
    )
    if plan.query.needed:
        matches = matches._replace(whole=_count(read, plan, conjunction([passing, whole])))
    return matches if len(matches.rows) < limit else matches._replace(matches=_count(read, plan, passing))


def cascade(read: SqliteReading, plan: SearchPlan, limit: int) -> tuple[FtsRows, int | None]:
    """Return the best rows of the first step of a cascade with matches, as `candidates`, and the number of the step."""
    for step in range(len(plan.query.steps)):
        matches_ = candidates(read, plan._replace(query=plan.query.at_step(step)), limit)
        if matches_.rows:
            return matches_, step
    return FtsRows([], [], fallback=False, matches=0), None


def _whole(read: SqliteReading, plan: SearchPlan, tables: Sequence[str] | None = None) -> Condition:
    return holding_all(plan.query.needed, _tables(read, plan) if tables is None else tables)


def whole_rows(read: SqliteReading, plan: SearchPlan, rows: Sequence[int] | None = None) -> frozenset[int]:
    """Return the rows with every required word, among these or among all that pass the filters."""
    whole = _whole(read, plan)
    if rows is None:
        return frozenset(
            row for (row,) in _holding(read, plan, conjunction([*conditions(plan).values(), whole]), "e.row")
        )
    sql = f"SELECT e.row FROM entries e WHERE e.row IN (SELECT value FROM json_each(?)) AND ({whole.sql})"
    return frozenset(row for (row,) in read.sql.execute(sql, (json.dumps(list(rows)), *whole.parameters)))


def _count(read: SqliteReading, plan: SearchPlan, passing: Condition) -> int:
    """Return the number of rows with a term of a plan that pass a condition; much faster without scores."""
    return int(_holding(read, plan, passing, "count(*)").fetchone()[0])


def matching(read: SqliteReading, plan: SearchPlan) -> list[int]:
    """Return the rows with a term of a plan that pass its filters, without duplicates, in any order."""
    return [row for (row,) in _holding(read, plan, conjunction(conditions(plan)), "e.row")]


def _holding(read: SqliteReading, plan: SearchPlan, passing: Condition, what: str) -> sqlite3.Cursor:
    tables = _tables(read, plan)
    rows = " UNION ".join(f"SELECT rowid AS row FROM {t} WHERE {t} MATCH ?" for t in tables)
    sql = f"SELECT {what} FROM ({rows}) t JOIN entries e ON e.row = t.row WHERE {passing.sql}"
    return read.sql.execute(sql, (*map(plan.query.match_in, tables), *passing.parameters))


def _tables(read: SqliteReading, plan: SearchPlan) -> list[str]:
    tables = ["entries_fts"]
    if plan.query.grams and _any_grams(read):
        tables.append("grams_fts")
    if plan.scores_memories:
        tables.append("memories_fts")
    return tables


def score_rows(read: SqliteReading, plan: SearchPlan, rows: Sequence[int]) -> dict[int, float]:
    """Return the scores of the matching rows among these."""
    if not rows:
        return {}
    ranked = _ranked(read, plan, "WHERE 1", (), only=rows)
    return dict(zip(ranked.rows, ranked.scores))


def rank_of(read: SqliteReading, plan: SearchPlan, row: int) -> Rank:
    """Return the rank of a row among all matches that pass the filters: SQLite counts the better ones."""
    score = score_rows(read, plan, [row]).get(row)
    passing = conjunction(conditions(plan))
    if score is None:
        return Rank(None, _count(read, plan, passing), None)
    whole = _whole(read, plan) if plan.query.needed else Condition("0")
    has_all = bool(plan.query.needed and whole_rows(read, plan, [row]))
    better = f"m.whole {'AND' if has_all else 'OR'} (m.score > ? OR (m.score = ? AND m.row < ?))"
    # SQLite refuses `bm25()` in an aggregate: the limit keeps it in an inner query.
    sql = (
        f"SELECT count(*), total(m.whole), total({better}) FROM (SELECT t.row, t.score, ({whole.sql}) AS whole "
        f"FROM ({{}}) t JOIN entries e ON e.row = t.row WHERE {passing.sql} LIMIT -1) m"
    )
    before = (score, score, row, *whole.parameters)
    ((matches, all_whole, ahead),), _ = _selected(read, plan, sql, before, passing.parameters)
    return Rank(int(ahead) + 1, matches, score, int(all_whole), has_all)


def terms_held(read: SqliteReading, plan: SearchPlan, row: int) -> dict[str, tuple[bool, bool]]:
    """Return for each term of a plan whether a row holds it, and whether it does as a word."""
    terms = list(dict.fromkeys(plan.query.terms))
    held, words = set[int](), set[int]()
    for table in _tables(read, plan):
        sql = (
            "SELECT j.key FROM json_each(?) j "
            f"WHERE EXISTS (SELECT 1 FROM {table} WHERE {table} MATCH j.value AND rowid = ?)"
        )
        matches = json.dumps([plan.query.holding(term, table) for term in terms])
        places = {place for (place,) in read.sql.execute(sql, (matches, row))}
        held |= places
        words |= places if table != "grams_fts" else set()
    return {term: (place in held, place in words) for place, term in enumerate(terms)}


def candidate_count(plan: SearchPlan, matches: int, taken: int) -> int:
    """Return the number of candidates: ``taken``, or all matches if the small-corpus guard applies."""
    return matches if guarded(plan.profile.cuts, limit=plan.limit, matches=matches) else min(taken, matches)


def counts(read: SqliteReading, plan: SearchPlan, known: dict[tuple[str, bool], int]) -> TermCounts:
    """Count the entries, and those with each term of the query; ``known`` is a cache at this generation."""
    holding, grams = {}, plan.query.grams
    for term in dict.fromkeys(plan.query.terms):
        key = (plan.query.holding(term, "entries_fts") if plan.query.steps else term, grams)
        count = known.get(key)
        if count is None:
            if len(known) >= MOST_COUNTS:
                known.clear()
            count = known[key] = (
                _matches(read, "entries_fts", key[0]) if plan.query.steps else _rows_holding(read, term, grams)
            )
        holding[term] = count
    if plan.scores_memories and not any(holding.values()):
        # Only memories match, so their scores need no scaling.
        return _counts_of_memories(read, plan)
    return TermCounts(indexing.totals(read, "entries_fts").rows, holding)


def _counts_of_memories(read: SqliteReading, plan: SearchPlan) -> TermCounts:
    matches = {term: plan.query.holding(term, "memories_fts") for term in plan.query.terms}
    holding = {term: _matches(read, "memories_fts", match) for term, match in matches.items()}
    return TermCounts(indexing.totals(read, "memories_fts").rows, holding)


def _scale_of_memories(read: SqliteReading, plan: SearchPlan) -> float | None:
    """Return the factor from the memories' BM25 to that of entries; None if no memory matches.

    FTS5 has separate statistics per table.
    """
    memories, others = _counts_of_memories(read, plan), counts(read, plan, {})
    if not any(memories.holding.values()):
        return None
    of_entries, of_memories = factors((others, memories), plan.query.terms)
    return of_memories / of_entries if of_entries else 1.0


def _rows_holding(read: SqliteReading, term: str, grams: bool) -> int:
    # A row never has a term both as a word and as a gram.
    tables = ("entries_fts", "grams_fts") if grams else ("entries_fts",)
    return sum(_matches(read, table, f'"{term}"') for table in tables)


def _matches(read: SqliteReading, table: str, match: str) -> int:
    return int(read.sql.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (match,)).fetchone()[0])


def recall_memories(read: SqliteReading, plan: SearchPlan, limit: int) -> list[int]:
    """Return the best memories for a plan's terms by FTS5's default rank."""
    passing = conjunction(conditions(plan, memories=True))
    sql = (
        "SELECT e.row FROM memories_fts JOIN entries e ON e.row = memories_fts.rowid "
        f"WHERE memories_fts MATCH ? AND {passing.sql} ORDER BY {{}}rank, e.row LIMIT ?"
    )
    whole, first = NOTHING, ""
    if plan.query.needed:
        whole = _whole(read, plan, ["memories_fts"])
        first = f"({whole.sql}) DESC, "
    values = (plan.query.match_in("memories_fts"), *passing.parameters, *whole.parameters, limit)
    return [r[0] for r in read.sql.execute(sql.replace("{}", first), values)]


def rank_of_memory(read: SqliteReading, plan: SearchPlan, row: int) -> Rank:
    """Return the rank of a memory in the order of `recall_memories`, without a score."""
    passing, match = conjunction(conditions(plan, memories=True)), plan.query.match_in("memories_fts")
    whole = _whole(read, plan, ["memories_fts"]) if plan.query.needed else NOTHING
    tail = (
        f"FROM memories_fts JOIN entries e ON e.row = memories_fts.rowid WHERE memories_fts MATCH ? AND {passing.sql}"
    )
    values = (match, *passing.parameters)
    own = read.sql.execute(f"SELECT {whole.sql}, rank {tail} AND e.row = ?", (*whole.parameters, *values, row))
    has_all, score = own.fetchone() or (None, None)
    better = f"({whole.sql}) > ? OR (({whole.sql}) = ? AND (rank < ? OR (rank = ? AND e.row < ?)))"
    bound = (*whole.parameters, has_all, *whole.parameters, has_all, score, score, row)
    matches, before = read.sql.execute(f"SELECT count(*), total({better}) {tail}", (*bound, *values)).fetchone()
    return Rank(None if score is None else int(before) + 1, matches, None)


def count_memories(read: SqliteReading, plan: SearchPlan, most: int) -> int:
    """Return the number of memories with a term of a plan that pass its filters, counting to ``most``; -1 for all."""
    passing = conjunction(conditions(plan, memories=True))
    sql = (
        "SELECT count(*) FROM (SELECT 1 FROM memories_fts JOIN entries e ON e.row = memories_fts.rowid "
        f"WHERE memories_fts MATCH ? AND {passing.sql} LIMIT ?)"
    )
    return int(read.sql.execute(sql, (plan.query.match_in("memories_fts"), *passing.parameters, most)).fetchone()[0])


def _ranked(
    read: SqliteReading, plan: SearchPlan, tail: str, parameters: Sequence[object], only: Sequence[int] | None = None
) -> FtsRows:
    sql = f"SELECT t.row, t.score FROM ({{}}) t {tail}"
    rows, fallback = _selected(read, plan, sql, (), parameters, only)
    return FtsRows([r[0] for r in rows], [r[1] for r in rows], fallback, matches=len(rows))


def _selected(
    read: SqliteReading,
    plan: SearchPlan,
    sql: str,
    before: Sequence[object],
    after: Sequence[object],
    only: Sequence[int] | None = None,
) -> tuple[list[Any], bool]:
    """Run a query of the scored matches, and say whether ``bm25()`` was missing, so that FTS5's default rank was used.

    Args:
        sql: with ``{}`` in place of the query that selects the matches' ``row`` and ``score``.
        before: parameters before those of the matches; ``after``, those after them.
        only: rows to score; None for all.
    """
    with_grams = plan.query.grams and _any_grams(read)
    scale = _scale_of_memories(read, plan) if plan.scores_memories else None
    w = plan.profile.text.weights
    of_entries = f"-bm25(entries_fts, {w.id!r}, {w.title!r}, {w.description!r}, {w.context!r}, {w.tags!r})"
    scores = [_Scored("entries_fts", plan.query.match_in("entries_fts"), of_entries)]
    if with_grams:
        scores = _with_one_frequency(read, plan, of_entries)
    if scale is not None:
        weights = f"{w.id!r}, {w.title!r}, {w.description!r}, {w.tags!r}, {1.0 if plan.query.grams else 0.0!r}"
        of_memories = f"{scale!r} * -bm25(memories_fts, {weights})"
        scores.append(_Scored("memories_fts", plan.query.match_in("memories_fts"), of_memories))
    try:
        return _run(read, scores, sql, before, after, only), False
    except sqlite3.Error as fault:
        if not any(cause in str(fault) for cause in _MISSING):
            raise
    return _run(read, [score._replace(score="-rank") for score in scores], sql, before, after, only), True


class _Scored(NamedTuple):
    """An FTS5 expression on a table, and the SQL of a row's score."""

    table: str
    match: str
    score: str


def _with_one_frequency(read: SqliteReading, plan: SearchPlan, of_entries: str) -> list[_Scored]:
    """Return the scores of words and grams with a common document frequency over both tables.

    FTS5 has one per table, so each term's score is rescaled. Terms that are in no grams stay in one expression.
    """
    rows = indexing.totals(read, "entries_fts").rows
    of_grams = indexing.totals(read, "grams_fts").rows
    plain: list[str] = []
    scores: list[_Scored] = []
    for term, times in Counter(plan.query.terms).items():
        words, grams = (_matches(read, table, f'"{term}"') for table in ("entries_fts", "grams_fts"))
        if not grams:
            plain += [term] * times
            continue
        match, both = f'"{term}"', times * idf(max(rows, of_grams), words + grams)
        scores.append(_Scored("grams_fts", match, f"{both / idf(of_grams, grams)!r} * -bm25(grams_fts)"))
        if words:
            scores.append(_Scored("entries_fts", match, f"{both / idf(rows, words)!r} * {of_entries}"))
    if plain or not scores:
        match = " OR ".join(f'"{term}"' for term in plain) if plain else plan.query.match_in("entries_fts")
        scores.insert(0, _Scored("entries_fts", match, of_entries))
    if plan.query.begun:
        begun = " OR ".join(f'"{word}" *' for word in plan.query.begun)
        scores += [_Scored("entries_fts", begun, of_entries), _Scored("grams_fts", begun, "-bm25(grams_fts)")]
    return scores


def _run(
    read: SqliteReading,
    scores: Sequence[_Scored],
    sql: str,
    before: Sequence[object],
    after: Sequence[object],
    only: Sequence[int] | None,
) -> list[Any]:
    # The plus prevents row by row look-ups in FTS5, each of which would count every term's documents again.
    inside = "" if only is None else f" AND +rowid IN ({', '.join('?' * len(only))})"
    more = () if only is None else only
    values = [value for score in scores for value in (score.match, *more)]
    parts = [
        f"SELECT rowid AS row, {score.score} AS score FROM {score.table} WHERE {score.table} MATCH ?{inside}"
        for score in scores
    ]
    matches = parts[0]
    if len(parts) > 1:
        # The order of summation differs from that in memory, so ties would differ in the last bit. Significant digits,
        # because very common words score a millionth.
        total = "CAST(printf('%.14g', sum(score)) AS REAL)"
        matches = f"SELECT row, {total} AS score FROM ({' UNION ALL '.join(parts)}) GROUP BY row"
    return read.sql.execute(sql.replace("{}", matches), (*before, *values, *after)).fetchall()


def _any_grams(read: SqliteReading) -> bool:
    return read.sql.execute("SELECT 1 FROM grams_fts_docsize LIMIT 1").fetchone() is not None
