"""The embedder of the command line: its configuration and options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from septet.cli.places import EMBEDDING_VARIABLE, shown
from septet.errors import EmbeddingConfigError
from septet.service.places import cache_file, config_folder, expanded

if TYPE_CHECKING:
    from septet.embedding.config import EmbeddingConfig

_SUFFIXES = (".toml", ".yaml", ".yml", ".json")

#: Fields that belong to a model: they are dropped when the model changes.
_OF_A_MODEL = frozenset({"model", "model_path", "dimensions", "fallback", "query_prefix", "document_prefix"})


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
        """Return the settings with another provider or model.

        Raises:
            EmbeddingConfigError: an unknown provider, or a model without a provider.
        """
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


def find(named: str | None, environment: Mapping[str, str] | None = None) -> EmbeddingSettings:
    """Return the settings of the option, else of ``SEPTET_EMBEDDING``, else of the user's file.

    Raises:
        EmbeddingConfigError: the configuration cannot be read or is malformed.
    """
    env = os.environ if environment is None else environment
    for name, source in ((named, "--embedding"), (env.get(EMBEDDING_VARIABLE, "").strip(), EMBEDDING_VARIABLE)):
        if name:
            from septet.embedding.config import config_of

            path = expanded(Path(name))
            return EmbeddingSettings(config_of(path if path.suffix in _SUFFIXES else name), source)
    for path in default_files():
        if path.is_file():
            from septet.embedding.config import config_of

            return EmbeddingSettings(config_of(path), shown(path))
    return EmbeddingSettings(None, None)


def default_files() -> list[Path]:
    """Return the possible paths of the user's file, in order: ``$XDG_CONFIG_HOME/septet/config.toml`` and others."""
    return [config_folder() / f"config{suffix}" for suffix in _SUFFIXES]
