"""Safe output: all output of the commands passes through here, without terminal control characters.

A title, a file name or a provider's message may contain escape sequences, which move the cursor, rename the window or
fill the clipboard, and characters that reorder text. They become U+FFFD; in JSON, ``\\u001b``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from septet.notes import Note

#: C0 except tab and line feed, DEL, C1, and bidirectional embeddings, overrides and isolates.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

#: The notes printed by the current command.
_noted: set[str] = set()


def harmless(text: str) -> str:
    """Replace terminal control characters, except tabs and line feeds."""
    return _STEERING.sub("\ufffd", text)


def flat(text: str) -> str:
    """Return a harmless text on one line, so that it cannot imitate other lines."""
    return harmless(" ".join(text.split()))


class OutputFault(OSError):
    """The output could not be written, for example to a full disk."""


class _Output:
    """A text stream that raises `OutputFault`, to distinguish errors of the output from other errors."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        try:
            return self._stream.write(text)
        except OSError as fault:
            raise OutputFault(fault.errno, fault.strerror) from fault

    def writelines(self, lines: list[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        try:
            self._stream.flush()
        except OSError as fault:
            raise OutputFault(fault.errno, fault.strerror) from fault


class _Guarded:
    """A text stream that replaces control characters. `unguarded` is the wrapped stream."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self.unguarded.write(harmless(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)


class _Escaped(_Guarded):
    """A text stream for JSON that escapes control characters, so that no data is lost."""

    def write(self, text: str) -> int:
        """Write JSON; return its length."""
        self.unguarded.write(_escaped(text))
        return len(text)


def escaped(stream: TextIO) -> TextIO:
    """Return a stream for JSON, without the guard of ``stream``."""
    return cast("TextIO", _Escaped(unguarded(stream)))


@contextmanager
def guarded() -> Iterator[None]:
    """Guard standard output and standard error, including output of the parser, warnings and tracebacks."""
    _noted.clear()
    out, err = sys.stdout, sys.stderr
    streams: list[Any] = [_Output(out), _Output(err)]
    sys.stdout, sys.stderr = map(_Guarded, streams)
    yield
    # Not restored after an error: Python prints the traceback at exit.
    sys.stdout, sys.stderr = out, err


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream that a guard wraps, for a console, whose colours are escape sequences."""
    return cast("TextIO", getattr(stream, "unguarded", stream))


def print_json(data: object) -> None:
    """Print JSON, with terminal control characters escaped."""
    print(_escaped(json.dumps(data, ensure_ascii=False, indent=2)))


def print_json_line(data: object) -> None:
    """Print JSON on one line, with terminal control characters escaped, and flush."""
    print(_escaped(json.dumps(data, ensure_ascii=False)))
    sys.stdout.flush()


def _escaped(text: str) -> str:
    # In JSON, these characters occur in strings only.
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def sentence(text: str) -> str:
    """Return a harmless sentence of the library on one line, in terms of the command line."""
    from septet.cli.wording import in_commands

    return flat(in_commands(text))


def say(message: str) -> None:
    """Print a message of one line to standard error, in terms of the command line."""
    # Keep the order of results and messages if both go to one file or pipe.
    sys.stdout.flush()
    print(sentence(message), file=sys.stderr)


def say_notes(notes: Iterable[Note]) -> None:
    """Print notes to standard error, one per line, each once per command."""
    from septet.notes import printed

    for line in printed(dict.fromkeys(notes)):
        if line not in _noted:
            _noted.add(line)
            say(f"note {line}")
