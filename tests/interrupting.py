"""Interrupts at any line of Septet, and acts on other threads that they must not hinder."""

import linecache
import sys
import threading
from pathlib import Path


class Interrupt:
    """Raises KeyboardInterrupt at one line of Septet, the n-th that this thread comes to.

    Not where a block of ``spared`` is left: a condition of Python's own is let go by a step behind its block, where
    only a tracer can raise.
    """

    def __init__(self, at, spared=None):
        self.left, self.where, self.spared, self.entered = at, None, spared, set()

    def __call__(self, frame, event, _argument):
        if "septet" not in frame.f_code.co_filename or "/tests/" in frame.f_code.co_filename:
            return None
        if event == "line" and self.where is None:
            if self.spared is not None and self.spared in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
                if id(frame) in self.entered:
                    return self
                self.entered.add(id(frame))
            self.left -= 1
            if self.left < 0:
                self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self


def interrupted(act, at, spared=None):
    """Interrupt an act at its n-th line; return where that was, None if it came to its end before."""
    interrupt, before = Interrupt(at, spared), sys.gettrace()
    sys.settrace(interrupt)
    try:
        # What is raised on a line that leaves an `except` block stays the current error of its generator.
        next(act() for _ in "1")
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return interrupt.where


def on_a_thread(act, timeout_s=20.0):
    """Return what an act on another thread returns, or fail if it takes too long."""
    found = []

    def run():
        try:
            found.append(act())
        except BaseException as fault:  # noqa: BLE001 - raised where it is awaited
            found.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    assert found, "another thread hangs"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]
