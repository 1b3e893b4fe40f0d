"""Sources: iterators over records, each item a dict or the error of that record; texts; and the result of an import."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

from septet._core import text_hash
from septet.errors import EntryError
from septet.inputs.documents import Unreadable, open_regular
from septet.model.entry import MAX_ID_CHARS, Entry
from septet.system.host import host

#: Maximum characters of a line: more than the text, attrs and vectors of any sensible entry.
MAX_LINE_CHARS = 64 * 2**20
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

#: A record, or its error; iteration continues after an error.
Record: TypeAlias = "Mapping[Any, Any] | Entry | EntryError"
#: Format of a source: JSON lines; a JSON array or concatenated objects; a table; texts.
Format: TypeAlias = Literal["jsonl", "json", "csv", "tsv", "text"]
#: Treatment of fields that an entry does not have.
Rest: TypeAlias = Literal["attrs", "drop", "error"]


class LeftOut(EntryError):
    """A skipped file of a folder: it is counted but never stops an import."""


class Source(ABC):
    """An iterator over records. An exception ends the import: the rest of the source is unreadable.

    Attributes:
        line: first line of the last record, from 1.
        path: path of its file in a folder; otherwise empty.
        origin: `Entry.source` of records without one.
        unit: unit of ``line``.
        length: number of records, if known.
        counted: True if each record of ``length`` is an entry, numbered by ``line``.
        json: True if records are JSON, in which an export marks links and feedback.
        notes: notes about the source.
    """

    counted = False
    json = True
    unit = "line"

    def __init__(self, file: BinaryIO | None = None, *, length: int | None = None) -> None:
        self.line = 0
        self.path = ""
        self.origin = "import"
        self.length = length
        self.notes: list[str] = []
        self._file = file
        self._size = 0 if file is None else os.fstat(file.fileno()).st_size

    @abstractmethod
    def __iter__(self) -> Iterator[Record]: ...

    def total(self, stored: int) -> int | None:
        """Return the number of records, for a file estimated from the part read so far; None if unknown."""
        if self.length is not None or self._file is None or self._file.closed:
            return self.length
        read = self._file.tell()
        return max(stored, round(stored * self._size / read)) if read and stored else None


def bounded_lines(source: Any, count: Source) -> Iterator[str | bytes]:
    """Yield and count the lines of a stream or an iterable, of bounded length.

    Raises:
        EntryError: a line is too long or not a text, or a text stream cannot be decoded.
    """
    readline = getattr(source, "readline", None)
    lines: Iterable[Any] = source if readline is None else iter(lambda: readline(MAX_LINE_CHARS + 1), None)
    try:
        for line in lines:
            if not line and readline is not None:
                return
            count.line += 1
            if not isinstance(line, (str, bytes, bytearray)):
                raise EntryError(f"it is {type(line).__name__}, not a line of text")
            if len(line) > MAX_LINE_CHARS:
                raise EntryError(f"it has more than {MAX_LINE_CHARS:,} characters: is that the right format?")
            yield line if isinstance(line, str) else bytes(line)
    except UnicodeDecodeError as fault:
        count.line += 1
        raise EntryError(
            f"this line or one of the next is not UTF-8 ({fault.reason}): convert the source to UTF-8 first"
        ) from None


class ImportFault(NamedTuple):
    """A record that was not stored.

    Attributes:
        line: number of its first line, from 1; for dicts and frames, of the record; 0 for a whole file.
        path: path of the file inside an imported folder; otherwise empty.
        message: the fault and its remedy.
    """

    line: int
    path: str
    message: str

    @property
    def place(self) -> str:
        """The location as shown in errors."""
        return self.path or f"line {self.line}"


#: Treatment of a record that cannot be stored: stop, skip it, or call a function, which may raise, and skip it.
OnError: TypeAlias = "Literal['stop', 'skip'] | Callable[[ImportFault], object]"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        entries: number of stored entries of the source, unchanged ones included. The last of several records with the
            same id counts.
        links: number of stored links.
        feedback: number of stored rows of feedback.
        unchanged: number of entries that were already equal and were not written.
        skipped: number of records that were not stored.
        errors: the first 100 faults.
        notes: assumptions and oddities, such as dates without a time zone, names in ``map`` that no record has, and
            duplicate ids.
    """

    entries: int
    links: int
    feedback: int
    unchanged: int = 0
    skipped: int = 0
    errors: tuple[ImportFault, ...] = ()
    notes: tuple[str, ...] = ()


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
        where = host.relative(fault.filename, str(root)) if fault.filename else "."
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
            path = host.relative(str(here / name), str(root))
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
