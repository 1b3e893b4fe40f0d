"""Configuration file of served memories: tiers by name, a profile, an embedder.

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

#: The environment variable with the path of the file.
CONFIG_VARIABLE = "SEPTET_CONFIG"
#: Path of a vault that exists only in this process.
IN_MEMORY = ":memory:"
MOST_TIERS = 64

_PathTable = TypeVar("_PathTable", bound=BaseModel)
_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4_096)]


class _ConfigTable(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
    )


#: Tier fields that are arguments of `PostgresVault`; all tier fields for servers.
POSTGRES_FIELDS = ("timeout_s", "reads", "connections", "prepare")
_SERVER_FIELDS = ("token_env", "token_file", "vault", *POSTGRES_FIELDS)


class TierTable(_ConfigTable):
    """One tier: a vault in a file, on a PostgreSQL server, or on a server of `septet serve`.

    Names may be ``snake_case`` or ``camelCase``.

    Attributes:
        path: the vault file, relative to the configuration file. A missing one is created unless the tier is read-only.
        url: the address of a server instead of a path: ``https://`` of `septet serve`, or ``postgresql://``.
        dsn_env: the environment variable with the address of a PostgreSQL server, instead of a url.
        vault: the name of the vault on that server, unless the address ends in ``?vault=NAME``.
        token_env: the environment variable with the token of the server.
        token_file: the file with the token of the server.
        timeout_s: maximum time of a request to a server, 0.05 to 600 seconds.
        reads, connections, prepare: options of a vault on a PostgreSQL server, as for `PostgresVault`.
        recall: the option of `Vault`, for a tier with a path.
        priority: 0 to 2; None for 1.0 of ``agent``, 0.8 of ``project``, 0.6 of ``team``, 0.5 of others.
        read_only: True to refuse writes.
        optional: True to start without the tier if it cannot be opened.
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
    recall: Annotated[float, Field(gt=0, le=1, strict=False)] | None = None
    priority: Annotated[float, Field(ge=0, le=2, strict=False)] | None = None
    read_only: bool = False
    optional: bool = False

    @model_validator(mode="after")
    def _one_place(self) -> TierTable:
        if [self.path, self.url, self.dsn_env].count(None) != 2:
            raise ValueError("wanted one of path, url and dsn_env")
        if self.recall is not None and self.path is None:
            raise ValueError("recall belongs to a tier with a path")
        postgres = self.dsn_env is not None or is_dsn(self.url)
        if self.url is not None and not postgres and not self.url.startswith(("http://", "https://")):
            raise ValueError("url must begin with https://, http:// or postgresql://")
        server_fields = {name for name in _SERVER_FIELDS if getattr(self, name) is not None}
        if self.path is not None and server_fields:
            raise ValueError(f"{min(server_fields)} belongs to a tier with a url")
        if postgres and (tokens := server_fields & {"token_env", "token_file"}):
            raise ValueError(f"{min(tokens)} belongs to a tier with an https:// address")
        if not postgres and (postgres_fields := server_fields & {"vault", "reads", "connections", "prepare"}):
            raise ValueError(f"{min(postgres_fields)} belongs to a tier with a postgresql:// address")
        if server_fields >= {"token_env", "token_file"}:
            raise ValueError("wanted either token_env or token_file")
        return self

    @property
    def place(self) -> str:
        """The path or address of the tier, without a password."""
        if self.path is not None:
            return self.path
        if self.dsn_env is not None:
            return f"${self.dsn_env}"
        return without_passwords(str(self.url))


class ExternalTable(_ConfigTable):
    """An external memory that is searched before the vault (see `ExternalFirst`): a server like `septet serve`.

    Attributes:
        url: its address, ``https://`` or ``http://``.
        name: its name in hits and notes.
        token_env: the environment variable with its token.
        token_file: the file with its token.
        timeout_s: maximum time that a search waits for it, 0.05 to 600 seconds; None for 4.
        rest_s: pause after its first failure, 0 to 86,400 seconds; None for 1.
    """

    url: _Text
    name: Annotated[str, Field(min_length=1, max_length=256)] = "external"
    token_env: _Text | None = None
    token_file: _Text | None = None
    timeout_s: Annotated[float, Field(ge=0.05, le=600, strict=False)] | None = None
    rest_s: Annotated[float, Field(ge=0, le=86_400, strict=False)] | None = None

    @model_validator(mode="after")
    def _http_url(self) -> ExternalTable:
        if not self.url.startswith(("http://", "https://")):
            raise ValueError("url must begin with https:// or http://")
        if self.token_env is not None and self.token_file is not None:
            raise ValueError("wanted either token_env or token_file")
        return self


class _File(_ConfigTable):
    tiers: Annotated[dict[str, TierTable], Field(min_length=1, max_length=MOST_TIERS)]
    external: ExternalTable | None = None
    profile: str | dict[str, Any] | None = None


class Configuration(NamedTuple):
    """The memory to open.

    Attributes:
        tiers: the tiers by name.
        profile: the ranking profile: a built-in one, a file, or a table; None for the default.
        embedding: the embedder; None if the file has no ``embedding``.
        source: the configuration file; None for discovered tiers.
        retrieval: the settings of `septet retrieve`; None for the default.
        external: the memory that is searched first; None without one.
    """

    tiers: Mapping[str, TierTable]
    profile: str | dict[str, Any] | None = None
    embedding: EmbeddingConfig | None = None
    source: Path | None = None
    retrieval: RetrievalConfig | None = None
    external: ExternalTable | None = None


