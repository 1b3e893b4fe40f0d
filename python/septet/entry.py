"""Entry: what a vault stores and a search returns, and the checks that each entry passes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from numbers import Real
from typing import Any, NamedTuple, TypeAlias, get_args

from septet._core import made_id, text_hash
from septet.errors import EntryError
from septet.fields import EntryFields, Severity, Span

__all__ = [
    "CHARS_A_TOKEN",
    "FIELDS",
    "MAX_ID_CHARS",
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
    return Draft(entry, given, digest)


def revise(entry: Entry, changes: Mapping[str, Any], *, now: float) -> Draft:
    """Return the entry with some fields changed and checked again; ``updated_at`` is now unless given.

    Raises:
        EntryError: as `draft`.
    """
    kept = {f: getattr(entry, f) for f in FIELDS}
    return draft({**kept, "updated_at": max(now, entry.created_at), **changes}, now=now)


def as_epoch(value: object, name: str, error: type[Exception]) -> float | None:
    """Return a time as epoch seconds; ``None`` stays ``None``.

    Raises:
        error: the value is neither a finite number nor an aware `datetime`.
    """
    if value is None:
        return None
    wanted = "wanted epoch seconds or a datetime with a time zone"
    try:
        if isinstance(value, datetime):
            if value.tzinfo is None:
                raise error(
                    f"{name} is a datetime without a time zone: use datetime.now(timezone.utc) or epoch seconds"
                )
            return value.timestamp()
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise error(f"{name} is {value!r}: {wanted}")
        return float(value)
    except OverflowError:
        raise error(f"{name} is out of range: {wanted}") from None


def _known(fields: Mapping[str, Any]) -> None:
    unknown = sorted(set(fields) - FIELDS)
    if unknown:
        raise EntryError(
            f"unknown field {unknown[0]!r}: known are {', '.join(sorted(FIELDS))}; put anything else into attrs"
        )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        if name == "title":
            raise EntryError("title is missing: give every entry a title that says what it is about")
        return ""
    return utf8(value, name)


def utf8(value: object, name: str, error: type[Exception] = EntryError) -> str:
    """Return the text if it can be encoded as UTF-8.

    Raises:
        error: the value is not text, or has a lone surrogate.
    """
    if not isinstance(value, str):
        raise error(f"{name} is {type(value).__name__}, not text: decode bytes as UTF-8 first")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as fault:
            raise error(
                f"{name} cannot be encoded as UTF-8 (a lone surrogate at character {fault.start}): "
                "decode the source with the right encoding"
            ) from None
    return value


def _label(fields: Mapping[str, Any], name: str, default: str) -> str:
    value = fields.get(name)
    if value is None:
        return default
    text = utf8(value, name)
    if not text.strip() or len(text) > MAX_ID_CHARS:
        raise EntryError(f"{name} is {text[:40]!r}: wanted 1 to {MAX_ID_CHARS} characters")
    return text


def _id(value: object, name: str) -> str:
    text = utf8(value, name)
    if not text.strip():
        raise EntryError(f"{name} is empty: leave it out{' to have one made from title and content' * (name == 'id')}")
    if len(text) > MAX_ID_CHARS:
        raise EntryError(f"{name} has {len(text)} characters: at most {MAX_ID_CHARS} are allowed")
    if _CONTROL.search(text):
        raise EntryError(f"{name} {text!r} contains a control character")
    return text


def _severity(value: object) -> Severity:
    if value is None:
        return "suggestion"
    for known in SEVERITIES:
        if isinstance(value, str) and value == known:
            return known
    raise EntryError(f"severity is {value!r}: wanted one of {', '.join(SEVERITIES)}")


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, set, frozenset)):
        raise EntryError(f"tags is {value!r}: wanted a list of strings, for example ['auth', 'jwt']")
    tags = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
    for tag in tags:
        if not isinstance(tag, str) or not tag.strip():
            raise EntryError(f"tags contain the tag {tag!r}: wanted non-empty strings")
        if _CONTROL.search(utf8(tag, "a tag")):
            raise EntryError(f"tags contain the tag {tag!r}, which has a control character")
    return tuple(dict.fromkeys(tags))


def checked_attrs(value: object) -> dict[str, Any]:
    """Return attrs as JSON gives them back.

    Raises:
        EntryError: the value is not a dict with string keys, or cannot be stored as JSON.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise EntryError(f"attrs is {type(value).__name__}: wanted a dict with string keys")
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as fault:
        raise EntryError(f"attrs cannot be stored as JSON: {fault}") from None
    return dict(json.loads(text))


def checked_span(value: object) -> Span | None:
    """Return a span, also from a dict; ``None`` stays ``None``.

    Raises:
        EntryError: the path is missing, or the lines are not 1 <= first_line <= last_line.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        try:
            value = Span(**value)
        except TypeError:
            raise EntryError("span needs path, first_line and last_line") from None
    if not isinstance(value, Span) or not isinstance(value.path, str):
        raise EntryError(f"span is {value!r}: wanted a Span or a dict with path, first_line and last_line")
    lines = (value.first_line, value.last_line)
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in lines) or not 1 <= lines[0] <= lines[1]:
        raise EntryError(f"span lines are {lines}: wanted 1 <= first_line <= last_line")
    utf8(value.path, "span.path")
    return value


def _ordered(entry: Entry) -> None:
    if entry.updated_at < entry.created_at:
        raise EntryError(f"updated_at {entry.updated_at:.0f} is before created_at {entry.created_at:.0f}")
    if entry.valid_from is not None and entry.valid_until is not None and entry.valid_until < entry.valid_from:
        raise EntryError(f"valid_until {entry.valid_until:.0f} is before valid_from {entry.valid_from:.0f}")
