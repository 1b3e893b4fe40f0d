"""`septet retrieve` and `septet plan`: several corpora asked at once, and what would be asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.exits import NOTHING
from septet.cli.options import AsJson, Embedding, Query, VaultPath
from septet.cli.places import existing
from septet.cli.terminal import flat, print_json, say, say_notes
from septet.errors import QueryError

if TYPE_CHECKING:
    from septet.cli.screen import Screen
    from septet.retrieval.account.retrieval import Retrieval
    from septet.retrieval.config import RetrievalConfig

__all__ = ["plan", "retrieve"]

ProfileOption = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="septet (default), recall or planned-retrieval.")
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A file with the blocks retrieval, search, policy, expansion and corpora; default "
        "~/.config/septet/config.toml, if it is there.",
    ),
]
RepositoryOption = Annotated[
    Path | None, typer.Option("--repo", metavar="DIR", help="A folder whose paths and symbols are searched too.")
]
CorporaOption = Annotated[
    list[str] | None, typer.Option("--corpus", metavar="NAME", help="Ask this one; repeat for more.")
]
ModeOption = Annotated[
    Any, typer.Option("--mode", metavar="full_text|vector|hybrid", parser=str, help="Which legs are used.")
]


def retrieve(
    query: Query,
    limit: Annotated[int | None, typer.Option("-n", "--limit", help="At most so many hits.")] = None,
    profile: ProfileOption = None,
    corpora: CorporaOption = None,
    mode: ModeOption = None,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="NAME=VALUE", help="Narrows what sources search; repeat for more."),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Follow the plan in this file; - reads it.")
    ] = None,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print the plan first.")] = False,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="ID", help="Say where this entry stands, or why it does not.")
    ] = None,
    expand: Annotated[
        bool | None, typer.Option("--expand/--no-expand", help="Ask the configured model for other phrasings.")
    ] = None,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Answer then, with what there is.")
    ] = None,
    repository: RepositoryOption = None,
    config: ConfigOption = None,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
) -> None:
    """Ask several corpora at once, and fuse what they find into one list.

    Nothing goes to a network unless the configuration names a server. With --json the account of the retrieval, its
    envelope, is printed beside the hits.
    """
    from septet.cli import render, settings

    chosen = _config(config, profile, repository, expand)
    options: dict[str, Any] = {"limit": limit, "scope": _scope(scope), "timeout_s": timeout_s}
    options |= {"plan": _plan_in(replay)} if replay is not None else {"corpora": corpora or None, "mode": mode}
    with (
        existing(vault, **settings.find(embedding).embedder) as opened,
        opened.retriever(chosen) as retriever,
    ):
        if explain is not None:
            from septet.cli.wording import in_commands

            told = retriever.explain(query, explain, **options)
            print_json(told.to_dict()) if as_json else print(in_commands(str(told)))
            say_notes(told.notes)
            return
        found = retriever.retrieve(query, **options)
    if as_json:
        print_json(found.to_dict())
    else:
        _show(render.console(sys.stdout), found, show_plan)
    say_notes(found.notes)
    if not found:
        say("nothing found")
        raise typer.Exit(NOTHING)


def plan(
    query: Query,
    profile: ProfileOption = None,
    corpora: CorporaOption = None,
    mode: ModeOption = None,
    repository: RepositoryOption = None,
    config: ConfigOption = None,
    as_json: AsJson = False,
    vault: VaultPath = None,
) -> None:
    """Print what a retrieval would ask, and why; nothing is searched."""
    with existing(vault) as opened, opened.retriever(_config(config, profile, repository, None)) as retriever:
        made = retriever.plan(query, corpora=corpora or None, mode=mode)
    if as_json:
        print_json(made.to_dict())
    else:
        print(made)


def _config(file: Path | None, profile: str | None, repository: Path | None, expand: bool | None) -> RetrievalConfig:
    """Return the configuration of a file with what options change in it.

    Raises:
        ProfileError: the file or a name is wrong.
    """
    from septet.cli.settings import default_files
    from septet.retrieval.config import RetrievalConfig, ignored, retrieval_config, with_environment

    if file is None:
        file = next((path for path in default_files() if path.is_file()), None)
    made = RetrievalConfig() if file is None else retrieval_config(file.expanduser())
    if profile is not None:
        made = made.model_copy(update={"profile": retrieval_config({"profile": profile}).profile})
    for line in ignored(with_environment(made)):
        say(f"note {line}")
    if repository is not None:
        made = made.model_copy(update={"corpora": made.corpora.model_copy(update={"repository": str(repository)})})
    if expand is not None:
        made = made.model_copy(update={"search": made.search.model_copy(update={"query_expansion": expand})})
        if not expand:
            made = made.model_copy(update={"expansion": type(made.expansion)()})
        elif made.expansion.chosen == "none":
            raise QueryError("--expand needs a block expansion in the configuration: provider and model")
    return with_environment(made)


def _scope(given: list[str] | None) -> dict[str, object] | None:
    scope: dict[str, object] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise QueryError(f"--scope is {text!r}: wanted NAME=VALUE")
        scope[name] = value
    return scope or None


def _plan_in(file: Path) -> Mapping[str, Any]:
    """Return the plan that a file holds, or the one in the answer of ``septet retrieve --json``.

    Raises:
        QueryError: it holds none.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError, RecursionError) as fault:
        raise QueryError(f"--replay {file}: no plan can be read from it: {fault}") from None
    with suppress(TypeError, KeyError):
        found = found["plan"]
    if not isinstance(found, Mapping):
        raise QueryError(f"--replay {file}: wanted a plan as `septet plan --json` prints it")
    return found


def _show(out: Screen, found: Retrieval, with_plan: bool) -> None:
    from septet.cli.render import one_line
    from septet.cli.screen import Line

    if with_plan:
        for line in str(found.plan).split("\n"):
            out.print(Line(flat(line), "dim"))
        out.print()
    width = max((len(hit.tier) for hit in found), default=0)
    for hit in found:
        head = Line(f" {hit.score:.4f} ", "bold").append(flat(hit.tier).ljust(width) + "  ", "magenta")
        out.print(head.append(one_line(hit.title, 96 - head.width), "bold"))
        where = flat(hit.id) + (f"  {flat(hit.citation)}" if hit.citation is not None else "")
        second = Line("        " + where, "cyan")
        lists = ", ".join(f"{name} {rank:.0f}" for name, rank in hit.signals.items() if rank is not None)
        out.print(second.append(f"  {lists}", "dim"))
