"""Open a source and detect its format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, get_args

from septet.errors import EntryError, printable
from septet.exchange.imported import Format
from septet.exchange.lines import JsonLines, Records
from septet.exchange.source import MAX_LINE_CHARS, Source
from septet.inputs.arguments import exact, file_path, shown
from septet.inputs.documents import Unreadable, open_regular
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
        raise EntryError(
            f"{printable(path)} is a vault that is open, not an import source: name a file written by export"
        )
    # `Path.is_dir` raises for a name that is too long.
    folder = os.path.isdir(path)  # noqa: PTH112
    if folder or format == "text" or (format is None and _SUFFIXES.get(path.suffix.lower()) == "text"):
        if format not in (None, "text"):
            raise EntryError(f"{printable(path)} is a folder, not a file: use format='text' for a folder of texts")
        from septet.exchange.texts import TextFiles

        if not folder:
            _checked_file(path).close()
        yield _with_origin(TextFiles(path, every=format == "text"), path)
        return
    with _checked_file(path) as file:
        _expect_unpacked(file, path)
        yield _with_origin(_read(file, format or _SUFFIXES.get(path.suffix.lower()) or _detect(file), file), path)


def _with_origin(source: Source, path: Path) -> Source:
    # Only the file name: the folder is private.
    name = "".join(c for c in path.name if c.isprintable())
    source.origin = f"import:{name}" if name else "import"
    return source


def _checked_file(path: Path) -> BinaryIO:
    try:
        return open_regular(path)
    except Unreadable as fault:
        raise EntryError(
            f"{printable(path)} {fault}; give an open stream (`-` on the command line) for a pipe"
        ) from None


def _expect_unpacked(file: BinaryIO, path: Path) -> None:
    try:
        packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
    except OSError as fault:
        raise EntryError(f"{path} cannot be read: {fault.strerror or fault}") from None
    if packed:
        raise EntryError(f"{path} is gzip-compressed: decompress it, or give the stream gzip.open(path)")


def _of_values(source: Any, format: Format | None) -> Source:
    from septet.exchange.frames import Frame, frame_rows

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
        from septet.exchange.values import JsonValues

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
        from septet.exchange.values import JsonValues

        return JsonValues(source.read, file)
    return JsonLines(source, file)


def _detect(file: BinaryIO) -> Format:
    """Return the format of a file without a known suffix, and rewind it."""
    head = file.read(HEAD_BYTES)
    file.seek(0)
    return "json" if _is_array(head) else "jsonl"


def _is_array(head: Any) -> bool:
    text = head.decode("utf-8", "replace") if isinstance(head, (bytes, bytearray)) else str(head)
    return text.removeprefix("\ufeff").lstrip().startswith("[")
