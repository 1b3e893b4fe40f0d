"""Hooks as processes, as programs start them, with a home and a folder for sockets of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from consoles import home_at
from septet import Vault

__all__ = ["HookProcesses"]


class HookProcesses:
    """A user whose agent calls hooks; `close` ends the helper."""

    def __init__(self, home: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEPTET_", "XDG_"))}
        # Paths of sockets are short.
        self.sockets = Path(tempfile.mkdtemp(prefix="hooks-"))
        self.environment = {**kept, **home_at(home), "XDG_RUNTIME_DIR": str(self.sockets), "TMPDIR": str(self.sockets)}
        self.home = home
        self.vault = home / ".local" / "share" / "septet" / "vault.db"
        self.state = self.vault.parent / "hooks"
        self._helpers: list[subprocess.Popen] = []

    def knows(self, *memories: str) -> None:
        """Store memories in the user's vault."""
        self.vault.parent.mkdir(parents=True, exist_ok=True)
        with Vault(self.vault) as vault:
            for text in memories:
                vault.remember(text)

    def command(self, *words: str) -> list[str]:
        """Return the command line of ``septet hooks``."""
        return [sys.executable, "-m", "septet", "hooks", *words]

    def start(self, *words: str, **options) -> subprocess.Popen:
        """Start a command of hooks."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*words), stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment, cwd=self.home, **options
        )

    def run(self, fields, *options: str, program: str = "claude-code"):
        """Call a hook; return its output as JSON, or None."""
        raw = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        process = self.start("run", program, *options)
        out, err = process.communicate(raw, timeout=60)
        assert (process.returncode, err) == (0, b"")
        return json.loads(out) if out else None

    def prompt(self, text: str, *options: str, session: str = "s"):
        """Return the text for the model about a prompt, or None."""
        fields = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": text, "cwd": str(self.home)}
        printed = self.run(fields, *options)
        return printed and printed["hookSpecificOutput"]["additionalContext"]

    def helper(self, idle_s: float = 60.0, code: str = "") -> subprocess.Popen:
        """Start the helper, or other code in its place, and wait until it listens."""
        code = code or f"import sys; from septet.hooks.helper import serve; sys.exit(not serve({idle_s}))"
        process = subprocess.Popen([sys.executable, "-c", code], env=self.environment, cwd=self.home)
        self._helpers.append(process)
        self.until(lambda: process.poll() is not None or self.socket() is not None)
        return process

    def helper_beside(self, other: Path) -> subprocess.Popen:
        """Start the helper where there is the socket of another, and wait until it listens."""
        code = "import sys; from septet.hooks.helper import serve; sys.exit(not serve(60.0))"
        process = subprocess.Popen([sys.executable, "-c", code], env=self.environment, cwd=self.home)
        self._helpers.append(process)
        self.until(lambda: any(path != other for path in other.parent.glob("*.sock")))
        return process

    def socket(self) -> Path | None:
        """Return the socket of the helper; None without one."""
        return next((self.sockets / "septet").glob("*.sock"), None)

    def status(self) -> dict:
        """Return the status of the hooks."""
        out, _ = self.start("status", "--json").communicate(timeout=60)
        return json.loads(out)

    def failures(self) -> str:
        """Return the log of failures."""
        log = self.state / "failures.log"
        return log.read_text() if log.exists() else ""

    def until(self, happened, most_s: float = 30.0):
        """Wait for something, and return it."""
        end = time.monotonic() + most_s
        while not (value := happened()):
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)
        return value

    def close(self) -> None:
        """End the helpers, also one that a hook started."""
        if (pid := self.status()["helper"]) is not None:
            os.kill(pid, 9)
        for process in self._helpers:
            process.kill()
            process.wait()
        shutil.rmtree(self.sockets, ignore_errors=True)
