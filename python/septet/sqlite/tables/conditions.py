"""A plan's filters as SQL over ``entries e``, and the candidates that pass them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, cast

from septet.query.plan import SearchPlan
from septet.ranking.pool import json_text
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables.fragments import FINDABLE, MEMORY, SEARCHABLE, among, escaped, escaped_json, listed, plain
from septet.store.rows import Condition
from septet.store.rules import by_type, values_of

if TYPE_CHECKING:
    from septet.query.filters import Compare, Filter, Holds, Scalar


_COMPARISONS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
#: Conditions on members of a list that compare with texts, and with numbers.
_TEXT, _NUMBER = "j.type = 'text'", "j.type IN ('integer', 'real')"
#: Maximum tags that are first matched in the JSON text of all tags; parsing it takes ten times as long.
FEW_TAGS = 8


def conditions(plan: SearchPlan, *, memories: bool = False) -> dict[str, Condition]:
    """Return the conditions on a candidate, by name; with ``memories``, on a memory."""
    out = {"live": Condition(FINDABLE)}
    if memories:
        out["kind"] = Condition(MEMORY)
    elif not plan.scores_memories:
        out["kind"] = Condition(SEARCHABLE)
    if not plan.include_expired:
        out["valid"] = validity(plan.now)
    out.update((name, _translate(f)) for name, f in plan.filters.items())
    return out


def filtered(filters: Mapping[str, Filter]) -> Condition:
    """Join filters by AND; safe to embed in other conditions."""
    joined = conjunction([_translate(f) for f in filters.values()])
    return Condition(f"({joined.sql})", *joined[1:])


def validity(now: float) -> Condition:
    """Return the condition of validity at a time: ``valid_from <= now < valid_until``."""
    return Condition(
        "(e.valid_until IS NULL OR e.valid_until > ?) AND (e.valid_from IS NULL OR e.valid_from <= ?)", (now, now)
    )


def conjunction(parts: Mapping[str, Condition] | Sequence[Condition]) -> Condition:
    """Join conditions by AND."""
    return _joined(parts.values() if isinstance(parts, Mapping) else parts, " AND ", "1")


def holding_all(words: Iterable[tuple[Sequence[str], Sequence[str]]], tables: Sequence[str]) -> Condition:
    """Return the condition that an entry contains every word in any of its forms, or all of its pieces.

    Args:
        words: forms and pieces of each; a word without either matches nothing.
        tables: full-text tables to search; a term may be in any of them.
    """

    def holds(terms: Sequence[str]) -> Condition:
        return _matching(" OR ".join(f'"{term}"' for term in terms), tables)

    def held(forms: Sequence[str], pieces: Sequence[str]) -> Condition:
        together = [_joined([holds([piece]) for piece in pieces], " AND ", "0")] if pieces else []
        return _joined([*([holds(forms)] if forms else []), *together], " OR ", "0")

    return _joined([held(forms, pieces) for forms, pieces in words], " AND ", "0")


def _translate(item: Filter, *, negated: bool = False) -> Condition:
    """Translate a filter, or its negation.

    Negations are pushed down to the comparisons: around groups they would exceed the depth of SQLite's parser.
    """
    # Imported late: most searches have no filter.
    from septet.query.filters import AllOf, AnyOf, Holds, Not

    if isinstance(item, Not):
        return _translate(item.part, negated=not negated)
    if isinstance(item, (AllOf, AnyOf)):
        parts = (_translate(part, negated=negated) for part in item.parts)
        return _joined(parts, " AND ", "1") if isinstance(item, AllOf) != negated else _joined(parts, " OR ", "0")
    condition = _holds(item) if isinstance(item, Holds) else _compare(item)
    return _negated(condition) if negated else condition


#: Parts of identifiers are among the grams, those of memories in their own table.
_FULL_TEXT = ("entries_fts", "grams_fts", "memories_fts")


def _holds(item: Holds) -> Condition:
    """Match the full text of the entry or memory, or its grams."""
    plain = _matching(item.match)
    if not item.grams:
        return plain
    return _joined([plain, _joined([_matching(f'"{gram}"') for gram in item.grams], " AND ", "1")], " OR ", "0")


def _matching(match: str, tables: Sequence[str] = _FULL_TEXT) -> Condition:
    rows = " UNION ALL ".join(f"SELECT rowid FROM {t} WHERE {t} MATCH ?" for t in tables)
    return Condition(f"e.row IN ({rows})", (match,) * len(tables))


def _negated(inner: Condition) -> Condition:
    # NULL counts as false, so that its negation is true.
    return Condition(f"NOT coalesce(({inner.sql}), 0)", inner.parameters)


def _joined(parts: Iterable[Condition], word: str, empty: str) -> Condition:
    """Join conditions as a balanced tree: SQLite limits the depth of expressions, and a chain is as deep as long."""
    # Deepest first: SQLite's parser stacks everything before an open bracket.
    listed = sorted(parts, key=attrgetter("depth"), reverse=True) or [Condition(empty)]
    while len(listed) > 1:
        pairs = [listed[i : i + 2] for i in range(0, len(listed), 2)]
        listed = [
            Condition(
                word.join(f"({p.sql})" for p in pair), tuple(v for p in pair for v in p.parameters), pair[0].depth + 1
            )
            for pair in pairs
        ]
    return listed[0]


def _compare(item: Compare) -> Condition:
    if item.operator in ("$ne", "$nin"):
        return _negated(_compare(replace(item, operator="$eq" if item.operator == "$ne" else "$in")))
    in_json = item.field == "tags" or item.field.startswith("attrs.")
    if in_json:
        return _every_json(item) if item.operator == "$all" else _compare_json(item)
    if item.operator == "$all":
        # A column has one value.
        values = list(dict.fromkeys(values_of(item)))
        if len(values) != 1:
            return Condition("0" if values else "1")
        return _compare(replace(item, operator="$eq", value=values[0]))
    column = f"e.{item.field}"
    if item.operator == "$exists":
        return Condition(f"{column} IS {'NOT ' if item.value else ''}NULL")
    if item.operator == "$contains":
        holds = f"instr(casefold(CAST({column} AS TEXT)), ?) > 0"
        return Condition(f"CASE WHEN {column} IS NULL THEN 0 ELSE {holds} END", (cast("str", item.value).casefold(),))
    if item.operator == "$in":
        texts, numbers, others = by_type(values_of(item))
        source, parameter, _ = among(texts or numbers)
        inside = Condition(f"{column} IN (SELECT value FROM {source})", (parameter,))
        return _joined([inside, Condition(f"{column} IS NULL")], " OR ", "0") if None in others else inside
    if item.value is None:
        return Condition(f"{column} IS NULL")
    return Condition(f"{column} {_COMPARISONS[item.operator]} ?", (item.value,))


def _every_json(item: Compare) -> Condition:
    """Translate ``$all`` on JSON: the number of matching values equals that of the requested ones."""
    texts, numbers, others = by_type(values_of(item))
    parts = [_compare_json(replace(item, operator="$eq", value=value)) for value in others]
    for kind, some in ((_TEXT, texts), (_NUMBER, numbers)):
        if some:
            _, parameter, values = among(some)
            inside = Condition(f"{kind} AND j.value IN (SELECT value FROM json_each(?))", (parameter,))
            parts.append(_of_members(item.field, f"(SELECT count(DISTINCT j.value) {{}}) = {values}", inside))
    return _joined(parts, " AND ", "1")


def _compare_json(item: Compare) -> Condition:
    """Compare a JSON value: a list matches if any member does; a scalar counts as a list of one."""
    source, path = json_source(item.field)
    if item.operator == "$exists":
        if item.field == "tags":
            return Condition(f"e.tags {'<>' if item.value else '='} '[]'")
        return Condition(f"json_type({source}) IS {'NOT ' if item.value else ''}NULL", path)
    texts, numbers, others = by_type(values_of(item))
    inside = _joined(_members(item.operator, texts, numbers, others), " OR ", "0")
    some = _of_members(item.field, "EXISTS (SELECT 1 {})", inside)
    if item.field == "tags" and item.operator in ("$eq", "$in") and 0 < len(texts) <= FEW_TAGS:
        # Tags contain no numbers; texts are encoded by `json_text`.
        written = [Condition("instr(e.tags, ?) > 0", (json_text(text),)) for text in texts]
        some = _joined([_joined(written, " OR ", "0"), some], " AND ", "1")
    if None not in others:
        return some
    return _joined([some, Condition(f"coalesce(json_type({source}), 'null') = 'null'", path)], " OR ", "0")


def _of_members(field: str, sql: str, inside: Condition) -> Condition:
    """Return the condition that some member ``j`` of a field passes; ``{}`` in the SQL is its subquery."""
    source, path = json_source(field)
    members = sql.format(f"FROM json_each({source}) j WHERE {inside.sql}")
    if field == "tags":
        return Condition(members, inside.parameters)
    # json_each would iterate over the values of an object like those of a list.
    return Condition(f"json_type({source}) <> 'object' AND {members}", (*path, *path, *inside.parameters))


def json_source(field: str) -> tuple[str, tuple[object, ...]]:
    """Return the arguments of a JSON function that select a field, with escaped texts, and their parameters."""
    column = "tags" if field == "tags" else "attrs"
    whole = escaped_json(f"e.{column}")
    if field == "tags":
        return whole, ()
    # SQLite compares a path with the raw names in the JSON text, so both are escaped in the same way.
    return f"{whole}, ?", ("$" + "".join(f".{json_text(escaped(part))}" for part in field.split(".")[1:]),)


def _members(
    operator: str, texts: Sequence[str], numbers: Sequence[float], others: Sequence[Scalar]
) -> list[Condition]:
    """Compare a member ``j``; texts and numbers are not comparable."""
    if operator == "$contains":
        contained = f"CASE WHEN {_TEXT} THEN instr(casefold({plain('j.value')}), ?) > 0 ELSE 0 END"
        return [Condition(contained, (v.casefold(),)) for v in texts]
    out = [Condition(f"j.type = '{'true' if v else 'false'}'") for v in others if v is not None]
    for kind, some in ((_TEXT, texts), (_NUMBER, numbers)):
        if operator == "$in":
            inside = f"{kind} AND j.value IN (SELECT value FROM json_each(?))"
            out += [Condition(inside, (among(some)[1],))] if some else []
        else:
            values = [escaped(v) if isinstance(v, str) else v for v in some]
            out += [Condition(f"{kind} AND j.value {_COMPARISONS[operator]} ?", (v,)) for v in values]
    return out


def rows_where(read: SqliteReading, condition: Condition) -> list[int]:
    """Return the rows of searchable entries that pass a condition, in any order."""
    sql = f"SELECT e.row FROM entries e WHERE {FINDABLE} AND {condition.sql}"
    return [row for (row,) in read.sql.execute(sql, condition.parameters)]


def passing_rows(read: SqliteReading, plan: SearchPlan, ids: Sequence[str]) -> list[int]:
    """Return the rows of the ids that pass every filter of a plan, in the order of the ids."""
    passing = conjunction(conditions(plan))
    source, parameter = listed(list(ids))
    sql = f"SELECT e.row FROM {source} j JOIN entries e ON e.id = j.value WHERE {passing.sql} ORDER BY j.key"
    return [row for (row,) in read.sql.execute(sql, (parameter, *passing.parameters))]


def any_passing(read: SqliteReading, plan: SearchPlan, filters: Sequence[Filter]) -> list[bool]:
    """Return True for each filter that some entry passes, ignoring the plan's own filters."""
    others = conditions(plan._replace(filters={}, scores_memories=plan.include_memories))
    candidates = []
    for item in filters:
        passing = conjunction({**others, "own": filtered({"own": item})})
        sql = f"SELECT EXISTS (SELECT 1 FROM entries e WHERE {passing.sql})"
        candidates.append(bool(read.sql.execute(sql, passing.parameters).fetchone()[0]))
    return candidates


