"""Entry: what a vault stores and a search returns."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar, get_args

from septet.errors import StoreError
from septet.inputs.arguments import shown
from septet.model.fields import EntryFields, Severity, Span, Trust

__all__ = [
    "CHARS_A_TOKEN",
    "FIELDS",
    "MAX_ID_CHARS",
    "MOST_DEPTH",
    "SEVERITIES",
    "TRUSTS",
    "Entry",
    "Span",
    "StoredEntry",
    "Version",
    "entries_of",
    "json_of",
    "previews",
    "tags_of",
]

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
#: From the least.
TRUSTS: tuple[Trust, ...] = get_args(Trust)
MAX_ID_CHARS = 256
#: Of attrs. SQLite reads JSON to a depth of 1,000, and Python about as deep.
MOST_DEPTH = 500
SNIPPET_CHARS = 120
CHARS_A_TOKEN = 4

_Json = TypeVar("_Json", dict[str, Any], list[Any])

#: What `Vault.add` and `Vault.update` accept, beside ``vector`` and ``model``.
FIELDS = frozenset(EntryFields.__annotations__)


class Shown:
    """A value that a notebook shows as HTML."""

    __slots__ = ()
    #: Its name in `septet.model.notebook`.
    _shown_as: ClassVar[str]

    def _repr_html_(self) -> str:
        from septet.model.notebook import html_of

        return html_of(self)


class Tabular(Shown):
    """A value that is a table."""

    __slots__ = ()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return it as flat rows: a hit, an entry, a query or a measure each."""
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
class Entry(Shown):
    """One piece of knowledge.

    Times are epoch seconds (UTC). ``valid_from`` and ``valid_until`` are None when there is no limit. A ``created_at``
    or ``updated_at`` of 0 is not set yet: the vault that stores the entry sets it from its clock. ``parent`` is the id
    of the entry that this one is a part of; an entry that was split has its own id there. ``source`` says where the
    text comes from, None where the program that stored it vouches for it alone; ``trust`` whether it may be relied on.
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
    attrs: Mapping[str, Any] = field(default_factory=dict)
    created_at: float = 0.0
    updated_at: float = 0.0
    valid_from: float | None = None
    valid_until: float | None = None
    span: Span | None = None
    parent: str | None = None
    source: str | None = None
    trust: Trust = "trusted"

    @property
    def snippet(self) -> str:
        """The first 120 characters of the description, followed by ``...`` if there are more."""
        cut = self.description[:SNIPPET_CHARS]
        return cut + "..." if len(self.description) > SNIPPET_CHARS else cut

    @property
    def citation(self) -> str | None:
        """Where the text stands: ``path#L5-L20``, ``path#L7`` for a single line; None without a span."""
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

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict without optional fields that are empty."""
        out: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "type": self.type,
            "domain": self.domain,
            "severity": self.severity,
            "trust": self.trust,
            "title": self.title,
            "description": self.description,
            "context": self.context,
            "tags": list(self.tags),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
        if self.attrs:
            out["attrs"] = dict(self.attrs)
        for name in ("valid_from", "valid_until", "parent", "source"):
            if (value := getattr(self, name)) is not None:
                out[name] = value
        if self.span is not None:
            out["span"] = {"path": self.span.path, "first_line": self.span.first_line, "last_line": self.span.last_line}
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """An earlier version of an entry; see `septet.Vault.history`.

    Attributes:
        entry: the entry as it was.
        replaced_at: when it was changed, epoch seconds.
        call: the method that changed it, such as ``update`` or ``add_many``.
        changed: the fields that were changed, ``updated_at`` not counted.
    """

    entry: Entry
    replaced_at: float
    call: str
    changed: tuple[str, ...]


class _Filling(Shown):
    """An `Entry` while its fields are filled in.

    The constructor of a frozen dataclass goes through ``object.__setattr__`` once a field: 2.6 us, of which this is a
    tenth. A search makes ten entries.
    """

    __slots__ = Entry.__slots__


#: A row of the store: its number, and the fields of an entry; tags and attrs are JSON text.
StoredEntry: TypeAlias = tuple[
    int, str, str, str, str, str, str, str, str, str, str,
    "str | None", "int | None", "int | None", float, float, "float | None", "float | None", "str | None",
    "str | None", str,
]  # fmt: skip


def entries_of(rows: Iterable[StoredEntry]) -> list[Entry]:
    """Return rows of the store as entries.

    Raises:
        StoreError: tags or attrs are no JSON of theirs.
    """
    made = []
    for (
        _, id, kind, type, domain, severity, title, description, context, tags_json, attrs_json,
        path, first_line, last_line, created_at, updated_at, valid_from, valid_until, parent,
        source, trust,
    ) in rows:  # fmt: skip
        entry: Any = _Filling()
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
        # Both have the same slots, so the one can become the other.
        entry.__class__ = Entry
        made.append(entry)
    return made


def previews(entries: Iterable[Entry], snippet_chars: int = SNIPPET_CHARS) -> list[tuple[str, int]]:
    """Return the first characters of the description and the token estimate of each entry."""
    found = []
    for entry in entries:
        # As the properties say; calls of theirs would be forty for ten entries.
        text = entry.description
        chars = entry.text_chars if entry.attrs else len(entry.title) + len(text) + len(entry.context)
        snippet = text if len(text) <= snippet_chars else text[:snippet_chars] + "..."
        found.append((snippet, -(-chars // CHARS_A_TOKEN)))
    return found


def tags_of(tags_json: str) -> list[str]:
    """Return tags as they were given. Where nothing is escaped, what stands between two tags is always the same.

    Raises:
        StoreError: it is no list of texts.
    """
    if tags_json == "[]":
        return []
    if "\\" in tags_json:
        found: list[str] = json_of(tags_json, list)
        if {*map(type, found)} == {str}:
            return found
    elif tags_json[:2] == '["' and tags_json[-2:] == '"]' and len(tags_json) > 3:
        return tags_json[2:-2].split('","')
    raise _no_json(tags_json, list)


def json_of(text: str, kind: type[_Json]) -> _Json:
    """Return what a vault holds as JSON.

    Raises:
        StoreError: it is no JSON of this type, or such as no vault takes: too deep, or with half a character.
    """
    try:
        if type(text) is str:
            found = json.loads(text)
            # Few texts want the second look.
            if type(found) is kind and not ("\\u" in text or "N" in text or "I" in text or len(text) > MOST_DEPTH):
                return found
            if type(found) is kind and _depth(text) <= MOST_DEPTH:
                json.dumps(found, ensure_ascii=False, allow_nan=False).encode("utf-8")
                return found
    except (ValueError, RecursionError):
        pass
    raise _no_json(text, kind)


def _depth(text: str) -> int:
    """Return how deep lists and objects of a text in JSON are in each other."""
    depth = most = 0
    for sign in _SIGNS.findall(text):
        if len(sign) == 1:
            depth += 1 if sign in "[{" else -1
            most = max(most, depth)
    return most


#: Texts, which may hold anything, and what lists and objects begin and end with.
_SIGNS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def _no_json(text: object, kind: type[Any]) -> StoreError:
    wanted = "a JSON object" if kind is dict else "a JSON list of texts"
    return StoreError(
        f"{shown(text)} is stored where {wanted} is wanted: damaged, or of another program than Septet; "
        "`septet doctor` names all such rows"
    )


#: Free text in attrs that the token estimate counts beside the three indexed fields.
_LONG_ATTRS = frozenset({"example", "counter_example", "why"})
