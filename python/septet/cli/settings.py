"""Which embedder the command line uses: where its configuration is found, and what the options change in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from septet.cli.places import EMBEDDING_VARIABLE, cache_folder, config_folder, shown
from septet.embedding.config import EmbeddingConfig, config_of
from septet.errors import EmbeddingConfigError

__all__ = ["Settings", "cache_file", "default_files", "find"]

_SUFFIXES = (".toml", ".yaml", ".yml", ".json")

#: What belongs to a model: another one does not keep it.
_OF_A_MODEL = frozenset({"model", "model_path", "dimensions", "fallback", "query_prefix", "document_prefix"})


@dataclass(frozen=True, slots=True)
class Settings:
    """An embedding configuration, and where it stands.

    Attributes:
        source: ``--embedding``, ``SEPTET_EMBEDDING``, ``--provider`` or a file as a shell takes it; None when nothing
            is configured.
    """

    config: EmbeddingConfig
    source: str | None

    @property
    def embedder(self) -> dict[str, Any]:
        """What a vault is opened with; nothing when nothing is to be embedded."""
        if self.config.provider == "none":
            return {}
        return {"embedder": self.config, "embedding_cache": cache_file()}

    def but(self, provider: str | None, model: str | None) -> Settings:
        """Return the settings with another provider or model.

        Raises:
            EmbeddingConfigError: an unknown provider, or a model without a provider.
        """
        if provider is None and model is None:
            return self
        named = config_of({"provider": provider}).provider if provider is not None else self.config.provider
        if named in ("none", "auto") and model is not None:
            raise EmbeddingConfigError(f"--model {model}: say whose it is with --provider")
        fields: dict[str, Any] = {"provider": named}
        if named == self.config.provider:
            dropped = _OF_A_MODEL if model is not None else frozenset()
            fields |= {name: getattr(self.config, name) for name in self.config.model_fields_set - dropped}
        if model is not None:
            fields["model"] = model
        return replace(self, config=config_of(fields), source=self.source if provider is None else "--provider")


def find(named: str | None, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings that hold: those of the option, else of ``SEPTET_EMBEDDING``, else of the user's file.

    Raises:
        EmbeddingConfigError: they cannot be read or understood.
    """
    env = os.environ if environment is None else environment
    for given, source in ((named, "--embedding"), (env.get(EMBEDDING_VARIABLE, "").strip(), EMBEDDING_VARIABLE)):
        if given:
            path = Path(given).expanduser()
            return Settings(config_of(path if path.suffix in _SUFFIXES else given), source)
    for path in default_files():
        if path.is_file():
            return Settings(config_of(path), shown(path))
    return Settings(EmbeddingConfig(), None)


def default_files() -> list[Path]:
    """Return where the user's file is looked for, in order: ``$XDG_CONFIG_HOME/septet/config.toml`` and others."""
    return [config_folder() / f"config{suffix}" for suffix in _SUFFIXES]


def cache_file() -> Path:
    """Return the cache of all of a user's vaults, ``$XDG_CACHE_HOME/septet/embeddings.db``; its folder is made."""
    path = cache_folder() / "embeddings.db"
    with suppress(OSError):
        # A cache saves calls, and nothing depends on it: it says itself when its file cannot be used.
        path.parent.mkdir(parents=True, exist_ok=True)
    return path
