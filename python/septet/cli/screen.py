"""Lines with styles, and what shows them: a terminal with colours, or a file without.

A command that prints ten results must not load a library of widgets for them: that took longer than the search.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TextIO
from unicodedata import category, east_asian_width

from septet.cli.terminal import harmless, unguarded

__all__ = ["WIDTH", "Line", "Screen", "cells", "console", "fitted", "has_colors", "is_dumb"]

#: How wide lines are made, in cells; a terminal may be narrower.
WIDTH = 100
#: What a terminal is told to show a style.
_CODES: Mapping[str, str] = {
    "bold": "1", "dim": "2", "underline": "4", "red": "31", "green": "32", "yellow": "33", "blue": "34",
    "magenta": "35", "cyan": "36",
}  # fmt: skip
#: A word with the blanks behind it, or blanks alone.
_WORDS = re.compile(r"\S+\s*|\s+")


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


def fitted(text: str, width: int, *, ascii_only: bool = False) -> str:
    """Return a text that takes so many cells at most; dots stand for what is cut off its end."""
    if cells(text) <= width:
        return text
    dots = "..." if ascii_only else "…"
    room, end = width - len(dots), 0
    while end < len(text) and (room := room - cells(text[end])) >= 0:
        end += 1
    return text[:end].rstrip() + dots


def _cells_of(letter: str) -> int:
    if east_asian_width(letter) in "WF":
        return 2
    # Marks stand on the letter before them; marks of direction, joiners and variants show nothing.
    return 0 if category(letter) in ("Mn", "Me", "Cf") else 1


class Line:
    """Text on one or more lines, parts of which have styles: words such as ``bold`` or ``cyan``, blanks between."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.parts: list[tuple[str, str]] = [(text, style)] if text else []

    def append(self, more: str | Line, style: str = "") -> Line:
        """Add a text at the end; return this line."""
        self.parts += more.parts if isinstance(more, Line) else [(more, style)]
        return self

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(text for text, _ in self.parts)

    @property
    def width(self) -> int:
        """How many cells it takes."""
        return cells(self.plain)

    def stripped(self) -> Line:
        """Return the line without blanks at its end."""
        kept = Line()
        kept.parts = list(self.parts)
        while kept.parts and not kept.parts[-1][0].rstrip():
            kept.parts.pop()
        if kept.parts:
            text, style = kept.parts[-1]
            kept.parts[-1] = text.rstrip(), style
        return kept

    def wrapped(self, width: int, indent: int | None = None) -> list[Line]:
        """Return the lines that it makes in so many cells, broken at blanks; a longer word is left whole.

        Args:
            indent: of all lines but the first; default the blanks that the text begins with.
        """
        plain = self.plain
        blanks = len(plain) - len(plain.lstrip(" ")) if indent is None else indent
        indent = min(blanks, width // 2)
        lines, room, begun = [Line()], width, False
        for word in self._words():
            taken = cells(word.plain.rstrip())
            if begun and taken > room:
                lines.append(Line(" " * indent))
                room = width - indent
            lines[-1].append(word)
            room -= word.width
            begun = begun or taken > 0
        return [line.stripped() for line in lines]

    def _words(self) -> list[Line]:
        """Return words, each with the blanks behind it; parts of one word may have several styles."""
        words: list[Line] = []
        for text, style in self.parts:
            for piece in _WORDS.findall(text):
                if words and not piece[0].isspace() and not words[-1].parts[-1][0][-1].isspace():
                    words[-1].append(piece, style)
                else:
                    words.append(Line(piece, style))
        return words


class Screen:
    """Where lines are printed: harmless whatever they hold, in colours if these are wanted.

    Attributes:
        width: of the terminal in cells, or `WIDTH`.
        colors: whether styles are shown.
        is_terminal: whether somebody looks at it.
    """

    def __init__(self, stream: TextIO, *, width: int, colors: bool, is_terminal: bool) -> None:
        self._stream = stream
        self.width, self.colors, self.is_terminal = width, colors, is_terminal

    @property
    def ascii_only(self) -> bool:
        """Whether bars and dots must be made of ASCII."""
        return not (self._stream.encoding or "ascii").lower().startswith("utf")

    def print(self, line: Line | str = "", style: str = "", end: str = "\n") -> None:
        """Print a text; on a terminal no line is longer than it, where it can be broken at a blank."""
        whole = Line(line, style) if isinstance(line, str) else line
        for number, one in enumerate(_broken(whole)):
            shown = one.wrapped(self.width) if self.is_terminal and one.width > self.width else [one]
            for part in shown:
                self._stream.write("\n" if number or part is not shown[0] else "")
                self._stream.write("".join(self._styled(text, own or style) for text, own in part.parts))
        self._stream.write(end)

    def flush(self) -> None:
        """Show what was printed."""
        self._stream.flush()

    def _styled(self, text: str, style: str) -> str:
        codes = [_CODES[word] for word in style.split() if word in _CODES] if self.colors else []
        said = harmless(text)
        return f"\x1b[{';'.join(codes)}m{said}\x1b[0m" if codes and said else said


def _broken(line: Line) -> list[Line]:
    """Return the lines of a text with line feeds."""
    lines = [Line()]
    for text, style in line.parts:
        first, *rest = text.split("\n")
        lines[-1].append(first, style)
        lines += [Line(one, style) for one in rest]
    return lines


def console(stream: TextIO, *, color: bool = True) -> Screen:
    """Return what shows lines on a stream.

    Args:
        color: False for plain text, whatever the environment says.
    """
    shown, is_terminal = unguarded(stream), stream.isatty()
    return Screen(
        shown,
        width=_width(shown) if is_terminal else WIDTH,
        colors=color and has_colors(stream),
        is_terminal=is_terminal,
    )


def has_colors(stream: TextIO) -> bool:
    """Whether a stream is written in colours: a terminal with colours, or ``FORCE_COLOR``; not with ``NO_COLOR``."""
    if os.environ.get("NO_COLOR"):
        return False
    if (forced := os.environ.get("FORCE_COLOR", "")) not in ("", "0"):
        return True
    return not forced and stream.isatty() and not is_dumb()


def is_dumb() -> bool:
    """Whether the terminal knows no more than text, line by line."""
    return os.environ.get("TERM", "") in ("dumb", "unknown")


def _width(stream: TextIO) -> int:
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH
