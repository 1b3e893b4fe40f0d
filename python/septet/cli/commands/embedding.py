"""`septet embed`, `septet models` and `septet doctor`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import PROVIDER, stoppable
from septet.cli.options import Embedding
from septet.cli.places import default_files, existing, find_embedding
from septet.cli.screen import progress
from septet.cli.terminal import flat, print_json, say, say_notes, sentence
from septet.errors import EmbeddingConfigError

if TYPE_CHECKING:
    from septet.cli.catalogue import Catalogue
    from septet.cli.screen import Screen
    from septet.cli.vault_checks import Check
    from septet.embedding.report import EmbedEstimate, EmbedReport
    from septet.vault import Vault

ProviderOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="local, openai, voyage, gemini, ollama, openai-compatible or auto.")
]
ModelOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The provider's model; of local, a folder or an installed package.")
]
Offline = Annotated[bool, typer.Option("--offline", help="Send nothing to the provider.")]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Maximum wait for the provider.")]


@command("json", "vault")
def embed(
    shared: SharedOptions,
    provider: ProviderOption = None,
    model: ModelOption = None,
    embedding: Embedding = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use the provider's batch API: half the price, up to a day.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show texts, tokens, requests and cost; send and write nothing.")
    ] = False,
) -> None:
    """Embed every text that has no vector yet.

    Vectors are stored as they arrive: stop at any time, and the next run continues. After a change of model, the old
    vectors answer until the new ones are complete.
    """
    settings = find_embedding(embedding).but(provider, model)
    if not settings.embedder:
        raise EmbeddingConfigError(
            "no embedding provider is configured: name one with --provider (`septet models` lists them), "
            f"or write an embedding block into {default_files()[0]}"
        )
    with (
        existing(shared.vault, read_only=False, **settings.embedder) as opened,
        embedding_stoppable(opened),
        progress("embedding") as step,
    ):
        report = opened.embed(progress=step, batch=batch, dry_run=dry_run)
    if shared.as_json:
        print_json(report.to_dict())
    else:
        say(_summary(report) if report.estimate is None else _estimate(report, report.estimate))
    end_embedding(report)


def embedding_stoppable(opened: Vault) -> AbstractContextManager[None]:
    """Stop embedding at an interrupt, and print how many entries have a vector."""

    def summary() -> str:
        counts = [
            f"{space.entries:,} of {space.entries + space.missing:,} entries have a vector of {space.model}"
            for space in opened.embedding_status().spaces
            if not space.given
        ]
        return f"{'; '.join(counts) or 'no entry has a vector yet'}; `septet embed` continues"

    return stoppable(summary)


def end_embedding(report: EmbedReport) -> None:
    """Print the notes of an embedding run; exit with an error if texts could not be embedded."""
    say_notes(report.notes)
    if report.failed or any(note.code in ("provider_refuses", "gave_up") for note in report.notes):
        raise typer.Exit(PROVIDER)


@command("embedding", "json")
def models(shared: SharedOptions) -> None:
    """List the available embedding models.

    Shows the one in use, and why others cannot be used. Sends nothing, and shows no API keys.
    """
    from septet.cli import screen
    from septet.cli.catalogue import catalogue

    available = catalogue(find_embedding(shared.embedding))
    if shared.as_json:
        print_json(asdict(available))
    else:
        _show_models(screen.console(sys.stdout), available)


@command("embedding", "json", "vault")
def doctor(
    shared: SharedOptions,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired; nothing that was stored is lost.")
    ] = False,
    offline: Offline = False,
    timeout_s: Timeout = 5.0,
    recall: Annotated[
        int | None,
        typer.Option(
            "--recall",
            min=1,
            max=100_000,
            help="Measure the recall of lists of vectors, by as many searches.",
        ),
    ] = None,
) -> None:
    """Check embedding and the vault.

    Shows the configuration in use and tests it. Sends one word to the provider, unless --offline. Changes nothing
    without --fix. The exit code is that of the first failed check; with --fix, of those that still fail.
    """
    from septet.cli import screen
    from septet.cli.checkup import checkup

    checks = checkup(shared.embedding, shared.vault, timeout_s=None if offline else timeout_s, recall=recall)
    if fix and _repair(checks):
        # Ask the provider once: keep its answer from the first run.
        answer = [check for check in checks if check.name == "answer"]
        again = checkup(shared.embedding, shared.vault, timeout_s=None, recall=recall)
        checks = [check for check in again if check.name != "answer"] + answer
    code = next((check.exit_code for check in checks if check.state == "fault"), 0)
    if shared.as_json:
        results = {
            check.name: {"state": check.state, "said": check.summary, "cure": check.cure, **check.facts}
            for check in checks
        }
        print_json({"healthy": code == 0, "checks": results})
    else:
        _show_checks(screen.console(sys.stdout), checks)
        if any(check.mend for check in checks):
            say("`septet doctor --fix` repairs what it can")
    if code:
        raise typer.Exit(code)


def _repair(checks: Sequence[Check]) -> bool:
    """Run all repairs and print their results; return True if there were any."""
    from septet.errors import SeptetError

    for check in checks:
        if check.mend is not None:
            try:
                say(f"{check.name}: {check.mend()}")
            except (SeptetError, OSError) as fault:
                say(f"{check.name} could not be repaired: {fault}")
    return any(check.mend is not None for check in checks)


def _summary(report: EmbedReport) -> str:
    texts = f"{report.embedded + report.cached:,} texts" if report.embedded + report.cached != 1 else "1 text"
    cached = f" ({report.cached:,} from the cache)" if report.cached else ""
    missing = f"{report.missing:,} still lack a vector" if report.missing else "none lacks a vector"
    length = f" ({report.dimensions} dimensions)" if report.dimensions else ""
    return f"embedded {texts}{cached} with {report.model}{length}; {missing}"


def _estimate(report: EmbedReport, work: EmbedEstimate) -> str:
    about = "about " if work.requests else ""
    texts = f"{work.texts:,} texts" if work.texts != 1 else "1 text"
    cached = f", {work.cached:,} more from the cache" if work.cached else ""
    requests = f" in {work.requests:,} request{'s' if work.requests != 1 else ''}" if work.requests else ""
    if work.cost_usd is None:
        cost = "; the price is unknown"
    else:
        dollars = f"{work.cost_usd:.2f}" if work.cost_usd >= 0.01 else "0.01"
        cost = f"; at most ${dollars} by the list prices of {work.prices_of}" if work.prices_of else ""
    return f"would embed {texts}{cached} with {report.model}: {about}{work.tokens:,} tokens{requests}{cost}"


def _show_models(out: Screen, available: Catalogue) -> None:
    from septet.cli.screen import StyledLine

    out.print(StyledLine(sentence(f"Used here: {available.used or 'none'} ({available.why})"), "bold"))
    out.print(StyledLine("\nLocal models", "bold"))
    for local in available.local:
        dimensions = f"{local.dimensions} dimensions, " if local.dimensions else ""
        name = flat(f"{local.model or local.name:28}").ljust(28)
        out.print(StyledLine(f"  {name} " + flat(f"{dimensions}{local.fault or local.source}")))
    if not available.local:
        out.print(StyledLine(f"  none: {available.no_local}"))
    out.print(StyledLine("\nProviders", "bold"))
    for provider in available.providers:
        out.print(StyledLine(f"  {provider.provider:18} {provider.key}"))
        for model, length in provider.models.items():
            text = f"{length} dimensions" + (", the default" if model == provider.default else "")
            out.print(StyledLine(f"    {model:26} {text}", "dim"))


#: Mark and style by state.
_MARKS = {"ok": ("ok", "green"), "fault": ("FAULT", "red"), "none": ("-", "dim")}


def _show_checks(out: Screen, checks: list[Check]) -> None:
    from septet.cli.screen import StyledLine

    for check in checks:
        mark, style = _MARKS[check.state]
        line = StyledLine(f"{check.name:14}").append(f"{mark:7}", style)
        cure = f" (--fix: {check.cure})" if check.cure else ""
        out.print(line.append(sentence(check.summary) + cure))
