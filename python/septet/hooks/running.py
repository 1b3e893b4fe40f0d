"""``septet hooks run``: never stops the program that calls it.

Exit code 0, and nothing on standard output if anything fails; the failure is in the log.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Timer

    from septet.hooks.calls import HookCall, HookOptions

#: Maximum seconds of an answer: a program waits for its hooks.
DEADLINE_S = 3.0
#: Maximum seconds from then to the end of the process.
_LAST_S = 1.0
#: Bytes of the input that are read: one more than the maximum of `septet.hooks.calls`, which is not loaded here.
_MOST_READ = 64 * 2**20 + 1


def run(words: Sequence[str]) -> int:
    """Answer the call on standard input, and return the exit code, which is 0.

    Args:
        words: the command line after ``septet hooks run``.
    """
    place = words[0] if words else "hooks"
    try:
        _answer(words)
    except BaseException as fault:  # noqa: BLE001 - a hook must not stop an agent
        with suppress(BaseException):
            from septet.hooks.state import log_failure

            log_failure(place, fault)
    return 0


def _answer(words: Sequence[str]) -> None:
    raw = sys.stdin.buffer.read(_MOST_READ)
    if not {"--no-helper", "--wait"}.intersection(words):
        from septet.hooks.reaching import ask

        if (output := ask(words, raw)) is not None:
            _print(output)
            return
    from septet.hooks.calls import call_of, options_of
    from septet.hooks.programs import PROGRAMS

    options = options_of(words, os.environ)
    call = call_of(raw, PROGRAMS[options.program])
    if call.work is None:
        return
    from septet.hooks.answering import answer, read_once
    from septet.hooks.reaching import working_folder
    from septet.hooks.state import add_lines

    watchdog = _deadline(call, options)
    try:
        answered = answer(call, options, read_once, working_folder())
        _print(answered.text)
        add_lines(answered.session, answered.lines)
    finally:
        # Transcripts are synced after a failure too: of a vault that was half made, for one, that is the cure.
        watchdog.cancel()
        _go_on(call, options)


def _go_on(call: HookCall, options: HookOptions) -> None:
    """Sync noted transcripts, here or in another process, and start the helper for the next calls."""
    if options.waits:
        from septet.hooks.keeping import sync_pending

        sync_pending()
    elif options.helper and _has_helper():
        # It syncs noted transcripts as well, and answers the next call.
        start_apart("hooks", "serve")
    elif call.work != "prompt":
        _sync_apart()


def _print(output: bytes) -> None:
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()


def _has_helper() -> bool:
    """Return True if the helper can run here."""
    from septet.hooks.reaching import socket_path
    from septet.system.host import host

    folder = os.path.dirname(socket_path(os.environ) or "")
    return bool(folder) and (host.is_private(folder) or not os.path.lexists(folder))


def _deadline(call: HookCall, options: HookOptions) -> Timer:
    """End the process after `DEADLINE_S`, unless the returned timer is cancelled."""
    from septet.hooks.state import log_failure

    def end() -> None:
        # The thread that is late may hold what the next lines need.
        _timer(_LAST_S, lambda: os._exit(0))
        log_failure(f"{options.program} {call.event}", f"no answer within {DEADLINE_S:g} s")
        with suppress(BaseException):
            if not options.waits:
                # Where answers are slow, the helper is needed the most.
                _go_on(call, options)
        os._exit(0)

    return _timer(DEADLINE_S, end)


def _timer(seconds: float, end: Callable[[], None]) -> Timer:
    from threading import Timer

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    return timer


def _sync_apart() -> None:
    """Sync noted transcripts in a process that outlives this one, if there are any."""
    from septet.hooks.state import has_pending

    # The module of transcripts is large, and most starts of a session have none.
    if not has_pending():
        return
    from septet.hooks.keeping import pending

    if next(pending(), None) is not None:
        start_apart("hooks", "sync")


def start_apart(*words: str) -> None:
    """Start ``septet`` as a process of its own, which neither the program nor this process waits for (`OSError`)."""
    import subprocess

    import septet
    from septet.system.session import session

    quiet = subprocess.DEVNULL
    # Python loads modules from its working directory first, and that of the session may be anybody's project.
    folder = os.path.dirname(os.path.dirname(septet.__file__))
    subprocess.Popen(
        [sys.executable, "-m", "septet", *words], cwd=folder, stdin=quiet, stdout=quiet, stderr=quiet, **session.APART
    )
