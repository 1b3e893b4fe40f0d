"""Translates filters of a plan to SQL over ``entries e``, equivalent to `septet.sqlite.tables.conditions`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import MAX_PREC, Context, Decimal
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from septet.postgres.tables.counts import range_of
from septet.postgres.tables.fragments import FINDABLE, MEMORY, SEARCHABLE
from septet.query.plan import SearchPlan
from septet.ranking.pool import json_text
from septet.store.rows import Condition
from septet.store.rules import TIMES, by_type, values_of

if TYPE_CHECKING:
    from septet.query.filters import Compare, Filter, Scalar


_COMPARISONS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
#: Columns of whole numbers.
LINES = frozenset(["first_line", "last_line"])
_TEXT, _NUMBER = "m.type = 'string'", "m.type = 'number'"
#: Maximum tags to search in the JSON text of tags before parsing it.
FEW_TAGS = 8
_TRUE, _FALSE = Condition("TRUE"), Condition("FALSE")
_EXACT = Context(MAX_PREC)
#: Upper bound of the characters that `str.casefold` changes.
_FOLDED = 0x20000
#: The entry has a posting of its texts (not of a memory's context) or grams.
_POSTING = (
    "EXISTS (SELECT 1 FROM septet.postings p WHERE p.vault = e.vault AND p.bucket = e.bucket AND p.row = e.row "
    "AND p.part IN (0, 1) AND {} AND (NOT p.memory OR p.part = 1 OR p.id + p.title + p.description + p.tags > 0))"
)
_BEGUN = 'p.term >= %s::text COLLATE "C" AND p.term < %s::text COLLATE "C"'


def conditions(plan: SearchPlan, *, memories: bool = False) -> dict[str, Condition]:
    """Return every condition on candidates, by name, of a plan with settled filters (`septet.postgres.tables.phrases`).

    If ``memories``, only memories pass the condition on kinds.
    """
    out = {"live": Condition(FINDABLE)}
    if memories:
        out["kind"] = Condition(MEMORY)
    elif not plan.scores_memories:
        out["kind"] = Condition(SEARCHABLE)
    if not plan.include_expired:
        out["valid"] = validity(plan.now)
    out.update((name, _translate(f)) for name, f in plan.filters.items())
    return out


def chosen(plan: SearchPlan) -> Condition | None:
    """Return the caller's filters joined by AND, without validity and kinds; None without filters."""
    return filtered(plan.filters) if plan.filters else None


def filtered(filters: Mapping[str, Filter]) -> Condition:
    """Return filters joined by AND, in parentheses."""
    joined = conjunction([_translate(f) for f in filters.values()])
    return joined._replace(sql=f"({joined.sql})")


def validity(now: float) -> Condition:
    """Return the condition ``valid_from <= now < valid_until``."""
    return Condition(
        "(e.valid_until IS NULL OR e.valid_until > %s::float8) "
        "AND (e.valid_from IS NULL OR e.valid_from <= %s::float8)",
        (now, now),
    )


def conjunction(parts: Mapping[str, Condition] | Sequence[Condition]) -> Condition:
    """Join conditions by AND."""
    return _join(parts.values() if isinstance(parts, Mapping) else parts, " AND ", _TRUE)


def among(rows: Sequence[int]) -> Condition:
    """Return the condition that an entry is at one of the rows."""
    return Condition("e.row IN (SELECT unnest(%s::bigint[]))", (list(rows),))


def _translate(item: Filter) -> Condition:
    # Imported late, as most searches have no filter.
    from septet.postgres.tables.phrases import Among, alternatives, terms_of
    from septet.query.filters import AllOf, AnyOf, Compare, Not

    if isinstance(item, Not):
        return _negate(_translate(item.part))
    if isinstance(item, AllOf):
        return _join(map(_translate, item.parts), " AND ", _TRUE)
    if isinstance(item, AnyOf):
        return _join(map(_translate, item.parts), " OR ", _FALSE)
    if isinstance(item, Compare):
        return _compare(item)
    if isinstance(item, Among):
        return among(item.rows)
    terms = []
    for words, begun in alternatives(item.match):
        assert len(words) < 2, "settle phrases first"
        if words and begun:
            terms.append(Condition(_POSTING.format(_BEGUN), range_of(words[0])))
        elif words:
            terms.append(_term(words))
    grams = [_term(held) if (held := terms_of(gram)) else _FALSE for gram in item.grams]
    return _join([*terms, *([_join(grams, " AND ", _TRUE)] if grams else [])], " OR ", _FALSE)


