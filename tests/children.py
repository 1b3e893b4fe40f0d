"""Forked children."""

import os
import signal
import stat
import traceback
from threading import Thread

NOBODY = 65534
#: True for root, whom modes of files do not bind.
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def forked(task, timeout_s=20):
    """Run a task in a forked child; True when it came to its end in time."""
    return ended(begun(task, timeout_s))


def begun(task, timeout_s=20):
    """Begin a task in a forked child, and return the child."""
    child = os.fork()
    if not child:
        signal.alarm(timeout_s)
        code = 1
        try:
            task()
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it is, the parent shall fail
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def ended(child):
    """Wait for a child, and say whether its task came to its end."""
    return os.waitpid(child, 0)[1] == 0


class Busy:
    """Threads that do something again and again until the end of a ``with`` block, and raise what they raised."""

    def __init__(self, *tasks):
        self.stop, self.faults = False, []
        self.threads = [Thread(target=self._repeat, args=(task,)) for task in tasks]

    def _repeat(self, task):
        turn = 0
        try:
            while not self.stop:
                task(turn)
                turn += 1
        except BaseException as fault:  # noqa: BLE001 - raised where the threads are awaited
            self.faults.append(fault)

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *fault):
        self.stop = True
        for thread in self.threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self.threads)
        assert not self.faults


def open_to_others(folder):
    """Let others walk into a folder of a test, and return it: those of pytest are private, up to what all share."""
    for parent in (folder, *folder.parents[:4]):
        mode = parent.stat().st_mode
        if mode & stat.S_ISVTX:
            break
        parent.chmod(mode | 0o755)
    return folder


def as_nobody(task, *folders):
    """Run a task in a child that has given up being root, whom folders belong to; say whether it came to its end."""
    for folder in folders:
        open_to_others(folder)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)

    def stepped_down():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        task()

    return forked(stepped_down)
