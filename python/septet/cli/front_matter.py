"""An entry as a text file: its fields as TOML between two lines ``+++``, then its description; and back again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError
from septet.inputs.times import iso_time

if TYPE_CHECKING:
    from septet.model.entry import Entry

__all__ = ["as_text", "fields_in", "has_front_matter", "titled"]

FENCE = "+++"
#: What stands in the file, in this order, and what a field is when its line is missing.
_MISSING: Mapping[str, Any] = {
    "title": "", "context": "", "tags": [], "type": None, "domain": None, "severity": None, "trust": None,
    "source": None, "valid_from": None, "valid_until": None, "attrs": {},
}  # fmt: skip


def as_text(entry: Entry) -> str:
    """Return an entry as text; `fields_in` of it are its fields."""
    lines = [FENCE, f"# {entry.id}"]
    for name in _MISSING:
        value = getattr(entry, name)
        if name == "attrs":
            value = _attrs(value)
        elif name in ("valid_from", "valid_until") and value is not None:
            lines.append(f"{name} = {iso_time(value)}")
            continue
        if value is not None and (value or name in ("title", "context", "tags")):
            lines.append(f"{name} = {_toml(list(value) if name == 'tags' else value)}")
    return "\n".join([*lines, FENCE, "", entry.description, ""])


def fields_in(text: str) -> dict[str, Any]:
    """Return the fields that a text holds, with the description; a field whose line is missing is empty.

    Raises:
        EntryError: it is no such text; the message names the line.
    """
    from septet.inputs.documents import Unreadable, parse_document

    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == FENCE][:2]
    if len(fences) < 2 or fences[0] != 0:
        raise EntryError(f"line 1: wanted {FENCE}, then the fields, then {FENCE} again, then the text")
    try:
        # The line of the fence is kept blank, so that the numbers of lines are those of the file.
        found = parse_document("\n" + "\n".join(lines[1 : fences[1]]) + "\n", ".toml")
    except Unreadable as fault:
        raise EntryError(f"the fields between the lines {FENCE} {fault}") from None
    if unknown := sorted(found.keys() - _MISSING.keys()):
        raise EntryError(f"there is no field {unknown[0]!r}: known are {', '.join(_MISSING)}")
    body = lines[fences[1] + 1 :]
    # One blank line before the text and the end of its last line belong to the file.
    body = body[1:] if body and not body[0].strip() else body
    body = body[:-1] if len(body) > 1 and not body[-1] else body
    fields = {**{name: _copied(empty) for name, empty in _MISSING.items()}, **found, "description": "\n".join(body)}
    if isinstance(fields["attrs"], str):
        fields["attrs"] = _json_attrs(fields["attrs"])
    return fields


def has_front_matter(text: str) -> bool:
    """Return whether a text begins as one of `as_text` does."""
    return text.partition("\n")[0].rstrip() == FENCE


def titled(text: str) -> dict[str, Any]:
    """Return title and description of a text in Markdown: its first heading, and the rest; else its first line.

    Raises:
        EntryError: it is empty.
    """
    lines = text.strip("\n").split("\n")
    for number, line in enumerate(lines):
        mark, _, heading = line.partition(" ")
        if mark and not mark.strip("#") and len(mark) <= 6 and heading.strip(" #"):
            rest = [*lines[:number], *lines[number + 1 :]]
            return {"title": heading.strip(" #\t\r"), "description": "\n".join(rest).strip()}
    first = next((line.strip() for line in lines if line.strip()), "")
    if not first:
        raise EntryError("standard input is empty: wanted a text, whose first heading becomes the title")
    return {"title": first[:200], "description": text.strip()}


def _copied(empty: Any) -> Any:
    return type(empty)() if isinstance(empty, (list, dict)) else empty


def _attrs(attrs: Mapping[str, Any]) -> Any:
    """Return attrs for TOML: as JSON in a text where they hold what TOML cannot say, such as null."""
    return dict(attrs) if _sayable(dict(attrs)) else json.dumps(dict(attrs), ensure_ascii=False)


def _sayable(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_sayable, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_sayable, value))
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is not None


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    # Numbers, texts and truth are written as in JSON, but for one character that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _json_attrs(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise EntryError(f"attrs is a text that is not JSON: {fault}") from None
