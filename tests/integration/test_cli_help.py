"""The help: every command and every option says what it does, in the same words wherever it means the same."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

typer = pytest.importorskip("typer")

from tests.commands import Commands  # noqa: E402

from septet.cli import commands  # noqa: E402
from septet.cli.app import _set_placeholders, app  # noqa: E402

GROUP = typer.main.get_command(app)
PAGE = Path(__file__).parent.parent.parent / "docs" / "cli.md"
#: Options that mean the same in every command that has them.
SHARED = ("vault", "config", "tier", "embedding", "format", "as_json", "yes", "where")


def made(name):
    return GROUP.get_command(None, name)


def options(name):
    return [one for one in made(name).params if one.param_type_name == "option" and one.name != "help"]


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_command_and_option_says_what_it_does(name):
    command = made(name)
    first = command.help.strip().splitlines()[0]
    assert 10 <= len(first) <= 120
    assert [one.name for one in command.params if not getattr(one, "help", None)] == []


@pytest.mark.parametrize("shared", SHARED)
def test_an_option_is_written_alike_wherever_it_means_the_same(shared):
    found = {
        tuple(one.opts) for name in commands.COMMANDS if name != "import" for one in options(name) if one.name == shared
    }
    assert len(found) == 1


def test_the_help_lists_every_command_once_below_its_heading(tmp_path, monkeypatch):
    code, said, told = Commands(tmp_path, monkeypatch)("--help")
    assert (code, told) == (0, "")
    for heading, names in commands.SECTIONS.items():
        assert f"{heading}:\n" in said
        for name in names:
            assert len(re.findall(rf"^  {name} ", said, re.MULTILINE)) == 1


def test_no_line_of_the_list_of_commands_is_cut_within_a_clause(tmp_path, monkeypatch):
    _, said, _ = Commands(tmp_path, monkeypatch)("--help")
    assert re.findall(r"^  [a-z].*\.\.\.$", said, re.MULTILINE) == []
    assert re.search(r"^  demo +Index the documentation of this Python and ask six questions$", said, re.MULTILINE)


def test_placeholders_do_not_depend_on_how_typer_keeps_types():
    def command(limit: int | None, ids: list[str], mode: Literal["full", "scan"], json: bool):
        """Be told of as a command is."""

    names = ("limit", "ids", "mode", "json", "help")
    # Newer versions keep no `type`.
    params = [SimpleNamespace(name=name, metavar=None, param_type_name="option") for name in names]
    made = _set_placeholders(SimpleNamespace(params=params), command)
    assert [one.metavar for one in made.params] == ["N", "TEXT", "full|scan", None, None]


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_placeholders_are_words_for_people_not_types_of_python(tmp_path, monkeypatch, name):
    _, said, _ = Commands(tmp_path, monkeypatch)(name, "--help")
    assert re.findall(r"<[\w -]+>|--[A-Z]\w*", said) == []


def test_the_page_names_every_command_and_no_option_that_is_not_there():
    text = PAGE.read_text("utf-8")
    assert [name for name in commands.COMMANDS if f"septet {name}" not in text and f"`{name}`" not in text] == []
    every = [*GROUP.params, *(one for name in commands.COMMANDS for one in options(name))]
    known = {flag for one in every for flag in (*one.opts, *one.secondary_opts)}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - known - {"--help"} == set()
