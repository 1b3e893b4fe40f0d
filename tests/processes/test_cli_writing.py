"""Tests of `integration/test_cli_writing.py` that start processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.commands import Commands

from integration.test_cli_writing import entry
from septet import Vault

pytest.importorskip("typer")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="jwt-1", title="JWT validation", description="Check exp and aud", domain="security", tags=["web"])
        vault.add(id="jwt-2", title="JWT rotation", description="Rotate keys", domain="security")
        vault.add(id="tea", title="Tea", description="Green tea, twice a day")
    return Commands(tmp_path, monkeypatch)


@pytest.mark.parametrize(("answer", "options", "left"), [(b"n\n", [], True), (b"\n", [], True), (b"y\n", [], False)])
def test_on_a_terminal_a_delete_asks_first(septet, answer, options, left):
    pty = pytest.importorskip("pty")
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "septet", "delete", "tea", *options]
    done = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=dict(os.environ))
    os.close(theirs)
    os.write(mine, answer)
    code = done.wait(timeout=60)
    done.communicate()
    os.close(mine)
    assert (entry("tea") is not None) == left
    assert code == (1 if left else 0)


def test_an_answer_comes_before_the_next_question_is_asked(septet):
    command = [sys.executable, "-m", "septet", "search", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        for query, id in (("tea", "tea"), ("rotation", "jwt-2")):
            process.stdin.write(f"{query}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["hits"][0]["id"] == id
        process.stdin.close()
        assert process.wait(timeout=60) == 0
