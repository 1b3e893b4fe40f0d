"""`septet retrieve` and `septet plan`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import end_with
from septet.cli.options import Query
from septet.cli.places import default_files, existing
from septet.cli.terminal import flat, print_json, say, say_notes
from septet.errors import QueryError

if TYPE_CHECKING:
    from septet.cli.screen import Screen
    from septet.retrieval.account.retrieval import Retrieval
    from septet.retrieval.config import RetrievalConfig

ProfileOption = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="septet (default), recall or planned-retrieval.")
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A file with the blocks retrieval, search, policy, expansion and corpora; default "
        "~/.config/septet/config.toml, if it exists.",
    ),
]
RepositoryOption = Annotated[
    Path | None, typer.Option("--repo", metavar="DIR", help="Also search the paths and symbols of this folder.")
]
CorporaOption = Annotated[
    list[str] | None, typer.Option("--corpus", metavar="NAME", help="Search this corpus; repeat for more.")
]
ModeOption = Annotated[
    Any, typer.Option("--mode", metavar="full_text|vector|hybrid", parser=str, help="The legs to use.")
]


@command("json", "embedding", "vault")
def retrieve(
    shared: SharedOptions,
    query: Query,
    limit: Annotated[int | None, typer.Option("-n", "--limit", help="Maximum hits.")] = None,
    profile: ProfileOption = None,
    corpora: CorporaOption = None,
    mode: ModeOption = None,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="NAME=VALUE", help="Narrow the search of sources; repeat for more."),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Follow the plan in this file; - reads it.")
    ] = None,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print the plan first.")] = False,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="ID", help="Explain the rank of this entry, or its absence.")
    ] = None,
    expand: Annotated[
        bool | None, typer.Option("--expand/--no-expand", help="Ask the configured model for other phrasings.")
    ] = None,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Return the hits found by then.")
    ] = None,
    repository: RepositoryOption = None,
    config: ConfigOption = None,
) -> None:
    """Search several corpora at once, and fuse their hits into one list.

    Uses the network only if the configuration names a server. --json also prints the envelope, the account of the
    retrieval.
    """
    from septet.cli import screen

    chosen = _config(config, profile, repository, expand)
    options: dict[str, Any] = {"limit": limit, "scope": _scope(scope), "timeout_s": timeout_s}
    options |= {"plan": _plan_in(replay)} if replay is not None else {"corpora": corpora or None, "mode": mode}
    with (
        existing(shared.vault, **shared.embedder()) as opened,
        opened.retriever(chosen) as retriever,
    ):
        if explain is not None:
            from septet.cli.wording import in_commands

            explanation = retriever.explain(query, explain, **options)
            print_json(explanation.to_dict()) if shared.as_json else print(in_commands(str(explanation)))
            say_notes(explanation.notes)
            return
        retrieval = retriever.retrieve(query, **options)
    if shared.as_json:
        print_json(retrieval.to_dict())
    else:
        _show(screen.console(sys.stdout), retrieval, show_plan)
    say_notes(retrieval.notes)
    if not retrieval:
        end_with("nothing found")


@command("json", "vault")
def plan(
    shared: SharedOptions,
    query: Query,
    profile: ProfileOption = None,
    corpora: CorporaOption = None,
    mode: ModeOption = None,
    repository: RepositoryOption = None,
    config: ConfigOption = None,
) -> None:
    """Print the plan of a retrieval, with reasons, without searching."""
    with existing(shared.vault) as opened, opened.retriever(_config(config, profile, repository, None)) as retriever:
        result = retriever.plan(query, corpora=corpora or None, mode=mode)
    if shared.as_json:
        print_json(result.to_dict())
    else:
        print(result)


def _config(file: Path | None, profile: str | None, repository: Path | None, expand: bool | None) -> RetrievalConfig:
    """Read the configuration of a file and apply the options (`ProfileError`)."""
    from septet.retrieval.config import RetrievalConfig, ignored, retrieval_config, with_environment

    if file is None:
        file = next((path for path in default_files() if path.is_file()), None)
    result = RetrievalConfig() if file is None else retrieval_config(file.expanduser())
    if profile is not None:
        result = result.model_copy(update={"profile": retrieval_config({"profile": profile}).profile})
    for line in ignored(with_environment(result)):
        say(f"note {line}")
    if repository is not None:
        result = result.model_copy(
            update={"corpora": result.corpora.model_copy(update={"repository": str(repository)})}
        )
    if expand is not None:
        result = result.model_copy(update={"search": result.search.model_copy(update={"query_expansion": expand})})
        if not expand:
            result = result.model_copy(update={"expansion": type(result.expansion)()})
        elif result.expansion.chosen == "none":
            raise QueryError("--expand requires a block expansion in the configuration, with provider and model")
    return with_environment(result)


def _scope(texts: list[str] | None) -> dict[str, object] | None:
    scope: dict[str, object] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise QueryError(f"--scope is {text!r}: wanted NAME=VALUE")
        scope[name] = value
    return scope or None


def _plan_in(file: Path) -> Mapping[str, Any]:
    """Read a plan from a file, or from the output of ``septet retrieve --json`` (`QueryError`)."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        plan = json.loads(text)
    except (OSError, ValueError, RecursionError) as fault:
        raise QueryError(f"--replay {file}: no plan can be read from it: {fault}") from None
    with suppress(TypeError, KeyError):
        plan = plan["plan"]
    if not isinstance(plan, Mapping):
        raise QueryError(f"--replay {file}: wanted a plan as `septet plan --json` prints it")
    return plan


def _show(out: Screen, retrieval: Retrieval, with_plan: bool) -> None:
    from septet.cli.render import one_line
    from septet.cli.screen import StyledLine

    if with_plan:
        for line in str(retrieval.plan).split("\n"):
            out.print(StyledLine(flat(line), "dim"))
        out.print()
    width = max((len(hit.tier) for hit in retrieval), default=0)
    for hit in retrieval:
        head = StyledLine(f" {hit.score:.4f} ", "bold").append(flat(hit.tier).ljust(width) + "  ", "magenta")
        out.print(head.append(one_line(hit.title, 96 - head.width), "bold"))
        where = flat(hit.id) + (f"  {flat(hit.citation)}" if hit.citation is not None else "")
        second = StyledLine("        " + where, "cyan")
        lists = ", ".join(f"{name} {rank:.0f}" for name, rank in hit.signals.items() if rank is not None)
        out.print(second.append(f"  {lists}", "dim"))
