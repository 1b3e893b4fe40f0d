"""Fields: what the methods that store entries take by name, for type checkers and editors.

The checks themselves are in `septet.model.drafts`; the names that it accepts are those written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "Action",
    "BulkChanges",
    "EntryChanges",
    "EntryFields",
    "EntryItem",
    "EntryOverrides",
    "FrameLike",
    "MemoryFields",
    "OnSimilar",
    "Severity",
    "Span",
    "SpanFields",
    "Split",
    "Strings",
    "Time",
    "Trust",
    "VectorLike",
]

#: How important an entry is.
Severity: TypeAlias = Literal["critical", "warning", "suggestion"]
#: What became of a result: see `septet.Vault.feedback`.
Action: TypeAlias = Literal["accepted", "modified", "dismissed", "failed"]
#: Whether the text of an entry may be relied on, from the least: ``untrusted`` < ``unverified`` < ``trusted``.
Trust: TypeAlias = Literal["untrusted", "unverified", "trusted"]
#: Epoch seconds, or a datetime with a time zone.
Time: TypeAlias = "float | datetime"
#: How a long text becomes linked parts: ``auto``, or of how many words a part is at most.
Split: TypeAlias = "Literal['auto'] | int"
#: What is done with an entry when there is one like it: see `septet.Vault.add`.
OnSimilar: TypeAlias = Literal["keep", "note", "skip", "merge"]
#: A vector ``(d,)``, or vectors by model.
VectorLike: TypeAlias = "ArrayLike | Mapping[str, ArrayLike]"


class Strings(Protocol):
    """A collection of strings, such as a list, a tuple or a set, but not one string.

    Type checkers tell the two apart by ``__contains__``: that of ``str`` takes strings only.
    """

    def __contains__(self, value: object, /) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def __len__(self) -> int: ...


class FrameLike(Protocol):
    """A data frame: ``pandas.DataFrame``, ``polars.DataFrame``, ``pyarrow.Table`` or ``pyarrow.RecordBatch``."""

    def __len__(self) -> int: ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a file, or pages of a PDF, that an entry's text comes from, from 1, the last one included."""

    path: str
    first_line: int
    last_line: int

    @property
    def citation(self) -> str:
        """The lines as a reader looks them up: ``path#L5-L20``, ``path#L7`` for a single line; of a PDF ``path#p3``."""
        sign = "p" if self.path[-4:].lower() == ".pdf" else "L"
        last = "" if self.last_line == self.first_line else f"-{sign}{self.last_line}"
        return f"{self.path}#{sign}{self.first_line}{last}"


class SpanFields(TypedDict):
    """A `Span` as a dict."""

    path: str
    first_line: int
    last_line: int


class MemoryFields(TypedDict, total=False):
    """What `septet.Vault.remember` takes beside its own parameters; None stands for the default everywhere.

    Attributes:
        kind: the kind of entry, such as ``entry``, ``memory``, ``chunk``.
        type: a label to filter by, such as ``rule`` or ``note``.
        domain: a subject to filter by; the signal ``domain_match`` compares it.
        severity: ``critical``, ``warning`` or ``suggestion``.
        attrs: anything else, as a JSON-ready dict; ``where`` filters on it.
        span: the lines of a file that the text comes from.
        source: where the text comes from, such as ``user``, ``agent``, ``import:notes.jsonl`` or a URL; None where the
            program itself says it.
        trust: ``trusted`` (the default), ``unverified`` or ``untrusted``: whether it may be relied on. ``where`` knows
            the order.
        created_at: epoch seconds, or a datetime with a time zone; None takes the clock.
        updated_at: as ``created_at``.
        valid_from: searches leave the entry out before this time.
        valid_until: searches leave the entry out after this time.
    """

    kind: str | None
    type: str | None
    domain: str | None
    severity: Severity | None
    attrs: Mapping[str, object] | None
    span: Span | SpanFields | None
    source: str | None
    trust: Trust | None
    created_at: Time | None
    updated_at: Time | None
    valid_from: Time | None
    valid_until: Time | None


class BulkChanges(TypedDict, total=False):
    """What `septet.Vault.update_many` takes: fields that many entries may share."""

    kind: str | None
    type: str | None
    domain: str | None
    severity: Severity | None
    tags: Strings | None
    attrs: Mapping[str, object] | None
    source: str | None
    trust: Trust | None
    created_at: Time | None
    updated_at: Time | None
    valid_from: Time | None
    valid_until: Time | None


class _TextFields(MemoryFields, total=False):
    description: str | None
    context: str | None
    tags: Strings | None
    parent: str | None


class EntryChanges(_TextFields, total=False):
    """What `septet.Vault.update` takes: any field but the id."""

    title: str


class EntryOverrides(EntryChanges, total=False):
    """What `septet.Vault.add` takes beside a whole `septet.Entry`: fields that differ from it."""

    id: str | None


class _Identified(_TextFields, total=False):
    id: str | None


class EntryFields(_Identified):
    """What `septet.Vault.add` takes: a title, and any other field.

    Attributes:
        title: what the entry is about; required.
        id: made from title and content if missing.
        description: the text.
        context: where the text applies.
        tags: labels that the signal ``tag_overlap`` compares.
        parent: the id of the entry that this one is a part of; searches group by it.
    """

    title: str


class _Options(TypedDict, total=False):
    vector: VectorLike | None
    model: str | None
    split: Split | None


class EntryItem(EntryFields, _Options):
    """An entry as a dict for `septet.Vault.add_many`: the arguments of `septet.Vault.add`."""
