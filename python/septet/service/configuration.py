"""What is served, as a file says it: tiers by name, a profile, an embedder.

::

    profile = "septet"

    [tiers.agent]
    path = "~/.local/share/septet/vault.db"

    [tiers.team]
    url = "https://memory.example.org"
    token_env = "TEAM_TOKEN"
    read_only = true
    optional = true

    [tiers.company]
    url = "postgresql://reader@db.example.org/knowledge"
    vault = "company"

    [external]
    url = "https://search.example.org"

    [embedding]
    provider = "openai"
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from septet.embedding.config import EmbeddingConfig, config_of, error_of
from septet.errors import EmbeddingConfigError, ProfileError, TierError
from septet.inputs.documents import SUFFIXES, read_settings
from septet.postgres.store.dsn import is_dsn, without_passwords
from septet.profiles.builtin import BUILTIN
from septet.retrieval.config import RetrievalConfig, blocks_of_retrieval, retrieval_config
from septet.service.places import config_folder, default_vault, expanded, project_vault

__all__ = [
    "CONFIG_VARIABLE",
    "OF_POSTGRES",
    "Configuration",
    "ExternalTable",
    "TierTable",
    "configuration",
    "configuration_of",
    "discovered",
    "users_external",
    "users_retrieval",
]

#: The environment variable that names the file.
CONFIG_VARIABLE = "SEPTET_CONFIG"
#: What a path says for a vault that lives as long as the process.
IN_MEMORY = ":memory:"
MOST_TIERS = 64

_Placed = TypeVar("_Placed", bound=BaseModel)
_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4_096)]


class _Table(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
    )


#: Fields of tiers that are arguments of `PostgresVault`; and all of those on servers.
OF_POSTGRES = ("timeout_s", "reads", "connections", "prepare")
_OF_SERVERS = ("token_env", "token_file", "vault", *OF_POSTGRES)


class TierTable(_Table):
    """One tier: a vault in a file, on a PostgreSQL server, or behind `septet serve`.

    Names may be ``snake_case`` or ``camelCase``.

    Attributes:
        path: the file, relative to that of the configuration. It is created when it is missing, unless it is for
            reading only.
        url: the address of a server, in the place of a path: ``https://`` of `septet serve`, or ``postgresql://``.
        dsn_env: the environment variable with the address of a PostgreSQL server, in the place of a url.
        vault: the name of the vault there, unless the address ends in ``?vault=NAME``.
        token_env: the environment variable with the token of that server.
        token_file: the file with that token.
        timeout_s: how long a request to a server takes at most, 0.05 to 600 seconds.
        reads, connections, prepare: of a vault on a PostgreSQL server, as for `PostgresVault`.
        priority: 0 to 2; None for 1.0 of ``agent``, 0.8 of ``project``, 0.6 of ``team``, 0.5 of others.
        read_only: nothing is written to it.
        optional: start without it when it cannot be opened.
    """

    path: _Text | None = None
    url: _Text | None = None
    dsn_env: _Text | None = None
    vault: _Text | None = None
    token_env: _Text | None = None
    token_file: _Text | None = None
    timeout_s: Annotated[float, Field(ge=0.05, le=600, strict=False)] | None = None
    reads: Literal["any", "primary", "prefer-standby"] | None = None
    connections: Annotated[int, Field(ge=1, le=1_000)] | None = None
    prepare: bool | None = None
    priority: Annotated[float, Field(ge=0, le=2, strict=False)] | None = None
    read_only: bool = False
    optional: bool = False

    @model_validator(mode="after")
    def _one_place(self) -> TierTable:
        if [self.path, self.url, self.dsn_env].count(None) != 2:
            raise ValueError("wanted one of path, url and dsn_env")
        postgres = self.dsn_env is not None or is_dsn(self.url)
        if self.url is not None and not postgres and not self.url.startswith(("http://", "https://")):
            raise ValueError("url must begin with https://, http:// or postgresql://")
        given = {name for name in _OF_SERVERS if getattr(self, name) is not None}
        if self.path is not None and given:
            raise ValueError(f"{min(given)} belongs to a tier with a url")
        if postgres and (tokens := given & {"token_env", "token_file"}):
            raise ValueError(f"{min(tokens)} belongs to a tier with an https:// address")
        if not postgres and (own := given & {"vault", "reads", "connections", "prepare"}):
            raise ValueError(f"{min(own)} belongs to a tier with a postgresql:// address")
        if given >= {"token_env", "token_file"}:
            raise ValueError("wanted either token_env or token_file")
        return self

    @property
    def place(self) -> str:
        """Where it is, as it may be shown: without a password."""
        if self.path is not None:
            return self.path
        if self.dsn_env is not None:
            return f"${self.dsn_env}"
        return without_passwords(str(self.url))


class ExternalTable(_Table):
    """A memory that searches ask first, as `ExternalFirst` does: a server that answers as `septet serve`.

    Attributes:
        url: its address, ``https://`` or ``http://``.
        name: what hits and notes call it.
        token_env: the environment variable with its token.
        token_file: the file with its token.
        timeout_s: how long a search waits for it, 0.05 to 600 seconds; None for 4.
        rest_s: how long it rests after its first failure, 0 to 86,400 seconds; None for 1.
    """

    url: _Text
    name: Annotated[str, Field(min_length=1, max_length=256)] = "external"
    token_env: _Text | None = None
    token_file: _Text | None = None
    timeout_s: Annotated[float, Field(ge=0.05, le=600, strict=False)] | None = None
    rest_s: Annotated[float, Field(ge=0, le=86_400, strict=False)] | None = None

    @property
    def server(self) -> TierTable:
        """The server, as a tier would have it."""
        return TierTable(
            url=self.url,
            token_env=self.token_env,
            token_file=self.token_file,
            timeout_s=self.timeout_s,
            read_only=True,
        )

    @model_validator(mode="after")
    def _a_server(self) -> ExternalTable:
        if not self.url.startswith(("http://", "https://")):
            raise ValueError("url must begin with https:// or http://")
        if self.token_env is not None and self.token_file is not None:
            raise ValueError("wanted either token_env or token_file")
        return self


class _File(_Table):
    tiers: Annotated[dict[str, TierTable], Field(min_length=1, max_length=MOST_TIERS)]
    external: ExternalTable | None = None
    profile: str | dict[str, Any] | None = None


class Configuration(NamedTuple):
    """What to open.

    Attributes:
        tiers: by name.
        profile: how searches rank: a built-in profile, a file, or a table; None for the default.
        embedding: the embedder; None where the file says nothing of it.
        source: the file that says so; None for what was discovered.
        retrieval: how several corpora are asked, as `septet retrieve` reads it too; None for the default.
        external: what searches ask first; None for nothing.
    """

    tiers: Mapping[str, TierTable]
    profile: str | dict[str, Any] | None = None
    embedding: EmbeddingConfig | None = None
    source: Path | None = None
    retrieval: RetrievalConfig | None = None
    external: ExternalTable | None = None


def configuration(named: str | os.PathLike[str] | None = None, *, here: Path | None = None) -> Configuration:
    """Return what to open: as a file says that is named here, else in ``SEPTET_CONFIG``, else the user's.

    The user's is ``$XDG_CONFIG_HOME/septet/config.toml`` (or .yaml, .json) if it has ``tiers``. Without any, it is what
    `discovered` finds.

    Args:
        here: the folder whose project is meant; None for the current one.

    Raises:
        TierError: a file cannot be read or is malformed; the message names it and the field.
        EmbeddingConfigError: its block ``embedding`` is.
    """
    given = named if named is not None else os.environ.get(CONFIG_VARIABLE, "").strip()
    if given:
        return configuration_of(given)
    path = _users_file()
    if path is not None and "tiers" in read_settings(path, TierError):
        return configuration_of(path)
    found = discovered(Path.cwd() if here is None else here)
    return found._replace(retrieval=users_retrieval(), external=users_external())


def users_retrieval() -> RetrievalConfig | None:
    """Return how the user's file says that several corpora are asked; None where it says nothing of it.

    Raises:
        ProfileError: the file cannot be read, or a block of a retrieval is malformed.
    """
    path = _users_file()
    return None if path is None else _retrieval(path, blocks_of_retrieval(read_settings(path, ProfileError)))


def users_external() -> ExternalTable | None:
    """Return what the user's file says that searches ask first; None where it says nothing of it.

    Raises:
        TierError: the file cannot be read, or the block is malformed.
    """
    path = _users_file()
    given = None if path is None else read_settings(path, TierError).get("external")
    if path is None or given is None:
        return None
    try:
        return _placed(path, ExternalTable.model_validate(given))
    except ValidationError as fault:
        raise error_of(fault, ExternalTable, f"{path}: external", TierError) from None


def _users_file() -> Path | None:
    files = (config_folder() / f"config{suffix}" for suffix in SUFFIXES)
    return next((path for path in files if path.is_file()), None)


def discovered(here: Path) -> Configuration:
    """Return the documented tiers that can be found: ``agent``, the user's vault, and ``project``, the nearest above.

    A tier ``team`` is somebody else's and has to be configured.
    """
    tiers = {"agent": TierTable(path=str(default_vault()))}
    if (project := project_vault(here)) is not None:
        tiers["project"] = TierTable(path=str(project))
    return Configuration(tiers=tiers)


def configuration_of(named: str | os.PathLike[str]) -> Configuration:
    """Return what a file says; its paths are relative to its folder, and ``~`` is the home folder.

    Raises:
        TierError: it cannot be read or is malformed; the message names it and the field, never its value.
        EmbeddingConfigError: its block ``embedding`` is.
        ProfileError: a block of its retrieval is.
    """
    path = expanded(Path(named)).absolute()
    data = dict(read_settings(path, TierError))
    blocks = blocks_of_retrieval(data)
    retrieval = _retrieval(path, blocks)
    for name in blocks:
        del data[name]
    if "tiers" not in data and (blocks or "external" in data):
        # What `septet retrieve` reads names no tiers: they are found as without a file.
        data["tiers"] = {name: {"path": one.path} for name, one in discovered(Path.cwd()).tiers.items()}
    if "tiers" not in data:
        raise TierError(f'{path} has no tiers: name at least one, as [tiers.agent] with path = "vault.db"')
    embedding = data.pop("embedding", None)
    try:
        found = _File.model_validate(data)
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_context=False)[0]
        block = first["loc"][0] if len(first["loc"]) > 1 else None
        tables: dict[Any, type[BaseModel]] = {"tiers": TierTable, "external": ExternalTable}
        table = tables.get(block, _File)
        raise error_of(fault, table, str(path), TierError) from None
    tiers = {name: _placed(path, tier) for name, tier in found.tiers.items()}
    external = found.external and _placed(path, found.external)
    profile = found.profile
    if isinstance(profile, str) and profile not in BUILTIN and Path(profile).suffix in SUFFIXES:
        profile = _beside(path, profile)
    return Configuration(tiers, profile, _embedding(path, embedding), path, retrieval, external)


def _placed(path: Path, table: _Placed) -> _Placed:
    """Return a table whose files lie beside that of the configuration."""
    named = {field: getattr(table, field, None) for field in ("path", "token_file")}
    return table.model_copy(update={field: _beside(path, value) for field, value in named.items() if value is not None})


def _beside(path: Path, named: str) -> str:
    return named if named == IN_MEMORY else str(path.parent / expanded(Path(named)))


def _retrieval(path: Path, blocks: Mapping[str, Any]) -> RetrievalConfig | None:
    if not blocks:
        return None
    try:
        return retrieval_config({"retrieval": None, **blocks})
    except ProfileError as fault:
        raise ProfileError(f"{path}: {fault}") from None


def _embedding(path: Path, block: Any) -> EmbeddingConfig | None:
    if block is None:
        return None
    if isinstance(block, Mapping):
        # A local model may be the name of a package too.
        beside = {name: str(path.parent / str(block[name])) for name in ("model_path", "modelPath") if name in block}
        block = {**block, **{name: inside for name, inside in beside.items() if Path(inside).is_dir()}}
    try:
        return config_of(block)
    except EmbeddingConfigError as fault:
        raise EmbeddingConfigError(f"{path}: {fault}") from None
