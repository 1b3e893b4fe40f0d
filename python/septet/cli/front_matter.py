"""Entries as text files: fields as TOML front matter between lines ``+++``, followed by the description."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError
from septet.inputs.times import iso_time

if TYPE_CHECKING:
    from septet.model.entry import Entry

FENCE = "+++"
#: The fields of the file in order, with their values if missing.
_MISSING: Mapping[str, Any] = {
    "title": "", "context": "", "tags": [], "type": None, "domain": None, "severity": None, "trust": None,
    "source": None, "valid_from": None, "valid_until": None, "attrs": {},
}  # fmt: skip


def as_text(entry: Entry) -> str:
    """Format an entry as text; the inverse of `fields_in`."""
    lines = [FENCE, f"# {entry.id}"]
    for name in _MISSING:
        value = getattr(entry, name)
        if name == "attrs":
            # TOML cannot represent all of them, such as null.
            value = dict(value) if _fits_toml(value) else json.dumps(dict(value), ensure_ascii=False)
        elif name in ("valid_from", "valid_until") and value is not None:
            lines.append(f"{name} = {iso_time(value)}")
            continue
        if value is not None and (value or name in ("title", "context", "tags")):
            lines.append(f"{name} = {_toml(list(value) if name == 'tags' else value)}")
    return "\n".join([*lines, FENCE, "", entry.description, ""])


def fields_in(text: str) -> dict[str, Any]:
    """Parse the fields and the description of a text; missing fields are empty (`EntryError`)."""
    from septet.files.front_matter import block
    from septet.inputs.documents import Unreadable

    head = block(text) if text.startswith(FENCE) else None
    if head is None:
        raise EntryError(f"line 1: wanted {FENCE}, then the fields, then {FENCE} again, then the text")
    try:
        parsed = head.parse()
    except Unreadable as fault:
        raise EntryError(f"the fields between the lines {FENCE} {fault}") from None
    if unknown := sorted(parsed.keys() - _MISSING.keys()):
        raise EntryError(f"unknown field {unknown[0]!r}; available: {', '.join(_MISSING)}")
    body = text[head.end :].split("\n")
    # One blank line before the description and the last newline belong to the format.
    body = body[1:] if body and not body[0].strip() else body
    body = body[:-1] if len(body) > 1 and not body[-1] else body
    fields = {**deepcopy(_MISSING), **parsed, "description": "\n".join(body)}
    if isinstance(fields["attrs"], str):
        try:
            fields["attrs"] = json.loads(fields["attrs"])
        except (ValueError, RecursionError) as fault:
            raise EntryError(f"attrs is a text but not JSON: {fault}") from None
    return fields


def has_front_matter(text: str) -> bool:
    """Return True if a text begins with a fence."""
    return text.partition("\n")[0].rstrip() == FENCE


def titled(text: str) -> dict[str, Any]:
    """Split a Markdown text into title, its first heading or else first line, and description (`EntryError`)."""
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


def _fits_toml(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_fits_toml, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_fits_toml, value))
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is not None


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    # TOML writes numbers, texts and booleans as JSON does, but requires an escape for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
