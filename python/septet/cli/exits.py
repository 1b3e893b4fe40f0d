"""The exit codes of the command line. Ctrl-C stops a command cleanly and reports the stored data.

A second Ctrl-C ends the process at once.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import typer

from septet.cli.terminal import say
from septet.system.session import session

OK = 0
#: Nothing found, or a sync is incomplete.
NOTHING = 1
#: An argument, entry, filter or profile is invalid.
USAGE = 2
#: A vault cannot be used.
STORE = 3
#: An embedding provider failed.
PROVIDER = 4
#: The exit code of shells for Ctrl-C.
INTERRUPTED = 130


def end_with(message: str, code: int = NOTHING) -> NoReturn:
    """Print a message to standard error and end the command with an exit code."""
    say(message)
    raise typer.Exit(code)


def heed_interrupts() -> None:
    """Make the first SIGINT raise `KeyboardInterrupt` and the second end the process.

    The process may end at any point: a vault contains committed transactions only.
    """
    # Shells start background commands with SIGINT ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        for number in session.INTERRUPTS:
            signal.signal(number, _interrupt)
        session.end_at_second_interrupt()


def heed_termination() -> None:
    """Make SIGTERM stop a long-running command as SIGINT does."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    # Native code may run for long; the default handler of the system does not wait for Python.
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


@contextmanager
def stoppable(summary: Callable[[], str]) -> Iterator[None]:
    """End the command with exit code 130 at an interrupt, and print a summary of the stored data."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped: {summary()}")
        raise typer.Exit(INTERRUPTED) from None
