"""Plain values of the command line are what typer makes of them."""

import pytest

typer = pytest.importorskip("typer")

from septet.cli import commands  # noqa: E402
from septet.cli.app import app  # noqa: E402
from septet.cli.values import read_plainly  # noqa: E402

TEXTS = [
    "",
    " a b ",
    "5",
    "007",
    "-1",
    "+3",
    "1_0",
    "1.5",
    "\u0663",
    "9" * 30,
    "full",
    "Full",
    "café",
    "a\nb",
    "\udcff",
]


def parsed(option, process, value):
    """Return the value that a command gets, or the message of the parser."""
    context = typer.Context(typer.main.get_command(app))
    try:
        return process(context, value)
    except typer.BadParameter as fault:
        return fault.format_message()


@pytest.mark.parametrize("name", ["search", "add", "list", "feedback"])
def test_plain_values_are_what_the_parser_makes_of_them(name):
    command = typer.main.get_command(app).get_command(None, name)
    kinds = {(option.plain_type, option.multiple or option.nargs == -1): option for option in command.params}
    by_typer = {option.name: option.process_value for option in kinds.values()}
    read_plainly(command, typer.Context(command))
    for (_, repeated), option in kinds.items():
        for value in [None, [], *([text] for text in TEXTS)] if repeated else [None, *TEXTS]:
            expected = parsed(option, by_typer[option.name], value)
            actual = parsed(option, option.process_value, value)
            assert (actual, type(actual)) == (expected, type(expected)), (option.name, value)


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_a_missing_value_of_any_option_is_what_the_parser_makes_of_it(name):
    command = typer.main.get_command(app).get_command(None, name)
    context = typer.Context(command)
    read_plainly(command, context)
    assert {parsed(option, option.process_value, None) for option in command.params if not option.required} <= {
        (),
        None,
    }
