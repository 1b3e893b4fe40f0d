"""The places of values in a text of JSON with comments, so that an edit leaves all other characters as they are.

Also accepted, as programs write them: trailing commas, single quotes, names without quotes and numbers of JSON5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from septet.errors import StoreError

#: Maximum depth of a value.
MOST_DEPTH = 100
_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n\r]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n\r]|\\.)*"|\'(?:[^\'\\\n\r]|\\.)*\'', re.DOTALL)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_OTHER = re.compile(r"[-+]?(?:Infinity|NaN|0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|true|false|null")
#: The rest of a line after a value: blanks, a comma, a comment.
_REST_OF_LINE = re.compile(r"[ \t]*(?P<comma>,)?(?P<comment>[ \t]*(?://[^\n\r]*|/\*[^\n\r]*?\*/))?")
_LINE_START = re.compile(r"[ \t]*")


class JsonValue(NamedTuple):
    """A value and its place.

    Attributes:
        kind: ``object``, ``array``, ``string`` or ``other``.
        start: index of its first character.
        end: index after its last character.
        text: the text of a string; empty for others.
        items: the values of an array or object, in order.
        names: the names of the items of an object.
        starts: the start of each item, for objects that of its name.
    """

    kind: str
    start: int
    end: int
    text: str = ""
    items: tuple[JsonValue, ...] = ()
    names: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()

    def get(self, name: str) -> JsonValue | None:
        """Return the item of a name: the last one, as programs do; None without one."""
        items = [item for key, item in zip(self.names, self.items) if key == name]
        return items[-1] if items else None


class Insertion(NamedTuple):
    """A text to insert, and its index in the text before."""

    at: int
    text: str


def parsed(text: str) -> JsonValue:
    """Return the value of a text.

    Raises:
        StoreError: it is not JSON; the message has the line.
    """
    value, at = _value(text, _skip(text, 0), 0)
    if (at := _skip(text, at)) < len(text):
        raise _fault(text, at)
    return value


def added(text: str, path: Sequence[str], value: Any, *, to_array: bool = True) -> list[Insertion]:
    """Return the insertions that add a value at a path, and make the objects that are missing on it.

    Args:
        text: JSON with comments, or blank.
        path: the names of objects down to the value.
        value: JSON-ready.
        to_array: True to append it to the array at the path; False to set the value unless there is one.

    Raises:
        StoreError: the text is not JSON, or a value on the path is of another kind.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    last = [value] if to_array else value
    if not text.strip("\ufeff \t\r\n"):
        whole = json.dumps(_nested(path, last), indent=2, ensure_ascii=False).replace("\n", newline) + newline
        return [Insertion(len(text), whole)]
    place, rest = parsed(text), list(path)
    unit = _unit(text, place)
    while rest and place.kind == "object" and (inner := place.get(rest[0])) is not None:
        place = inner
        rest.pop(0)
    if not rest and not to_array:
        return []
    if place.kind != (wanted := "object" if rest else "array"):
        raise StoreError(f"{'.'.join(path[: len(path) - len(rest)]) or 'its value'} is no {wanted}")
    flat = json.dumps(_nested(rest[1:], last) if rest else value, indent=unit, ensure_ascii=False)
    if rest:
        flat = f"{json.dumps(rest[0], ensure_ascii=False)}: {flat}"
    return _inserted(text, place, flat, unit, newline)


def apply(text: str, insertions: Sequence[Insertion]) -> str:
    """Return a text with insertions, which are in order."""
    parts, last = [], 0
    for at, new in insertions:
        parts += [text[last:at], new]
        last = at
    return "".join([*parts, text[last:]])


def without(text: str, array: JsonValue, number: int) -> str:
    """Return a text without an item of an array or object, its comma and the blanks before it; comments stay."""
    start, end = array.starts[number], array.items[number].end
    comma = _skip(text, end)
    if text[comma] == ",":
        end = comma + 1
        if not number and len(array.items) > 1:
            return text[:start] + text[end:].lstrip()
    elif number:
        # Then the comma before it goes.
        before = _skip(text, array.items[number - 1].end)
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    start = array.start + 1 + len(text[array.start + 1 : start].rstrip())
    if len(array.items) == 1 and not text[array.start + 1 : start].strip() and text[end : array.end - 1].isspace():
        end = array.end - 1
    return text[:start] + text[end:]


