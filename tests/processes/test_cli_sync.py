"""Tests of `integration/test_cli_sync.py` that start processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from commands import Commands

pytest.importorskip("typer")
pytest.importorskip("rich")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    return Commands(tmp_path, monkeypatch)


@pytest.fixture
def notes(septet):
    folder = septet.home / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at 80 degrees.\n", encoding="utf-8")
    (folder / "deep" / "bread.md").write_text("# Bread\n\nLet the dough rest overnight.\n", encoding="utf-8")
    return folder


def test_a_terminal_sees_progress_and_a_pipe_does_not(septet, notes):
    import pty

    for number in range(3_000):
        (notes / f"{number}.md").write_text(f"# Note {number}\n")
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "septet", "sync", "notes"]
    with subprocess.Popen(command, stderr=follower, stdout=subprocess.DEVNULL, cwd=septet.home):
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65_536):
                shown += part
        except OSError:
            pass  # the other end was closed: Linux says so with EIO
    os.close(leader)
    assert b"syncing" in shown and b"/3002" in shown
    assert septet("sync", "notes", "--force")[2] == ""
