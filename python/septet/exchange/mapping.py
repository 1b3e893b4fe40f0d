"""Map the fields of foreign records to fields of an entry."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np

from septet.errors import EntryError
from septet.exchange.tables import tags_in
from septet.inputs.arguments import END_OF_DATES, cut, exact, shown
from septet.inputs.times import Times
from septet.model.entry import FIELDS

#: Fields of a record that need no mapping: the arguments of `septet.Vault.add`.
KNOWN = FIELDS | {"vector", "model", "split"}
#: Maximum characters of a title made from the text.
TITLE_CHARS = 80
MAX_COMPONENTS = 65_536
MOST_MAPPED = 10_000

_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")
_TEXTS = ("id", "title", "description", "context", "type", "domain", "kind", "parent", "source")
#: Fields whose value may need conversion before `plain_rows`.
_CONVERTED = frozenset((*_TIMES, *_TEXTS, "tags", "attrs", "span", "vector", "severity", "trust"))
#: Common names of the text field in other programs.
_LIKELY = ("text", "content", "body", "document", "page_content", "summary", "abstract")


class Mapper:
    """Converts records to fields: maps names, parses times, and moves or drops foreign fields.

    Args:
        map: target field by the name of the foreign field; ``attrs.NAME`` for a value in attrs, None to drop the field.
            A name with dots is also a path into nested objects.
        rest: treatment of fields that an entry does not have.

    Raises:
        EntryError: a name is not a text, a target is not a field, or two names have the same target.
    """

    def __init__(self, map: object, rest: object) -> None:
        self.times = Times()
        self.map = _checked_map(map)
        policy = exact(rest)
        if not isinstance(policy, str) or policy not in ("attrs", "drop", "error"):
            raise EntryError(f"rest is {shown(rest)}: wanted 'attrs', 'drop' or 'error'")
        self.rest = policy
        #: Names in ``map`` that no record has had yet, and the names of the first record (None before it).
        self._unseen = set(self.map)
        self._first: list[Any] | None = None
        self._targets = frozenset(target for target in self.map.values() if target is not None)

    def fields(self, record: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the arguments of `septet.Vault.add` for a record, in a new dict.

        Raises:
            EntryError: an invalid field.
        """
        fields = self._named(record) if self.map or not record.keys() <= KNOWN else {**record}
        for name in fields.keys() & _CONVERTED:
            value = fields[name]
            kind = type(value)
            # Fast path: most values need no conversion.
            if kind is float and value < END_OF_DATES and name in _TIMES:
                continue
            if name not in _TEXTS if kind is str else kind is not list or name != "tags":
                fields[name] = self._value(name, value)
        title = fields.get("title")
        if title is None or (type(title) is str and not title.strip()):
            if derived := title_of(fields.get("description")):
                fields["title"] = derived
            elif "title" not in fields:
                likely = next((name for name in _LIKELY if isinstance(record.get(name), str)), None)
                cure = f"map={{{likely!r}: 'description'}}" if likely else "map={'NAME': 'title'}"
                names = ", ".join(shown(name) for name in list(record)[:5]) or "no fields"
                problem = f"title and description are missing: it has {names}; name one, for example with {cure}"
                raise EntryError(problem)
        return fields

    def notes(self) -> list[str]:
        """Return notes about unused names in ``map``, as sentences."""
        if self._first is None or not self._unseen:
            return []
        missing = ", ".join(shown(name) for name in self.map if name in self._unseen)
        seen = ", ".join(map(shown, self._first)) or "no fields"
        return [f"map has names that no record has: {cut(missing)}; the first record has {seen}"]

    def exported(self, record: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the fields of a record written by `septet.Vault.export`, which needs no conversion."""
        if self.map:
            return self.fields({name: value for name, value in record.items() if name != "record"})
        fields = {**record}
        del fields["record"]
        if "vector" in fields:
            fields["vector"] = _vector(fields["vector"])
        return fields

    def _named(self, record: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the record's fields by entry field; foreign ones are put in attrs, dropped or refused."""
        foreign = dict(record)
        if self._first is None:
            self._first = list(record)[:5]
        fields: dict[str, Any] = {}
        placed: dict[str, Any] = {}
        for name, target in self.map.items():
            present, value = _take(foreign, name)
            if present:
                self._unseen.discard(name)
            if not present or target is None or _missing(value):
                continue
            if target.startswith("attrs."):
                _put(placed, target.split(".")[1:], value)
            else:
                fields[target] = value
        # A field with an entry field's name is foreign if another one is mapped to that field.
        known = [name for name in foreign if name in KNOWN and name not in self._targets]
        fields.update((name, foreign.pop(name)) for name in known)
        if self.rest == "error" and foreign:
            raise EntryError(f"unknown field {shown(next(iter(foreign)))}: map it, or pass rest='attrs' or rest='drop'")
        attrs = _object(fields.get("attrs"), "attrs") if foreign or placed else None
        if not isinstance(attrs, Mapping):
            return fields
        attrs = dict(attrs)
        more = foreign if self.rest == "attrs" else {}
        for name, value in (*placed.items(), *more.items()):
            if _missing(value):
                continue
            if name in attrs:
                raise EntryError(f"field {shown(name)} would overwrite the one in attrs: map it to another name")
            attrs[name] = _plain(value)
        fields["attrs"] = attrs
        return fields

    def _value(self, name: str, value: Any) -> Any:
        if value is None or (type(value) is float and math.isnan(value)):
            return None
        if name in _TIMES:
            return self.times.epoch(value, name)
        if name in _TEXTS:
            # Numeric ids are common, and so are titles such as 1984.
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
    expected = "a dict such as {'text': 'description', 'author': 'attrs.author', 'junk': None}"
    if not isinstance(map, Mapping):
        raise EntryError(f"map is {shown(map)}: wanted {expected}")
    checked: dict[str, str | None] = {}
    for raw_name, raw_target in map.items():
        name, target = exact(raw_name), exact(raw_target)
        if not isinstance(name, str) or not (target is None or isinstance(target, str)):
            raise EntryError(f"map has {shown(raw_name)}: {shown(raw_target)}; wanted {expected}")
        if target is not None and not (target in KNOWN or (target.startswith("attrs.") and all(target.split(".")))):
            raise EntryError(
                f"map has {shown(name)}: {shown(target)}; wanted a field of an entry ({', '.join(sorted(KNOWN))}), "
                "attrs.NAME, or None to drop it"
            )
        if target is not None and target in checked.values():
            raise EntryError(f"map has two names for {shown(target)}: remove one")
        checked[name] = target
        if len(checked) > MOST_MAPPED:
            raise EntryError(f"map has more than {MOST_MAPPED:,} names: leave some to rest=")
    return checked


def _take(record: dict[Any, Any], name: str) -> tuple[bool, Any]:
    """Pop a field from a record by name or path; return whether it was present, and its value."""
    if name in record:
        return True, record.pop(name)
    steps = name.split(".")
    if len(steps) < 2 or not isinstance(record.get(steps[0]), Mapping):
        return False, None
    # The nested object is the caller's: copy it.
    inside = dict(record[steps[0]])
    present, value = _take(inside, name[len(steps[0]) + 1 :])
    if present:
        record[steps[0]] = inside
        if not inside:
            del record[steps[0]]
    return present, value


def _put(attrs: dict[str, Any], steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        inside = attrs.setdefault(step, {})
        if not isinstance(inside, dict):
            raise EntryError(f"map has a path through attrs.{step}, which already has a value: choose another name")
        attrs = inside
    if steps[-1] in attrs:
        raise EntryError(f"map has two names for attrs.{'.'.join(steps)}: remove one")
    attrs[steps[-1]] = _plain(value)


def _missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(value: Any) -> Any:
    """Return a foreign value as a JSON value."""
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
        return {model: _vector(vector) for model, vector in value.items()}
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _object(value, "vector")
    try:
        components = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    except ValueError:
        raise EntryError("has a vector that is not base64 of float32") from None
    if len(components) > MAX_COMPONENTS:
        raise EntryError(f"has a vector of {len(components):,} components: at most {MAX_COMPONENTS:,} are allowed")
    return components


def title_of(text: Any) -> str:
    """Return the first non-empty line without heading marks, cut at a word boundary."""
    if not isinstance(text, str):
        return ""
    line = next((stripped for raw in text[:10_000].splitlines() if (stripped := raw.strip().strip("#").strip())), "")
    if len(line) <= TITLE_CHARS:
        return line
    head = line[: TITLE_CHARS - 3]
    return f"{head.rpartition(' ')[0] or head}..."
