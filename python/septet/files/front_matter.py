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

_FENCES = {
    "---": (".yaml", re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)),
    "+++": (".toml", re.compile(r"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)),
}
#: A first line of front matter, a field or a comment; anything else between two rules is text.
_FIELD = re.compile(r"\s*(?:#|\[|[^\s:=][^:=\n]{0,100}(?:=|:(?:\s|\Z)))")
#: Minimum number read as epoch seconds (in 1973): years and counts are smaller.
LEAST_EPOCH = 100_000_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
MOST_TAG_CHARS = 256
#: ``[[target#anchor|alias]]``.
_WIKI = re.compile(r"\[\[([^\[\]|#]+)(#[^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")
#: Code, links and URLs, in which a ``#`` does not begin a tag.
_CODE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`[^`\n]*`|\]\([^)\s]*\)|\[\[[^\]]*\]\]|\w+://\S+")
#: A necessary condition of a tag; most texts have none, and code takes long to find.
_MAYBE = re.compile(r"#[^\W_]")
_INLINE = re.compile(r"(?<![^\s(\[{,;:>\"'*_])#([^\W_][\w/-]*)")
#: Maximum unreadable fields named in a problem.
MOST_FAULTS = 3


class FrontMatter(NamedTuple):
    """The front matter of a file.

    Attributes:
        values: its fields; empty without front matter.
        end: length in characters, excluded from the chunks.
        problem: reason why it cannot be read and stays in the text, or the unreadable fields.
    """

    values: Mapping[str, Any]
    end: int
    problem: str | None = None


class Block(NamedTuple):
    """The lines between the fences at the start of a text.

    Attributes:
        text: the lines, with LF.
        suffix: that of their format: ``.yaml`` or ``.toml``.
        end: length of the block with its fences, in characters.
    """

    text: str
    suffix: str
    end: int

    def parse(self) -> Any:
        """Parse the lines.

        Raises:
            Unreadable: they are malformed; the message contains the line number of the file.
        """
        # The empty line stands for the fence.
        return parse_document("\n" + self.text, self.suffix)


_NONE = FrontMatter({}, 0)


def block(text: str) -> Block | None:
    """Return the block at the start of a text; None without one, and for one longer than 256 KiB."""
    suffix, pattern = _FENCES.get(text[:3], ("", None))
    match = None if pattern is None else pattern.match(text, 0, MAX_BYTES)
    # At the search limit ``\Z`` matches in the middle of a line.
    if match is None or (match.end() == MAX_BYTES < len(text) and text[MAX_BYTES - 1] != "\n"):
        return None
    return Block(match[1].replace("\r\n", "\n"), suffix, match.end())


def front_matter(text: str) -> FrontMatter:
    """Return the front matter at the start of a text.

    Text between two rules is not front matter, and neither is anything longer than 256 KiB.
    """
    head = block(text)
    if head is None:
        return _NONE
    if not head.text.strip():
        return FrontMatter({}, head.end)
    first = next(line for line in head.text.split("\n") if line.strip())
    if not _FIELD.match(first):
        return _NONE
    try:
        values = head.parse()
    except Unreadable as fault:
        values, problem = ({}, "") if isinstance(fault, NoReader) else _field_by_field(head.text, head.suffix)
        if not values:
            return FrontMatter({}, 0, f"front matter {fault}; it stays in the text")
        return FrontMatter(values, head.end, f"front matter {problem or fault}; the other fields were read")
    # Comments alone are Markdown headings between two rules.
    return FrontMatter(values, head.end) if values and isinstance(values, Mapping) else _NONE


def _field_by_field(inner: str, suffix: str) -> tuple[dict[str, Any], str]:
    """Return the fields parsed one by one, the text of single-line fields that cannot be parsed, and the faults.

    An unindented line begins a field, unless it is a comment, an item or a bracket.
    """
    by_name: dict[str, Any] = {}
    as_text: dict[str, str] = {}
    faults = []
    lines = inner.split("\n")
    starts = [number for number, line in enumerate(lines) if line[:1] not in ("", " ", "\t", "#", "-", "]", "}", "\r")]
    for start, end in pairwise([*starts, len(lines)]):
        try:
            parsed = parse_document("\n" + "\n".join(lines[start:end]), suffix)
        except Unreadable as fault:
            name, _, value = (part.strip() for part in lines[start].partition("=" if suffix == ".toml" else ":"))
            if name and value and not any(map(str.strip, lines[start + 1 : end])):
                as_text[name] = value
            # Convert to the line number of the file.
            fault_text = str(fault).replace(f"at line {fault.line}", f"at line {fault.line + start}")
            faults.append(fault_text if fault.line else f"{fault} at line {start + 2}")
            continue
        if isinstance(parsed, Mapping):
            for name, value in parsed.items():
                # The first of duplicate keys wins.
                by_name.setdefault(name, value)
    more = f", and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
    return {**as_text, **by_name} if by_name else {}, "; ".join(faults[:MOST_FAULTS]) + more


def fields_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid entry fields in front matter: tags, type, domain, severity."""
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
    """Return the creation and update times in front matter; ``date`` is the default of both."""
    day = _first_time(values, "date")
    created = _first_time(values, "created_at", "created")
    updated = _first_time(values, "updated_at", "updated", "modified", "lastmod")
    return created if created is not None else day, updated if updated is not None else day


def attrs_of(values: Mapping[str, Any], taken: Mapping[str, Any]) -> dict[str, Any]:
    """Return front matter as JSON-ready attrs, without the ``taken`` fields."""
    return {_plain(name): _plain(value) for name, value in values.items() if name not in taken}


def aliases_of(values: Mapping[str, Any]) -> list[str]:
    """Return the aliases of a note: ``aliases`` or ``alias``, a list or a comma-separated text."""
    value = values.get("aliases", values.get("alias"))
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()
    names = (" ".join(_plain(item).split()) for item in items if isinstance(item, str))
    return [name[:MOST_TAG_CHARS] for name in dict.fromkeys(names) if name][:MOST_TAGS]


def named_in(values: Any) -> list[tuple[str, str]]:
    """Return target and anchor of each ``[[wiki link]]`` in a value; unquoted, YAML parses it as a nested list."""
    targets: dict[tuple[str, str], None] = {}
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            matches = _WIKI.findall(_plain(value))
            targets |= {(target.strip(), anchor.strip("# ")): None for target, anchor in matches if target.strip()}
        elif isinstance(value, Mapping):
            waiting += [*value.values()][::-1]
        elif isinstance(value, (list, tuple)):
            single = value[0] if len(value) == 1 else None
            if isinstance(single, list) and len(single) == 1 and isinstance(single[0], str):
                value = [f"[[{single[0]}]]"]
            waiting += [*value][::-1]
    return list(targets)


def inline_tags(text: str) -> list[str]:
    """Return the tags in a Markdown text outside code, with parents: ``water``, then ``water/sewer``."""
    if _MAYBE.search(text) is None:
        return []
    tags: dict[str, None] = {}
    for tag in _INLINE.findall(_CODE.sub(" ", text)):
        if not tag.replace("/", "").isdecimal():
            tags |= dict.fromkeys(_nested(tag.strip("/")))
    return [tag for tag in tags if len(tag) <= MOST_TAG_CHARS]


def _nested(tag: str) -> list[str]:
    """Return a tag after its parent tags."""
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
            time_value = Times().epoch(value, name)
            seconds = time_value.timestamp() if isinstance(time_value, datetime) else time_value
        except (EntryError, OverflowError, ValueError):
            continue
        if isinstance(seconds, (int, float)) and abs(seconds) < 1e18:
            return float(seconds)
    return None


def _plain(value: Any) -> Any:
    """Return a YAML or TOML value as a JSON value."""
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
