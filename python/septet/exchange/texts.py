"""Text sources: a folder of text or Markdown files, one entry per file, or a single file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from septet._core import text_hash
from septet.errors import EntryError
from septet.exchange.source import LeftOut, Record, Source
from septet.inputs.documents import Unreadable, open_regular
from septet.model.entry import MAX_ID_CHARS

#: Suffixes imported from a folder by default; ``format="text"`` imports all text files.
TEXT_SUFFIXES = frozenset({".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc", ".org"})
_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
#: Maximum size of a file; a book has a million characters.
MAX_FILE_BYTES = 10_000_000
#: Maximum files of a folder tree; their names are in memory.
MAX_FILES = 1_000_000
#: Lines searched for a heading.
HEAD_LINES = 200
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_FRONT_TITLE = re.compile(r"title:[ \t]*(.+?)[ \t]*")


class TextFiles(Source):
    """Entries of the text files under a folder, sorted by name, or of a single file.

    The id is the relative path with ``/``, so that importing again replaces entries; the title comes from the front
    matter or the first Markdown heading, otherwise from the file name; ``updated_at`` is the file's modification time.
    Hidden files and folders are skipped, links are not followed.

    Args:
        every: True for text files of any name, not only with `TEXT_SUFFIXES`.

    Raises:
        EntryError: the folder cannot be listed, or has too many files.
    """

    json = False

    def __init__(self, root: Path, *, every: bool) -> None:
        self.root = root
        if root.is_dir():
            paths, others, self._faults = _walked(root, every=every)
        else:
            paths, others, self._faults = [root.name], Counter(), []
            self.root = root.parent
        super().__init__(length=len(paths))
        self._files = paths
        if not paths:
            self.notes.append(f"{root} has no text files")
        if others:
            kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in others.most_common(5))
            more = " and others" if len(others) > 5 else ""
            self.notes.append(
                f"{others.total():,} files with other suffixes were skipped ({kinds}{more}); format='text' imports all "
                "text files"
            )

    def __iter__(self) -> Iterator[Record]:
        for path, fault in self._faults:
            self.path = path
            yield LeftOut(fault)
        for path in self._files:
            self.path = path
            try:
                yield _entry(self.root / path, path)
            except Unreadable as unreadable:
                yield LeftOut(f"it {unreadable}")


def _walked(root: Path, *, every: bool) -> tuple[list[str], Counter[str], list[tuple[str, str]]]:
    """Return the files to read, the number of other files by suffix, and the faults by path."""
    paths: list[str] = []
    others: Counter[str] = Counter()
    faults: list[tuple[str, str]] = []

    def refused(fault: OSError) -> None:
        where = os.path.relpath(fault.filename, root) if fault.filename else "."
        if where == ".":
            raise EntryError(f"{root} cannot be listed: {fault.strerror}") from None
        faults.append((_shown(where), f"it cannot be listed: {fault.strerror}"))

    for folder, inside, files in os.walk(root, onerror=refused):
        here = Path(folder)
        links = {name for name in (*inside, *files) if (here / name).is_symlink()}
        inside[:] = sorted(name for name in inside if not name.startswith(".") and name not in links)
        for name in sorted({*files, *links}):
            if name.startswith("."):
                continue
            path = os.path.relpath(here / name, root)
            suffix = Path(name).suffix.lower()
            if name in links:
                faults.append((_shown(path), "it is a link, which is not followed"))
            elif not every and suffix not in TEXT_SUFFIXES:
                others[suffix or "without a suffix"] += 1
            elif _shown(path) != path:
                faults.append((_shown(path), "its name is not UTF-8: rename it"))
            else:
                paths.append(path)
        if len(paths) > MAX_FILES:
            raise EntryError(f"{root} has more than {MAX_FILES:,} files: import its folders separately")
    return paths, others, faults


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _entry(path: Path, name: str) -> dict[str, Any]:
    """Return a file as the fields of an entry.

    Raises:
        Unreadable: it cannot be read, or is too large, empty or not a text.
    """
    with open_regular(path) as opened:
        written = os.fstat(opened.fileno()).st_mtime
        try:
            content = opened.read(MAX_FILE_BYTES + 1)
        except OSError as fault:
            raise Unreadable(f"cannot be read: {fault.strerror}") from None
    if len(content) > MAX_FILE_BYTES:
        raise Unreadable(f"has more than {MAX_FILE_BYTES:,} bytes: split it, or add it by hand")
    if content.startswith(b"\x1f\x8b"):
        raise Unreadable("is gzip-compressed: decompress it first")
    if b"\0" in content:
        raise Unreadable("is binary: it has NUL bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise Unreadable(f"is not UTF-8 (line {content.count(10, 0, fault.start) + 1}): convert it first") from None
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise Unreadable("is empty")
    return {
        "id": name if len(name) <= MAX_ID_CHARS else f"...{name[-(MAX_ID_CHARS - 40) :]}-{text_hash(name)}",
        "title": (path.suffix.lower() in _MARKDOWN and _heading(text)) or path.stem,
        "description": text,
        "span": {"path": name, "first_line": 1, "last_line": text.rstrip("\n").count("\n") + 1},
        "updated_at": written,
    }


def _heading(text: str) -> str:
    """Return the title in a Markdown text; empty without one."""
    fence = ""
    lines = text[:100_000].split("\n")[:HEAD_LINES]
    if lines[0].rstrip() == "---":
        # Front matter: YAML between two lines of three dashes.
        end = next((n for n, line in enumerate(lines[1:], start=1) if line.rstrip() in ("---", "...")), 0)
        for line in lines[1:end]:
            if match := _FRONT_TITLE.fullmatch(line):
                return match[1].strip("\"'").strip()
        lines = lines[end + 1 :] if end else lines
    for line, below in zip(lines, [*lines[1:], ""]):
        mark = line.strip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        elif not fence:
            if (match := _HEADING.fullmatch(line.rstrip())) and match[1].strip():
                return match[1].strip()
            # Setext heading.
            if line.strip() and not line.startswith((" ", "-", ">", "|")) and re.fullmatch(r"=+|--+", below.rstrip()):
                return line.strip()
    return ""
