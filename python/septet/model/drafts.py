"""Validation of entries before they are stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from septet._core import made_id, plain_json, text_hash
from septet.errors import EntryError
from septet.inputs.arguments import as_epoch, exact, listed, shown, utf8, whole
from septet.model.entry import FIELDS, MAX_ID_CHARS, MOST_DEPTH, SEVERITIES, TRUSTS, Entry
from septet.model.fields import Severity, Span, Trust
from septet.system.records import NamedTuple

#: Maximum characters of the texts and attrs of an entry together; SQLite's limit is a billion bytes per row.
MOST_CHARS = 50_000_000
#: Maximum tags of an entry, each of at most 4,096 characters. `plain_rows` has the same limits.
MOST_TAGS = 10_000
#: Lines are integers of SQLite.
MOST_LINES, MOST_PATH_CHARS = 2**63 - 1, 4_096
_Choice = TypeVar("_Choice", Severity, Trust)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")


class Draft(NamedTuple):
    """A checked entry, ready to be stored.

    Attributes:
        created_given: True if the caller set the creation time; otherwise it is the clock's.
        text_hash: a digest of the embedded text: title, description and context.
    """

    entry: Entry
    created_given: bool
    text_hash: str


def draft(fields: Mapping[str, Any], *, now: float) -> Draft:
    """Check the fields of a new entry and fill in defaults.

    A missing ``updated_at`` is copied from ``created_at`` and vice versa, so that imported entries keep their age.

    Raises:
        EntryError: a field is invalid; the message has its name, its value and the expected value.
    """
    _known(fields)
    times = {name: as_epoch(fields.get(name), name, EntryError) for name in _TIMES}
    created, updated = times["created_at"], times["updated_at"]
    created_given = created is not None
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
        severity=_choice(fields, "severity", SEVERITIES, "suggestion"),
        tags=_tags(fields.get("tags")),
        attrs=checked_attrs(fields.get("attrs")),
        created_at=created,
        updated_at=updated,
        valid_from=times["valid_from"],
        valid_until=times["valid_until"],
        span=checked_span(fields.get("span")),
        parent=None if fields.get("parent") is None else _id(fields["parent"], "parent"),
        source=None if fields.get("source") is None else _source(fields["source"]),
        trust=_choice(fields, "trust", TRUSTS, "trusted"),
    )
    _ordered(entry)
    _check_sizes(entry)
    return Draft(entry, created_given, digest)


def revise(entry: Entry, changes: Mapping[str, Any], *, now: float) -> Draft:
    """Return the entry with some fields changed and checked as by `draft`; ``updated_at`` is now unless given."""
    current = {f: getattr(entry, f) for f in FIELDS}
    return draft({**current, "updated_at": max(now, entry.created_at), **changes}, now=now)


def checked_patch(patch: object, changes: Mapping[str, object]) -> dict[str, Any]:
    """Return a checked patch of attrs; raise `EntryError` if ``changes`` of the same call replace them."""
    if "attrs" in changes:
        raise EntryError("attrs and merge_attrs are mutually exclusive: attrs replaces all of them, merge_attrs some")
    if not isinstance(patch, Mapping):
        raise EntryError(f"merge_attrs is {shown(patch)}: wanted a dict with string keys")
    return checked_attrs(patch)


def merged_attrs(attrs: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return attrs with a patch merged into them: RFC 7396, JSON Merge Patch."""
    merged = dict(attrs)
    level: list[tuple[dict[str, Any], Mapping[str, Any]]] = [(merged, patch)]
    while level:
        into, more = level.pop()
        for name, value in more.items():
            if value is None:
                into.pop(name, None)
            elif isinstance(value, dict):
                below = into.get(name)
                into[name] = dict(below) if isinstance(below, dict) else {}
                level.append((into[name], value))
            else:
                into[name] = value
    return merged


