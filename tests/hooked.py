"""Hooks as programs call them, in the process of the test: an input on standard input, what came on standard output."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

from consoles import home_at
from septet import Vault
from septet.hooks import running, state

__all__ = ["SECRET", "TURNS", "Hooked", "transcript"]

SECRET = "ghp_" + "a1B2" * 9
TURNS = (
    ("user", f"The staging database is called hokusai, and the token is {SECRET}", "2026-05-01T10:00:00Z"),
    ("assistant", "Noted: hokusai is the staging database.", "2026-05-01T10:00:05Z"),
)


def claude_settings(home: Path) -> Path:
    """Return the place of the settings of Claude Code, in a folder that is made."""
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def transcript(path: Path, turns=TURNS) -> Path:
    """Write a transcript of Claude Code."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {"type": role, "timestamp": at, "message": {"role": role, "content": [{"type": "text", "text": text}]}}
        for role, text, at in turns
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


class Hooked:
    """A user with a home, a vault and the hooks of a program."""

    def __init__(self, home: Path, monkeypatch) -> None:
        self.home, self._patch = home, monkeypatch
        for name in [name for name in os.environ if name.startswith(("SEPTET_", "XDG_", "CLAUDE_", "CODEX_", "OPENC"))]:
            monkeypatch.delenv(name)
        for name, value in home_at(home).items():
            monkeypatch.setenv(name, value)
        self.vault = home / ".local" / "share" / "septet" / "vault.db"
        self.transcript = home / ".claude" / "projects" / "app" / "abc123.jsonl"
        # No process of the test's is left behind.
        monkeypatch.setattr(running, "start_apart", lambda *words: self.apart.append(words))
        # A hook that is late ends its process, which here is that of the tests.
        monkeypatch.setattr(running, "DEADLINE_S", 600.0)
        self.apart: list[tuple[str, ...]] = []

    def knows(self, *memories: str, **options) -> None:
        """Store memories in the user's vault."""
        self.vault.parent.mkdir(parents=True, exist_ok=True)
        with Vault(self.vault) as vault:
            for text in memories:
                vault.remember(text, **options)

    def call(self, fields, *options: str, program: str = "claude-code"):
        """Call a hook; return what it printed, as JSON, or None if it printed nothing."""
        raw = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        out = io.BytesIO()
        with self._patch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out))
            assert running.run([program, *options]) == 0
            printed = out.getvalue()
        return json.loads(printed) if printed else None

    def prompt(self, text: str, *options: str, session: str = "s"):
        """Return the text for the model about a prompt, or None."""
        fields = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": text, "cwd": str(self.home)}
        printed = self.call(fields, *options)
        return printed and printed["hookSpecificOutput"]["additionalContext"]

    def failures(self) -> list[str]:
        """Return the messages of the log, without their times."""
        return [line.partition(" ")[2] for line in state.last_failures(99)]
