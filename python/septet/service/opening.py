"""Opens the memory to serve: one vault, or the tiers of a configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from septet.errors import ReadOnly, SeptetError, TierError
from septet.federation import Federation
from septet.inputs.arguments import shown
from septet.inputs.documents import Unreadable, read_bytes
from septet.postgres.store.dsn import is_dsn
from septet.service.configuration import (
    IN_MEMORY,
    POSTGRES_FIELDS,
    Configuration,
    ExternalTable,
    TierTable,
    configuration,
    users_external,
    users_retrieval,
)
from septet.service.operations import OPERATIONS
from septet.service.places import VaultPlace, cache_file, expanded, make_folder, open_vault
from septet.service.served import Served
from septet.watch.log import WARNING, say

if TYPE_CHECKING:
    from septet.client import Client
    from septet.client.external import ExternalFirst
    from septet.postgres.vault import PostgresVault
    from septet.profiles import ProfileLike
    from septet.service.running import Memory
    from septet.vault import Vault

#: Maximum size of a token, in bytes.
MOST_TOKEN_BYTES = 4_096


@contextmanager
def opened(
    vault: VaultPlace | None = None,
    config: str | os.PathLike[str] | Configuration | None = None,
    *,
    read_only: bool = False,
    profile: ProfileLike | None = None,
    embedder: Mapping[str, Any] | None = None,
    default_embedder: Mapping[str, Any] | None = None,
    automatic: bool = True,
    max_workers: int | None = None,
) -> Iterator[Served]:
    """Open one vault, or the tiers of a configuration; close them at the end of the ``with`` block.

    Args:
        vault: the one vault: its file, or the address of a PostgreSQL server with ``?vault=NAME``. A missing vault is
            created, a file with its folder, unless ``read_only``.
        config: a configuration, or its file; without both, the result of `configuration`.
        read_only: True to refuse writes.
        profile: the ranking profile; None for that of the configuration.
        embedder: the embedding arguments of `Vault`, instead of those of the configuration.
        default_embedder: the same, for a configuration without embedding.
        automatic: True to embed new texts in the background, unless the configuration of the embedder refuses it.
        max_workers: maximum number of threads, as for `AsyncVault`.

    Raises:
        TierError: both a vault and a configuration are given, or the configuration is malformed.
        SeptetError: a vault cannot be opened; the message names the tier.
    """
    if vault is not None and config is not None:
        raise TierError("both a vault and a configuration are given: pass one of them")
    with ExitStack() as stack:
        memory: Memory
        left_out: list[str] = []
        if vault is not None:
            more = _embedding_arguments(default_embedder if embedder is None else embedder, automatic)
            memory = _vault(stack, vault, read_only, {**more, **_profile_argument(profile)})
            retrieval, external = users_retrieval(), users_external()
        else:
            settings = config if isinstance(config, Configuration) else configuration(config)
            chosen = _embedder(settings, default_embedder) if embedder is None else embedder
            more = _embedding_arguments(chosen, automatic)
            tiers = _tiers(stack, settings, read_only, more, left_out)
            weights = {name: p for name in tiers if (p := settings.tiers[name].priority) is not None}
            memory = stack.enter_context(Federation(tiers, weights, **_profile_argument(profile or settings.profile)))
            retrieval, external = settings.retrieval, settings.external
        first = None if external is None else _external(stack, external, memory)
        served = Served(memory, writable=not read_only, max_workers=max_workers, retrieval=retrieval, first=first)
        served.left_out = tuple(left_out)
        stack.callback(served.close)
        yield served


def _profile_argument(profile: Any) -> dict[str, Any]:
    return {} if profile is None else {"profile": profile}


def _embedding_arguments(embedder: Mapping[str, Any] | None, automatic: bool) -> Mapping[str, Any]:
    """Return the embedding arguments, without background embedding unless ``automatic``."""
    if automatic or not embedder:
        return embedder or {}
    from septet.embedding.options import EmbeddingOptions

    return {**embedder, "embedding_options": EmbeddingOptions(automatic=False)}


def _embedder(config: Configuration, default: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if config.embedding is None:
        return default
    if config.embedding.provider == "none" and config.embedding.without_provider is None:
        return {}
    return {"embedder": config.embedding, "embedding_cache": cache_file()}


def _tiers(
    stack: ExitStack, config: Configuration, read_only: bool, embedder: Mapping[str, Any], left_out: list[str]
) -> dict[str, Any]:
    """Open the tiers; an optional tier that fails is logged, added to ``left_out`` with the reason, and skipped."""
    tiers: dict[str, Any] = {}
    failure: SeptetError | None = None
    for name, table in config.tiers.items():
        try:
            tiers[name] = _tier(stack, table, read_only or table.read_only, embedder)
        except SeptetError as fault:
            where = f" of {config.source}" if config.source is not None else ""
            # Change the message only: the class and its code stay.
            fault.args = (f"tier {shown(name)}{where}: {fault}",)
            if not table.optional:
                raise
            failure = failure or fault
            say("service", WARNING, "%s; the tier is optional and skipped", fault)
            left_out.append(str(fault))
    if not tiers and failure is not None:
        raise failure
    return tiers


def _tier(stack: ExitStack, table: TierTable, read_only: bool, embedder: Mapping[str, Any]) -> Any:
    if table.path is not None:
        own = {} if table.recall is None else {"recall": table.recall}
        return _vault(stack, table.path, read_only, {**embedder, **own})
    dsn = _from_environment(table.dsn_env, "dsn_env") if table.dsn_env is not None else str(table.url)
    if not is_dsn(dsn):
        if table.dsn_env is not None:
            raise TierError(
                f"the environment variable {shown(table.dsn_env)} of dsn_env contains no postgresql:// address"
            )
        return _remote(stack, table, read_only)
    more = {name: value for name in POSTGRES_FIELDS if (value := getattr(table, name)) is not None}
    return _vault(stack, dsn, read_only, {**embedder, **more}, table.vault)


def _vault(
    stack: ExitStack, place: VaultPlace, read_only: bool, arguments: Mapping[str, Any], named: str | None = None
) -> Vault | PostgresVault:
    if not is_dsn(place) and str(place) != IN_MEMORY:
        place = expanded(Path(place))
        if not read_only:
            make_folder(place)
    vault = open_vault(place, read_only=read_only, named=named, **arguments)
    stack.enter_context(vault)
    return vault


def _remote(stack: ExitStack, table: TierTable | ExternalTable, read_only: bool) -> Client:
    from septet.client import Client

    kind = _read_only_class(Client) if read_only else Client
    more: dict[str, Any] = {} if table.timeout_s is None else {"timeout_s": table.timeout_s}
    return stack.enter_context(kind(str(table.url), token=_token(table), **more))


def _read_only_class(client: type[Client]) -> type[Client]:
    """Return a subclass of the client whose writing methods raise, even if the server allows writes."""

    def refusing(name: str) -> Callable[..., NoReturn]:
        def refuse(*_: object, **__: object) -> NoReturn:
            raise ReadOnly(f"{name}: this tier is read-only")

        return refuse

    writing = {name for name, item in OPERATIONS.items() if item.effect != "reads"} | {"add_many", "link_many"}
    return type(client.__name__, (client,), {name: refusing(name) for name in writing})


def _external(stack: ExitStack, table: ExternalTable, memory: Memory) -> ExternalFirst:
    from septet.client.external import ExternalFirst

    client = _remote(stack, table, read_only=True)
    names = ("timeout_s", "rest_s")
    times = {name: value for name in names if (value := getattr(table, name)) is not None}
    return ExternalFirst(
        lambda query, limit: client.search(query, limit=limit, mode="full"), memory, name=table.name, **times
    )


def _token(table: TierTable | ExternalTable) -> str | None:
    """Return the token of a tier; no message quotes it (`TierError`)."""
    if table.token_env is not None:
        return _from_environment(table.token_env, "token_env")
    if table.token_file is None:
        return None
    try:
        token = read_bytes(Path(table.token_file), MOST_TOKEN_BYTES).decode("utf-8").strip()
    except (Unreadable, UnicodeDecodeError) as fault:
        reason = fault if isinstance(fault, Unreadable) else "is not UTF-8"
        raise TierError(f"{table.token_file} of token_file {reason}") from None
    if not token:
        raise TierError(f"{table.token_file} of token_file is empty")
    return token


def _from_environment(variable: str, field: str) -> str:
    """Return the value of an environment variable; no message quotes it (`TierError`)."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise TierError(f"the environment variable {shown(variable)} of {field} is not set")
    return value
