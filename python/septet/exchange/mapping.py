"""Fields of an entry from a record of another program."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np

from septet.errors import EntryError
from septet.exchange.rows import tags_in
from septet.inputs.arguments import END_OF_DATES, cut, exact, shown
from septet.inputs.times import Times
from septet.model.entry import FIELDS

__all__ = ["Mapper", "title_of"]

#: What a record may hold of its own accord: the arguments of `septet.Vault.add`.
KNOWN = FIELDS | {"vector", "model", "split"}
#: The most characters of a title that is made from the text.
TITLE_CHARS = 80
MAX_COMPONENTS = 65_536
MOST_MAPPED = 10_000

_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")
_TEXTS = ("id", "title", "description", "context", "type", "domain", "kind", "parent", "source")
#: Fields whose value may need a look before `plain_row` takes it.
_LOOKED_AT = frozenset((*_TIMES, *_TEXTS, "tags", "attrs", "span", "vector", "severity", "trust"))
#: What others call the text.
_LIKELY = ("text", "content", "body", "document", "page_content", "summary", "abstract")


class Mapper:
    """Makes fields of records: names mapped, times read, foreign fields put where they belong.

    Args:
        map: the field of an entry by the name of the foreign field, ``attrs.NAME`` for a place in attrs, None to leave
            the field out. A name with dots also leads into objects.
        rest: what becomes of fields that an entry does not have.

    Raises:
        EntryError: a name is no text, a target no field, or two names have one target.
    """

    def __init__(self, map: object, rest: object) -> None:
        self.times = Times()
        self.map = _checked_map(map)
        given = exact(rest)
        if not isinstance(given, str) or given not in ("attrs", "drop", "error"):
            raise EntryError(f"rest is {shown(rest)}: wanted 'attrs', 'drop' or 'error'")
        self.rest = given
        #: The names in ``map`` that no record had so far, and what the first record has; None before it.
        self._unseen = set(self.map)
        self._first: list[Any] | None = None
        self._targets = frozenset(target for target in self.map.values() if target is not None)

    def fields(self, record: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the arguments of `septet.Vault.add` that a record stands for, in a new dict.

        Raises:
            EntryError: a field cannot be taken.
        """
        fields = self._named(record) if self.map or not record.keys() <= KNOWN else {**record}
        for name in fields.keys() & _LOOKED_AT:
            value = fields[name]
            kind = type(value)
            # What most records have needs no second look.
            if kind is float and value < END_OF_DATES and name in _TIMES:
                continue
            if name not in _TEXTS if kind is str else kind is not list or name != "tags":
                fields[name] = self._value(name, value)
        title = fields.get("title")
        if title is None or (type(title) is str and not title.strip()):
            made = title_of(fields.get("description"))
            if made:
                fields["title"] = made
            elif "title" not in fields:
                raise EntryError(_no_title(record))
        return fields

    def notes(self) -> list[str]:
        """Return what there is to say about the names in ``map``, as sentences."""
        if self._first is None or not self._unseen:
            return []
        missing = ", ".join(shown(name) for name in self.map if name in self._unseen)
        seen = ", ".join(map(shown, self._first)) or "no fields"
        return [f"map names what no record has: {cut(missing)}; the first record has {seen}"]

    def exported(self, record: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the fields of a record that `septet.Vault.export` wrote, which says what it means."""
        if self.map:
            return self.fields({name: value for name, value in record.items() if name != "record"})
        fields = {**record}
        del fields["record"]
        if "vector" in fields:
            fields["vector"] = _vector(fields["vector"])
        return fields

    def _named(self, record: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the record's fields by our names, the foreign ones in attrs, dropped or refused."""
        foreign = dict(record)
        if self._first is None:
            self._first = list(record)[:5]
        fields: dict[str, Any] = {}
        placed: dict[str, Any] = {}
        for name, target in self.map.items():
            found, value = _take(foreign, name)
            if found:
                self._unseen.discard(name)
            if not found or target is None or _missing(value):
                continue
            if target.startswith("attrs."):
                _put(placed, target.split(".")[1:], value)
            else:
                fields[target] = value
        # A field of an entry's name, where another one is mapped to it, is a foreign one.
        own = [name for name in foreign if name in KNOWN and name not in self._targets]
        fields.update((name, foreign.pop(name)) for name in own)
        if foreign or placed:
            self._add_rest(fields, foreign, placed)
        return fields

    def _add_rest(self, fields: dict[str, Any], foreign: dict[Any, Any], placed: dict[str, Any]) -> None:
        if self.rest == "error" and foreign:
            raise EntryError(
                f"field {shown(next(iter(foreign)))} is none of an entry: map it, or say rest='attrs' or rest='drop'"
            )
        attrs = _object(fields.get("attrs"), "attrs")
        if not isinstance(attrs, Mapping):
            return
        attrs = dict(attrs)
        more = foreign if self.rest == "attrs" else {}
        for name, value in (*placed.items(), *more.items()):
            if _missing(value):
                continue
            if name in attrs:
                raise EntryError(f"field {shown(name)} would overwrite the one in attrs: map it to another name")
            attrs[name] = _plain(value)
        fields["attrs"] = attrs

    def _value(self, name: str, value: Any) -> Any:
        if value is None or (type(value) is float and math.isnan(value)):
            return None
        if name in _TIMES:
            return self.times.epoch(value, name)
        if name in _TEXTS:
            # Numbers for ids are common, and titles such as 1984.
            return str(int(value)) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else value
        if name == "vector":
            return _vector(value)
        if isinstance(value, str):
            if name in ("severity", "trust"):
                return value or None
            return tags_in(value) if name == "tags" else _object(value, name)
        return value


def _checked_map(map: object) -> dict[str, str | None]:
    if map is None:
        return {}
    wanted = "a dict such as {'text': 'description', 'author': 'attrs.author', 'junk': None}"
    if not isinstance(map, Mapping):
        raise EntryError(f"map is {shown(map)}: wanted {wanted}")
    found: dict[str, str | None] = {}
    for given_name, given_target in map.items():
        name, target = exact(given_name), exact(given_target)
        if not isinstance(name, str) or not (target is None or isinstance(target, str)):
            raise EntryError(f"map has {shown(given_name)}: {shown(given_target)}; wanted {wanted}")
        if target is not None and not (target in KNOWN or (target.startswith("attrs.") and all(target.split(".")))):
            raise EntryError(
                f"map leads {shown(name)} to {shown(target)}: wanted a field of an entry ({', '.join(sorted(KNOWN))}), "
                "attrs.NAME, or None to leave it out"
            )
        if target is not None and target in found.values():
            raise EntryError(f"map leads two fields to {shown(target)}: leave one out")
        found[name] = target
        if len(found) > MOST_MAPPED:
            raise EntryError(f"map has more than {MOST_MAPPED:,} names: leave some to rest=")
    return found


def _take(record: dict[Any, Any], name: str) -> tuple[bool, Any]:
    """Take a field out of a record, by its name or by its path; say whether it was there."""
    if name in record:
        return True, record.pop(name)
    steps = name.split(".")
    if len(steps) < 2 or not isinstance(record.get(steps[0]), Mapping):
        return False, None
    # What is inside belongs to the caller.
    inside = dict(record[steps[0]])
    found, value = _take(inside, name[len(steps[0]) + 1 :])
    if found:
        record[steps[0]] = inside
        if not inside:
            del record[steps[0]]
    return found, value


def _put(attrs: dict[str, Any], steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        inside = attrs.setdefault(step, {})
        if not isinstance(inside, dict):
            raise EntryError(f"map leads into attrs.{step}, which has a value of its own: choose another name")
        attrs = inside
    if steps[-1] in attrs:
        raise EntryError(f"map leads two fields to attrs.{'.'.join(steps)}: leave one out")
    attrs[steps[-1]] = _plain(value)


def _missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(value: Any) -> Any:
    """Return a foreign value as JSON takes it."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return value


def _object(value: Any, name: str) -> Any:
    if not isinstance(value, str):
        return {} if value is None else value
    if not value.strip():
        return None if name == "span" else {}
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise EntryError(f"{name} is {shown(value)}: wanted JSON") from None


def _vector(value: Any) -> Any:
    """Return a vector, or vectors by model, from base64 of little-endian float32 or from the text of a list."""
    if isinstance(value, Mapping):
        return {model: _vector(one) for model, one in value.items()}
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _object(value, "vector")
    try:
        found = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    except ValueError:
        raise EntryError("has a vector that is not base64 of float32") from None
    if len(found) > MAX_COMPONENTS:
        raise EntryError(f"has a vector of {len(found):,} components: the most is {MAX_COMPONENTS:,}")
    return found


def title_of(text: Any) -> str:
    """Return the first line that says something, without the marks of a heading, cut behind a word."""
    if not isinstance(text, str):
        return ""
    line = next((found for one in text[:10_000].splitlines() if (found := one.strip().strip("#").strip())), "")
    if len(line) <= TITLE_CHARS:
        return line
    head = line[: TITLE_CHARS - 3]
    return f"{head.rpartition(' ')[0] or head}..."


def _no_title(record: Mapping[Any, Any]) -> str:
    likely = next((name for name in _LIKELY if isinstance(record.get(name), str)), None)
    cure = f"map={{{likely!r}: 'description'}}" if likely else "map={'NAME': 'title'}"
    seen = ", ".join(shown(name) for name in list(record)[:5]) or "no fields"
    return f"title and description are missing: it has {seen}; name one, for example with {cure}"
