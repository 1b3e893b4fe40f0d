"""Entry: the unit that a vault stores and a search returns."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, TypeAlias, TypeVar, get_args

from septet.errors import StoreError
from septet.inputs.arguments import shown
from septet.model.codec import OMITTED, Plain
from septet.model.fields import EntryFields, Severity, Span, Trust
from septet.system.records import dataclass

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
#: In ascending order.
TRUSTS: tuple[Trust, ...] = get_args(Trust)
MAX_ID_CHARS = 256
#: Maximum nesting of attrs. SQLite reads JSON to a depth of 1,000, and Python to about the same.
MOST_DEPTH = 500
SNIPPET_CHARS = 120
CHARS_A_TOKEN = 4

_Json = TypeVar("_Json", dict[str, Any], list[Any])

#: Fields accepted by `Vault.add` and `Vault.update`, beside ``vector`` and ``model``.
FIELDS = frozenset(EntryFields.__annotations__)


class Shown:
    """A value with an HTML representation for notebooks."""

    __slots__ = ()
    #: Its name in `septet.model.notebook`.
    _shown_as: ClassVar[str]

    def _repr_html_(self) -> str:
        from septet.model.notebook import html_of

        return html_of(self)


class Tabular(Shown):
    """A value with rows."""

    __slots__ = ()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return flat rows, one per hit, entry, query or measure."""
        from septet.model.notebook import rows_of

        return rows_of(self)

    def to_pandas(self) -> Any:
        """Return the rows of `to_dicts` as a data frame of pandas, times as UTC.

        Raises:
            SeptetError: pandas is not installed.
        """
        from septet.model.notebook import frame_of

        return frame_of(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Shown, Plain):
    """One piece of knowledge.

    Times are epoch seconds (UTC). ``valid_from`` and ``valid_until`` are None if there is no limit. A ``created_at`` or
    ``updated_at`` of 0 is unset: the vault sets it from its clock. ``parent`` is the id of the entry that this one is a
    part of; for a split entry, its own id. ``source`` is the origin of the text, None if only the storing program
    vouches for it; ``trust`` is its reliability.
    """

    _shown_as = "entry"

    id: str
    title: str
    description: str = ""
    context: str = ""
    kind: str = "entry"
    type: str = "note"
    domain: str = "general"
    severity: Severity = "suggestion"
    tags: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict, metadata=OMITTED)
    created_at: float = 0.0
    updated_at: float = 0.0
    valid_from: float | None = field(default=None, metadata=OMITTED)
    valid_until: float | None = field(default=None, metadata=OMITTED)
    span: Span | None = field(default=None, metadata=OMITTED)
    parent: str | None = field(default=None, metadata=OMITTED)
    source: str | None = field(default=None, metadata=OMITTED)
    trust: Trust = "trusted"

    @property
    def snippet(self) -> str:
        """The first 120 characters of the description, with ``...`` if it is longer."""
        cut = self.description[:SNIPPET_CHARS]
        return cut + "..." if len(self.description) > SNIPPET_CHARS else cut

    @property
    def citation(self) -> str | None:
        """Location of the text: ``path#L5-L20``, ``path#L7`` for a single line; None without a span."""
        return None if self.span is None else self.span.citation

    @property
    def token_estimate(self) -> int:
        """The estimated number of model tokens of the whole entry: characters / 4, rounded up."""
        return math.ceil(self.text_chars / CHARS_A_TOKEN)

    @property
    def text_chars(self) -> int:
        """Characters of title, description, context and the attrs ``example``, ``counter_example`` and ``why``."""
        extra = 0
        if self.attrs:
            extra = sum(len(v) for k, v in self.attrs.items() if k in _LONG_ATTRS and isinstance(v, str))
        return len(self.title) + len(self.description) + len(self.context) + extra


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """An earlier version of an entry; see `septet.Vault.history`.

    Attributes:
        entry: the earlier version.
        replaced_at: time of the change, epoch seconds.
        call: the method that changed it, such as ``update`` or ``add_many``.
        changed: the changed fields, except ``updated_at``.
    """

    entry: Entry
    replaced_at: float
    call: str
    changed: tuple[str, ...]


