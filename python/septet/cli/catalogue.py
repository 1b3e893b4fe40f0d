"""The embedding providers and local models available on this machine, and the one in use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from septet.cli.places import EmbeddingSettings
from septet.embedding.choose import configured_models
from septet.embedding.config import EmbeddingConfig, config_of
from septet.embedding.embedder import space_name
from septet.embedding.local.folder import MODEL_VARIABLE, local_models
from septet.embedding.providers.formats import DEFAULT_MODELS, DIMENSIONS, KEY_VARIABLES
from septet.embedding.providers.http import key_source
from septet.errors import EmbeddingConfigError

_EXTRA = "needs the extra: pip install 'septet[local]'"


@dataclass(frozen=True, slots=True)
class Local:
    """A local model and the source of its name; ``fault`` is empty if the model is usable."""

    name: str
    source: str
    model: str | None
    dimensions: int | None
    folder: str | None
    fault: str


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider over HTTP.

    Attributes:
        default: the default model; None if a model must be named.
        models: models with known dimensions.
        key_source: ``apiKey``, ``apiKeys`` or the name of a variable; None without a key.
        key: a description of the key source.
    """

    provider: str
    default: str | None
    models: Mapping[str, int]
    key_source: str | None
    key: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Available models. ``used`` is the vector space in use, None without embedding; ``why`` the reason."""

    used: str | None
    why: str
    local: list[Local]
    no_local: str
    providers: list[Provider]


def catalogue(settings: EmbeddingSettings) -> Catalogue:
    """List providers and models from configuration, environment and installed packages, without network access."""
    used, why = _used(settings)
    config = settings.config
    names = [config.model_path] if config.model_path else []
    names += [config.model] if config.provider == "local" and config.model and not config.model_path else []
    can_run = all(find_spec(package) is not None for package in ("tokenizers", "safetensors"))
    models = []
    for candidate in local_models(names):
        local = candidate.model
        facts: tuple[Any, Any, Any] = (None, None, None)
        if local is not None:
            facts = (local.model, local.dimensions, str(local.folder))
        is_ready = can_run or (local is not None and local.is_packed)
        models.append(Local(candidate.name, candidate.source, *facts, candidate.fault or ("" if is_ready else _EXTRA)))
    no_local = f"name a folder with modelPath or {MODEL_VARIABLE}"
    return Catalogue(used, why, models, no_local, [_provider(name, config) for name in KEY_VARIABLES])


def describe_key(provider: str, source: str | None) -> str:
    """Describe the source of a provider's key, without the key itself."""
    if source in ("apiKey", "apiKeys"):
        return f"key from {source} of the configuration"
    if source is not None:
        return f"key from {source}"
    if variables := KEY_VARIABLES.get(provider, ()):
        return f"no key: set {' or '.join(variables)}, or apiKey"
    return "no key is configured or sent"


def _used(settings: EmbeddingSettings) -> tuple[str | None, str]:
    if settings.config.provider == "none":
        reason = "no provider is configured" if settings.source is None else f"provider none, from {settings.source}"
        return None, settings.config.without_provider or reason
    try:
        models = configured_models(settings.config)
    except EmbeddingConfigError as fault:
        return None, str(fault)
    embedders = [model.embedder for model in models if model.embedder is not None]
    for embedder in embedders:
        embedder.close()
    if not embedders:
        return None, "; ".join(str(model.fault) for model in models)
    first, *fallbacks = map(space_name, embedders)
    faults = "".join(f"; {model.fault}" for model in models if model.fault is not None)
    rest = "".join(f"; while it fails, {name}" for name in fallbacks)
    return first, f"provider {settings.config.provider}, from {settings.source}{rest}{faults}"


def _provider(name: str, configured: EmbeddingConfig) -> Provider:
    # A key in the configuration belongs to the provider that the configuration names.
    config = configured if configured.provider == name else config_of({"provider": name})
    source = key_source(config, os.environ)
    default = DEFAULT_MODELS.get(name)
    key = describe_key(name, source)
    if default is None:
        required = "a model" if name == "ollama" else "baseUrl and model"
        key += f"; no default model: set {required}"
    return Provider(name, default, dict(DIMENSIONS.get(name, {})), source, key)
