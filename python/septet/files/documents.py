"""Documents: a file's text as drafts of entries, one a chunk, with what its headings, links and front matter say."""

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
    from collections.abc import Sequence

    from septet.files.extracting import Extracted

__all__ = ["ChunkDraft", "Document", "Mention", "dated", "document_of", "is_evergreen"]

_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd", ".mdx")
_RST = (".rst", ".rest")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[-_ ].*)?", re.ASCII | re.DOTALL)
MOST_TITLE_CHARS = 200


class Mention(NamedTuple):
    """What a chunk names by a link.

    Attributes:
        target: the note, or the relative path as it is written, ``%20`` and all; resolved against nothing.
        anchor: the heading in it, or "".
        type: ``wiki`` for ``[[target#anchor|alias]]``, ``link`` for ``[alias](target#anchor)``; ``alias`` where the
            front matter has the target as another name of the file itself.
    """

    target: str
    anchor: str
    type: str


class ChunkDraft(NamedTuple):
    """A chunk as the fields of an entry, without what only the vault knows: id, parent, span, source, kind.

    Attributes:
        fields: title, description, context, attrs, created_at, updated_at, first_line, last_line, and of tags, type,
            domain and severity those that the front matter gives.
        mentions: what the part that the chunk before does not have names, in its order.
    """

    fields: dict[str, Any]
    mentions: tuple[Mention, ...]


class Document(NamedTuple):
    """A file as chunks.

    Attributes:
        chunks: in the order of the text; blank ones are left out.
        problems: what could not be read, in sentences.
    """

    chunks: list[ChunkDraft]
    problems: tuple[str, ...]


def document_of(text: str, path: str, mtime: float, chunking: Chunking, extracted: Extracted | None = None) -> Document:
    """Return the chunks of a file.

    Args:
        text: what is in it.
        path: below its root, with forward slashes; the ending says whether it is Markdown, reStructuredText or text.
        mtime: when it was last changed, in epoch seconds.
        extracted: what the text was got from, if the file is none itself: its lines are those of that.
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
    """Return the chunks with the links and the other names of their front matter; one of it alone where it is all."""
    if not chunks:
        last = head.rstrip().count("\n") + 1
        own = {"description": head.strip(), "context": "", "first_line": 1, "last_line": last}
        chunks = [ChunkDraft({**fields, **own}, ())]
    first, *others = chunks
    names = aliases_of(front.values)
    mentions = (
        *(Mention(*one, "wiki") for one in named_in(front.values)),
        *first.mentions,
        *(Mention(name, "", ALIAS) for name in names),
    )
    return [ChunkDraft({**first.fields, "title": _also_called(first.fields["title"], names)}, mentions), *others]


def _also_called(title: str, names: Sequence[str]) -> str:
    """Return a title with other names of its note, as many as have room: in a title a name weighs as one."""
    said = ""
    for name in names:
        longer = f"{said}; {name}" if said else name
        if len(f"{title} ({longer})") > MOST_TITLE_CHARS:
            break
        said = longer
    return f"{title} ({said})" if said else title


def _shared(front: FrontMatter, path: str, name: str, mtime: float) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return the fields and attrs that all chunks of a file have, and the title of those under no heading."""
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
        made, changed = times_of(front.values)
        created = created if made is None else made
        updated = updated if changed is None else changed
        given = attrs.pop("evergreen", None)
        evergreen = given if isinstance(given, bool) else evergreen
        said = attrs.get("title")
        if isinstance(said, str) and said.strip():
            title = " ".join(said.split())[:MOST_TITLE_CHARS]
    if evergreen:
        attrs["evergreen"] = 1
    fields["created_at"], fields["updated_at"] = created, max(created, updated)
    return fields, attrs, title


def dated(name: str) -> float | None:
    """Return the day that a file's name begins with, ``YYYY-MM-DD[-slug]``, as epoch seconds of its midnight (UTC)."""
    found = _DAY.fullmatch(name.rpartition(".")[0] or name)
    if found is None:
        return None
    try:
        return datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def is_evergreen(path: str) -> bool:
    """Say whether a file never ages: the curated ones of a memory folder, and below ``memory/`` those without a date.

    A name that looks like a date and is none, such as ``2026-02-30``, is dated: its age is that of the file.
    """
    name = path.rpartition("/")[2]
    return is_memory_path(path) and _DAY.fullmatch(name.rpartition(".")[0] or name) is None
