"""Children as users start and stop them, on every system: a home of their own, Ctrl-C, an end without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

__all__ = ["CONSOLE", "INTERRUPTED", "STOPS", "WINDOWS", "home_at", "interrupt", "was_killed"]

WINDOWS = sys.platform == "win32"
#: Options of `subprocess.Popen` for a child that is to be interrupted. On Windows Ctrl-C reaches a whole console, so it
#: has one of its own, without a window.
CONSOLE = {"creationflags": subprocess.CREATE_NO_WINDOW} if sys.platform == "win32" else {}
#: The exit code of a process that Ctrl-C ended before it heeded it, and of one that a second Ctrl-C ended.
INTERRUPTED = 0xC000013A if WINDOWS else -signal.SIGINT
#: Enters the console of a process and presses Ctrl-C there, which it does not hear itself.
_PRESS = """
import ctypes, sys
kernel = ctypes.WinDLL("kernel32", use_last_error=True)
kernel.FreeConsole()
done = kernel.AttachConsole(int(sys.argv[1])) and kernel.SetConsoleCtrlHandler(None, True)
sys.exit(0 if done and kernel.GenerateConsoleCtrlEvent(0, 0) else str(ctypes.get_last_error()))
"""


def interrupt(process: subprocess.Popen) -> None:
    """Interrupt a child, which was started with `CONSOLE`, as Ctrl-C does."""
    if WINDOWS:
        command = [sys.executable, "-c", _PRESS, str(process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # One that has ended has no console.
        assert done.returncode == 0 or process.poll() is not None, done.stderr
    else:
        process.send_signal(signal.SIGINT)


#: The ways to have a child end well.
STOPS = (interrupt,) if WINDOWS else (interrupt, subprocess.Popen.terminate)


def was_killed(code: int) -> bool:
    """Return True for the exit code of a process that was killed, or killed itself by `os.kill(os.getpid(), 9)`."""
    # On Windows whoever kills a process chooses the code: `Popen.kill` takes 1, and `os.kill` its number.
    return code in (1, 9) if WINDOWS else code == -9


def home_at(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Return the variables by which a folder is the home of a user, with the folders that Linux has in it."""
    home = os.fspath(folder)
    variables = {"HOME": home, "USERPROFILE": home}
    if WINDOWS:
        places = {"XDG_DATA_HOME": ".local/share", "XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config"}
        variables |= {name: str(Path(home, place)) for name, place in places.items()}
    return variables
