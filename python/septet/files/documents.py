"""Convert the text of a file to drafts of entries, one per chunk, with its headings, links and front matter."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from septet import _core
from septet.files.chunking import Chunking, encodable
from septet.files.front_matter import (
    FrontMatter,
    aliases_of,
    attrs_of,
    fields_of,
    front_matter,
    inline_tags,
    named_in,
    times_of,
)
from septet.files.roots import is_memory_path
from septet.model.drafts import MOST_TAGS
from septet.sqlite.tables.mentions import ALIAS

if TYPE_CHECKING:
    from septet.files.extracting import Extracted

_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd", ".mdx")
_RST = (".rst", ".rest")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[-_ ].*)?", re.ASCII | re.DOTALL)
MOST_TITLE_CHARS = 200


class Mention(NamedTuple):
    """The target of a link in a chunk.

    Attributes:
        target: the note, or the relative path as written (percent-encoded, unresolved).
        anchor: the heading in the target, or "".
        type: ``wiki`` for ``[[target#anchor|alias]]``, ``link`` for ``[alias](target#anchor)``; ``alias`` if the front
            matter names the target as an alias of the file itself.
    """

    target: str
    anchor: str
    type: str


class ChunkDraft(NamedTuple):
    """The fields of an entry for a chunk, without those set by the vault: id, parent, span, source, kind.

    Attributes:
        fields: title, description, context, attrs, created_at, updated_at, first_line, last_line; tags, type, domain
            and severity if the front matter has them.
        mentions: mentions in the part of the chunk that is not overlap, in order.
    """

    fields: dict[str, Any]
    mentions: tuple[Mention, ...]


class Document(NamedTuple):
    """A file as chunks.

    Attributes:
        chunks: in the order of the text, without blank ones.
        problems: unreadable parts, as sentences.
    """

    chunks: list[ChunkDraft]
    problems: tuple[str, ...]


def document_of(text: str, path: str, mtime: float, chunking: Chunking, extracted: Extracted | None = None) -> Document:
    """Return the chunks of a file.

    Args:
        text: its content.
        path: relative to its root, with forward slashes; the suffix selects Markdown, reStructuredText or plain text.
        mtime: modification time, epoch seconds.
        extracted: source of the text if it was extracted from another format; line numbers are those of the source.
    """
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    ending = f"{dot}{ending}".lower() if stem else ""
    markup = "markdown" if ending in _MARKDOWN else "rst" if ending in _RST else "plain"
    text = encodable(text).removeprefix("\ufeff")
    is_note = markup == "markdown"
    front = front_matter(text) if is_note else FrontMatter({}, 0)
    body = text[front.end :] if front.end else text
    lines_before = text.count("\n", 0, front.end) if front.end else 0
    if extracted is not None:
        markup = extracted.markup
    paths, parts = _core.document_chunks(body, chunking.tokens, chunking.overlap, chunking.variant, markup)
    shared, attrs, title = _shared(front, path, name, mtime)
    if extracted is not None and extracted.title:
        title = extracted.title[:MOST_TITLE_CHARS]
    chunks = []
    for chunk, first, last, place, named in parts:
        headings = paths[place] if place >= 0 else []
        fields = {
            "title": headings[-1] if headings else title,
            "description": chunk,
            "context": " > ".join(headings) if len(headings) > 1 else "",
            "attrs": {**attrs, "headings": headings} if headings else dict(attrs),
            **shared,
            "first_line": first + lines_before,
            "last_line": last + lines_before,
        }
        if extracted is not None:
            fields |= {"first_line": extracted.place(first), "last_line": extracted.place(last)}
        if is_note and "#" in chunk and (tags := inline_tags(chunk)):
            fields["tags"] = list(dict.fromkeys([*fields.get("tags", ()), *tags]))[:MOST_TAGS]
        chunks.append(ChunkDraft(fields, tuple([Mention(*mention) for mention in named])))
    if front.values:
        chunks = _with_properties(chunks, front, text[: front.end], {"title": title, "attrs": attrs, **shared})
    return Document(chunks, (front.problem,) if front.problem else ())


def _with_properties(
    chunks: list[ChunkDraft], front: FrontMatter, head: str, fields: dict[str, Any]
) -> list[ChunkDraft]:
    """Return the chunks with the links and aliases of the front matter; a file without text gets one chunk of it."""
    if not chunks:
        last = head.rstrip().count("\n") + 1
        alone = {"description": head.strip(), "context": "", "first_line": 1, "last_line": last}
        chunks = [ChunkDraft({**fields, **alone}, ())]
    first, *others = chunks
    names = aliases_of(front.values)
    mentions = (
        *(Mention(*pair, "wiki") for pair in named_in(front.values)),
        *first.mentions,
        *(Mention(name, "", ALIAS) for name in names),
    )
    # As many aliases as fit are part of the title, so that an alias matches with the weight of a title.
    title = titled = first.fields["title"]
    for count in range(1, len(names) + 1):
        if len(longer := f"{title} ({'; '.join(names[:count])})") > MOST_TITLE_CHARS:
            break
        titled = longer
    return [ChunkDraft({**first.fields, "title": titled}, mentions), *others]


def _shared(front: FrontMatter, path: str, name: str, mtime: float) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return the fields and attrs shared by all chunks of a file, and the title of chunks without a heading."""
    day = dated(name)
    created = updated = mtime if day is None else day
    fields: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    title = name
    evergreen: object = is_evergreen(path)
    if front.values:
        fields = fields_of(front.values)
        attrs = attrs_of(front.values, fields)
        attrs.pop("headings", None)
        front_created, front_updated = times_of(front.values)
        created = created if front_created is None else front_created
        updated = updated if front_updated is None else front_updated
        flag = attrs.pop("evergreen", None)
        evergreen = flag if isinstance(flag, bool) else evergreen
        front_title = attrs.get("title")
        if isinstance(front_title, str) and front_title.strip():
            title = " ".join(front_title.split())[:MOST_TITLE_CHARS]
    if evergreen:
        attrs["evergreen"] = 1
    fields["created_at"], fields["updated_at"] = created, max(created, updated)
    return fields, attrs, title


def dated(name: str) -> float | None:
    """Return the date at the start of a file name, ``YYYY-MM-DD[-slug]``, as epoch seconds of midnight (UTC)."""
    match = _DAY.fullmatch(name.rpartition(".")[0] or name)
    if match is None:
        return None
    try:
        return datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def is_evergreen(path: str) -> bool:
    """Return True for files that never age: curated ones of a memory folder, and undated ones below ``memory/``.

    A name that looks like a date but is invalid, such as ``2026-02-30``, counts as dated, with the age of the file.
    """
    name = path.rpartition("/")[2]
    return is_memory_path(path) and _DAY.fullmatch(name.rpartition(".")[0] or name) is None