def configuration(named: str | os.PathLike[str] | None = None, *, here: Path | None = None) -> Configuration:
    """Return the configuration of a named file, else of the file in ``SEPTET_CONFIG``, else of the user.

    The user's file is ``$XDG_CONFIG_HOME/septet/config.toml`` (or .yaml, .json) if it has ``tiers``. Without a file,
    the tiers are those of `discovered`.

    Args:
        named: the path of the file.
        here: the folder of the project; None for the current one.

    Raises:
        TierError: a file cannot be read or is malformed; the message names it and the field.
        EmbeddingConfigError: its block ``embedding`` is malformed.
    """
    source = named if named is not None else os.environ.get(CONFIG_VARIABLE, "").strip()
    if source:
        return configuration_of(source)
    path = _users_file()
    if path is not None and "tiers" in read_settings(path, TierError):
        return configuration_of(path)
    config = discovered(Path.cwd() if here is None else here)
    return config._replace(retrieval=users_retrieval(), external=users_external())


def users_retrieval() -> RetrievalConfig | None:
    """Return the retrieval settings of the user's file; None if it has none.

    Raises:
        ProfileError: the file cannot be read, or a retrieval block is malformed.
    """
    path = _users_file()
    return None if path is None else _retrieval(path, blocks_of_retrieval(read_settings(path, ProfileError)))


def users_external() -> ExternalTable | None:
    """Return the external memory of the user's file; None if it has none.

    Raises:
        TierError: the file cannot be read, or the block is malformed.
    """
    path = _users_file()
    block = None if path is None else read_settings(path, TierError).get("external")
    if path is None or block is None:
        return None
    try:
        return _resolved_paths(path, ExternalTable.model_validate(block))
    except ValidationError as fault:
        raise error_of(fault, ExternalTable, f"{path}: external", TierError) from None


def _users_file() -> Path | None:
    files = (config_folder() / f"config{suffix}" for suffix in SUFFIXES)
    return next((path for path in files if path.is_file()), None)


def discovered(here: Path) -> Configuration:
    """Return the default tiers that exist: ``agent``, the user's, and ``project``, the nearest vault above ``here``.

    A tier ``team`` belongs to others and must be configured.
    """
    tiers = {"agent": TierTable(path=str(default_vault()))}
    if (project := project_vault(here)) is not None:
        tiers["project"] = TierTable(path=str(project))
    return Configuration(tiers=tiers)


def configuration_of(named: str | os.PathLike[str]) -> Configuration:
    """Return the configuration of a file; its paths are relative to its folder, and ``~`` is the home folder.

    Raises:
        TierError: it cannot be read or is malformed; the message names it and the field, never a value.
        EmbeddingConfigError: its block ``embedding`` is malformed.
        ProfileError: a retrieval block is malformed.
    """
    path = expanded(Path(named)).absolute()
    data = dict(read_settings(path, TierError))
    blocks = blocks_of_retrieval(data)
    retrieval = _retrieval(path, blocks)
    for name in blocks:
        del data[name]
    if "tiers" not in data and (blocks or "external" in data):
        # Files for `septet retrieve` name no tiers: use the discovered ones.
        data["tiers"] = {name: {"path": tier.path} for name, tier in discovered(Path.cwd()).tiers.items()}
    if "tiers" not in data:
        raise TierError(f'{path} has no tiers: add one, such as [tiers.agent] with path = "vault.db"')
    embedding = data.pop("embedding", None)
    try:
        file = _File.model_validate(data)
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_context=False)[0]
        block = first["loc"][0] if len(first["loc"]) > 1 else None
        tables: dict[Any, type[BaseModel]] = {"tiers": TierTable, "external": ExternalTable}
        table = tables.get(block, _File)
        raise error_of(fault, table, str(path), TierError) from None
    tiers = {name: _resolved_paths(path, tier) for name, tier in file.tiers.items()}
    external = file.external and _resolved_paths(path, file.external)
    profile = file.profile
    if isinstance(profile, str) and profile not in BUILTIN and Path(profile).suffix in SUFFIXES:
        profile = _resolved(path, profile)
    return Configuration(tiers, profile, _embedding(path, embedding), path, retrieval, external)


def _resolved_paths(path: Path, table: _PathTable) -> _PathTable:
    """Return a table with its paths resolved against the folder of the configuration file."""
    named = {field: getattr(table, field, None) for field in ("path", "token_file")}
    resolved = {field: _resolved(path, value) for field, value in named.items() if value is not None}
    return table.model_copy(update=resolved)


def _resolved(path: Path, named: str) -> str:
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
        # ``model_path`` of a local model may also be a package name.
        beside = {name: str(path.parent / str(block[name])) for name in ("model_path", "modelPath") if name in block}
        block = {**block, **{name: inside for name, inside in beside.items() if Path(inside).is_dir()}}
    try:
        return config_of(block)
    except EmbeddingConfigError as fault:
        raise EmbeddingConfigError(f"{path}: {fault}") from None
