"""Entry: what a vault stores and a search returns, and the checks that each entry passes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, get_args

from septet._core import made_id, text_hash
from septet.arguments import as_epoch, exact, listed, shown, utf8, whole
from septet.errors import EntryError
from septet.fields import EntryFields, Severity, Span

__all__ = [
    "CHARS_A_TOKEN",
    "FIELDS",
    "MAX_ID_CHARS",
    "MOST_CHARS",
    "MOST_TAGS",
    "SEVERITIES",
    "Draft",
    "Entry",
    "Span",
    "StoredEntry",
    "as_epoch",
    "checked_attrs",
    "checked_span",
    "draft",
    "entries_of",
    "previews",
    "revise",
    "tags_of",
    "utf8",
]

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
MAX_ID_CHARS = 256
#: So many characters the texts and attrs of an entry may have together: SQLite takes rows of a billion bytes.
MOST_CHARS = 50_000_000
#: So many tags an entry may have, each of 4,096 characters. `plain_row` knows all these bounds too.
MOST_TAGS = 10_000
#: SQLite reads JSON to a depth of 1,000, and lines are its integers.
MOST_DEPTH, MOST_LINES, MOST_PATH_CHARS = 500, 2**63 - 1, 4_096
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
SNIPPET_CHARS = 120
CHARS_A_TOKEN = 4

#: What `Vault.add` and `Vault.update` accept, beside ``vector`` and ``model``.
FIELDS = frozenset(EntryFields.__annotations__)
_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One piece of knowledge.

    Times are epoch seconds (UTC). ``valid_from`` and ``valid_until`` are None when there is no limit. A ``created_at``
    or ``updated_at`` of 0 is not set yet: the vault that stores the entry sets it from its clock. ``parent`` is the id
    of the entry that this one is a part of; an entry that was split has its own id there.
    """

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

    @property
    def snippet(self) -> str:
        """The first 120 characters of the description, followed by ``...`` if there are more."""
        cut = self.description[:SNIPPET_CHARS]
        return cut + "..." if len(self.description) > SNIPPET_CHARS else cut

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
            "title": self.title,
            "description": self.description,
            "context": self.context,
            "tags": list(self.tags),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
        if self.attrs:
            out["attrs"] = dict(self.attrs)
        for name in ("valid_from", "valid_until", "parent"):
            if (value := getattr(self, name)) is not None:
                out[name] = value
        if self.span is not None:
            out["span"] = {"path": self.span.path, "first_line": self.span.first_line, "last_line": self.span.last_line}
        return out


class _Filling:
    """An `Entry` while its fields are filled in.

    The constructor of a frozen dataclass goes through ``object.__setattr__`` once a field: 2.6 us, of which this is a
    tenth. A search makes ten entries.
    """

    __slots__ = Entry.__slots__


#: A row of the store: its number, and the fields of an entry; tags and attrs are JSON text.
StoredEntry: TypeAlias = tuple[
    int, str, str, str, str, str, str, str, str, str, str,
    "str | None", "int | None", "int | None", float, float, "float | None", "float | None", "str | None",
]  # fmt: skip


def entries_of(rows: Iterable[StoredEntry]) -> list[Entry]:
    """Return rows of the store as entries, unchecked."""
    made = []
    for (
        _, id, kind, type, domain, severity, title, description, context, tags_json, attrs_json,
        path, first_line, last_line, created_at, updated_at, valid_from, valid_until, parent,
    ) in rows:  # fmt: skip
        entry: Any = _Filling()
        entry.id, entry.title, entry.description, entry.context = id, title, description, context
        entry.kind, entry.type, entry.domain, entry.severity = kind, type, domain, severity
        entry.tags = tuple(tags_of(tags_json))
        entry.attrs = {} if attrs_json == "{}" else json.loads(attrs_json)
        entry.created_at, entry.updated_at = created_at, updated_at
        entry.valid_from, entry.valid_until = valid_from, valid_until
        entry.span = None if path is None else Span(path, first_line or 1, last_line or 1)
        entry.parent = parent
        # Both have the same slots, so the one can become the other.
        entry.__class__ = Entry
        made.append(entry)
    return made


