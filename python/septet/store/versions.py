"""Earlier versions of entries, from the columns that each replacement changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from septet.errors import StoreError
from septet.inputs.arguments import shown
from septet.model.entry import entries_of, json_of
from septet.ranking.pool import Candidate, json_text
from septet.store.rows import CANDIDATE_COLUMNS, Stored
from septet.store.typed import typed

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
