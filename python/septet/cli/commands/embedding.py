"""The commands about embedding: embed, list what can embed, check what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from septet.cli.exits import PROVIDER
from septet.cli.options import AsJson, Embedding, VaultPath
from septet.cli.places import existing
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import flat, print_json, say, say_notes, sentence
from septet.errors import EmbeddingConfigError

if TYPE_CHECKING:
    from septet.cli.catalogue import Catalogue
    from septet.cli.check import Check
    from septet.cli.screen import Screen
    from septet.embedding.report import EmbedReport
    from septet.vault import Vault

__all__ = ["doctor", "embed", "embedding_stoppable", "end_embedding", "models"]

ProviderOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="local, openai, voyage, gemini, ollama, openai-compatible or auto.")
]
ModelOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The provider's model; of local, a folder or an installed package.")
]
Offline = Annotated[bool, typer.Option("--offline", help="Send nothing to the provider.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long to wait for the provider.")
]


def embed(
    provider: ProviderOption = None,
    model: ModelOption = None,
    embedding: Embedding = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use the provider's batch API: half the price, up to a day.")
    ] = False,
    as_json: AsJson = False,
    vault: VaultPath = None,
) -> None:
    """Embed every text that has no vector yet.

    Vectors are stored as they arrive: stop at any time, and the next run continues. After a change of model, the old
    vectors answer until the new ones are complete.
    """
    from septet.cli.settings import default_files, find

    settings = find(embedding).but(provider, model)
    if not settings.embedder:
        raise EmbeddingConfigError(
            "no embedding provider is configured: name one with --provider (`septet models` shows what there is), "
            f"or write an embedding block into {default_files()[0]}"
        )
    with (
        existing(vault, read_only=False, **settings.embedder) as opened,
        embedding_stoppable(opened),
        progress("embedding") as step,
    ):
        report = opened.embed(progress=step, batch=batch)
    if as_json:
        print_json(report.to_dict())
    else:
        say(_told(report))
    end_embedding(report)


def embedding_stoppable(opened: Vault) -> AbstractContextManager[None]:
    """Let an interrupt end embedding, and say how many entries have a vector."""

    def told() -> str:
        found = [
            f"{one.entries:,} of {one.entries + one.missing:,} entries have a vector of {one.model}"
            for one in opened.spaces()
            if not one.given
        ]
        return f"{'; '.join(found) or 'no entry has a vector yet'}; `septet embed` goes on"

    return stoppable(told)


def end_embedding(report: EmbedReport) -> None:
    """Say what was noted while texts were embedded; end the command if some could not be."""
    say_notes(report.notes)
    if report.failed or any(note.code in ("provider_refuses", "gave_up") for note in report.notes):
        raise typer.Exit(PROVIDER)


def models(embedding: Embedding = None, as_json: AsJson = False) -> None:
    """List the models that can embed here.

    Says which one is used, and why others cannot be. Nothing is sent, and API keys are not shown.
    """
    from septet.cli import render
    from septet.cli.catalogue import catalogue
    from septet.cli.settings import find

    found = catalogue(find(embedding))
    if as_json:
        print_json(asdict(found))
    else:
        _show_models(render.console(sys.stdout), found)


def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be mended; nothing that was stored is lost.")
    ] = False,
    offline: Offline = False,
    timeout_s: Timeout = 5.0,
    embedding: Embedding = None,
    as_json: AsJson = False,
    vault: VaultPath = None,
) -> None:
    """Check embedding and the vault.

    Says what is used, why, and whether it works. Sends one word to the provider, unless --offline. Without --fix
    nothing is changed. The exit code is that of the first check that failed, with --fix of what is left.
    """
    from septet.cli import render
    from septet.cli.checkup import checkup

    found = checkup(embedding, vault, timeout_s=None if offline else timeout_s)
    if fix and _mended(found):
        answer = [check for check in found if check.name == "answer"]
        found = [check for check in checkup(embedding, vault, timeout_s=None) if check.name != "answer"]
        # The provider is asked once.
        found = [*found, *answer]
    code = next((check.exit_code for check in found if check.state == "fault"), 0)
    if as_json:
        told = {
            check.name: {"state": check.state, "said": check.said, "cure": check.cure, **check.facts} for check in found
        }
        print_json({"healthy": code == 0, "checks": told}, _plain)
    else:
        _show_checks(render.console(sys.stdout), found)
        if any(check.mend for check in found):
            say("`septet doctor --fix` mends what it can")
    if code:
        raise typer.Exit(code)


def _mended(found: Sequence[Check]) -> bool:
    """Mend what can be, say what was done, and say whether there was anything to do."""
    from septet.errors import SeptetError

    for check in found:
        if check.mend is not None:
            try:
                say(f"{check.name}: {check.mend()}")
            except (SeptetError, OSError) as fault:
                say(f"{check.name} could not be mended: {fault}")
    return any(check.mend is not None for check in found)


def _told(report: EmbedReport) -> str:
    texts = f"{report.embedded + report.cached:,} texts" if report.embedded + report.cached != 1 else "1 text"
    of_them = f" ({report.cached:,} from the cache)" if report.cached else ""
    left = f"{report.missing:,} still lack a vector" if report.missing else "none lacks a vector"
    length = f" ({report.dimensions} dimensions)" if report.dimensions else ""
    return f"embedded {texts}{of_them} with {report.model}{length}; {left}"


def _show_models(out: Screen, found: Catalogue) -> None:
    from septet.cli.screen import Line

    out.print(Line(sentence(f"Used here: {found.used or 'none'} ({found.why})"), "bold"))
    out.print(Line("\nLocal models", "bold"))
    for one in found.local:
        dimensions = f"{one.dimensions} dimensions, " if one.dimensions else ""
        out.print(
            Line(
                "  "
                + flat(f"{one.model or one.name:28}").ljust(28)
                + " "
                + flat(f"{dimensions}{one.fault or one.source}")
            )
        )
    if not found.local:
        out.print(Line(f"  none: {found.no_local}"))
    out.print(Line("\nProviders", "bold"))
    for each in found.providers:
        out.print(Line(f"  {each.provider:18} {each.key}"))
        for model, length in each.models.items():
            said = f"{length} dimensions" + (", the default" if model == each.default else "")
            out.print(Line(f"    {model:26} {said}", "dim"))


_STYLES = {"ok": "green", "fault": "red", "none": "dim"}
_MARKS = {"ok": "ok", "fault": "FAULT", "none": "-"}


def _show_checks(out: Screen, found: list[Check]) -> None:
    from septet.cli.screen import Line

    for check in found:
        line = Line(f"{check.name:14}").append(f"{_MARKS[check.state]:7}", _STYLES[check.state])
        cure = f" (--fix: {check.cure})" if check.cure else ""
        out.print(line.append(sentence(check.said) + cure))


def _plain(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