def _inserted(text: str, place: JsonValue, flat: str, unit: str, newline: str) -> list[Insertion]:
    """Return the insertions of an item, written without indentation, at the end of an object or array."""
    if not place.items:
        outer = _indentation(text, place.start)
        lines = newline + outer + unit + flat.replace("\n", newline + outer + unit)
        # Comments inside stay before it.
        at = _last_comment(text, place)
        return [Insertion(at, lines if "\n" in text[at : place.end] else lines + newline + outer)]
    last = place.items[-1].end
    if "\n" not in text[place.start : place.starts[0]]:
        rest = _skip(text, last)
        comma = text[rest] == ","
        at = rest + 1 if comma else last
        single = re.sub(r"\n\s*", " ", flat)
        return [Insertion(at, f" {single}" if comma else f", {single}")]
    inner = _indentation(text, place.starts[0])
    lines = newline + inner + flat.replace("\n", newline + inner)
    line = _REST_OF_LINE.match(text, last)
    assert line is not None
    if line["comma"]:
        return [Insertion(line.end(), lines + ",")]
    if _skip(text, last) < place.end - 1:
        # A comma on a later line.
        return [Insertion(_skip(text, last) + 1, lines)]
    if line["comment"]:
        return [Insertion(last, ","), Insertion(line.end(), lines)]
    return [Insertion(last, "," + lines)]


def _last_comment(text: str, place: JsonValue) -> int:
    inside = text[place.start + 1 : place.end - 1]
    return place.start + 1 + len(inside.rstrip())


def _indentation(text: str, at: int) -> str:
    """Return the blanks at the beginning of the line of an index."""
    line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    match = _LINE_START.match(text, line or int(text.startswith("\ufeff")))
    return match[0] if match else ""


def _unit(text: str, whole: JsonValue) -> str:
    """Return the indentation of the first level; two blanks if none can be seen."""
    seen = whole.starts and "\n" in text[whole.start : whole.starts[0]]
    return (_indentation(text, whole.starts[0]) if seen else "") or "  "


def _nested(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    """Return the value at an index, and the index after it."""
    if depth > MOST_DEPTH:
        raise StoreError(f"it is nested deeper than {MOST_DEPTH} levels")
    first = text[at : at + 1]
    if first in ("{", "["):
        return _container(text, at, depth)
    if match := _STRING.match(text, at):
        return JsonValue("string", at, match.end(), _string(text, match)), match.end()
    if match := _OTHER.match(text, at):
        return JsonValue("other", at, match.end()), match.end()
    raise _fault(text, at)


def _container(text: str, start: int, depth: int) -> tuple[JsonValue, int]:
    is_object = text[start] == "{"
    items: list[JsonValue] = []
    names: list[str] = []
    starts: list[int] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != ("}" if is_object else "]"):
        starts.append(at)
        if is_object:
            name = _STRING.match(text, at)
            plain = None if name else _NAME.match(text, at)
            if not (match := name or plain):
                raise _fault(text, at)
            names.append(_string(text, match) if name else match[0])
            at = _skip(text, match.end())
            if text[at : at + 1] != ":":
                raise _fault(text, at)
            at = _skip(text, at + 1)
        item, at = _value(text, at, depth + 1)
        items.append(item)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != ("}" if is_object else "]"):
            raise _fault(text, at)
    kind = "object" if is_object else "array"
    return JsonValue(kind, start, at + 1, "", tuple(items), tuple(names), tuple(starts)), at + 1


def _string(text: str, match: re.Match[str]) -> str:
    raw = match[0]
    if raw[0] == "'":
        raw = '"' + raw[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    try:
        return str(json.loads(raw, strict=False))
    except ValueError:
        raise _fault(text, match.start()) from None


def _fault(text: str, at: int) -> StoreError:
    what = "the text ends too early" if at >= len(text) else f"{text[at : at + 20].splitlines()[0]!r} is not expected"
    return StoreError(f"it is not JSON: line {text.count(chr(10), 0, at) + 1}: {what}")
