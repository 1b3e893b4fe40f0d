"""The command line, behind the extra ``cli``."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]

#: What shells return for a command that Ctrl-C ended, as `septet.cli.exits` has it for commands.
_INTERRUPTED = 130
_NEEDED = frozenset({"rich", "typer"})
#: Objects that are made between two looks for garbage: importing makes many, and none of them is garbage.
_GARBAGE_AFTER = 100_000


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    _open_streams()
    import gc

    gc.set_threshold(_GARBAGE_AFTER, 20, 20)
    # Threads for products of matrices, which no command makes; starting them takes as long as a search.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from septet.cli.app import run
        from septet.cli.stopping import heed_interrupts

        heed_interrupts()
        code = run()
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _NEEDED:
            raise
        print("the command line needs the extra: pip install 'septet[cli]'", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        # While modules were loaded, before a command could say more.
        os._exit(_INTERRUPTED)
    _end(code)


def _open_streams() -> None:
    """Have the standard streams that are closed (``>&-``) read and write nothing, as /dev/null does.

    Else the next file that is opened gets the number of a closed one: what is printed would be written into a vault.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one. Programs that are started, such as an editor, get it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            # Not from the number: another file may have it already.
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115


def _end(code: int) -> None:
    """End the process without taking everything down that it loaded, which takes as long as a search."""
    import threading

    if all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    sys.exit(code)
