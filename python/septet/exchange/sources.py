"""Open a source and detect its format; the readers of JSON."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, get_args

from septet.errors import EntryError, printable
from septet.exchange.source import MAX_LINE_CHARS, Format, Record, Source, bounded_lines
from septet.inputs.arguments import exact, file_path, shown
from septet.inputs.documents import Unreadable, open_regular
from septet.model.entry import Entry
from septet.sqlite.store.identity import is_open_here

_FORMATS = get_args(Format)
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".md": "text",
    ".markdown": "text",
    ".mdx": "text",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".adoc": "text",
    ".org": "text",
}
#: Bytes read to detect the format of a file without a known suffix.
HEAD_BYTES = 4_096
_GZIP = b"\x1f\x8b"
PIECE_CHARS = 64 * 2**10
_SPACE = re.compile(r"[ \t\n\r]*")
#: A parse error this close to the end may be a literal, number or escape cut in two.
_CUT_CHARS = 16


def checked_format(format: object) -> Format | None:
    """Return the name of a format, or None.

    Raises:
        EntryError: an unknown format.
    """
    name = exact(format)
    if format is not None and (not isinstance(name, str) or name not in _FORMATS):
        raise EntryError(f"format is {shown(format)}: wanted None or one of {', '.join(_FORMATS)}")
    return name  # type: ignore[no-any-return]


@contextmanager
def opened(source: Any, format: Format | None) -> Iterator[Source]:
    """Open a source: the path of a file or folder, a stream, lines, or dicts.

    Raises:
        EntryError: it cannot be read, or does not have the given format.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield _of_values(source, format)
        return
    path = Path(file_path(source, "source", EntryError))
    if is_open_here(os.fspath(path)):
        # Closing a descriptor of the file would release SQLite's locks on it for the whole process.
        problem = "is a vault that is open, not an import source: name a file written by export"
        raise EntryError(f"{printable(path)} {problem}")
    # `Path.is_dir` raises for a name that is too long.
    folder = os.path.isdir(path)  # noqa: PTH112
    if folder or format == "text" or (format is None and _SUFFIXES.get(path.suffix.lower()) == "text"):
        if format not in (None, "text"):
            raise EntryError(f"{printable(path)} is a folder, not a file: use format='text' for a folder of texts")
        from septet.exchange.source import TextFiles

        if not folder:
            _checked_file(path).close()
        yield _with_origin(TextFiles(path, every=format == "text"), path)
        return
    with _checked_file(path) as file:
        try:
            head = file.read(HEAD_BYTES)
            file.seek(0)
        except OSError as fault:
            raise EntryError(f"{path} cannot be read: {fault.strerror or fault}") from None
        if head.startswith(_GZIP):
            raise EntryError(f"{path} is gzip-compressed: decompress it, or give the stream gzip.open(path)")
        form = format or _SUFFIXES.get(path.suffix.lower()) or ("json" if _is_array(head) else "jsonl")
        yield _with_origin(_read(file, form, file), path)


def _with_origin(source: Source, path: Path) -> Source:
    # Only the file name: the folder is private.
    name = "".join(c for c in path.name if c.isprintable())
    source.origin = f"import:{name}" if name else "import"
    return source


def _checked_file(path: Path) -> BinaryIO:
    try:
        return open_regular(path)
    except Unreadable as fault:
        cure = "give an open stream (`-` on the command line) for a pipe"
        raise EntryError(f"{printable(path)} {fault}; {cure}") from None


def _of_values(source: Any, format: Format | None) -> Source:
    from septet.exchange.tables import Frame, frame_rows

    if format is None and (rows := frame_rows(source)) is not None:
        return Frame(rows)
    if isinstance(source, (bytes, bytearray, memoryview, Mapping)) or not isinstance(source, Iterable):
        raise EntryError(f"source is {shown(source)}: wanted a path, an open stream, lines of JSON, dicts, or a frame")
    if format == "text":
        raise EntryError("format='text' requires the path of a file or folder")
    readline, read = getattr(source, "readline", None), getattr(source, "read", None)
    if not callable(readline) or not callable(read):
        if format == "json":
            raise EntryError("format='json' requires a file or a stream: omit it for dicts and lines of JSON")
        try:
            return _read(iter(source), format, None) if format in ("csv", "tsv") else Records(source)
        except TypeError:
            raise EntryError(f"source is {shown(source)}, which is not iterable: wanted dicts or lines") from None
    if format is not None:
        return _read(source, format, None)
    try:
        head = readline(MAX_LINE_CHARS + 1)
    except UnicodeDecodeError as fault:
        raise EntryError(f"the first lines are not UTF-8 ({fault.reason}): convert the source first") from None
    if isinstance(head, bytes) and head.startswith(_GZIP):
        raise EntryError("the stream is gzip-compressed: decompress it, for example with gzip.open(stream)")
    if _is_array(head):
        return JsonValues(read, head=head)
    # Put the line read for detection back.
    end: Any = b"" if isinstance(head, bytes) else ""
    return JsonLines(chain([head], iter(lambda: readline(MAX_LINE_CHARS + 1), end)) if head else [])


def _read(source: Any, format: Format | None, file: BinaryIO | None) -> Source:
    """Return the records of a stream or of lines."""
    if format in ("csv", "tsv"):
        from septet.exchange.tables import Table

        return Table(source, file, delimiter="\t" if format == "tsv" else None)
    if format == "json":
        return JsonValues(source.read, file)
    return JsonLines(source, file)