def _term(terms: Sequence[str]) -> Condition:
    return Condition(_POSTING.format("p.term = ANY(%s::text[])"), (list(terms),))


def _negate(inner: Condition) -> Condition:
    # NULL counts as false, so its negation is true.
    return Condition(f"({inner.sql}) IS NOT TRUE", inner.parameters)


def _join(parts: Iterable[Condition], word: str, empty: Condition) -> Condition:
    listed = list(parts)
    if len(listed) < 2:
        return listed[0] if listed else empty
    return Condition(word.join(f"({p.sql})" for p in listed), tuple(v for p in listed for v in p.parameters))


# -- columns -----------------------------------------------------------------------------------------------------------


def _compare(item: Compare) -> Condition:
    if item.operator == "$ne":
        return _negate(_compare(replace(item, operator="$eq")))
    if item.operator == "$nin":
        return _negate(_compare(replace(item, operator="$in")))
    in_json = item.field == "tags" or item.field.startswith("attrs.")
    if item.operator == "$all":
        return _every_json(item) if in_json else _every(item)
    if in_json:
        return _compare_json(item)
    column = f"e.{item.field}"
    if item.operator == "$exists":
        return Condition(f"{column} IS {'NOT ' if item.value else ''}NULL")
    texts, numbers, others = by_type(values_of(item))
    if item.operator == "$contains":
        return _contains(column, texts[0])
    null = [Condition(f"{column} IS NULL")] if None in others else []
    kind = "float8" if item.field in TIMES else "numeric" if item.field in LINES else "text"
    stored = _storable(texts) if kind == "text" else canonicals(numbers)
    if item.operator == "$in":
        inside = Condition(f"{column} IN (SELECT unnest(%s::text[]::{kind}[]))", (stored,)) if stored else _FALSE
        return _join([inside, *null], " OR ", _FALSE)
    if null:
        return null[0]
    if kind == "text":
        return text_compared(column, item.operator, texts[0])
    return Condition(f"{column} {_COMPARISONS[item.operator]} %s::text::{kind}", (stored[0],))


def _storable(texts: Sequence[str]) -> list[str]:
    """Return the texts without NUL, which PostgreSQL cannot store."""
    return [text for text in texts if "\0" not in text]


def text_compared(column: str, operator: str, text: str) -> Condition:
    """Return a condition on a text column; comparisons order by code point."""
    text, nul, _ = text.partition("\0")
    if operator == "$eq":
        return _FALSE if nul else Condition(f"{column} = %s::text", (text,))
    # Longer texts with the prefix before NUL have a higher character in its place.
    sign = {"$gt": ">", "$gte": ">", "$lt": "<=", "$lte": "<="}[operator] if nul else _COMPARISONS[operator]
    return Condition(f'{column} COLLATE "C" {sign} %s::text', (text,))


def _every(item: Compare) -> Condition:
    """Return the condition that a column, of one value, has all values."""
    values = list(dict.fromkeys(values_of(item)))
    if not values:
        return _TRUE
    return _FALSE if len(values) > 1 else _compare(replace(item, operator="$eq", value=values[0]))


@cache
def _folds() -> Mapping[str, str]:
    """Return the foldings of the characters that `str.casefold` changes."""
    return {char: fold for char in map(chr, range(_FOLDED)) if (fold := char.casefold()) != char}


def _contains(text: str, part: str) -> Condition:
    """Return the condition that a text contains another, compared by `str.casefold`."""
    if "\0" in part:
        return _FALSE
    folded = part.casefold()
    letters = frozenset(folded)
    # Other characters match nothing.
    folds = {char: fold for char, fold in _folds().items() if char in letters or not letters.isdisjoint(fold)}
    single = [char for char, fold in folds.items() if len(fold) == 1]
    sql = f'{text} COLLATE "C"'
    parameters: tuple[object, ...] = ()
    if single:
        sql = f"translate({sql}, %s::text, %s::text)"
        parameters = ("".join(single), "".join(folds[char] for char in single))
    for char, fold in folds.items():
        if len(fold) > 1:
            sql = f"replace({sql}, '{char}', '{fold}')"
    return Condition(f"strpos({sql}, %s::text) > 0", (*parameters, folded))


