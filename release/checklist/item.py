"""One line of the checklist, what it may come to, and what it is looked at in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["ROOT", "Item", "Outcome", "State", "Work", "failed", "held", "not_run", "outcome_of"]

#: The checkout that this folder stands in.
ROOT = Path(__file__).resolve().parents[2]

State = Literal["ok", "FAILED", "not run here"]


class Outcome(NamedTuple):
    """What an item came to, and the words beside it: what was seen, what is wrong, or why it was not run."""

    state: State
    said: str


class Work(NamedTuple):
    """What is looked at: the checkout, the folder of what was built, and the Python whose tools are used."""

    root: Path
    dist: Path
    python: str

    def ran(
        self, *command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout and return how it ended, whatever that was."""
        where = self.root if cwd is None else cwd
        return subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, check=False)

    def git(self, *arguments: str) -> str:
        """Return what git prints.

        Raises:
            RuntimeError: it fails.
        """
        done = self.ran("git", *arguments)
        if done.returncode:
            raise RuntimeError(f"git {arguments[0]}: {done.stderr.strip()}")
        return done.stdout.strip()

    def passed(self, *command: str, seen: str = "", env: Mapping[str, str] | None = None) -> Outcome:
        """Run a command that must end with 0; its last lines say what is wrong."""
        return outcome_of(self.ran(*command, env={**os.environ, **(env or {})}), " ".join(command[:4]), seen)


class Item(NamedTuple):
    """A line of the checklist."""

    name: str
    title: str
    look: Callable[[Work], Outcome]
    #: Whether it takes minutes.
    slow: bool = False


def held(said: str = "") -> Outcome:
    """It holds."""
    return Outcome("ok", said)


def failed(said: str) -> Outcome:
    """It does not hold."""
    return Outcome("FAILED", said)


def not_run(why: str) -> Outcome:
    """It was not looked at, for a reason that is told."""
    return Outcome("not run here", why)


def outcome_of(done: subprocess.CompletedProcess[str], command: str, seen: str = "") -> Outcome:
    """Return what a command came to by how it ended; its last lines say what was seen, or what is wrong."""
    if done.returncode == 0:
        return held(seen or _last(done.stdout, 1))
    return failed(f"{command} ended with {done.returncode}: {_last(done.stdout + done.stderr, 5)}")


def _last(said: str, lines: int) -> str:
    told: Sequence[str] = [line.strip() for line in said.splitlines() if line.strip()]
    return " / ".join(told[-lines:])
