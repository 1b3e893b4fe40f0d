"""Incremental reader of a JSON array of objects or of concatenated objects."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from septet.errors import EntryError
from septet.exchange.source import MAX_LINE_CHARS, Record, Source

PIECE_CHARS = 64 * 2**10
_SPACE = re.compile(r"[ \t\n\r]*")
#: A parse error this close to the end may be a literal, number or escape cut in two.
_CUT_CHARS = 16


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
