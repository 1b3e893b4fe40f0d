"""Long output on a terminal goes through a pager: what fits on the screen is printed as it is."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TextIO

from septet.cli.screen import cells, is_dumb
from septet.cli.terminal import unguarded

__all__ = ["paged"]

#: What the pager is called with if the user does not say: to end where all fits, show colours, and leave the text.
_LESS = {"LESS": "FRX", "LV": "-c"}


class _Held:
    """A stream of text that holds back what fits on a screen, and begins the pager when there is more."""

    def __init__(self, stream: TextIO, command: list[str]) -> None:
        self._stream, self._command = stream, command
        size = _size(stream)
        self._columns, self._rows_left = size.columns, size.lines - 1
        self._held: list[str] = []
        self._pager: subprocess.Popen[str] | None = None
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Take a text; return its length."""
        if self._is_closed:
            return self._stream.write(text)
        if self._pager is None:
            self._held.append(text)
            self._rows_left -= sum(1 + max(0, cells(line) - 1) // self._columns for line in text.split("\n")[1:])
            if self._rows_left < 0:
                self._begin()
        else:
            self._tell(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing yet: what is held may still fit."""
        if self._is_closed:
            self._stream.flush()

    def finish(self) -> None:
        """Print what fits, or wait until the user leaves the pager."""
        self._is_closed = True
        if self._pager is None:
            self._stream.write("".join(self._held))
            self._stream.flush()
            return
        with suppress(OSError, ValueError):
            _input(self._pager).close()
        # The pager has the terminal: Ctrl-C is for it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._pager.wait()
        finally:
            signal.signal(signal.SIGINT, before)

    def _begin(self) -> None:
        environment = {**_LESS, **os.environ}
        options: dict[str, Any] = {"encoding": self._stream.encoding, "errors": "replace", "env": environment}
        try:
            self._pager = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=self._stream, **options)
        except OSError:
            # There is no such pager: the text is worth more than it.
            self._is_closed = True
            self._stream.write("".join(self._held))
        else:
            self._tell("".join(self._held))
        self._held = []

    def _tell(self, text: str) -> None:
        # The user may leave before the end.
        with suppress(BrokenPipeError):
            assert self._pager is not None
            _input(self._pager).write(text)


@contextmanager
def paged(wanted: bool = True) -> Iterator[None]:
    """Send what is printed to ``PAGER`` (``less``) if it is longer than the terminal; pipes are not changed."""
    command = _command() if wanted and sys.stdout.isatty() and sys.stdin.isatty() and not is_dumb() else []
    guarded = sys.stdout
    if not command or not hasattr(guarded, "unguarded"):
        yield
        return
    held = _Held(unguarded(guarded), command)
    # A reader that leaves must not end this process before it gave the terminal back.
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    guarded.unguarded = held
    try:
        yield
    finally:
        held.finish()
        guarded.unguarded = held._stream
        if before is not None:  # what C set, Python cannot set again
            signal.signal(signal.SIGPIPE, before)


def _command() -> list[str]:
    """Return the pager's command; nothing where the user wants none."""
    named = os.environ.get("SEPTET_PAGER", os.environ.get("PAGER", "less"))
    try:
        command = shlex.split(named)
    except ValueError:
        return []
    return [] if command in ([], ["cat"]) else command


def _input(pager: subprocess.Popen[str]) -> IO[str]:
    assert pager.stdin is not None
    return pager.stdin


def _size(stream: TextIO) -> os.terminal_size:
    try:
        found = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        found = os.terminal_size((80, 24))
    columns, lines = (os.environ.get(name, "") for name in ("COLUMNS", "LINES"))
    return os.terminal_size(
        (
            int(columns) if columns.isdecimal() and int(columns) else found.columns or 80,
            int(lines) if lines.isdecimal() and int(lines) else found.lines or 24,
        )
    )