def previews(entries: Iterable[Entry]) -> list[tuple[str, int]]:
    """Return the snippet and the token estimate of each entry."""
    found = []
    for entry in entries:
        # As the properties say; calls of theirs would be forty for ten entries.
        text = entry.description
        chars = entry.text_chars if entry.attrs else len(entry.title) + len(text) + len(entry.context)
        snippet = text if len(text) <= SNIPPET_CHARS else text[:SNIPPET_CHARS] + "..."
        found.append((snippet, -(-chars // CHARS_A_TOKEN)))
    return found


def tags_of(tags_json: str) -> list[str]:
    """Return tags as they were given. Where nothing is escaped, what stands between two tags is always the same."""
    if tags_json == "[]":
        return []
    if "\\" in tags_json:
        found: list[str] = json.loads(tags_json)
        return found
    return tags_json[2:-2].split('","')


#: Free text in attrs that the token estimate counts beside the three indexed fields.
_LONG_ATTRS = frozenset({"example", "counter_example", "why"})


class Draft(NamedTuple):
    """A checked entry, ready to be stored.

    Attributes:
        created_given: whether the caller gave the creation time; otherwise it is the clock's.
        text_hash: a digest of what is embedded: title, description and context.
    """

    entry: Entry
    created_given: bool
    text_hash: str


def draft(fields: Mapping[str, Any], *, now: float) -> Draft:
    """Check the fields of a new entry and fill in defaults.

    A missing ``updated_at`` takes a given ``created_at`` (and the other way round), so that imported knowledge keeps
    its age.

    Raises:
        EntryError: a field is invalid; the message names it, its value and what is wanted.
    """
    _known(fields)
    times = {name: as_epoch(fields.get(name), name, EntryError) for name in _TIMES}
    created, updated = times["created_at"], times["updated_at"]
    given = created is not None
    if created is None:
        created = updated if updated is not None else now
    if updated is None:
        updated = created
    title = _text(fields, "title")
    if not title.strip():
        raise EntryError("title is empty: give every entry a title that says what it is about")
    description, context = _text(fields, "description"), _text(fields, "context")
    kind = _label(fields, "kind", "entry")
    digest = text_hash(title, description, context)
    given_id = fields.get("id")
    entry = Entry(
        id=made_id(kind, title, digest) if given_id is None else _id(given_id, "id"),
        title=title,
        description=description,
        context=context,
        kind=kind,
        type=_label(fields, "type", "note"),
        domain=_label(fields, "domain", "general"),
        severity=_severity(fields.get("severity")),
        tags=_tags(fields.get("tags")),
        attrs=checked_attrs(fields.get("attrs")),
        created_at=created,
        updated_at=updated,
        valid_from=times["valid_from"],
        valid_until=times["valid_until"],
        span=checked_span(fields.get("span")),
        parent=None if fields.get("parent") is None else _id(fields["parent"], "parent"),
    )
    _ordered(entry)
    _check_sizes(entry)
    return Draft(entry, given, digest)


def revise(entry: Entry, changes: Mapping[str, Any], *, now: float) -> Draft:
    """Return the entry with some fields changed and checked again; ``updated_at`` is now unless given.

    Raises:
        EntryError: as `draft`.
    """
    kept = {f: getattr(entry, f) for f in FIELDS}
    return draft({**kept, "updated_at": max(now, entry.created_at), **changes}, now=now)


def _known(fields: Mapping[str, Any]) -> None:
    for name in fields:
        if name not in FIELDS:
            raise EntryError(
                f"unknown field {shown(name)}: known are {', '.join(sorted(FIELDS))}; put anything else into attrs"
            )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        if name != "title":
            return ""
        raise EntryError("title is missing: give every entry a title that says what it is about")
    return utf8(value, name, EntryError, MOST_CHARS)


def _label(fields: Mapping[str, Any], name: str, default: str) -> str:
    value = fields.get(name)
    if value is None:
        return default
    text = utf8(value, name)
    if not text.strip() or len(text) > MAX_ID_CHARS:
        raise EntryError(f"{name} is {shown(text)}: wanted 1 to {MAX_ID_CHARS} characters")
    return text


def _id(value: object, name: str) -> str:
    text = utf8(value, name)
    if not text.strip():
        raise EntryError(f"{name} is empty: leave it out{' to have one made from title and content' * (name == 'id')}")
    if len(text) > MAX_ID_CHARS:
        raise EntryError(f"{name} has {len(text):,} characters: at most {MAX_ID_CHARS} are taken; shorten it")
    if _CONTROL.search(text):
        raise EntryError(f"{name} {shown(text)} contains a control character: leave it out")
    return text


def _severity(value: object) -> Severity:
    if value is None:
        return "suggestion"
    given = exact(value)
    if isinstance(given, str) and given in SEVERITIES:
        return SEVERITIES[SEVERITIES.index(given)]
    raise EntryError(f"severity is {shown(value)}: wanted one of {', '.join(SEVERITIES)}")


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    wanted = "a list of strings, for example ['auth', 'jwt']"
    if not isinstance(value, (Sequence, set, frozenset)):
        raise EntryError(f"tags is {shown(value)}: wanted {wanted}")
    tags = [_tag(tag) for tag in listed(value, "tags", EntryError, wanted, MOST_TAGS)]
    return tuple(dict.fromkeys(sorted(tags) if isinstance(value, (set, frozenset)) else tags))


def _tag(value: object) -> str:
    if not isinstance(value, str) or not (tag := utf8(value, "a tag", EntryError, MOST_PATH_CHARS)).strip():
        raise EntryError(f"tags contain the tag {shown(value)}: wanted non-empty strings")
    if _CONTROL.search(tag):
        raise EntryError(f"tags contain the tag {shown(tag)}, which has a control character: leave it out")
    return tag


def checked_attrs(value: object) -> dict[str, Any]:
    """Return attrs as JSON gives them back.

    Raises:
        EntryError: the value is not a dict with string keys, or cannot be stored as JSON.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise EntryError(f"attrs is {type(value).__name__}: wanted a dict with string keys")
    given = dict(value)
    _check_keys(given)
    try:
        text = json.dumps(given, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
        return dict(json.loads(text))
    except (TypeError, ValueError, RecursionError) as fault:
        raise EntryError(f"attrs cannot be stored as JSON: {fault}; make it text, or leave it out") from None


def _check_keys(attrs: dict[Any, Any]) -> None:
    # JSON would make text of other keys.
    level: list[Any] = [attrs]
    for _ in range(MOST_DEPTH):
        below: list[Any] = []
        for inner in level:
            for key in inner if isinstance(inner, dict) else ():
                if not isinstance(key, str):
                    raise EntryError(f"attrs have the key {shown(key)}: wanted a dict with string keys")
            members = inner.values() if isinstance(inner, dict) else inner
            below += (v for v in members if isinstance(v, (dict, list, tuple)))
        if not below:
            return
        level = below
    raise EntryError(f"attrs are nested deeper than {MOST_DEPTH} levels: make them flatter")


def checked_span(value: object) -> Span | None:
    """Return a span, also from a dict; ``None`` stays ``None``.

    Raises:
        EntryError: the path is missing, or the lines are not 1 <= first_line <= last_line < 2**63.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        try:
            value = Span(**value)
        except TypeError:
            raise EntryError("span needs path, first_line and last_line, and nothing else") from None
    if not isinstance(value, Span) or not isinstance(value.path, str):
        raise EntryError(f"span is {shown(value)}: wanted a Span or a dict with path, first_line and last_line")
    path = utf8(value.path, "span.path", EntryError, MOST_PATH_CHARS)
    first = whole(value.first_line, "span.first_line", EntryError, 1, MOST_LINES)
    last = whole(value.last_line, "span.last_line", EntryError, 1, MOST_LINES)
    if first > last:
        raise EntryError(f"span lines are {(first, last)}: wanted 1 <= first_line <= last_line")
    return Span(path, first, last)


def _check_sizes(entry: Entry) -> None:
    size = len(entry.title) + len(entry.description) + len(entry.context)
    size += len(json.dumps(entry.attrs, ensure_ascii=False)) if entry.attrs else 0
    if size > MOST_CHARS:
        raise EntryError(
            f"texts and attrs have {size:,} characters: an entry has at most {MOST_CHARS:,}; make several of it"
        )


def _ordered(entry: Entry) -> None:
    if entry.updated_at < entry.created_at:
        raise EntryError(f"updated_at {shown(entry.updated_at)} is before created_at {shown(entry.created_at)}")
    if entry.valid_from is not None and entry.valid_until is not None and entry.valid_until < entry.valid_from:
        raise EntryError(f"valid_until {shown(entry.valid_until)} is before valid_from {shown(entry.valid_from)}")
