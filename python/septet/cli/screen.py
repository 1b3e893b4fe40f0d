"""Styled lines, printed to a terminal with colours or to a file without, and a progress bar.

Replaces `rich` for results: importing it took longer than a search.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TextIO
from unicodedata import category, east_asian_width

from septet.cli.terminal import harmless, unguarded
from septet.system.session import session

#: Maximum width of lines in cells; a terminal may be narrower.
WIDTH = 100
#: SGR codes by style.
_CODES: Mapping[str, str] = {
    "bold": "1", "dim": "2", "underline": "4", "red": "31", "green": "32", "yellow": "33", "blue": "34",
    "magenta": "35", "cyan": "36",
}  # fmt: skip
#: A word with trailing blanks, or blanks alone.
_WORDS = re.compile(r"\S+\s*|\s+")
#: Maximum updates: progress may be reported for each of a million entries.
UPDATES_PER_S = 10
BAR_CELLS = 40
#: Cells for what stands beside the bar: label, numbers, times.
_BESIDE_BAR_CELLS = 60


def cells(text: str) -> int:
    """Return the width of a text in terminal cells."""
    if text.isascii():
        return len(text)
    # Combining marks and format characters take no cell.
    return sum(2 if east_asian_width(letter) in "WF" else category(letter) not in ("Mn", "Me", "Cf") for letter in text)


def fitted(text: str, width: int, *, ascii_only: bool = False) -> str:
    """Cut a text to ``width`` cells, with dots at the end if it was longer."""
    if cells(text) <= width:
        return text
    dots = "..." if ascii_only else "…"
    room, end = width - len(dots), 0
    while end < len(text) and (room := room - cells(text[end])) >= 0:
        end += 1
    return text[:end].rstrip() + dots


class StyledLine:
    """Text of one or more lines, with styles per part, such as ``bold cyan``."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.parts: list[tuple[str, str]] = [(text, style)] if text else []

    def append(self, more: str | StyledLine, style: str = "") -> StyledLine:
        """Add a text at the end; return this line."""
        self.parts += more.parts if isinstance(more, StyledLine) else [(more, style)]
        return self

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(text for text, _ in self.parts)

    @property
    def width(self) -> int:
        """The width in cells."""
        return cells(self.plain)

    def stripped(self) -> StyledLine:
        """Return the line without trailing blanks."""
        line = StyledLine()
        line.parts = list(self.parts)
        while line.parts and not line.parts[-1][0].rstrip():
            line.parts.pop()
        if line.parts:
            text, style = line.parts[-1]
            line.parts[-1] = text.rstrip(), style
        return line

    def wrapped(self, width: int, indent: int | None = None) -> list[StyledLine]:
        """Wrap at blanks to ``width`` cells; longer words are not broken.

        Args:
            indent: the indentation of all lines but the first; default the leading blanks.
        """
        plain = self.plain
        blanks = len(plain) - len(plain.lstrip(" ")) if indent is None else indent
        indent = min(blanks, width // 2)
        lines, room, begun = [StyledLine()], width, False
        for word in self._words():
            taken = cells(word.plain.rstrip())
            if begun and taken > room:
                lines.append(StyledLine(" " * indent))
                room = width - indent
            lines[-1].append(word)
            room -= word.width
            begun = begun or taken > 0
        return [line.stripped() for line in lines]

    def _words(self) -> list[StyledLine]:
        """Return the words with trailing blanks; a word may have several styles."""
        words: list[StyledLine] = []
        for text, style in self.parts:
            for piece in _WORDS.findall(text):
                if words and not piece[0].isspace() and not words[-1].parts[-1][0][-1].isspace():
                    words[-1].append(piece, style)
                else:
                    words.append(StyledLine(piece, style))
        return words


class Screen:
    """Prints styled lines to a stream, with control characters replaced.

    Attributes:
        width: width of the terminal in cells, or `WIDTH`.
        colors: True to print styles.
        is_terminal: True if the stream is a terminal.
    """

    def __init__(self, stream: TextIO, *, width: int, colors: bool, is_terminal: bool) -> None:
        self._stream = stream
        self.width, self.colors, self.is_terminal = width, colors, is_terminal

    @property
    def ascii_only(self) -> bool:
        """True if the stream's encoding is not a Unicode one."""
        return not (self._stream.encoding or "ascii").lower().startswith("utf")

    def print(self, line: StyledLine | str = "", style: str = "", end: str = "\n") -> None:
        """Print a text; on a terminal, wrap long lines."""
        whole = StyledLine(line, style) if isinstance(line, str) else line
        for number, row in enumerate(_split_lines(whole)):
            shown = row.wrapped(self.width) if self.is_terminal and row.width > self.width else [row]
            for part in shown:
                self._stream.write("\n" if number or part is not shown[0] else "")
                self._stream.write("".join(self._styled(text, inner or style) for text, inner in part.parts))
        self._stream.write(end)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def _styled(self, text: str, style: str) -> str:
        codes = [_CODES[word] for word in style.split() if word in _CODES] if self.colors else []
        safe = harmless(text)
        return f"\x1b[{';'.join(codes)}m{safe}\x1b[0m" if codes and safe else safe


def _split_lines(line: StyledLine) -> list[StyledLine]:
    """Split a text at line feeds."""
    lines = [StyledLine()]
    for text, style in line.parts:
        first, *rest = text.split("\n")
        lines[-1].append(first, style)
        lines += [StyledLine(part, style) for part in rest]
    return lines


def console(stream: TextIO, *, color: bool = True) -> Screen:
    """Return a screen for a stream.

    Args:
        color: False for plain text, regardless of the environment.
    """
    shown, is_terminal = unguarded(stream), stream.isatty()
    return Screen(
        shown,
        width=shutil.get_terminal_size((WIDTH, 0)).columns if is_terminal else WIDTH,
        colors=color and has_colors(stream),
        is_terminal=is_terminal,
    )


def has_colors(stream: TextIO) -> bool:
    """Return True for a terminal with colours, or with ``FORCE_COLOR``; never with ``NO_COLOR``."""
    if os.environ.get("NO_COLOR"):
        return False
    if (forced := os.environ.get("FORCE_COLOR", "")) not in ("", "0"):
        return True
    return not forced and stream.isatty() and not is_dumb() and session.shows_colors()


def is_dumb() -> bool:
    """Return True if the terminal only supports plain lines."""
    return os.environ.get("TERM", "") in ("dumb", "unknown")


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a progress bar on standard error and yield a callback for it; None without a capable terminal.

    Beside it are the items done, the time they took, how many are done in a second, and the time left.

    The callback takes the number of items done and the total, None if unknown.
    """
    if not sys.stderr.isatty() or is_dumb():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(
        file=unguarded(sys.stderr), color_system="auto" if has_colors(sys.stderr) else None, force_terminal=True
    )
    columns = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[pace]}", markup=False))
    # A narrow terminal has no room for the bar.
    room = console.width - _BESIDE_BAR_CELLS
    bar = (BarColumn(min(room, BAR_CELLS)),) if room >= BAR_CELLS / 2 else ()
    with Progress(
        TextColumn("{task.description}", markup=False), *bar, *columns,
        console=console, transient=True, refresh_per_second=UPDATES_PER_S,
    ) as shown:  # fmt: skip
        task, next_at = shown.add_task(label, total=None, pace=""), 0.0

        def step(done: int, total: int | None) -> None:
            nonlocal next_at
            now = time.monotonic()
            if now >= next_at or done == total:
                next_at = now + 1 / UPDATES_PER_S
                shown.update(task, completed=done, total=total)
                (state,) = shown.tasks
                shown.update(task, pace=pace(state.speed, state.time_remaining))

        yield step


def pace(per_s: float | None, left_s: float | None) -> str:
    """Return items a second, and the time left if it is known; nothing before there is a speed."""
    if not per_s:
        return ""
    speed = f"{per_s:,.0f}/s" if per_s >= 10 else f"{per_s:.1f}/s"
    return speed if left_s is None else f"{speed}, {timedelta(seconds=math.ceil(left_s))} left"
