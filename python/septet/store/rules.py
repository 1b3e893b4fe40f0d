"""Rules shared by the tables of all backends: comparisons, checks and their errors, earlier versions of entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError, StoreError, VectorError
from septet.inputs.arguments import exact, shown, utf8
from septet.model.drafts import MOST_CHARS
from septet.model.entry import entries_of, json_of
from septet.model.vector import Space
from septet.ranking.pool import Candidate, json_text
from septet.store.rows import ACTIONS, CANDIDATE_COLUMNS, EntryRow, FeedbackRow, Stored
from septet.store.typed import typed

if TYPE_CHECKING:
    from septet.query.filters import Compare, Scalar


#: Columns in a full-text table, or that select the table of an entry.
INDEXED = frozenset({"tags", "kind"})


def contradiction(entry_id: str, validity: object) -> EntryError:
    """Return the error for contradictory times of an entry: those of its validity, or the others."""
    ends = "valid_until would be before valid_from" if validity else "updated_at would be before created_at"
    return EntryError(f"{ends} in {entry_id!r}: nothing was changed; leave it out by `where`, or change both times")


def too_large(entry_id: str, chars: int) -> EntryError:
    """Return the error for an entry that would be too large."""
    return EntryError(
        f"texts and attrs of {entry_id!r} would have {chars:,} characters: an entry has at most {MOST_CHARS:,}; "
        "nothing was changed"
    )


def no_space(spaces: Sequence[Space], model: str | None, dimensions: int) -> VectorError:
    """Return the error for a query vector that matches no space with vectors."""
    here = ", ".join(f"{model} ({size})" for model, size in sorted((s.model, s.dimensions) for s in spaces))
    wanted_space = f"{dimensions} dimensions" if model is None else f"model {model!r} and {dimensions} dimensions"
    return VectorError(f"query_vector has {wanted_space}, the vault holds vectors of: {here}")


def joined(parts: Sequence[str]) -> str:
    """Return the text to embed of an entry from its title, description and context."""
    return "\n".join(part for part in parts if part)


#: Compared separately: times may come from the clock.
_CLOCK_TIMES = ("created_at", "updated_at")
_STORED = [name for name in EntryRow._fields[:-1] if name not in _CLOCK_TIMES]
#: The columns of a stored entry for `same`.
SELECTED = (*_CLOCK_TIMES, *_STORED)
_PLACES = [EntryRow._fields.index(name) for name in _STORED]


def same(stored: Iterable[tuple[Any, ...]], rows: Sequence[EntryRow], timed: Sequence[bool]) -> list[bool]:
    """Return True for each row that equals a stored one (columns `SELECTED`); ``timed`` as in `rows_stored`."""
    # By id, the first compared column.
    by_id = {values[2]: values for values in stored}
    if not by_id:
        return [False] * len(rows)
    return [
        (match := by_id.get(row.id)) is not None
        and match[2:] == tuple(row[place] for place in _PLACES)
        and (not is_timed or (match[1] == row.updated_at and (not row.created_given or match[0] == row.created_at)))
        for row, is_timed in zip(rows, timed)
    ]


#: Maximum entries, and characters of texts, of a page of `run`.
RUN_ROWS, RUN_CHARS = 250, 4 << 20


def values_of(item: Compare) -> tuple[Scalar, ...]:
    """Return the values that a field is compared with."""
    return item.value if isinstance(item.value, tuple) else (item.value,)


def by_type(values: Sequence[Any]) -> tuple[Sequence[str], Sequence[float], Sequence[Scalar]]:
    """Split values into texts, numbers and others; JSON's booleans are not numbers."""
    types = set(map(type, values))
    if types == {str}:
        return values, (), ()
    if types <= {int, float}:
        return (), values, ()
    texts = [v for v in values if isinstance(v, str)]
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return texts, numbers, [v for v in values if v is None or isinstance(v, bool)]


#: Maximum characters of a stored query.
MOST_QUERY_CHARS = 1_000_000


def feedback_row(query: object, entry_id: object, action: object, at: float) -> FeedbackRow:
    """Return a row.

    Raises:
        EntryError: a value is not text, the query is too long, or the action none of `ACTIONS`.
    """
    done = exact(action)
    if not isinstance(done, str) or done not in ACTIONS:
        raise EntryError(f"action is {shown(action)}: wanted one of {', '.join(ACTIONS)}")
    return FeedbackRow(utf8(query, "query", EntryError, MOST_QUERY_CHARS), utf8(entry_id, "id"), done, at)


#: The visible columns of an entry after row and id. Grams and the hash follow.
COLUMNS = CANDIDATE_COLUMNS[2:]
_KNOWN = frozenset(COLUMNS) | {"grams", "text_hash"}
TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until"})
#: Columns whose change creates a version; times change with every write.
COMPARED = tuple(name for name in COLUMNS if name not in ("created_at", "updated_at"))


def replaced(old: Sequence[Any], row: Any) -> str | None:
    """Return the columns that a new version replaces, as JSON; None if both are equal.

    Args:
        old: ``created_at``, ``updated_at`` and `COMPARED` of the stored one.
        row: the new `EntryRow`.
    """
    created_at, updated_at, *before = old
    new = (*row[1:9], *row[10:14], *row[16:21])
    if tuple(before) == new:
        return None
    changes = {name: value for name, value, other in zip(COMPARED, before, new) if value != other}
    changes["updated_at"] = updated_at
    if row.created_given and row.created_at != created_at:
        changes["created_at"] = created_at
    return json_text(changes)


def versions(now: Sequence[Any], changes: Iterable[tuple[float, str, str]]) -> list[Stored]:
    """Return the versions of an entry, the latest first.

    Args:
        now: its row, its id and `COLUMNS`.
        changes: time and call of each replacement, and the columns as JSON, the latest first.
    """
    result, state = [], dict(zip(COLUMNS, now[2:]))
    for at, call, text in changes:
        earlier = columns_of(text)
        changed = tuple(name for name, value in earlier.items() if state[name] != value and name != "updated_at")
        state.update(earlier)
        entry = entries_of(typed(Candidate, [(*now[:2], *(state[name] for name in COLUMNS))]))[0]
        result.append(Stored(entry, at, call, changed))
    return result


def columns_of(text: str) -> dict[str, Any]:
    """Return the columns of a version.

    Raises:
        StoreError: not a JSON object of columns.
    """
    columns = json_of(text, dict)
    try:
        for name in TIMES & columns.keys():
            columns[name] = None if columns[name] is None else float(columns[name])
        if columns.keys() <= _KNOWN:
            return columns
    except (TypeError, ValueError, OverflowError):
        pass
    raise StoreError(f"an earlier version is {shown(text)}: damaged, or written by another program")
