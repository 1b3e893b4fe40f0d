"""Front matter: the fields at the head of a Markdown file, between ``---`` (YAML) or ``+++`` (TOML)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time
from itertools import pairwise
from typing import Any, NamedTuple

from septet.errors import EntryError
from septet.inputs.arguments import exact
from septet.inputs.documents import MAX_BYTES, NoReader, Unreadable, parse_document
from septet.inputs.times import Times
from septet.model.drafts import MOST_TAGS
from septet.model.entry import MAX_ID_CHARS, SEVERITIES

__all__ = ["FrontMatter", "aliases_of", "attrs_of", "fields_of", "front_matter", "inline_tags", "named_in", "times_of"]

_FENCES = {
    "---": (".yaml", re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)),
    "+++": (".toml", re.compile(r"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)),
}
#: A first line that a field or a comment may begin with; anything else between two rules is text.
_FIELD = re.compile(r"\s*(?:#|\[|[^\s:=][^:=\n]{0,100}(?:=|:(?:\s|\Z)))")
#: Years and counts are smaller; as epoch seconds it is a day of 1973.
LEAST_EPOCH = 100_000_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
MOST_TAG_CHARS = 256
#: ``[[target#anchor|alias]]``.
_WIKI = re.compile(r"\[\[([^\[\]|#]+)(#[^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")
#: Code, links and addresses of Markdown: a ``#`` there begins no tag.
_CODE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`[^`\n]*`|\]\([^)\s]*\)|\[\[[^\]]*\]\]|\w+://\S+")
_INLINE = re.compile(r"(?<![^\s(\[{,;:>\"'*_])#([^\W_][\w/-]*)")
#: So many fields that cannot be read are told one by one.
MOST_FAULTS = 3


class FrontMatter(NamedTuple):
    """What stands at the head of a file.

    Attributes:
        values: its fields; empty where there is none.
        end: how many characters of the text it has, which are not part of what is cut into chunks.
        problem: why it could not be read, and stays in the text; or which fields could not.
    """

    values: Mapping[str, Any]
    end: int
    problem: str | None = None


_NONE = FrontMatter({}, 0)


def front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text that begins with it.

    Two rules with text between them are no front matter. One that is longer than 256 KiB is none either.
    """
    fence = _FENCES.get(text[:3])
    if fence is None:
        return _NONE
    suffix, pattern = fence
    found = pattern.match(text, 0, MAX_BYTES)
    # The end that was looked up to is no end of a line.
    if found is None or (found.end() == MAX_BYTES < len(text) and text[MAX_BYTES - 1] != "\n"):
        return _NONE
    inner = found[1].replace("\r\n", "\n")
    if not inner.strip():
        return FrontMatter({}, found.end())
    first = next(line for line in inner.split("\n") if line.strip())
    if not _FIELD.match(first):
        return _NONE
    try:
        # Behind an empty line, so that a fault's line is that of the file.
        values = parse_document("\n" + inner, suffix)
    except Unreadable as fault:
        values, problem = ({}, "") if isinstance(fault, NoReader) else _field_by_field(inner, suffix)
        if not values:
            return FrontMatter({}, 0, f"front matter {fault}; it stays in the text")
        return FrontMatter(values, found.end(), f"front matter {problem or fault}; the other fields were read")
    # Comments alone are headings between two rules.
    return FrontMatter(values, found.end()) if values and isinstance(values, Mapping) else _NONE


def _field_by_field(inner: str, suffix: str) -> tuple[dict[str, Any], str]:
    """Return the fields that can be read each by itself, the text of a line that cannot, and what is wrong with those.

    A line that begins at its margin begins a field, unless it is a comment, an item or a bracket.
    """
    read: dict[str, Any] = {}
    left: dict[str, str] = {}
    faults = []
    lines = inner.split("\n")
    starts = [at for at, line in enumerate(lines) if line[:1] not in ("", " ", "\t", "#", "-", "]", "}", "\r")]
    for start, end in pairwise([*starts, len(lines)]):
        try:
            one = parse_document("\n" + "\n".join(lines[start:end]), suffix)
        except Unreadable as fault:
            name, _, said = (part.strip() for part in lines[start].partition("=" if suffix == ".toml" else ":"))
            if name and said and not any(map(str.strip, lines[start + 1 : end])):
                left[name] = said
            # The line is that of the file.
            told = str(fault).replace(f"at line {fault.line}", f"at line {fault.line + start}")
            faults.append(told if fault.line else f"{fault} at line {start + 2}")
            continue
        if isinstance(one, Mapping):
            for name, value in one.items():
                # Of a key that stands twice the first counts.
                read.setdefault(name, value)
    more = f", and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
    return {**left, **read} if read else {}, "; ".join(faults[:MOST_FAULTS]) + more


