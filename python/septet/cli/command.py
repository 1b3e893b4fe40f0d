"""The decorator of commands: adds the options that commands share, and opens the vault that they name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from septet.cli.formats import Format, FormatOption, format_of
from septet.cli.options import AsJson, ConfigFile, Embedding, TierName, VaultPath, keyword
from septet.cli.places import existing, find_embedding, writable
from septet.cli.terminal import say
from septet.errors import TierError
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from septet.notes import Note

#: Environment variables: the default vault, and the default configuration with tiers.
_VAULT_VARIABLE = "SEPTET_VAULT"
CONFIG_VARIABLE = "SEPTET_CONFIG"
#: The parameters of each group of options, with their types.
_GROUPS: Mapping[str, Mapping[str, Any]] = {
    "format": {"format": FormatOption, "as_json": AsJson},
    "json": {"as_json": AsJson},
    "tier": {"tier": TierName},
    "embedding": {"embedding": Embedding},
    "memory": {"config": ConfigFile, "vault": VaultPath},
    "vault": {"vault": VaultPath},
}


class SharedOptions(NamedTuple):
    """The options that commands share; None for those that are not given, or that a command does not offer.

    Attributes:
        named_format: the output format of --format or --json.
        tier: a tier of the configuration.
        embedding: a configuration of the embedder, or the name of a provider.
        config: a configuration with tiers.
        vault: the file or the address of a vault.
    """

    named_format: Format | None = None
    tier: str | None = None
    embedding: str | None = None
    config: Path | None = None
    vault: str | None = None

    @property
    def format(self) -> Format:
        """The output format."""
        return self.named_format or Format.table

    @property
    def as_json(self) -> bool:
        """True if the output is JSON."""
        return self.named_format is Format.json

    def embedder(self) -> dict[str, Any]:
        """Return the embedder arguments of `Vault`; empty without an embedder (`EmbeddingConfigError`)."""
        return find_embedding(self.embedding).embedder

    @contextmanager
    def memory(
        self, *, write: bool = False, create: bool = False, embeds: bool = False, close_wait_s: float | None = None
    ) -> Iterator[Any]:
        """Open a `Vault`; or a `Federation`, with ``--config``, or with ``SEPTET_CONFIG`` if no vault is named.

        With ``--tier``, the vault of that tier.

        Args:
            write: open for writing.
            create: create a missing vault.
            embeds: use the embedder named by ``--embedding``, or the configured one.
            close_wait_s: maximum wait for vectors when closing; None for the default.

        Raises:
            TierError: both a vault and a configuration are named; or the configuration is malformed, or a tier is
                named without one.
            SeptetError: a vault cannot be opened.
        """
        file = str(self.config) if self.config is not None else os.environ.get(CONFIG_VARIABLE, "").strip()
        check_one(self.vault, self.config)
        embedder: dict[str, Any] = self.embedder() if embeds else {}
        if embedder and close_wait_s is not None:
            from septet.embedding.options import EmbeddingOptions

            embedder["embedding_options"] = EmbeddingOptions(close_wait_s=close_wait_s)
        if not file or (self.config is None and self.vault is not None):
            opening = writable if create else partial(existing, read_only=not write)
            with opening(self.vault, **embedder) as opened:
                yield self.in_tier(opened)
            return
        from septet.service.opening import opened as tiers_of

        # --embedding overrides the embedder of the tiers' file; a configured embedder is only the default.
        role = "embedder" if self.embedding is not None or not embeds else "default_embedder"
        override: dict[str, Any] = {role: embedder}
        with tiers_of(None, file, read_only=not write, **override) as served:
            for why in served.left_out:
                say(f"skipped: {why}")
            yield self.in_tier(served.blocking)

    def in_tier(self, opened: Any) -> Any:
        """Return the vault of --tier; without it, what is open."""
        if self.tier is None:
            return opened
        if not hasattr(opened, "tiers"):
            raise TierError("--tier requires a configuration with tiers: name it with --config")
        return opened.tier(self.tier)


def command(
    *groups: str, options: Iterable[inspect.Parameter] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that passes a command `SharedOptions` as its first argument.

    `signed` returns the command with its signature.

    Args:
        groups: ``format`` (with ``--json``) or ``json``, ``tier``, ``embedding``, ``memory`` (``--config`` and
            ``--vault``) or ``vault``.
        options: the parameters that ``**options`` of the command stands for; they follow its arguments.
    """
    added = {name: declared for group in groups for name, declared in _GROUPS[group].items()}

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(**values: Any) -> None:
            named = {name: values.pop(name) for name in added}
            format = format_of(named.pop("format", None), named.pop("as_json", False))
            function(SharedOptions(format, **named), **values)

        run.declared = added, options  # type: ignore[attr-defined]
        return run

    return decorated


def signed(run: Any) -> Callable[..., None]:
    """Return a command with the signature from which typer makes its command line.

    The shared options are last, in the order of the groups. A module of commands pays for the commands that run.
    """
    if "declared" in vars(run) and "__signature__" not in vars(run):
        added, options = run.declared
        _, *own = inspect.signature(run.__wrapped__, eval_str=True).parameters.values()
        own = [parameter for parameter in own if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        arguments = [parameter for parameter in own if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
        shared = [keyword(name, declared, False if name == "as_json" else None) for name, declared in added.items()]
        run.__signature__ = inspect.Signature([*arguments, *options, *own[len(arguments) :], *shared])
    return cast("Callable[..., None]", run)


def check_one(vault: str | None, config: Path | None) -> None:
    """Raise `TierError` if both a vault and a configuration are named; --config overrides ``SEPTET_VAULT``."""
    if config is not None and vault is not None and str(vault) != os.environ.get(_VAULT_VARIABLE):
        raise TierError("--vault and --config: wanted either a vault or a configuration, not both")


def keep_index(opened: Any, notes: Iterable[Note]) -> None:
    """Write the index if a search of a file ran without one, for later commands."""
    if any(note.code == "index_building" for note in notes) and isinstance(path := getattr(opened, "path", None), str):
        from septet.sqlite.snapshot.optimize import keep_beside

        keep_beside(path)
