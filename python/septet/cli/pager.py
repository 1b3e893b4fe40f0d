"""Pages output that is longer than the terminal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TextIO, cast

from septet.cli.screen import cells, is_dumb
from septet.cli.terminal import unguarded
from septet.system.session import session

#: Default options: exit if all fits, show colours, leave the text on the screen.
_LESS = {"LESS": "FRX", "LV": "-c"}


class _PagedStream:
    """A text stream that buffers one screen, and starts the pager when there is more."""

    def __init__(self, stream: TextIO, command: list[str]) -> None:
        self._stream, self._command = stream, command
        self._columns, lines = shutil.get_terminal_size()
        self._rows_left = lines - 1
        self._buffer: list[str] = []
        self._pager: subprocess.Popen[str] | None = None
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        if self._is_closed:
            return self._stream.write(text)
        if self._pager is None:
            self._buffer.append(text)
            self._rows_left -= sum(1 + max(0, cells(line) - 1) // self._columns for line in text.split("\n")[1:])
            if self._rows_left < 0:
                self._start()
        else:
            self._send(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream once it is finished; before, the buffer may still fit."""
        if self._is_closed:
            self._stream.flush()

    def finish(self) -> None:
        """Print the buffer, or wait until the user quits the pager."""
        self._is_closed = True
        if self._pager is None:
            self._stream.write("".join(self._buffer))
            self._stream.flush()
            return
        with suppress(OSError, ValueError):
            self._input.close()
        # Ctrl-C is for the pager.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._pager.wait()
        finally:
            signal.signal(signal.SIGINT, before)

    def _start(self) -> None:
        environment = {**_LESS, **os.environ}
        options: dict[str, Any] = {"encoding": self._stream.encoding, "errors": "replace", "env": environment}
        try:
            self._pager = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=self._stream, **options)
            self._input: IO[str] = cast("IO[str]", self._pager.stdin)
        except OSError:
            # The pager does not exist: print without one.
            self._is_closed = True
            self._stream.write("".join(self._buffer))
        else:
            self._send("".join(self._buffer))
        self._buffer = []

    def _send(self, text: str) -> None:
        # The user may quit the pager early.
        with suppress(BrokenPipeError):
            self._input.write(text)


@contextmanager
def paged() -> Iterator[None]:
    """Send output longer than the terminal to ``PAGER`` (``less``); pipes are not changed."""
    command = _command() if sys.stdout.isatty() and sys.stdin.isatty() and not is_dumb() else []
    guarded = sys.stdout
    if not command or not hasattr(guarded, "unguarded"):
        yield
        return
    stream = _PagedStream(unguarded(guarded), command)
    # A pager that quits must not end this process before the terminal is restored.
    restore = session.raise_at_broken_pipes()
    guarded.unguarded = stream
    try:
        yield
    finally:
        stream.finish()
        guarded.unguarded = stream._stream
        restore()


def _command() -> list[str]:
    """Return the pager's command; empty if the user disabled it."""
    try:
        command = session.words(os.environ.get("SEPTET_PAGER", os.environ.get("PAGER", session.PAGER)))
    except ValueError:
        return []
    return [] if command in ([], ["cat"]) else command
