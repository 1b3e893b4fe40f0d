"""What reaches a terminal: text without the characters that steer one. Everything the commands print goes through here.

A title, a file name or a provider's message may hold escape sequences, which move the cursor, rename the window or fill
the clipboard, and characters that show text in another order than it is read. They become U+FFFD; in JSON, ``\\u001b``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from septet.notes import Note

__all__ = [
    "OutputFault",
    "escaped",
    "flat",
    "guarded",
    "harmless",
    "print_json",
    "print_json_line",
    "say",
    "say_notes",
    "sentence",
    "unguarded",
]

#: C0 but tab and line feed, DEL, C1, and the marks that embed, override or isolate a direction of writing.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

#: The notes that a command printed.
_noted: set[str] = set()


def harmless(text: str) -> str:
    """Return a text without characters that could steer a terminal; tabs and line feeds stay."""
    return _STEERING.sub("\ufffd", text)


def flat(text: str) -> str:
    """Return a harmless text on one line, so that it cannot pose as another one."""
    return harmless(" ".join(text.split()))


class OutputFault(OSError):
    """What is printed could not be written, for example to a full disk."""


class _Output:
    """A text stream whose faults are told from those of all else that a command reads and writes."""

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
        """Write what is held back."""
        try:
            self._stream.flush()
        except OSError as fault:
            raise OutputFault(fault.errno, fault.strerror) from fault


class _Guarded:
    """A text stream that makes harmless what is written to it. `unguarded` is the stream behind it."""

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
    """A text stream for JSON: what steers a terminal becomes an escape, so that nothing of the data is lost."""

    def write(self, text: str) -> int:
        """Write JSON; return its length."""
        self.unguarded.write(_escaped(text))
        return len(text)


def escaped(stream: TextIO) -> TextIO:
    """Return a stream for JSON in the place of a guarded one."""
    found: Any = _Escaped(unguarded(stream))
    return found  # type: ignore[no-any-return]


@contextmanager
def guarded() -> Iterator[None]:
    """Guard standard output and standard error: also what argument parsers, warnings and tracebacks write."""
    _noted.clear()
    out, err = sys.stdout, sys.stderr
    told: list[Any] = [_Output(out), _Output(err)]
    sys.stdout, sys.stderr = map(_Guarded, told)
    yield
    # After an error they stay: Python prints its traceback at the end of the process.
    sys.stdout, sys.stderr = out, err


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream behind a guarded one, for a console: its colours are escape sequences too."""
    found: TextIO = getattr(stream, "unguarded", stream)
    return found


def print_json(data: object, default: Callable[[Any], Any] | None = None) -> None:
    """Print JSON, with escapes for the characters that steer a terminal.

    Args:
        default: turns what is no JSON into something that is.
    """
    print(_escaped(json.dumps(data, ensure_ascii=False, indent=2, default=default)))


def print_json_line(data: object) -> None:
    """Print JSON on one line, likewise, at once: another program may wait for it."""
    print(_escaped(json.dumps(data, ensure_ascii=False)))
    sys.stdout.flush()


def _escaped(text: str) -> str:
    # Outside of its strings, JSON has no such characters.
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def sentence(text: str) -> str:
    """Return a harmless sentence of the library on one line, in terms of the command line."""
    from septet.cli.wording import in_commands

    return flat(in_commands(text))


def say(message: str) -> None:
    """Print a message of one line to standard error, in terms of the command line."""
    # Results stand before what is said of them, in one file or pipe too.
    sys.stdout.flush()
    print(sentence(message), file=sys.stderr)


def say_notes(notes: Iterable[Note]) -> None:
    """Print notes to standard error, a line each, and each of them once in a command."""
    from septet.notes import printed

    for line in printed(dict.fromkeys(notes)):
        if line not in _noted:
            _noted.add(line)
            say(f"note {line}")