# -- tags and attrs ----------------------------------------------------------------------------------------------------


def _every_json(item: Compare) -> Condition:
    """Return the condition that a JSON field contains all values."""
    texts, numbers, others = by_type(values_of(item))
    parts = [_compare_json(replace(item, operator="$eq", value=value)) for value in others]
    for text, values in ((True, list(dict.fromkeys(texts))), (False, canonicals(numbers))):
        if values:
            inside = _member_in(values, text=text)
            value = "m.text" if text else NUMBER
            parts.append(_of_members(item.field, f"(SELECT count(DISTINCT {value}) {{}}) = {len(values)}", inside))
    return _join(parts, " AND ", _TRUE)


def _compare_json(item: Compare) -> Condition:
    """Return the condition on a JSON value: a list matches if any member does; a scalar is a list of one."""
    inner = source(item.field)
    if item.operator == "$exists":
        if item.field == "tags":
            return Condition(f"e.tags {'<>' if item.value else '='} '[]'")
        return Condition(f"{inner.sql} IS {'NOT ' if item.value else ''}NULL", inner.parameters)
    texts, numbers, others = by_type(values_of(item))
    inside = _join(_members(item.operator, texts, numbers, others), " OR ", _FALSE)
    matching = _of_members(item.field, "EXISTS (SELECT 1 {})", inside) if inside is not _FALSE else _FALSE
    if item.field == "tags" and item.operator in ("$eq", "$in") and 0 < len(storable := _storable(texts)) <= FEW_TAGS:
        # Tags are texts, serialized by `json_text`.
        written = [Condition("strpos(e.tags, %s::text) > 0", (json_text(text),)) for text in storable]
        matching = _join([_join(written, " OR ", _FALSE), matching], " AND ", _TRUE)
    if None not in others:
        return matching
    missing = Condition(f"coalesce(json_typeof({inner.sql}), 'null') = 'null'", inner.parameters)
    return _join([matching, missing], " OR ", _FALSE)


def _of_members(field: str, sql: str, inside: Condition) -> Condition:
    """Return SQL over the members of a field that pass a condition, which replace the braces."""
    inner = members(field)
    head, _, tail = sql.partition("{}")
    return Condition(f"{head}FROM {inner.sql} WHERE {inside.sql}{tail}", (*inner.parameters, *inside.parameters))


def _member_in(values: Sequence[str], *, text: bool) -> Condition:
    """Return the condition that a member is one of the texts, or of the numbers in the form of `canonicals`."""
    # The lookup is fast for any number of values, and Citus refuses a subquery here.
    if text:
        return Condition(f"{_TEXT} AND jsonb_exists(%s::jsonb, m.text)", (_keys(_storable(values)),))
    sql = f"CASE WHEN {_NUMBER} THEN jsonb_exists(%s::jsonb, trim_scale({NUMBER})::text) ELSE FALSE END"
    return Condition(sql, (_keys(format(Decimal(number).normalize(_EXACT), "f") for number in values),))


def _keys(texts: Iterable[str]) -> str:
    """Return a JSON object with the texts as keys."""
    return json.dumps(dict.fromkeys(texts), ensure_ascii=False)


def _members(
    operator: str, texts: Sequence[str], numbers: Sequence[float], others: Sequence[Scalar]
) -> list[Condition]:
    """Return the alternative conditions on one member ``m``; texts and numbers do not compare."""
    if operator == "$contains":
        return [_join([Condition(_TEXT), _contains("m.text", text)], " AND ", _TRUE) for text in texts]
    out = [Condition(f"m.type = 'boolean' AND m.text = '{'true' if v else 'false'}'") for v in others if v is not None]
    if operator == "$in":
        out += [_member_in(texts, text=True)] if texts else []
        return out + ([_member_in(canonicals(numbers), text=False)] if numbers else [])
    out += [_join([Condition(_TEXT), text_compared("m.text", operator, text)], " AND ", _TRUE) for text in texts]
    sign = _COMPARISONS.get(operator, "=")
    decimals = (canonical(number) for number in numbers)
    return out + [
        Condition(f"CASE WHEN {_NUMBER} THEN {NUMBER} {sign} %s::text::numeric ELSE FALSE END", (v,)) for v in decimals
    ]


