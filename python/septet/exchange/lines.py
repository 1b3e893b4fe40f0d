"""JSON lines, and collections of dicts, entries or lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from septet.errors import EntryError
from septet.exchange.source import Record, Source, bounded_lines
from septet.inputs.arguments import shown
from septet.model.entry import Entry


class JsonLines(Source):
    """The objects of a stream or of a collection of lines."""

    def __init__(self, source: Any, file: BinaryIO | None = None) -> None:
        super().__init__(file)
        self._source = source

    def __iter__(self) -> Iterator[Record]:
        for line in bounded_lines(self._source, self):
            if line.strip():
                yield parse_line(line if self.line > 1 else without_mark(line))


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
                    yield parse_line(line if self.line > 1 else without_mark(line))
            else:
                yield EntryError(f"it is {shown(item)}: wanted a dict with a title, or a line of JSON as text")


def without_mark(line: str | bytes) -> str | bytes:
    """Return the first line of a source without its byte order mark."""
    return line.removeprefix("\ufeff") if isinstance(line, str) else line.removeprefix(b"\xef\xbb\xbf")


def parse_line(line: str | bytes) -> Record:
    """Return the object of a line, or the error."""
    try:
        record = json.loads(line if isinstance(line, str) else line.decode("utf-8"))
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
