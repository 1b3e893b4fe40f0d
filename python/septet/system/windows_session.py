"""The session of a user on Windows: signals, shell, folders. `septet.system.unix_session` has the same names."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from septet.system import windows

assert sys.platform == "win32"

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

#: Signals that stop a server: Ctrl-C, Ctrl-Break and the closing of a console.
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGBREAK)
#: Signals of the keyboard that interrupt a command.
INTERRUPTS = (signal.SIGINT, signal.SIGBREAK)
#: Settings of standard output: UTF-8 in files and pipes too, whatever the code page of the console.
TEXT: Mapping[str, Any] = {} if os.environ.get("PYTHONIOENCODING") else {"encoding": "utf-8", "newline": "\n"}
#: Windows's error of a pipe whose reader has ended, which the C library calls an invalid argument.
_CLOSED = frozenset({errno.EPIPE, errno.EINVAL})
#: Windows's errors of a connection that its client reset before it was accepted: reset, not connected.
_LEFT = frozenset({10054, 10057})
#: Arguments of `subprocess.Popen` for a process that outlives this one, and its console: CREATE_NO_WINDOW and
#: CREATE_NEW_PROCESS_GROUP.
APART: Mapping[str, Any] = {"creationflags": 0x08000000 | 0x00000200}
#: Pager of long output; empty for none: `more` shows no colours and no UTF-8.
PAGER = ""
#: Advice for a file that other users can read.
PRIVATE = "see its permissions with icacls"
#: Events of a console: Ctrl-C and Ctrl-Break.
_KEYS = (0, 1)
#: The exit code of a process that they end.
_ENDED_BY_KEYS = 0xC000013A
#: Handlers of consoles, which Windows calls as long as the process lives.
_HANDLERS: list[Any] = []
#: Characters of a word that neither cmd nor PowerShell reads otherwise.
_PLAIN = re.compile(r"[\w.:\\/@+=,-]+\Z")
#: Words of a command line: quoted, or without blanks. A backslash is a part of a path.
_WORDS = re.compile(r'(?:[^\s"]|"[^"]*")+')


def quoted(text: str) -> str:
    """Return a text quoted for the shell."""
    return text if _PLAIN.match(text) else '"{}"'.format(text.replace('"', '\\"'))


def shown(path: Path) -> str:
    """Return a path quoted for the shell; cmd knows no sign for the home folder."""
    return quoted(str(path))


def words(command: str) -> list[str]:
    """Return the words of a command line."""
    if command.count('"') % 2:
        raise ValueError("No closing quotation")
    return [word.replace('"', "") for word in _WORDS.findall(command)]


def data_folder() -> Path:
    """Return the folder of a user's data: ``%LOCALAPPDATA%\\septet``."""
    return Path(windows.data_folder())


def cache_folder() -> Path:
    """Return the folder of a user's rebuildable files: ``%LOCALAPPDATA%\\septet\\Cache``."""
    named = _named("XDG_CACHE_HOME")
    return named / "septet" if named else _base("", "LOCALAPPDATA", "AppData/Local") / "Cache"


def config_folder() -> Path:
    """Return the folder of a user's configuration: ``%APPDATA%\\septet``."""
    return _base("XDG_CONFIG_HOME", "APPDATA", "AppData/Roaming")


def end_at_broken_pipes() -> None:
    """Do nothing: a closed pipe is an error of the write."""


def is_closed_pipe(fault: OSError) -> bool:
    """Return True if a write failed as the reader closed the pipe."""
    return fault.errno in _CLOSED


@cache
def shows_colors() -> bool:
    """Return True if the console shows colours, which it is told to; older ones print the codes instead."""
    import ctypes
    from ctypes import wintypes

    kernel = ctypes.WinDLL("kernel32")
    kernel.GetStdHandle.restype = wintypes.HANDLE
    shown = True
    for number in (-11, -12):
        handle, mode = wintypes.HANDLE(kernel.GetStdHandle(number)), wintypes.DWORD()
        # ENABLE_VIRTUAL_TERMINAL_PROCESSING. A handle without a mode is a terminal of another kind.
        if kernel.GetConsoleMode(handle, ctypes.byref(mode)) and not kernel.SetConsoleMode(handle, mode.value | 4):
            shown = False
    return shown


def home_path(path: str) -> str:
    """Return a path that begins with ``~`` as users write it."""
    return path.replace("~", "%USERPROFILE%", 1).replace("/", "\\")


def application_path(path: str, unix: str) -> str:
    """Return the path of a file of another program, below its folder on Windows, as users write it."""
    return f"%APPDATA%/{path}".replace("/", "\\")


def raise_at_broken_pipes() -> Callable[[], None]:
    """Do nothing: a closed pipe is an error of the write; return a function that restores nothing."""
    return lambda: None


def kept_pipe_handler() -> Callable[[], None]:
    """Return a function that restores nothing."""
    return lambda: None


def end_at_second_interrupt() -> None:
    """End the process at the second Ctrl-C or Ctrl-Break, also while it waits for a pipe, as Python heeds none then."""
    import ctypes
    from ctypes import wintypes

    kernel, pressed = ctypes.WinDLL("kernel32"), list[int]()

    def heed(event: int) -> bool:
        if event in _KEYS:
            if pressed:
                kernel.TerminateProcess(wintypes.HANDLE(-1), _ENDED_BY_KEYS)
            pressed.append(event)
        # The next handler is that of Python.
        return False

    _HANDLERS.append(ctypes.WINFUNCTYPE(wintypes.BOOL, wintypes.DWORD)(heed))
    kernel.SetConsoleCtrlHandler(_HANDLERS[-1], True)


def on_stop(loop: AbstractEventLoop, stop: Callable[[], object]) -> None:
    """Call a function in a loop at the first signal to stop; the second ends the process at once."""

    def first(_number: int, _frame: Any) -> None:
        for number in STOPS:
            signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(stop)

    for number in STOPS:
        signal.signal(number, first)


def run_server(main: Coroutine[Any, Any, None]) -> None:
    """Run a server to its end, in an event loop that goes on when a client leaves before it is accepted.

    The default loop closes the socket that listens then.
    """
    import asyncio

    def report(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        if getattr(context.get("exception"), "winerror", None) not in _LEFT:
            loop.default_exception_handler(context)

    loop = asyncio.SelectorEventLoop()
    loop.set_exception_handler(report)
    try:
        loop.run_until_complete(main)
    finally:
        # As `asyncio.run` ends; it takes no loop before Python 3.12.
        if left := asyncio.all_tasks(loop):
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _named(variable: str) -> Path | None:
    named = Path(os.environ.get(variable, "")) if variable else Path()
    return named if named.is_absolute() else None


def _base(by_xdg: str, variable: str, fallback: str) -> Path:
    return (_named(by_xdg) or _named(variable) or Path.home() / fallback) / "septet"
