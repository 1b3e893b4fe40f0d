"""The session of a user on Linux and macOS: signals, shell, folders.

`septet.system.windows_session` has the same names.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from septet.system import unix

assert sys.platform != "win32"

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

#: Signals that stop a server.
STOPS = (signal.SIGTERM, signal.SIGINT)
#: Signals of the keyboard that interrupt a command.
INTERRUPTS = (signal.SIGINT,)
#: Settings of standard output: the encoding is that of the locale.
TEXT: Mapping[str, Any] = {}
#: Arguments of `subprocess.Popen` for a process that outlives this one, and its terminal.
APART: Mapping[str, Any] = {"start_new_session": True}
#: Pager of long output; empty for none.
PAGER = "less"
#: Advice for a file that other users can read.
PRIVATE = "run chmod 600 on it"


def quoted(text: str) -> str:
    """Return a text quoted for the shell."""
    return shlex.quote(text)


def shown(path: Path) -> str:
    """Return a path quoted for the shell, with ``~`` for the home folder."""
    try:
        inside = path.resolve().relative_to(Path.home().resolve())
    except (OSError, ValueError, RuntimeError):
        return quoted(str(path))
    return f"~/{quoted(str(inside))}"


def words(command: str) -> list[str]:
    """Return the words of a command line (`ValueError`)."""
    return shlex.split(command)


def data_folder() -> Path:
    """Return the folder of a user's data: ``$XDG_DATA_HOME/septet``."""
    return Path(unix.data_folder())


def cache_folder() -> Path:
    """Return the folder of a user's rebuildable files: ``$XDG_CACHE_HOME/septet``."""
    return _base("XDG_CACHE_HOME", ".cache")


def config_folder() -> Path:
    """Return the folder of a user's configuration: ``$XDG_CONFIG_HOME/septet``."""
    return _base("XDG_CONFIG_HOME", ".config")


def end_at_broken_pipes() -> None:
    """End the process quietly when the reader of its output closes the pipe."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def is_closed_pipe(fault: OSError) -> bool:
    """Return True if a write failed as the reader closed the pipe; here a signal ends the process instead."""
    return False


def shows_colors() -> bool:
    """Return True if terminals show colours."""
    return True


def home_path(path: str) -> str:
    """Return a path that begins with ``~`` as users write it."""
    return path


def application_path(path: str, unix: str) -> str:
    """Return the path of a file of another program, below its folder on Windows, as users write it."""
    return unix


def raise_at_broken_pipes() -> Callable[[], None]:
    """Raise `BrokenPipeError` when a pipe is closed; return a function that restores the handler before."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def restore() -> None:
        if before is not None:  # Python cannot restore a handler that C installed
            signal.signal(signal.SIGPIPE, before)

    return restore


def kept_pipe_handler() -> Callable[[], None]:
    """Return a function that restores the handler of broken pipes, which other modules may change in C."""
    before = signal.getsignal(signal.SIGPIPE)

    def restore() -> None:
        if before is not None:
            signal.signal(signal.SIGPIPE, before)

    return restore


def end_at_second_interrupt() -> None:
    """Do nothing: the default handler of a signal ends the process whatever it does."""


def on_stop(loop: AbstractEventLoop, stop: Callable[[], object]) -> None:
    """Call a function in a loop at the first signal to stop; the second ends the process at once."""

    def first() -> None:
        for number in STOPS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
        stop()

    for number in STOPS:
        loop.add_signal_handler(number, first)


def run_server(main: Coroutine[Any, Any, None]) -> None:
    """Run a server to its end, in an event loop of its own."""
    import asyncio

    asyncio.run(main)


def _base(variable: str, fallback: str) -> Path:
    named = os.environ.get(variable, "")
    # The specification requires that relative paths are ignored.
    return (Path(named) if Path(named).is_absolute() else Path.home() / fallback) / "septet"
