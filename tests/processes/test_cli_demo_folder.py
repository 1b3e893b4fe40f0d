"""Tests of `integration/test_cli_demo_folder.py` that start processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from commands import Commands
from integration.test_cli_demo_folder import PAGES

pytest.importorskip("typer")
pytest.importorskip("rich")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    return Commands(tmp_path, monkeypatch)


@pytest.fixture
def notes(septet):
    for path, text in PAGES.items():
        file = septet.home / "notes" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return septet.home / "notes"


def test_on_a_terminal_somebody_may_ask_on(septet, notes):
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "septet", "demo", "notes"]
    os.write(leader, b"cold cellar\nzebra\n\n")
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, cwd=septet.home, env=environment
    ) as run:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65_536):
                shown += part
        except OSError:
            pass  # the other end was closed: Linux says so with EIO
        assert run.wait() == 0
    os.close(leader)
    heard = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).partition("an empty line ends.")[2]
    assert re.search(r"cold cellar   [\d.]+ ms", heard) and "deep/cheese.md#L1-L6" in heard
    assert "nothing found" in heard and "search zebra" in heard