def rows_of(read: SqliteReading, ids: Sequence[str]) -> dict[str, int]:
    """Return the rows of existing ids, by id."""
    source, parameter = listed(list(ids))
    sql = f"SELECT e.id, e.row FROM {source} j CROSS JOIN entries e ON e.id = j.value WHERE e.live"
    return dict(read.sql.execute(sql, (parameter,)))


def valid_ids(read: SqliteReading, plan: SearchPlan, ids: Sequence[str]) -> frozenset[str]:
    """Return the existing ids that are valid at the plan's time; all of them if it includes expired entries."""
    valid = Condition("1") if plan.include_expired else validity(plan.now)
    source, parameter = listed(list(ids))
    sql = f"SELECT e.id FROM {source} j JOIN entries e ON e.id = j.value WHERE e.live AND ({valid.sql})"
    return frozenset(entry_id for (entry_id,) in read.sql.execute(sql, (parameter, *valid.parameters)))


def filters_passed(read: SqliteReading, plan: SearchPlan, row: int, *, memories: bool) -> dict[str, bool]:
    """Return True for each filter of a plan, by name, that an entry passes; ``memories`` takes those of memories."""
    named = conditions(plan, memories=memories)
    columns = ", ".join(f"coalesce(({condition.sql}), 0)" for condition in named.values())
    values = [value for condition in named.values() for value in condition.parameters]
    passed = read.sql.execute(f"SELECT {columns} FROM entries e WHERE e.row = ?", (*values, row)).fetchone()
    return {name: bool(passes) for name, passes in zip(named, passed) if name != "live"}
