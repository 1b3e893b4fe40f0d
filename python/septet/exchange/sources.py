"""Which form a source has, and its records."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, get_args

from septet.errors import EntryError
from septet.exchange.imported import Format
from septet.exchange.lines import JsonLines, Records
from septet.exchange.source import MAX_LINE_CHARS, Source
from septet.inputs.arguments import exact, file_path, printable, shown
from septet.inputs.documents import Unreadable, open_regular
from septet.sqlite.store.identity import is_open_here

__all__ = ["checked_format", "opened"]

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
#: The first bytes of a file whose name says nothing.
HEAD_BYTES = 4_096
_GZIP = b"\x1f\x8b"


def checked_format(format: object) -> Format | None:
    """Return the name of a format, or None.

    Raises:
        EntryError: it is none.
    """
    given = exact(format)
    if format is not None and (not isinstance(given, str) or given not in _FORMATS):
        raise EntryError(f"format is {shown(format)}: wanted None or one of {', '.join(_FORMATS)}")
    return given  # type: ignore[no-any-return]


@contextmanager
def opened(source: Any, format: Format | None) -> Iterator[Source]:
    """Open a source: the path of a file or folder, a stream, lines, or dicts.

    Raises:
        EntryError: it cannot be read, or has no such form.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield _given(source, format)
        return
    path = Path(file_path(source, "source", EntryError))
    if is_open_here(os.fspath(path)):
        # Closing a descriptor of the file would give back SQLite's locks on it, for the whole process.
        raise EntryError(
            f"{printable(path)} is a vault that is open, and nothing to import: name a file that export wrote"
        )
    # `Path.is_dir` raises for a name that is too long.
    folder = os.path.isdir(path)  # noqa: PTH112
    if folder or format == "text" or (format is None and _SUFFIXES.get(path.suffix.lower()) == "text"):
        if format not in (None, "text"):
            raise EntryError(f"{printable(path)} is a folder, not a file: a folder of texts has format='text'")
        from septet.exchange.texts import Texts

        if not folder:
            _checked_file(path).close()
        yield _named(Texts(path, every=format == "text"), path)
        return
    with _checked_file(path) as file:
        _expect_unpacked(file, path)
        yield _named(_read(file, format or _SUFFIXES.get(path.suffix.lower()) or _guessed(file), file), path)


def _named(source: Source, path: Path) -> Source:
    # Without its folder: where it is kept is nobody's business.
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
        raise EntryError(f"{path} is packed by gzip: unpack it, or give the stream gzip.open(path)")


def _given(source: Any, format: Format | None) -> Source:
    from septet.exchange.frames import Frame, frame_rows

    if format is None and (rows := frame_rows(source)) is not None:
        return Frame(rows)
    if isinstance(source, (bytes, bytearray, memoryview, Mapping)) or not isinstance(source, Iterable):
        raise EntryError(f"source is {shown(source)}: wanted a path, an open stream, lines of JSON, dicts, or a frame")
    if format == "text":
        raise EntryError("format='text' wants the path of a file or folder")
    readline, read = getattr(source, "readline", None), getattr(source, "read", None)
    if not callable(readline) or not callable(read):
        if format == "json":
            raise EntryError("format='json' wants a file or a stream: dicts and lines of JSON are taken as they are")
        try:
            return _read(iter(source), format, None) if format in ("csv", "tsv") else Records(source)
        except TypeError:
            raise EntryError(f"source is {shown(source)}, which cannot be listed: wanted dicts or lines") from None
    if format is not None:
        return _read(source, format, None)
    try:
        begun = readline(MAX_LINE_CHARS + 1)
    except UnicodeDecodeError as fault:
        raise EntryError(f"the first lines are not UTF-8 ({fault.reason}): convert the source first") from None
    if isinstance(begun, bytes) and begun.startswith(_GZIP):
        raise EntryError("the stream is packed by gzip: unpack it, as gzip.open(stream) does")
    if _is_array(begun):
        from septet.exchange.values import JsonValues

        return JsonValues(read, begun=begun)
    # What was read to find out comes first again.
    end: Any = b"" if isinstance(begun, bytes) else ""
    return JsonLines(chain([begun], iter(lambda: readline(MAX_LINE_CHARS + 1), end)) if begun else [])


def _read(source: Any, format: Format | None, file: BinaryIO | None) -> Source:
    """Return the records of a stream or of lines."""
    if format in ("csv", "tsv"):
        from septet.exchange.tables import Table

        return Table(source, file, delimiter="\t" if format == "tsv" else None)
    if format == "json":
        from septet.exchange.values import JsonValues

        return JsonValues(source.read, file)
    return JsonLines(source, file)


def _guessed(file: BinaryIO) -> Format:
    """Return the format of a file whose name does not say it, and go back to its beginning."""
    head = file.read(HEAD_BYTES)
    file.seek(0)
    return "json" if _is_array(head) else "jsonl"


def _is_array(head: Any) -> bool:
    text = head.decode("utf-8", "replace") if isinstance(head, (bytes, bytearray)) else str(head)
    return text.removeprefix("\ufeff").lstrip().startswith("[")
