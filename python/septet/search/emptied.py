"""Filters that no entry passes: comparisons with values of the wrong type, and words that no entry contains."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import chain

from septet.errors import SeptetError
from septet.inputs.arguments import shown
from septet.notes import Note
from septet.query.filters import AllOf, AnyOf, Compare, Filter, Holds, Not, Scalar
from septet.search.federated import FederatedSearch

#: Maximum comparisons checked: each may read every entry.
MOST_COMPARISONS = 8


def reasons(search: FederatedSearch) -> list[Note]:
    """Return a note for each filter that no entry of any tier passes, for a search without candidates."""
    plan = search.plan
    if search.late or (plan.deadline is not None and plan.deadline.passed):
        return []
    items = [item for name, item in plan.filters.items() if name.startswith("where ")]
    compared = [*dict.fromkeys(chain.from_iterable(map(_comparisons, items)))][:MOST_COMPARISONS]
    try:
        notes = [note for item in compared if (note := _mismatch(search, item)) is not None]
        return notes + _unknown_words(search)
    except SeptetError:
        # The notes are only hints.
        return []


def _comparisons(item: Filter, *, negated: bool = False) -> Iterator[Compare]:
    """Yield the comparisons of attrs that must be true, except those that a missing value passes."""
    if isinstance(item, Not):
        yield from _comparisons(item.part, negated=not negated)
    elif isinstance(item, (AllOf, AnyOf)):
        for part in item.parts:
            yield from _comparisons(part, negated=negated)
    elif isinstance(item, Compare) and item.field.startswith("attrs.") and _asks_value(item) != negated:
        yield item


def _asks_value(item: Compare) -> bool:
    return item.operator not in ("$ne", "$nin") and not (item.operator == "$exists" and item.value is False)


def _mismatch(search: FederatedSearch, item: Compare) -> Note | None:
    values = item.value if isinstance(item.value, tuple) else (item.value,)
    examples = {} if item.operator == "$exists" else {_type_of(value): value for value in values}
    if None in examples or not (examples or item.operator == "$exists"):
        return None
    # ``$all`` needs every type in the field, other operators any.
    names = [name for name in examples if name is not None]
    matching = [name for name in names if _any_passes(search, [_of_type(item.field, name)])[0]]
    if matching and (item.operator != "$all" or len(matching) == len(names)):
        return None
    exists = Compare(item.field, "$exists", True)
    field_exists, *types = _any_passes(search, [exists, *(_of_type(item.field, name) for name in _TYPES)])
    if not field_exists:
        return Note("filter_mismatch", f"where compares {item.field}, which no entry has", "check the field's name")
    if item.operator == "$exists":
        return None
    missing = [name for name in names if name not in matching]
    has = " and ".join(name for name, there in zip(_TYPES, types) if there) or "neither text, numbers nor true or false"
    shown_values = ", ".join(shown(examples[name]) for name in missing)
    cause = f"where compares {item.field} with {' and '.join(missing)} ({shown_values}), and entries have {has} there"
    return Note("filter_mismatch", cause, "compare it with a value of the type that entries have")


#: Names of value types in notes.
_TYPES = ("text", "numbers", "true or false")


def _type_of(value: Scalar) -> str | None:
    if value is None:
        return None
    return _TYPES[2] if isinstance(value, bool) else _TYPES[0] if isinstance(value, str) else _TYPES[1]


def _of_type(field: str, name: str) -> Filter:
    """Return a filter for values of a type: text only compares with text, numbers only with numbers."""
    if name == _TYPES[2]:
        return Compare(field, "$in", (True, False))
    return Compare(field, "$gte", "" if name == _TYPES[0] else -sys.float_info.max)


def _unknown_words(search: FederatedSearch) -> list[Note]:
    words: dict[str, Filter] = {}
    for name in ("must", "phrase"):
        item = search.plan.filters.get(name)
        if search.plan.required is not None and isinstance(item, AllOf):
            # In a script without spaces a phrase has alternatives; the first is the phrase as written.
            words.update((_text_of(part), part) for part in item.parts)
    passed = _any_passes(search, [*words.values()]) if words else []
    unknown = ", ".join(repr(word) for word, there in zip(words, passed) if not there)
    if not unknown:
        return []
    cause = f"no entry holds {unknown}, which results must contain"
    return [Note("unknown_words", cause, "check the spelling or leave it out")]


def _text_of(item: Filter) -> str:
    first = item.parts[0] if isinstance(item, AnyOf) else item
    return first.match.strip('"') if isinstance(first, Holds) else ""


def _any_passes(search: FederatedSearch, filters: Sequence[Filter]) -> list[bool]:
    """Return for each filter whether an entry of any tier passes it."""
    passed_by_tier = [answer.session.any_passing(filters) for answer in search.answers]
    return [any(passed) for passed in zip(*passed_by_tier, strict=True)]
