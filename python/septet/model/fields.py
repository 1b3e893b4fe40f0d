"""Types of the keyword arguments of methods that store entries.

`septet.model.drafts` validates the values, and accepts exactly these names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict

from septet.system.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: Importance of an entry.
Severity: TypeAlias = Literal["critical", "warning", "suggestion"]
#: Outcome of a result: see `septet.Vault.feedback`.
Action: TypeAlias = Literal["accepted", "modified", "dismissed", "failed"]
#: Reliability of an entry's text, ascending: ``untrusted`` < ``unverified`` < ``trusted``.
Trust: TypeAlias = Literal["untrusted", "unverified", "trusted"]
#: Epoch seconds, or a datetime with a time zone.
Time: TypeAlias = "float | datetime"
#: Splitting of long texts into linked parts: ``auto``, or the maximum words per part.
Split: TypeAlias = "Literal['auto'] | int"
#: Action for near-duplicates: see `septet.Vault.add`.
OnSimilar: TypeAlias = Literal["keep", "note", "skip", "merge", "supersede"]
#: Ask for a suggestion in its place, and store nothing.
Suggest: TypeAlias = Literal["suggest"]
#: A vector ``(d,)``, or vectors by model.
VectorLike: TypeAlias = "ArrayLike | Mapping[str, ArrayLike]"


class Strings(Protocol):
    """A collection of strings, such as a list, a tuple or a set, but not one string.

    Type checkers distinguish the two by ``__contains__``: that of ``str`` takes only strings.
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
    """The lines of a file, or pages of a PDF, that contain an entry's text; from 1, inclusive."""

    path: str
    first_line: int
    last_line: int

    @property
    def citation(self) -> str:
        """The location as text: ``path#L5-L20``, ``path#L7`` for a single line, ``path#p3`` for a page of a PDF."""
        sign = "p" if self.path[-4:].lower() == ".pdf" else "L"
        last = "" if self.last_line == self.first_line else f"-{sign}{self.last_line}"
        return f"{self.path}#{sign}{self.first_line}{last}"


class SpanFields(TypedDict):
    """A `Span` as a dict."""

    path: str
    first_line: int
    last_line: int


class MemoryFields(TypedDict, total=False):
    """Additional keyword arguments of `septet.Vault.remember`; None means the default.

    Attributes:
        kind: the kind of entry, such as ``entry``, ``memory``, ``chunk``.
        type: a label to filter by, such as ``rule`` or ``note``.
        domain: a subject to filter by; the signal ``domain_match`` compares it.
        severity: ``critical``, ``warning`` or ``suggestion``.
        attrs: anything else, as a JSON-ready dict; ``where`` filters on it.
        span: the lines of a file that contain the text.
        source: origin of the text, such as ``user``, ``agent``, ``import:notes.jsonl`` or a URL; None for the program
            itself.
        trust: reliability: ``trusted`` (the default), ``unverified`` or ``untrusted``; ordered in ``where``.
        created_at: epoch seconds, or a datetime with a time zone; None for the current time.
        updated_at: as ``created_at``.
        valid_from: searches skip the entry before this time.
        valid_until: searches skip the entry after this time.
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
    """Keyword arguments of `septet.Vault.update_many`: fields that many entries may share."""

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
    """Keyword arguments of `septet.Vault.update`: any field but the id."""

    title: str


class EntryOverrides(EntryChanges, total=False):
    """Keyword arguments of `septet.Vault.add` with a `septet.Entry`: fields that override it."""

    id: str | None


class _Identified(_TextFields, total=False):
    id: str | None


class EntryFields(_Identified):
    """Keyword arguments of `septet.Vault.add`: a title, and any other field.

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
