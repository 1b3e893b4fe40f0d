"""The vault and the embedder of a command: paths, configuration and opening."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from septet.errors import EmbeddingConfigError, QueryError, StoreError
from septet.service.places import cache_file, cache_folder, config_folder, default_vault, expanded, make_folder
from septet.system.records import dataclass
from septet.system.session import session

if TYPE_CHECKING:
    from septet.embedding.config import EmbeddingConfig
    from septet.service.places import VaultPlace

#: The environment variable that names the configuration of the embedder.
EMBEDDING_VARIABLE = "SEPTET_EMBEDDING"
_SUFFIXES = (".toml", ".yaml", ".yml", ".json")

#: Returns a path quoted for a shell.
shown = session.shown
#: Fields that belong to a model: they are dropped when the model changes.
_OF_A_MODEL = frozenset({"model", "model_path", "dimensions", "fallback", "query_prefix", "document_prefix"})


def demo_vault() -> Path:
    """Return the vault of the demo: ``stdlib-3.x.db`` in the folder of caches."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return cache_folder() / f"stdlib-{version}.db"


def existing(place: VaultPlace | None, *, read_only: bool = True, **embedding: Any) -> Any:
    """Open an existing vault, in a file or on a server; None for the user's own vault (`StoreError`)."""
    from septet.postgres.store.dsn import check_file, is_dsn
    from septet.service.places import open_vault

    if is_dsn(place):
        return open_vault(str(place), read_only=read_only, **embedding)
    path = Path(check_file(str(place or default_vault())))
    if not path.exists():
        example = demo_vault()
        demo = f"the demo left one at {shown(example)}" if example.exists() else "`septet demo` creates one to try"
        raise StoreError(
            f"there is no vault at {shown(path)}: create one with `septet add`, `septet import` or `septet sync`, "
            f"or name another with --vault FILE; {demo}"
        )
    return open_vault(path, read_only=read_only, **embedding)


def file_only(place: VaultPlace | None, command: str, why: str) -> Path | None:
    """Return the file of a vault; ``why`` is the reason and an alternative if it is on a server (`QueryError`)."""
    from septet.postgres.store.dsn import is_dsn

    if is_dsn(place):
        raise QueryError(f"`septet {command}` requires a vault in a file: {why}")
    return None if place is None else Path(place)


@contextmanager
def writable(place: VaultPlace | None, **embedding: Any) -> Iterator[Any]:
    """Open a vault for writing; create it and its folder if missing (`StoreError`).

    Removes a new file if the command fails before it stores anything.
    """
    from septet.postgres.store.dsn import check_file, is_dsn
    from septet.service.places import open_vault

    if is_dsn(place):
        with open_vault(str(place), **embedding) as remote:
            yield remote
        return
    path = Path(check_file(str(place or default_vault())))
    new = not path.exists()
    make_folder(path)
    with open_vault(path, **embedding) as vault:
        try:
            yield vault
        except BaseException:
            empty = new and vault.stats().generation == 0
            vault.close()
            if empty:
                path.unlink(missing_ok=True)
            raise


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """An embedding configuration and its source.

    Attributes:
        configured: the configuration; None if nothing is configured.
        source: ``--embedding``, ``SEPTET_EMBEDDING``, ``--provider``, or the path of a file, quoted for a shell; None
            if nothing is configured.
    """

    configured: EmbeddingConfig | None
    source: str | None

    @property
    def config(self) -> EmbeddingConfig:
        """The configuration, or an empty one, which embeds nothing."""
        if self.configured is not None:
            return self.configured
        from septet.embedding.config import EmbeddingConfig

        return EmbeddingConfig()

    @property
    def embedder(self) -> dict[str, Any]:
        """The embedder arguments of `Vault`; empty without an embedder."""
        if self.configured is None or (self.config.provider == "none" and self.config.without_provider is None):
            return {}
        return {"embedder": self.config, "embedding_cache": cache_file()}

    def but(self, provider: str | None, model: str | None) -> EmbeddingSettings:
        """Return the settings with another provider or model (`EmbeddingConfigError`)."""
        if provider is None and model is None:
            return self
        from septet.embedding.config import config_of

        chosen = config_of({"provider": provider}).provider if provider is not None else self.config.provider
        if chosen in ("none", "auto") and model is not None:
            raise EmbeddingConfigError(f"--model {model}: name its provider with --provider")
        fields: dict[str, Any] = {"provider": chosen}
        if chosen == self.config.provider:
            dropped = _OF_A_MODEL if model is not None else frozenset()
            fields |= {name: getattr(self.config, name) for name in self.config.model_fields_set - dropped}
        if model is not None:
            fields["model"] = model
        return replace(self, configured=config_of(fields), source=self.source if provider is None else "--provider")


def find_embedding(named: str | None, environment: Mapping[str, str] | None = None) -> EmbeddingSettings:
    """Return the settings of the option, of ``SEPTET_EMBEDDING``, or of the user's file (`EmbeddingConfigError`)."""
    env = os.environ if environment is None else environment
    name, source = named, "--embedding"
    if not name:
        name, source = env.get(EMBEDDING_VARIABLE, "").strip(), EMBEDDING_VARIABLE
    path = expanded(Path(name)) if name else next((path for path in default_files() if path.is_file()), None)
    if path is None:
        return EmbeddingSettings(None, None)
    from septet.embedding.config import config_of

    if not name:
        return EmbeddingSettings(config_of(path), shown(path))
    return EmbeddingSettings(config_of(path if path.suffix in _SUFFIXES else name), source)


def default_files() -> list[Path]:
    """Return the possible paths of the user's file, in order: ``config.toml`` and others."""
    return [config_folder() / f"config{suffix}" for suffix in _SUFFIXES]
