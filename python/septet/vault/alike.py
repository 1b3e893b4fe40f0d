"""Near-duplicates: the options, and the merge of two entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, get_args, overload

from septet.errors import EntryError
from septet.inputs.arguments import exact, real, shown
from septet.model.drafts import merged_attrs
from septet.model.entry import SEVERITIES, Entry
from septet.model.fields import OnSimilar, Suggest
from septet.ranking.pool import Candidate
from septet.store.rows import EntryRow
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from septet.model.fields import EntryFields, EntryOverrides, MemoryFields, Split, Strings, VectorLike
    from septet.model.suggestion import Suggestion

_Stored = TypeVar("_Stored", covariant=True)
_Suggested = TypeVar("_Suggested", covariant=True)

#: The default: entries are not compared.
KEEP: OnSimilar = "keep"
#: Default minimum cosine of near-duplicates.
SIMILARITY = 0.95


class Adding(Protocol[_Stored, _Suggested]):
    """The static type of `add`: a title is required unless a whole entry is passed."""

    @overload
    def __call__(
        self,
        entry: None = None,
        *,
        vector: VectorLike | None = ...,
        model: str | None = ...,
        split: Split | None = ...,
        on_similar: Suggest,
        similarity: float = ...,
        **fields: Unpack[EntryFields],
    ) -> _Suggested: ...
    @overload
    def __call__(
        self,
        entry: Entry,
        *,
        vector: VectorLike | None = ...,
        model: str | None = ...,
        split: Split | None = ...,
        on_similar: Suggest,
        similarity: float = ...,
        **fields: Unpack[EntryOverrides],
    ) -> _Suggested: ...
    @overload
    def __call__(
        self,
        entry: None = None,
        *,
        vector: VectorLike | None = ...,
        model: str | None = ...,
        split: Split | None = ...,
        on_similar: OnSimilar = ...,
        similarity: float = ...,
        **fields: Unpack[EntryFields],
    ) -> _Stored: ...
    @overload
    def __call__(
        self,
        entry: Entry,
        *,
        vector: VectorLike | None = ...,
        model: str | None = ...,
        split: Split | None = ...,
        on_similar: OnSimilar = ...,
        similarity: float = ...,
        **fields: Unpack[EntryOverrides],
    ) -> _Stored: ...


class Remembering(Protocol[_Stored, _Suggested]):
    """The static type of `remember`."""

    @overload
    def __call__(
        self,
        text: str,
        details: str = ...,
        topics: Strings = ...,
        *,
        id: str | None = ...,
        vector: VectorLike | None = ...,
        model: str | None = ...,
        on_similar: Suggest,
        similarity: float = ...,
        **fields: Unpack[MemoryFields],
    ) -> _Suggested: ...
    @overload
    def __call__(
        self,
        text: str,
        details: str = ...,
        topics: Strings = ...,
        *,
        id: str | None = ...,
        vector: VectorLike | None = ...,
        model: str | None = ...,
        on_similar: OnSimilar = ...,
        similarity: float = ...,
        **fields: Unpack[MemoryFields],
    ) -> _Stored: ...


def adding(method: Callable[..., str | Suggestion]) -> Adding[str, Suggestion]:
    """Type a method as `add`."""
    return cast("Adding[str, Suggestion]", method)


def remembering(method: Callable[..., str | Suggestion]) -> Remembering[str, Suggestion]:
    """Type a method as `remember`."""
    return cast("Remembering[str, Suggestion]", method)


class Near(NamedTuple):
    """The action for near-duplicates, and their minimum similarity."""

    what: str
    least: float


def nearness(on_similar: object, similarity: object, *, many: bool = False) -> Near | None:
    """Return the checked options; None if entries are not compared.

    Args:
        many: True for a call that stores many entries, which has no suggestions.

    Raises:
        EntryError: an unknown action, or a similarity outside 0 to 1.
    """
    least, action = real(similarity, "similarity", EntryError, 0, 1), exact(on_similar)
    actions = get_args(OnSimilar) if many else (*get_args(OnSimilar), *get_args(Suggest))
    if not isinstance(action, str) or action not in actions:
        raise EntryError(f"on_similar is {shown(on_similar)}: wanted one of {', '.join(actions)}")
    return None if action == "keep" else Near(action, least)


def row_entry(row: EntryRow) -> Entry:
    """Convert a row to be stored to an entry."""
    columns: Any = (0, *row[:9], row.attrs, *row[11:21])
    return Candidate._make(columns).to_entry()


def is_valid(row: EntryRow | Candidate, now: float) -> bool:
    """Return True if an entry holds at a time, in epoch seconds."""
    begun = row.valid_from is None or row.valid_from <= now
    return begun and (row.valid_until is None or row.valid_until > now)


def merged_fields(old: Entry, new: Entry, *, longer: bool) -> Mapping[str, Any]:
    """Return the fields of an entry that change when another one is merged into it.

    Args:
        longer: True if the new text is longer and replaces the old one, with its span and source.
    """
    replaced = ("title", "description", "context", "span", "source") if longer else ()
    starts, ends = (old.valid_from, new.valid_from), (old.valid_until, new.valid_until)
    return {
        **{name: getattr(new, name) for name in replaced},
        "tags": tuple(dict.fromkeys((*old.tags, *new.tags))),
        "attrs": merged_attrs(old.attrs, new.attrs),
        "severity": min(old.severity, new.severity, key=SEVERITIES.index),
        "created_at": min(old.created_at, new.created_at),
        "updated_at": max(old.updated_at, new.updated_at),
        "valid_from": None if None in starts else min(starts),  # type: ignore[type-var]
        "valid_until": None if None in ends else max(ends),  # type: ignore[type-var]
    }


def chars(entry: Entry) -> int:
    """Return the length of an entry's texts."""
    return len(entry.title) + len(entry.description) + len(entry.context)


def repeated_changes(known: Entry, entry: Entry, fields: Mapping[str, object]) -> dict[str, Any] | None:
    """Return the changes to an entry when the same text is stored again; None if the text differs.

    Fields that are not passed stay: repeating a text changes neither its trust nor its validity.

    Args:
        entry: the new entry.
        fields: the passed fields by name; None and empty tags count as not passed.
    """
    if (known.title, known.description) != (entry.title, entry.description):
        return None
    names = [name for name, value in fields.items() if value is not None] + ["tags"] * bool(entry.tags)
    return {name: getattr(entry, name) for name in names if getattr(known, name) != getattr(entry, name)}