def _is_array(head: Any) -> bool:
    text = head.decode("utf-8", "replace") if isinstance(head, (bytes, bytearray)) else str(head)
    return text.removeprefix("\ufeff").lstrip().startswith("[")


class JsonLines(Source):
    """The objects of a stream or of a collection of lines."""

    def __init__(self, source: Any, file: BinaryIO | None = None) -> None:
        super().__init__(file)
        self._source = source

    def __iter__(self) -> Iterator[Record]:
        for line in bounded_lines(self._source, self):
            if line.strip():
                yield parse_line(line, first=self.line == 1)


class Records(Source):
    """The items of a collection or iterator: dicts, entries or lines of JSON. ``line`` counts them."""

    counted = True

    def __init__(self, source: Any) -> None:
        super().__init__(length=len(source) if isinstance(source, (list, tuple)) else None)
        self._source = source

    def __iter__(self) -> Iterator[Record]:
        for item in self._source:
            self.line += 1
            if isinstance(item, (Mapping, Entry)):
                self.unit = "record"
                yield item
            elif isinstance(item, (str, bytes, bytearray)):
                line = item if isinstance(item, (str, bytes)) else bytes(item)
                if line.strip():
                    yield parse_line(line, first=self.line == 1)
            else:
                yield EntryError(f"it is {shown(item)}: wanted a dict with a title, or a line of JSON as text")


def parse_line(line: str | bytes, *, first: bool) -> Record:
    """Return the object of a line, or the error; the first line of a source may have a byte order mark."""
    try:
        text = line if isinstance(line, str) else line.decode("utf-8")
        record = json.loads(text.removeprefix("\ufeff") if first else text)
    except UnicodeDecodeError as fault:
        return EntryError(f"it is not UTF-8 ({fault.reason} at byte {fault.start + 1}): convert the source first")
    except json.JSONDecodeError as fault:
        # The parser's line number counts within this line.
        return EntryError(f"it is not JSON: {fault.msg} at character {fault.pos + 1}")
    except ValueError as fault:
        return EntryError(f"it is not JSON: {fault}")
    except RecursionError:
        return EntryError("it is nested too deeply: write it flatter")
    return record if isinstance(record, dict) else EntryError("it is not a JSON object")


class JsonValues(Source):
    """The objects of a JSON array or of concatenated objects.

    Memory holds one piece of the text, or one object if that is longer.

    Args:
        read: returns about the given number of characters or bytes; empty at the end.
    """

    def __init__(self, read: Callable[[int], Any], file: BinaryIO | None = None, *, head: str | bytes = "") -> None:
        super().__init__(file)
        self._read = read
        self._head = head
        self._text, self._at = "", 0
        #: Line number of the start of the text in memory.
        self._lines = 1

    def __iter__(self) -> Iterator[Record]:
        self._pieces = self._decoded()
        listed = self._next_mark() == "["
        self._at += listed
        first = True
        while mark := self._next_mark():
            if listed and mark == "]":
                self._at += 1
                if self._next_mark():
                    raise EntryError("text after the end of the array: a file holds one array")
                return
            if listed and not first:
                if mark != ",":
                    raise EntryError(f"{mark!r} where a comma or the end of the array was wanted")
                self._at += 1
                self._next_mark()
            first = False
            value = self._value()
            yield value if isinstance(value, dict) else EntryError("it is not a JSON object")
        if listed:
            raise EntryError("the array has no end: the file is truncated")

    def _decoded(self) -> Iterator[str]:
        # An invalid byte becomes a surrogate, which the checks of the entry refuse.
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        head, first = self._head, True
        while piece := head or self._read(PIECE_CHARS):
            text = piece if isinstance(piece, str) else decoder.decode(piece)
            yield text.removeprefix("\ufeff") if first else text
            head, first = "", False
        yield decoder.decode(b"", True)

    def _more(self, chars: int) -> bool:
        """Append more text to the unread rest; return False at the end."""
        pieces, size = [], 0
        while size < chars and (piece := next(self._pieces, None)) is not None:
            pieces.append(piece)
            size += len(piece)
        self._lines += self._text.count("\n", 0, self._at)
        self._text, self._at = "".join((self._text[self._at :], *pieces)), 0
        return size > 0

    def _next_mark(self) -> str:
        """Skip white space and return the next character; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(PIECE_CHARS):
                return ""

    def _value(self) -> Any:
        decode = json.JSONDecoder().raw_decode
        self.line = self._lines + self._text.count("\n", 0, self._at)
        while True:
            try:
                value, self._at = decode(self._text, self._at)
                return value
            except json.JSONDecodeError as fault:
                cut = fault.msg.startswith("Unterminated") or fault.pos >= len(self._text) - _CUT_CHARS
                message, pos = fault.msg, fault.pos
            except ValueError as fault:
                raise EntryError(f"it is not JSON: {fault}") from None
            except RecursionError:
                raise EntryError("it is nested too deeply: write it flatter") from None
            waiting = len(self._text) - self._at
            if waiting > MAX_LINE_CHARS:
                raise EntryError(f"it has more than {MAX_LINE_CHARS:,} characters: is that the right format?")
            # Double the text each time: parsing a long object is then linear.
            start = self._at
            if not cut or not self._more(max(PIECE_CHARS, waiting)):
                raise EntryError(f"it is not JSON: {message} at character {pos - start + 1} of the object")
