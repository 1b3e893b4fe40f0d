"""The command line (extra ``cli``)."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]

#: The exit code of shells for Ctrl-C; `septet.cli.exits` is not imported yet.
_INTERRUPTED = 130
_REQUIRED = frozenset({"rich", "typer"})
#: Allocations between garbage collections: importing creates many objects and no garbage.
_GC_THRESHOLD = 100_000


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    _open_streams()
    import gc

    gc.set_threshold(_GC_THRESHOLD, 20, 20)
    # No command multiplies matrices, and starting the threads of BLAS takes as long as a search.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:3] == ["hooks", "run"] and not {"-h", "--help"} & set(sys.argv):
        # Programs wait for their hooks, and the parser of arguments takes longer than an answer.
        from septet.hooks.running import run as run_hook

        os._exit(run_hook(sys.argv[3:]))
    try:
        from septet.cli.app import run
        from septet.cli.exits import heed_interrupts

        heed_interrupts()
        code = run()
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _REQUIRED:
            raise
        print("the command line needs the extra: pip install 'septet[cli]'", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        # Interrupted during imports, before a command could report more.
        os._exit(_INTERRUPTED)
    _end(code)


def _open_streams() -> None:
    """Redirect closed standard streams (``>&-``) to /dev/null.

    Otherwise the next opened file gets the descriptor of a closed stream, and prints would be written into a vault.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # `open` returns the lowest free descriptor, which is this one. Child processes such as editors inherit it.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            # Another file may already have the descriptor.
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115


def _end(code: int) -> None:
    """Exit without interpreter shutdown, which takes as long as a search."""
    import threading

    if all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    sys.exit(code)
