"""The commands: data goes to standard output, everything else to standard error.

Commands import what they need when they run: `septet --help` and a mistyped option load nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.embedding import doctor, embed, models
from septet.cli.evaluation import evaluate
from septet.cli.importing import import_
from septet.cli.options import AsJson, Embedding, VaultPath, search_options, takes_search_options
from septet.cli.places import existing, writable
from septet.cli.redacting import redact
from septet.cli.retrieving import plan, retrieve
from septet.cli.serving import serve
from septet.cli.syncing import forget_root, print_roots, sync
from septet.cli.terminal import guarded, print_json, say
from septet.cli.watching import status, watch
from septet.errors import (
    EmbeddingConfigError,
    EmbeddingError,
    EntryError,
    EntryNotFound,
    SeptetError,
    StoreError,
)

if TYPE_CHECKING:
    from septet.notes import Note

__all__ = ["app", "run"]

OK, NOTHING, USAGE, STORE, PROVIDER = 0, 1, 2, 3, 4

#: How long `add` waits for the vector of its text.
ADD_WAIT_S = 3.0

EXIT_CODES = """\b
Exit codes:
  0  done
  1  nothing found; or a sync has something left to do
  2  usage: an argument, entry, filter or profile is invalid
  3  the file of the vault cannot be used
  4  an embedding provider failed (searches run without it, and say so)

