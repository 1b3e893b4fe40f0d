"""Runs commands of ``septet`` in the process of the test, and keeps what they print."""

from __future__ import annotations

import io
import os
import re
import signal
import sys

from consoles import home_at
from septet.cli.app import run

__all__ = ["Commands"]

FOREIGN = re.compile(r"SEPTET_|XDG_|OPENAI_|\w+_proxy$", re.IGNORECASE)


class Commands:
    """Runs ``septet`` in this process, in a folder that is also the home, with the vault v.db."""

    def __init__(self, home, monkeypatch):
        self.home, self._patch = home, monkeypatch
        for name in filter(FOREIGN.match, list(os.environ)):
            monkeypatch.delenv(name)
        for name, value in {**home_at(home), "COLUMNS": "200", "SEPTET_VAULT": "v.db"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(home)

    def __call__(self, *args, stdin=""):
        """Run a command; return its exit code and what it wrote to standard output and standard error."""
        given = io.TextIOWrapper(io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode()), encoding="utf-8")
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
        with self._patch.context() as patch:
            for name, value in {"argv": ["septet", *args], "stdin": given, "stdout": out, "stderr": err}.items():
                patch.setattr(sys, name, value)
            # The command line lets itself be ended by it; the tests do not.
            patch.setattr(signal, "signal", lambda *_: None)
            code = run()
        said = [stream.flush() or stream.buffer.getvalue().decode() for stream in (out, err)]
        return code, *said
