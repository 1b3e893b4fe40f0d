"""Tests of `integration/test_cli_formats.py` that start processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.commands import Commands

from integration.test_cli_formats import EVIL, FORMULA
from septet import Vault

pytest.importorskip("typer")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(
            id="a/b", title='Rotate, "daily" cookies', description="first line\nsecond | line", tags=["web", "a,b"]
        )
        vault.add(id="ü ?#%", title=FORMULA, description="-1+1 cookies", tags=["web"])
        vault.add(id="日本語", title="クッキー cookies 📚", description=EVIL, attrs={"team": "core"})
    return Commands(tmp_path, monkeypatch)


def test_a_narrow_terminal_shows_every_value_and_wide_characters_fill_their_cells(septet):
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-m", "septet", "list", "--order-by", "id"]

    def on_terminal(columns):
        reader, writer = pty.openpty()
        env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}
        done = subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env)
        os.close(writer)
        parts = []
        with pytest.raises(OSError):  # the terminal is gone when the command is
            while part := os.read(reader, 65_536):
                parts.append(part)
            raise OSError
        os.close(reader)
        done.communicate(timeout=60)
        assert done.returncode == 0
        return b"".join(parts).decode().replace("\r\n", "\n")

    from septet.cli.screen import cells

    wide, narrow = on_terminal(90), on_terminal(40)
    assert "\x1b" not in wide + narrow
    assert max(map(cells, wide.splitlines())) <= 90 and len(wide.splitlines()) == 4
    starts = {cells(line[: line.index("entry")]) for line in wide.splitlines()[1:]}
    assert len(starts) == 1  # the second column begins in the same cell, whatever stands in the first
    assert max(map(cells, narrow.splitlines())) <= 40
    assert "クッキー cookies 📚" in narrow and "2" in narrow
