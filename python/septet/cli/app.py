"""The command line: data goes to standard output, everything else to standard error.

Modules of commands load on demand and import their dependencies when they run, so that a search, `septet --help` and a
mistyped option load nothing else.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperGroup

from septet.cli import commands
from septet.cli.exits import NOTHING, OK, PROVIDER, STORE, USAGE, stoppable
from septet.cli.options import COMPLETE_VARIABLE
from septet.cli.terminal import OutputFault, guarded, say
from septet.cli.values import read_plainly, type_of
from septet.errors import EmbeddingConfigError, EmbeddingError, EntryNotFound, SeptetError, StoreError
from septet.system.session import session

EXIT_CODES = """\b
Exit codes:
  0  done
  1  nothing found; or a sync is incomplete
  2  usage: an argument, entry, filter or profile is invalid
  3  the vault cannot be used, or its server refuses the token
  4  an embedding provider failed (searches go on without it, with a note)

\b
Embedding is off until it is configured: by --embedding FILE (or a provider's name), by
SEPTET_EMBEDDING, or by ~/.config/septet/config.toml (.yaml, .json) with an [embedding] block.

\b
Data goes to standard output, messages to standard error. NO_COLOR is honoured.
Put -- before a query or title that starts with a dash."""

#: Typer options of all commands: plain help and Python's own tracebacks.
_PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}

#: The parser's error, from click or from typer's copy of it.
_UsageError: Any = typer.BadParameter.__mro__[1]

_PLACEHOLDERS = {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}
#: Exit codes by error class, most specific first.
_CODES: tuple[tuple[type[SeptetError], int], ...] = (
    (EntryNotFound, NOTHING), (StoreError, STORE), (EmbeddingConfigError, USAGE), (EmbeddingError, PROVIDER),
    (SeptetError, USAGE),
)  # fmt: skip


class _Commands(TyperGroup):
    """The commands of the table, created on demand."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._created: dict[str, Any] = {}
        # Names only, for suggestions; `get_command` creates the commands.
        self.commands = dict.fromkeys(commands.COMMANDS)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return list(commands.COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name; None if unknown."""
        if cmd_name not in self._created and cmd_name in commands.COMMANDS:
            single = typer.Typer(**_PLAIN)
            from septet.cli.command import signed

            function = signed(commands.function(cmd_name))
            single.command(cmd_name)(function)
            self._created[cmd_name] = _suggest_options(_set_placeholders(typer.main.get_command(single), function))
        return self._created.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command; for an unknown one, suggest another or its place after the command."""
        words = list(args)
        read_plainly(self, ctx)
        try:
            return super().parse_args(ctx, args)
        except _UsageError as fault:
            from septet.cli.suggesting import explain_option

            name = next((word for word in words if word in commands.COMMANDS), None)
            known = name is not None and getattr(fault, "option_name", None) in _flags(self.get_command(ctx, name))
            explain_option(fault, _flags(self), "Put it after the command." if known else "")
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the named command; suggest another for an unknown one."""
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
        """Run the command; handle interrupts that it does not handle itself."""
        with stoppable(lambda: "interrupted"):
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by section, with the first sentence of their help."""
        widest = max(map(len, commands.COMMANDS))
        for heading, names in commands.SECTIONS.items():
            with formatter.section(heading):
                room = formatter.width - 6 - widest
                rows = [(name.ljust(widest), _brief(commands.function(name), room)) for name in names]
                formatter.write_dl(rows)


def _flags(command: Any) -> list[str]:
    return ["--help", *(flag for option in command.params for flag in (*option.opts, *option.secondary_opts))]


def _suggest_options(command: Any) -> Any:
    """Make a command suggest options for an unknown one."""
    parse = command.parse_args

    def parse_args(ctx: Any, args: list[str]) -> Any:
        read_plainly(command, ctx)
        try:
            return parse(ctx, args)
        except _UsageError as fault:
            from septet.cli.suggesting import explain_option

            is_global = getattr(fault, "option_name", None) in _flags(ctx.parent.command) if ctx.parent else False
            explain_option(fault, _flags(command), "Put it before the command." if is_global else "")
            raise

    command.parse_args = parse_args
    return command


def _brief(function: Any, room: int) -> str:
    """Return the first sentence of a command's docstring, cut at the end of a clause if longer than ``room``.

    Creating the command, with all of its options, would take longer than loading it.
    """
    sentence = f"{' '.join(function.__doc__.split())} ".partition(". ")[0]
    if len(sentence) <= room:
        return sentence
    for separator in ("[;:] ", ", "):
        if fitting := [match.start() for match in re.finditer(separator, sentence) if match.start() <= room]:
            return sentence[: max(fitting)]
    return sentence


def _set_placeholders(command: Any, function: Any) -> Any:
    """Set N, NUMBER or TEXT as placeholders in the help, and the types by which plain values are read.

    Reads the types from the function: typer's representation of them varies between versions.
    """
    declared = inspect.signature(function, eval_str=True).parameters
    for option in command.params:
        if option.name in declared:
            option.plain_type = type_of(declared[option.name].annotation)
            if option.metavar is None:
                option.metavar = _placeholder(option.plain_type)
        if option.param_type_name == "argument":
            # Newer versions of typer also print the type after the name.
            option.display_type = lambda ctx: ""
    return command


def _placeholder(kind: Any) -> str | None:
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(member.value for member in kind)
    return _PLACEHOLDERS.get(kind)


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
    # Exit quietly when the reader closes the pipe, as in `septet search x | head -1`.
    session.end_at_broken_pipes()
    for stream in (sys.stdout, sys.stderr):
        # Arguments that are not UTF-8 become lone surrogates, which must be printable.
        stream.reconfigure(errors="backslashreplace", **session.TEXT)  # type: ignore[union-attr]
    with guarded():
        return _code()


def _code() -> int:
    try:
        if COMPLETE_VARIABLE in os.environ:
            from typer.completion import get_completion_inspect_parameters

            # Registers the shells as a side effect; typer does so itself only with `add_completion`.
            get_completion_inspect_parameters()
        try:
            # On Windows `*` would become names of files, which in queries and in patterns it does not stand for.
            app(prog_name="septet", windows_expand_args=False)
        finally:
            sys.stdout.flush()
    except SeptetError as fault:
        say(f"septet: {fault}")
        return next(code for kind, code in _CODES if isinstance(fault, kind))
    except SystemExit as fault:
        return fault.code if isinstance(fault.code, int) else OK
    except MemoryError:
        say("septet: out of memory")
        return STORE
    except OutputFault as fault:
        # The flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if session.is_closed_pipe(fault):
            return OK
        say(f"septet: the output could not be written: {fault.strerror}")
        return STORE
    except OSError as fault:
        say(f"septet: {_message(fault)}")
        return STORE
    return OK


def _message(fault: OSError) -> str:
    """Return the message of a system error, with its path."""
    if fault.filename is not None:
        return f"{fault.filename}: {fault.strerror}"
    try:
        os.getcwd()  # noqa: PTH109 - pathlib asks for it as well
    except FileNotFoundError:
        return "the working directory is gone: change to another"
    return fault.strerror or str(fault) or type(fault).__name__


def _show_version(value: bool) -> None:
    if value:
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
