"""Tests of `integration/test_import_hostile.py` that start processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_the_command_line_refuses_what_is_no_file_too(tmp_path):
    pytest.importorskip("typer")
    path = tmp_path / "in.jsonl"
    os.mkfifo(path)
    done = subprocess.run(
        [sys.executable, "-m", "septet", "import", str(path), "--vault", str(tmp_path / "v.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "it is a pipe" in done.stderr and "`-`" in done.stderr
    assert not (tmp_path / "v.db").exists()
