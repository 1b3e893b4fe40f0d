"""Ctrl-C: a command ends in order and says what is stored; pressed again, it ends the process at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from septet.cli.exits import INTERRUPTED
from septet.cli.terminal import say

__all__ = ["heed_interrupts", "heed_termination", "stoppable"]


def heed_interrupts() -> None:
    """Let the first interrupt raise `KeyboardInterrupt`, and the next end the process, whatever it is doing then.

    A process that ends anywhere leaves a whole vault: what was not committed is not there.
    """
    # A command in the background of a script is to ignore them.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _first)


def heed_termination() -> None:
    """Let SIGTERM end a command as an interrupt does, where it runs until it is told to end."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _first)


def _first(number: int, _frame: FrameType | None) -> None:
    # The system's own, which waits for no step of Python: native work may take its time.
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


@contextmanager
def stoppable(told: Callable[[], str]) -> Iterator[None]:
    """End the command at an interrupt, with the exit code that shells return for one.

    Args:
        told: says what is stored, asked after the interrupt.
    """
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped: {told()}")
        raise typer.Exit(INTERRUPTED) from None