def _known(fields: Mapping[str, Any]) -> None:
    for name in fields:
        if name not in FIELDS:
            known = ", ".join(sorted(FIELDS))
            raise EntryError(f"unknown field {shown(name)}; available: {known}; put anything else into attrs")


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
        raise EntryError(f"{name} is empty: omit it{' to derive one from title and content' * (name == 'id')}")
    if len(text) > MAX_ID_CHARS:
        raise EntryError(f"{name} has {len(text):,} characters: at most {MAX_ID_CHARS} are allowed; shorten it")
    if _CONTROL.search(text):
        raise EntryError(f"{name} {shown(text)} contains a control character: remove it")
    return text


def _choice(fields: Mapping[str, Any], name: str, choices: tuple[_Choice, ...], default: _Choice) -> _Choice:
    value = fields.get(name)
    if value is None:
        return default
    label = exact(value)
    if isinstance(label, str) and label in choices:
        return choices[choices.index(label)]
    raise EntryError(f"{name} is {shown(value)}: wanted one of {', '.join(choices)}")


def _source(value: object) -> str:
    text = utf8(value, "source", EntryError, MOST_PATH_CHARS)
    if not text.strip() or _CONTROL.search(text):
        raise EntryError(f"source is {shown(text)}: wanted text without control characters, such as 'user' or a URL")
    return text


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    expected = "a list of strings, for example ['auth', 'jwt']"
    if not isinstance(value, (Sequence, set, frozenset)):
        raise EntryError(f"tags is {shown(value)}: wanted {expected}")
    tags = [_tag(tag) for tag in listed(value, "tags", EntryError, expected, MOST_TAGS)]
    return tuple(dict.fromkeys(sorted(tags) if isinstance(value, (set, frozenset)) else tags))


def _tag(value: object) -> str:
    if not isinstance(value, str) or not (tag := utf8(value, "a tag", EntryError, MOST_PATH_CHARS)).strip():
        raise EntryError(f"tags contain the tag {shown(value)}: wanted non-empty strings")
    if _CONTROL.search(tag):
        raise EntryError(f"tags contain the tag {shown(tag)}, which has a control character: remove it")
    return tag


def checked_attrs(value: object) -> dict[str, Any]:
    """Return attrs after a round trip through JSON; raise `EntryError` for values that JSON cannot hold as a dict."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise EntryError(f"attrs is {type(value).__name__}: wanted a dict with string keys")
    attrs = dict(value)
    _check_keys(attrs)
    try:
        text = json.dumps(attrs, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
        return dict(json.loads(text))
    except (TypeError, ValueError, RecursionError) as fault:
        raise EntryError(f"attrs cannot be stored as JSON: {fault}; convert the value to text, or omit it") from None


def attrs_text(value: object) -> str:
    """Return attrs as compact JSON, equal to that of `checked_attrs`, with the same errors."""
    if (text := plain_json(value)) is not None:
        return text
    # Plain keys and values survive a round trip through JSON, so they need no check.
    plain = type(value) is dict and all(type(key) is str and _is_plain(inner) for key, inner in value.items())
    try:
        text = _AS_STORED(value if plain else checked_attrs(value))
        text.encode("utf-8")
    except ValueError:
        checked_attrs(value)
        raise
    return text


def _is_plain(value: object) -> bool:
    return type(value) in _PLAIN or (type(value) is list and all(type(inner) in _PLAIN for inner in value))


_PLAIN = frozenset({str, int, float, bool, type(None)})
_AS_STORED = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _check_keys(attrs: dict[Any, Any]) -> None:
    # JSON would convert other keys to text.
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
    """Return a span, also from a dict, or None; raise `EntryError` unless 1 <= first_line <= last_line < 2**63."""
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
        limit = f"at most {MOST_CHARS:,} are allowed; split the entry"
        raise EntryError(f"texts and attrs have {size:,} characters: {limit}")


def _ordered(entry: Entry) -> None:
    if entry.updated_at < entry.created_at:
        raise EntryError(f"updated_at {shown(entry.updated_at)} is before created_at {shown(entry.created_at)}")
    if entry.valid_from is not None and entry.valid_until is not None and entry.valid_until < entry.valid_from:
        raise EntryError(f"valid_until {shown(entry.valid_until)} is before valid_from {shown(entry.valid_from)}")