class _EntryBuilder(Shown):
    """A mutable `Entry` under construction.

    The constructor of a frozen dataclass calls ``object.__setattr__`` for each field: 2.6 us, ten times as long as
    this. A search constructs ten entries.
    """

    __slots__ = Entry.__slots__


#: A row of the store: row number and the fields of an entry; tags and attrs are JSON text.
StoredEntry: TypeAlias = tuple[
    int, str, str, str, str, str, str, str, str, str, str,
    "str | None", "int | None", "int | None", float, float, "float | None", "float | None", "str | None",
    "str | None", str,
]  # fmt: skip


def entries_of(rows: Iterable[StoredEntry]) -> list[Entry]:
    """Convert rows of the store to entries; raise `StoreError` if stored tags or attrs are damaged."""
    entries = []
    for (
        _, id, kind, type, domain, severity, title, description, context, tags_json, attrs_json,
        path, first_line, last_line, created_at, updated_at, valid_from, valid_until, parent,
        source, trust,
    ) in rows:  # fmt: skip
        entry: Any = _EntryBuilder()
        entry.id, entry.title, entry.description, entry.context = id, title, description, context
        entry.kind, entry.type, entry.domain, entry.severity = kind, type, domain, severity
        try:
            entry.tags = tuple(tags_of(tags_json))
            entry.attrs = {} if attrs_json == "{}" else json_of(attrs_json, dict)
        except StoreError as fault:
            raise StoreError(f"entry {shown(id)}: {fault}") from None
        entry.created_at, entry.updated_at = created_at, updated_at
        entry.valid_from, entry.valid_until = valid_from, valid_until
        entry.span = None if path is None else Span(path, first_line or 1, last_line or 1)
        entry.parent, entry.source, entry.trust = parent, source, trust
        # Allowed because both classes have the same slots.
        entry.__class__ = Entry
        entries.append(entry)
    return entries


def tags_of(tags_json: str) -> list[str]:
    """Decode tags. Without escapes the separator is constant, so a split is enough. Errors as for `json_of`."""
    if tags_json == "[]":
        return []
    if "\\" in tags_json:
        tags: list[str] = json_of(tags_json, list)
        if {*map(type, tags)} == {str}:
            return tags
    elif tags_json[:2] == '["' and tags_json[-2:] == '"]' and len(tags_json) > 3:
        return tags_json[2:-2].split('","')
    raise _no_json(tags_json, list)


def json_of(text: str, kind: type[_Json]) -> _Json:
    """Decode a stored JSON text; raise `StoreError` for another type, deep nesting, and lone surrogates."""
    try:
        if type(text) is str:
            decoded = json.loads(text)
            # Few texts need the full check.
            if type(decoded) is kind and not ("\\u" in text or "N" in text or "I" in text or len(text) > MOST_DEPTH):
                return decoded
            if type(decoded) is kind and _depth(text) <= MOST_DEPTH:
                json.dumps(decoded, ensure_ascii=False, allow_nan=False).encode("utf-8")
                return decoded
    except (ValueError, RecursionError):
        pass
    raise _no_json(text, kind)


def _depth(text: str) -> int:
    """Return the nesting depth of a JSON text."""
    depth = most = 0
    for sign in re.findall(_SIGNS, text):
        if len(sign) == 1:
            depth += 1 if sign in "[{" else -1
            most = max(most, depth)
    return most


#: JSON strings, and brackets.
_SIGNS = r'(?s)"(?:[^"\\]|\\.)*"|[\[\]{}]'


def _no_json(text: object, kind: type[Any]) -> StoreError:
    expected = "a JSON object" if kind is dict else "a JSON list of texts"
    return StoreError(
        f"{shown(text)} is stored instead of {expected}: damaged, or written by another program; "
        "`septet doctor` lists all such rows"
    )


#: Attrs that the token estimate counts in addition to the three indexed fields.
_LONG_ATTRS = frozenset({"example", "counter_example", "why"})
