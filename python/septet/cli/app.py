"""The command line: data goes to standard output, everything else to standard error.

A command's module loads when the command is called, and imports what it needs when it runs: a search, `septet --help`
and a mistyped option load nothing else.
"""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperGroup

from septet.cli import commands
from septet.cli.completing import completion_asked
from septet.cli.exits import NOTHING, OK, PROVIDER, STORE, USAGE
from septet.cli.stopping import stoppable
from septet.cli.terminal import OutputFault, guarded, say
from septet.errors import EmbeddingConfigError, EmbeddingError, EntryNotFound, SeptetError, StoreError

__all__ = ["app", "run"]

EXIT_CODES = """\b
Exit codes:
  0  done
  1  nothing found; or a sync has something left to do
  2  usage: an argument, entry, filter or profile is invalid
  3  the vault cannot be used, or its server refuses the token
  4  an embedding provider failed (searches run without it, and say so)

\b
Embedding is off until it is configured: by --embedding FILE (or a provider's name), by
SEPTET_EMBEDDING, or by ~/.config/septet/config.toml (.yaml, .json) with an [embedding] block.

\b
Data goes to standard output, messages to standard error. NO_COLOR is honoured.
Put -- before a query or title that starts with a dash."""

#: How every command reads its arguments: plain help, tracebacks as Python prints them.
_PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}


#: What the parser raises, which typer has from click or brings along.
_UsageError: Any = typer.BadParameter.__mro__[1]

_PLACEHOLDERS = {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}


class _Commands(TyperGroup):
    """The commands of the table, each made when it is asked for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._made: dict[str, Any] = {}
        # Their names, which suggestions for a mistyped one read; `get_command` makes them.
        self.commands = dict.fromkeys(commands.COMMANDS)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return list(commands.COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None if there is none of this name."""
        if cmd_name not in self._made and cmd_name in commands.COMMANDS:
            alone = typer.Typer(**_PLAIN)
            function = commands.function(cmd_name)
            alone.command(cmd_name)(function)
            self._made[cmd_name] = _explained(_with_placeholders(typer.main.get_command(alone), function))
        return self._made.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command; of an unknown one say which is meant, or that it stands behind it."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except _UsageError as fault:
            from septet.cli.suggesting import explain_option

            name = next((one for one in given if one in commands.COMMANDS), None)
            behind = name is not None and getattr(fault, "option_name", None) in _flags(self.get_command(ctx, name))
            explain_option(fault, _flags(self), "It stands behind the command." if behind else "")
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named; of an unknown one say which is meant."""
        try:
            return super().resolve_command(ctx, args)
        except _UsageError as fault:
            from septet.cli.suggesting import nearest_commands

            if args and args[0] not in commands.COMMANDS and not args[0].startswith("-"):
                near = nearest_commands(args[0], commands.COMMANDS)
                hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else " `septet --help` lists them."
                fault.message = f"No such command {args[0]!r}.{hint}"
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an interrupt ends it where it did not say itself what that means."""
        with stoppable(lambda: "interrupted"):
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by their headings, each with the first sentence of its help."""
        widest = max(map(len, commands.COMMANDS))
        for heading, names in commands.SECTIONS.items():
            with formatter.section(heading):
                room = formatter.width - 6 - widest
                rows = [(name.ljust(widest), _brief(self.get_command(ctx, name), room)) for name in names]
                formatter.write_dl(rows)


def _flags(command: Any) -> list[str]:
    return ["--help", *(flag for option in command.params for flag in (*option.opts, *option.secondary_opts))]


def _explained(command: Any) -> Any:
    """Let a command say which of its options may be meant by an unknown one."""
    parse = command.parse_args

    def parse_args(ctx: Any, args: list[str]) -> Any:
        try:
            return parse(ctx, args)
        except _UsageError as fault:
            from septet.cli.suggesting import explain_option

            outside = getattr(fault, "option_name", None) in _flags(ctx.parent.command) if ctx.parent else False
            explain_option(fault, _flags(command), "It stands before the command." if outside else "")
            raise

    command.parse_args = parse_args
    return command


def _brief(command: Any, room: int) -> str:
    """Return the first sentence of a command's help; one that has no room is cut where a clause ends, not in a word."""
    sentence: str = command.get_short_help_str(1_000).rstrip(".")
    if len(sentence) <= room:
        return sentence
    for between in ("[;:] ", ", "):
        if fitting := [found.start() for found in re.finditer(between, sentence) if found.start() <= room]:
            return sentence[: max(fitting)]
    return sentence


def _with_placeholders(command: Any, function: Any) -> Any:
    """Write N, NUMBER or TEXT in the help for values that name no placeholder, not the names of Python's types.

    The types are read from the function: how typer keeps them changes from version to version.
    """
    declared = inspect.signature(function, eval_str=True).parameters
    for option in command.params:
        if option.metavar is None and option.name in declared:
            option.metavar = _placeholder(declared[option.name].annotation)
        if option.param_type_name == "argument":
            # Newer versions write the type behind the name as well.
            option.display_type = lambda ctx: ""
    return command


def _placeholder(hint: Any) -> str | None:
    while get_origin(hint) is not None and get_origin(hint) is not Literal:
        hint = next(part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is Literal:
        return "|".join(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "|".join(one.value for one in hint)
    return _PLACEHOLDERS.get(hint)


app = typer.Typer(
    name="septet",
    cls=_Commands,
    help="Search knowledge kept in SQLite files, and see why each answer ranks where it does.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    **_PLAIN,
)


def run() -> int:
    """Run the command line and return its exit code."""
    # `septet search x | head -1`: end quietly when the reader goes, as other commands do.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        # Arguments that are not UTF-8 arrive as lone surrogates; printing them must not fail.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with guarded():
        return _code()


def _code() -> int:
    try:
        completion_asked()
        try:
            app(prog_name="septet")
        finally:
            sys.stdout.flush()
    except EntryNotFound as fault:
        return _fail(fault, NOTHING)
    except StoreError as fault:
        return _fail(fault, STORE)
    except EmbeddingError as fault:
        return _fail(fault, USAGE if isinstance(fault, EmbeddingConfigError) else PROVIDER)
    except SeptetError as fault:
        return _fail(fault, USAGE)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else OK
    except MemoryError:
        say("septet: the memory of this machine is not enough for that")
        return STORE
    except OutputFault as fault:
        # Flushing the buffer at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say(f"septet: the output could not be written: {fault.strerror}")
        return STORE
    except OSError as fault:
        say(f"septet: {_told(fault)}")
        return STORE
    return OK


def _told(fault: OSError) -> str:
    """Return what a fault of the system is about, such as a path that is too long."""
    if fault.filename is not None:
        return f"{fault.filename}: {fault.strerror}"
    try:
        os.getcwd()  # noqa: PTH109 - pathlib asks for it as well
    except FileNotFoundError:
        return "the working directory is gone: change to another"
    return fault.strerror or str(fault) or type(fault).__name__


def _show_version(wanted: bool) -> None:
    if wanted:
        from septet import __version__

        print(f"septet {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="Print long output as it is; on a terminal it goes through $PAGER.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand in commands.PAGED and not no_pager and sys.stdout.isatty():
        from septet.cli.pager import paged

        ctx.with_resource(paged())


def _fail(fault: SeptetError, code: int) -> int:
    say(f"septet: {fault}")
    return code
