"""Commands at a terminal, a real one: a pager for what is longer than it, colours, and narrow windows."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from septet import Vault

pytest.importorskip("typer")
pytest.importorskip("rich")
pty = pytest.importorskip("pty")

COLOR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    with Vault(folder / "v.db") as vault:
        for i in range(40):
            vault.add(
                id=f"entry-{i}", title=f"Session cookies {i} of a long title that goes on", description="words " * 30
            )
    pager = folder / "pager"
    pager.write_text('#!/bin/sh\necho "PAGED $LESS"\ncat\n')
    pager.chmod(0o755)
    gone = folder / "leaves"
    gone.write_text("#!/bin/sh\nread line\necho LEFT\n")
    gone.chmod(0o755)
    return folder


def shown(home, *arguments, columns=100, lines=24, **more):
    """Return what a terminal shows of a command, and its exit code."""
    master, terminal = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
    environment |= {"HOME": str(home), "SEPTET_VAULT": str(home / "v.db"), "TERM": "xterm-256color"}
    environment |= {"PAGER": str(home / "pager"), "SEPTET_EMBEDDING": "", "COLUMNS": str(columns), "LINES": str(lines)}
    command = [sys.executable, "-m", "septet", *arguments]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    with subprocess.Popen(command, env={**environment, **more}, cwd=home, **streams) as process:
        os.close(terminal)
        said = b""
        try:
            while part := os.read(master, 65_536):
                said += part
        except OSError:
            # Nobody has the terminal open any more.
            pass
        code = process.wait(60)
    os.close(master)
    return said.decode().replace("\r\n", "\n"), code


def test_what_is_longer_than_the_screen_goes_through_the_pager(home):
    said, code = shown(home, "search", "session cookies", "-n", "30")
    assert (said.startswith("PAGED FRX\n"), said.count("entry-"), code) == (True, 30, 0)


def test_what_fits_is_printed_as_it_is(home):
    said, code = shown(home, "search", "session cookies", "-n", "3")
    assert ("PAGED" in said, said.count("entry-"), code) == (False, 3, 0)


@pytest.mark.parametrize("how", [{}, {"PAGER": "cat"}, {"PAGER": ""}, {"SEPTET_PAGER": ""}, {"TERM": "dumb"}])
def test_a_pager_that_is_not_wanted_is_not_called(home, how):
    said, code = shown(home, *([] if how else ["--no-pager"]), "search", "session cookies", "-n", "30", **how)
    assert ("PAGED" in said, said.count("entry-"), code) == (False, 30, 0)


def test_a_pager_that_does_not_exist_costs_no_output(home):
    said, code = shown(home, "search", "session cookies", "-n", "30", PAGER="there-is-no-such-pager")
    assert (said.count("entry-"), code) == (30, 0)


def test_a_pager_that_the_user_leaves_early_is_no_error(home):
    said, code = shown(home, "search", "session cookies", "-n", "40", "--json", PAGER=str(home / "leaves"))
    assert ("LEFT" in said, "Traceback" in said, code) == (True, False, 0)


def test_an_error_is_said_and_its_exit_code_stays(home):
    said, code = shown(home, "get", "nothing-like-it")
    assert ("nothing-like-it" in said, code) == (True, 1)


@pytest.mark.parametrize("columns", [30, 50])
def test_a_narrow_terminal_gets_no_line_that_is_longer(home, columns):
    said, code = shown(home, "--no-pager", "search", "session cookies", "-n", "5", columns=columns)
    lines = COLOR.sub("", said).splitlines()
    assert code == 0
    assert max(map(len, lines)) <= columns, lines
    assert said.count("entry-") == 5


@pytest.mark.parametrize(
    ("more", "colours"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"TERM": "dumb", "FORCE_COLOR": "1"}, True)],
)
def test_colours_are_those_that_the_environment_wants(home, more, colours):
    said, _ = shown(home, "search", "session cookies", "-n", "2", **more)
    assert bool(COLOR.search(said)) is colours


def test_progress_is_shown_on_a_terminal_and_not_in_a_dumb_one(home):
    lines = "".join(f'{{"id": "n{i}", "title": "new {i}"}}\n' for i in range(6_000))
    (home / "new.jsonl").write_text(lines)
    for term, drawn in (("xterm", True), ("dumb", False)):
        said, code = shown(home, "import", "new.jsonl", "--vault", f"{term}.db", TERM=term)
        assert (("importing" in said), code) == (drawn, 0)
        assert "stored 6000 entries" in said
