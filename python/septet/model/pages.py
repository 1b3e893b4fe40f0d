"""Results of listings: pages of entries, and counts per value of a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, overload

from septet.model.codec import Plain
from septet.model.entry import Entry, Tabular

#: A value that entries are counted by: text, or a number or a truth value of attrs.
FacetValue: TypeAlias = "str | int | float | bool"


@dataclass(frozen=True, repr=False)
class Page(Sequence[Entry], Tabular, Plain):
    """Some entries of a listing, in its order.

    Attributes:
        entries: the entries.
        next: ``after`` of the next page in `Vault.entries`; None on the last page.
    """

    _shown_as = "page"

    entries: tuple[Entry, ...]
    next: str | None

    @property
    def ids(self) -> list[str]:
        """The ids of the entries, in order."""
        return [entry.id for entry in self.entries]

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        return self.entries[index]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __repr__(self) -> str:
        more = "the last page" if self.next is None else "more follow"
        return f"Page({len(self)} entries, {more})"


@dataclass(frozen=True, eq=False, repr=False)
class Facets(Mapping[FacetValue, int]):
    """Values of a field, each with the number of entries that have it: the most frequent first, equal ones by value.

    ``True`` and ``1`` are two values, as they are in filters.

    Attributes:
        field: the field.
        counts: the values, each with its count, in order.
        total: how many entries were looked at.
        missing: how many of them have no value.
        distinct: how many values there are, those beyond the limit too.
        other: the sum of the counts that the limit left out.
    """

    field: str
    counts: tuple[tuple[FacetValue, int], ...]
    total: int
    missing: int
    distinct: int
    other: int

    @cached_property
    def _counts(self) -> dict[tuple[bool, FacetValue], int]:
        # True and 1 are equal to Python.
        return {(isinstance(value, bool), value): count for value, count in self.counts}

    def __getitem__(self, value: object) -> int:
        try:
            return self._counts[isinstance(value, bool), value]  # type: ignore[index]
        except (KeyError, TypeError):
            raise KeyError(value) from None

    def __contains__(self, value: object) -> bool:
        try:
            return (isinstance(value, bool), value) in self._counts
        except TypeError:
            return False

    def __iter__(self) -> Iterator[FacetValue]:
        return (value for value, _ in self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        counts = ", ".join(f"{value!r}: {count}" for value, count in self.counts)
        more = f", and {self.distinct - len(self):,} values more" if self.distinct > len(self) else ""
        return f"Facets({self.field}: {{{counts}{more}}} of {self.total:,} entries, {self.missing:,} without)"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return {
            "field": self.field,
            "values": [{"value": value, "count": count} for value, count in self.counts],
            "total": self.total,
            "missing": self.missing,
            "distinct": self.distinct,
            "other": self.other,
        }