\b
Embedding is off until it is configured: by --embedding FILE (or a provider's name), by
SEPTET_EMBEDDING, or by ~/.config/septet/config.toml (.yaml, .json) with an [embedding] block.

\b
Data goes to standard output, messages to standard error. NO_COLOR is honoured.
Put -- before a query or title that starts with a dash."""

app = typer.Typer(
    name="septet",
    help="Search knowledge kept in SQLite files, and see why each answer ranks where it does.",
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


for command in (retrieve, plan, embed, models, doctor, sync, forget_root, status, watch, redact, serve):
    app.command()(command)
app.command("import")(import_)
app.command("eval")(evaluate)


Query = Annotated[str, typer.Argument(metavar="QUERY", help="A question or some words; no character is special.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of an entry.")]


def run() -> int:
    """Run the command line and return its exit code."""
    if hasattr(signal, "SIGPIPE"):
        # `septet search x | head -1`: end quietly when the reader goes, as other commands do.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        # Arguments that are not UTF-8 arrive as lone surrogates; printing them must not fail.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with guarded():
        return _code()


def _code() -> int:
    try:
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
    except OSError as fault:
        if fault.filename is not None:
            # A path that the system does not take, such as one that is too long.
            say(f"septet: {fault.filename}: {fault.strerror}")
            return STORE
        # Standard output failed, for example on a full disk. Flushing the buffer at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say(f"septet: the output could not be written: {fault.strerror}")
        return STORE
    return OK


def _show_version(wanted: bool) -> None:
    if wanted:
        from septet import __version__

        print(f"septet {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A folder of Markdown or text to ask instead; it is only read.")
    ] = None,
    question: Annotated[
        list[str] | None, typer.Option("--ask", metavar="TEXT", help="Ask DIR this; repeat for more.")
    ] = None,
    profile: Annotated[str | None, typer.Option(metavar="NAME|FILE", help="The ranking of answers from DIR.")] = None,
    path: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the vault; of DIR, default in memory.")
    ] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Plain text.")] = False,
    embedding: Embedding = None,
) -> None:
    """Index the documentation of this Python and ask six questions; or a folder, and ask it some of its own.

    With DIR only --embedding embeds its chunks: a configured embedder is not asked for what is tried once.
    """
    from septet.cli import demo as demonstration
    from septet.cli import render, settings

    out = render.console(sys.stdout, color=not no_color)
    if folder is None:
        if question or profile or embedding:
            raise EntryError("--ask, --profile and --embedding are options of a folder: septet demo DIR")
        demonstration.run(out, path)
        return
    from septet.cli import demo_folder

    made = settings.find(embedding).embedder if embedding else {}
    options: dict[str, Any] = {"command": demonstration.command(), "profile": profile, "embedding": made}
    if not demo_folder.run(out, folder, path, question or [], **options):
        raise typer.Exit(NOTHING)


@app.command()
def add(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What the entry is about.")],
    description: Annotated[str, typer.Option("-d", "--description", help="The text; - reads standard input.")] = "",
    context: Annotated[str, typer.Option(help="Where it applies.")] = "",
    type: Annotated[str | None, typer.Option("--type", help="Default note.")] = None,
    domain: Annotated[str | None, typer.Option(help="Default general.")] = None,
    severity: Annotated[str | None, typer.Option(help="critical, warning or suggestion (default).")] = None,
    tag: Annotated[list[str] | None, typer.Option("-t", "--tag", help="A tag; repeat for more.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its id; an entry with this id is overwritten.")] = None,
    attr: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Anything else; VALUE may be JSON.")
    ] = None,
    split: Annotated[bool, typer.Option("--split", help="Split a long text into linked parts.")] = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
) -> None:
    """Store an entry and print its id.

    Its text is embedded if an embedder is configured; this takes 3 seconds at most, and a failure does not matter.
    """
    from septet.cli import settings

    fields: dict[str, Any] = {
        "title": title,
        "description": sys.stdin.read().strip() if description == "-" else description,
        "context": context,
        "tags": tag or [],
        "attrs": dict(_attr(text) for text in attr or []),
    }
    optional = {"type": type, "domain": domain, "severity": severity, "id": id}
    fields.update((name, value) for name, value in optional.items() if value is not None)
    made = settings.find(embedding).embedder
    if made:
        from septet.embedding.options import EmbeddingOptions

        made["embedding_options"] = EmbeddingOptions(close_wait_s=ADD_WAIT_S)
    with writable(vault, **made) as opened:
        print(opened.add(**fields, split="auto" if split else None), flush=True)
    status = opened.embedding_status()
    _say_notes(status.notes)
    if status.activity == "running":
        say(f"note not_embedded: no vector within {ADD_WAIT_S:g} s (`septet embed` makes it, `septet doctor` checks)")


@app.command()
@takes_search_options()
def search(
    query: Query,
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Show weight x signal of every signal.")] = False,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Find the entries that answer a question, best first."""
    from septet.cli import render, settings

    with existing(vault, **settings.find(embedding).embedder) as opened:
        results = opened.search(query, **search_options(options))
    if as_json:
        print_json(results.to_dict())
    elif results:
        render.hits(render.console(sys.stdout), results, ids=True, detail=explain)
    _say_notes(results.notes)
    if not results:
        say("nothing found")
        raise typer.Exit(NOTHING)


@app.command()
def get(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of entries.")],
    as_json: AsJson = False,
    vault: VaultPath = None,
) -> None:
    """Print whole entries by id."""
    from septet.cli import render

    with existing(vault) as opened:
        found = opened.load(ids)
    if as_json:
        print_json([entry.to_dict() for entry in found])
    else:
        out = render.console(sys.stdout)
        for number, entry in enumerate(found):
            if number:
                out.print()
            render.entry(out, entry)
    missing = sorted(set(ids) - {entry.id for entry in found})
    if missing:
        say(f"no entry {', '.join(repr(id) for id in missing)} in {opened.path}")
        raise typer.Exit(NOTHING)


@app.command()
@takes_search_options("mode")
def explain(
    query: Query,
    id: Id,
    *,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Explain the rank of an entry in a search.

    Or why the search does not return it.
    """
    from septet.cli import render, settings

    with existing(vault, **settings.find(embedding).embedder) as opened:
        found = opened.explain(query, id, **search_options(options))
    if as_json:
        print_json(found.to_dict())
    else:
        render.explanation(render.console(sys.stdout), found)
    _say_notes(found.notes)


@app.command()
def feedback(
    query: Query,
    id: Id,
    action: Annotated[
        Any, typer.Argument(metavar="ACTION", help="accepted, modified, dismissed or failed.", parser=str)
    ],
    vault: VaultPath = None,
) -> None:
    """Record what became of a result.

    From 30 rows on, the weights adapt to them.
    """
    with existing(vault, read_only=False) as opened:
        opened.feedback(query, id, action)
    say(f"recorded: {id} was {action}")


@app.command()
def stats(as_json: AsJson = False, vault: VaultPath = None) -> None:
    """Count what a vault holds, and name the folders that it follows."""
    from septet.cli import render

    with existing(vault) as opened:
        found, roots = opened.stats(), opened.roots()
    if as_json:
        print_json(found.to_dict() | ({"roots": [asdict(root) for root in roots]} if roots else {}))
    else:
        render.stats(render.console(sys.stdout), found)
        print_roots(roots)
        _say_notes(tuple(found.notes))


@app.command()
def backup(
    vault: Annotated[Path, typer.Argument(metavar="VAULT", help="The vault; it may be in use.")],
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="The file to write; an old one is replaced.")],
) -> None:
    """Copy a vault that may be in use to another file."""
    from septet.vault import Vault

    with Vault(vault, read_only=True) as copied:
        copied.backup(backup)
        say(f"copied {copied.stats().entries} entries to {backup}")


@app.command()
def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A copy that Vault.backup wrote.")],
    vault: Annotated[Path, typer.Argument(metavar="VAULT", help="The file to put it in the place of.")],
) -> None:
    """Put a backup in the place of a vault.

    It is checked first. The vault may be damaged or missing; no program may have it open.
    """
    from septet.vault import Vault

    count = Vault.restore(backup, vault)
    say(f"restored {count} entries to {vault}")


def _attr(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise EntryError(f"--attr is {text!r}: wanted KEY=VALUE")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value


def _say_notes(notes: tuple[Note, ...]) -> None:
    for note in notes:
        say(f"note {note}")


def _fail(fault: SeptetError, code: int) -> int:
    say(f"septet: {fault}")
    return code