def fields_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry that front matter gives and an entry takes: tags, type, domain, severity."""
    fields: dict[str, Any] = {}
    for name in ("type", "domain"):
        label = value.strip() if isinstance(value := values.get(name), str) else ""
        if 0 < len(label) <= MAX_ID_CHARS and not _CONTROL.search(label):
            fields[name] = label
    if isinstance(severity := values.get("severity"), str) and severity.strip().lower() in SEVERITIES:
        fields["severity"] = severity.strip().lower()
    if (tags := _tags(values.get("tags"))) is not None:
        fields["tags"] = tags
    return fields


def times_of(values: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return when a text was made and last changed, as its front matter says; ``date`` says both."""
    day = _first_time(values, "date")
    created = _first_time(values, "created_at", "created")
    updated = _first_time(values, "updated_at", "updated", "modified", "lastmod")
    return created if created is not None else day, updated if updated is not None else day


def attrs_of(values: Mapping[str, Any], taken: Mapping[str, Any]) -> dict[str, Any]:
    """Return front matter as JSON-ready attrs, without what became fields."""
    return {_plain(name): _plain(value) for name, value in values.items() if name not in taken}


def aliases_of(values: Mapping[str, Any]) -> list[str]:
    """Return the other names of a note: ``aliases`` or ``alias``, a list or a text with commas."""
    given = values.get("aliases", values.get("alias"))
    found = given.split(",") if isinstance(given, str) else given if isinstance(given, (list, tuple)) else ()
    names = (" ".join(_plain(one).split()) for one in found if isinstance(one, str))
    return [name[:MOST_TAG_CHARS] for name in dict.fromkeys(names) if name][:MOST_TAGS]


def named_in(values: Any) -> list[tuple[str, str]]:
    """Return target and anchor of each ``[[wiki link]]`` in a value; unquoted, YAML has it as a list in a list."""
    found: dict[tuple[str, str], None] = {}
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            said = _WIKI.findall(_plain(value))
            found |= {(target.strip(), anchor.strip("# ")): None for target, anchor in said if target.strip()}
        elif isinstance(value, Mapping):
            waiting += [*value.values()][::-1]
        elif isinstance(value, (list, tuple)):
            single = value[0] if len(value) == 1 else None
            if isinstance(single, list) and len(single) == 1 and isinstance(single[0], str):
                value = [f"[[{single[0]}]]"]
            waiting += [*value][::-1]
    return list(found)


def inline_tags(text: str) -> list[str]:
    """Return the tags that stand in a text of Markdown, ``#water/sewer`` after ``water``; none of its code."""
    found: dict[str, None] = {}
    for tag in _INLINE.findall(_CODE.sub(" ", text)):
        if not tag.replace("/", "").isdecimal():
            found |= dict.fromkeys(_nested(tag.strip("/")))
    return [tag for tag in found if len(tag) <= MOST_TAG_CHARS]


def _nested(tag: str) -> list[str]:
    """Return a tag after those that it lies in."""
    parts = tag.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[count - 1]]


def _tags(value: Any) -> list[str] | None:
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
    if not isinstance(value, (list, tuple, set)) or len(value) > MOST_TAGS:
        return None
    tags: dict[str, None] = {}
    for tag in sorted(value, key=str) if isinstance(value, set) else value:
        if isinstance(tag, bool) or not isinstance(tag, (str, int, float, date)):
            return None
        name = str(tag).strip().removeprefix("#")
        if len(name) > MOST_TAG_CHARS or _CONTROL.search(name):
            return None
        if name:
            tags |= dict.fromkeys(_nested(_plain(name)))
    return list(tags)


def _first_time(values: Mapping[str, Any], *names: str) -> float | None:
    for name in names:
        value = exact(values.get(name))
        if isinstance(value, (int, float)) and (isinstance(value, bool) or not value >= LEAST_EPOCH):
            continue
        try:
            found = Times().epoch(value, name)
            seconds = found.timestamp() if isinstance(found, datetime) else found
        except (EntryError, OverflowError, ValueError):
            continue
        if isinstance(seconds, (int, float)) and abs(seconds) < 1e18:
            return float(seconds)
    return None


def _plain(value: Any) -> Any:
    """Return a value of YAML or TOML as JSON has it."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_plain(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, set):
        return sorted((_plain(inner) for inner in value), key=str)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value