# -- members in JSON, compared as in SQLite ----------------------------------------------------------------------------

# The type is `json` rather than `jsonb`, to preserve the spelling of numbers: in SQLite ``1`` is an integer, and
# ``1e18`` and integers of more than 64 bits are doubles.
_LEAST, _BEYOND = -(2**63), 2**63

#: The number in the text of a member ``m``. Doubles of SQLite are cast to float8 first; then 64-bit integers compare
#: exactly, and others by their shortest decimals, which preserves equality and order.
NUMBER = (
    "CASE WHEN m.text ~ '^-?[0-9]{1,18}$' OR length(m.text) > 308 THEN m.text::numeric "
    f"WHEN m.text ~ '^-?[0-9]{{19}}$' AND m.text::numeric BETWEEN {_LEAST} AND {_BEYOND - 1} THEN m.text::numeric "
    "WHEN m.text::float8 = trunc(m.text::float8) AND m.text::float8 >= -9223372036854775808::float8 "
    "AND m.text::float8 < 9223372036854775808::float8 THEN m.text::float8::bigint::numeric "
    "ELSE m.text::float8::text::numeric END"
)
#: Sort columns of members ``m``: numbers, then texts by code point, then False and True.
MEMBER_ORDER = (
    "CASE m.type WHEN 'number' THEN 0 WHEN 'string' THEN 1 WHEN 'boolean' THEN 2 END",
    f"CASE m.type WHEN 'number' THEN {NUMBER} END",
    "CASE m.type WHEN 'string' THEN m.text END COLLATE \"C\"",
    "CASE m.type WHEN 'boolean' THEN m.text = 'true' END",
)


def canonical(number: float) -> str:
    """Return a number as the text of its `NUMBER`."""
    if isinstance(number, int):
        return str(number)
    return str(int(number)) if number.is_integer() and _LEAST <= number < _BEYOND else str(Decimal(repr(number)))


def canonicals(numbers: Sequence[float]) -> list[str]:
    """Return the unique `canonical` texts of numbers."""
    return list(dict.fromkeys(map(canonical, numbers)))


def source(field: str) -> Condition:
    """Return the expression, of type `json`, for ``tags`` or a path into attrs; NULL for a missing path."""
    if field == "tags":
        return Condition("e.tags::json")
    sql = "e.attrs::json"
    parameters: list[object] = []
    # Stored names have no NUL; U+FFFF prevents a match with another name.
    names = field.replace("\0", "\uffff\uffff").split(".")[1:]
    for numbered, group in groupby(names, lambda name: any(map(str.isdigit, name))):
        # `#>` would also take a number as a list index.
        step = "-> %s::text" if numbered else "#> %s::text[]"
        for value in group if numbered else [list(group)]:
            sql = f"({sql} {step})"
            parameters.append(value)
    return Condition(sql, tuple(parameters))


def members(field: str, *, lists: bool = True) -> Condition:
    """Return the FROM item for members ``m`` (``type``, ``text``, ``place``) of a field; a scalar is a list of one.

    Objects have no members, and lists only if ``lists``.
    """
    inside, within = source(field), "s.v" if lists else "'[]'::json"
    # unnest evaluates the expression once. Citus refuses OFFSET 0 and json_build_array.
    return Condition(
        f"(SELECT unnest(ARRAY[{inside.sql}]) AS v) s CROSS JOIN LATERAL json_array_elements(CASE json_typeof(s.v) "
        f"WHEN 'array' THEN {within} WHEN 'object' THEN '[]'::json ELSE ('[' || s.v::text || ']')::json END) "
        "WITH ORDINALITY AS j(value, place) CROSS JOIN LATERAL "
        "(SELECT unnest(ARRAY[json_typeof(j.value)]) AS type, j.value #>> '{}' AS text, j.place) m",
        inside.parameters,
    )


def value_of(kind: str | None, text: str) -> Any:
    """Return the value of a member from its type and text; None unless it is a text, number or boolean."""
    if kind == "string":
        return text
    if kind == "boolean":
        return text == "true"
    if kind != "number":
        return None
    if text.lstrip("-").isdigit() and len(text) < 25 and _LEAST <= int(text) < _BEYOND:
        return int(text)
    return float(text)
