"""Which providers and local models can be used on this machine, and which one is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from septet.cli.settings import Settings
from septet.embedding.choose import configured_models
from septet.embedding.config import EmbeddingConfig, config_of
from septet.embedding.embedder import space_name
from septet.embedding.local.folder import MODEL_VARIABLE, local_models
from septet.embedding.providers.credentials import KEY_VARIABLES, key_source
from septet.embedding.providers.gemini import GEMINI_MODEL
from septet.embedding.providers.limits import DIMENSIONS
from septet.embedding.providers.openai import OPENAI_MODEL
from septet.embedding.providers.voyage import VOYAGE_MODEL
from septet.errors import EmbeddingConfigError

__all__ = ["Catalogue", "Local", "Provider", "catalogue", "key_said"]

_DEFAULTS = {"openai": OPENAI_MODEL, "gemini": GEMINI_MODEL, "voyage": VOYAGE_MODEL}
_EXTRA = "it needs the extra: pip install 'septet[local]'"


@dataclass(frozen=True, slots=True)
class Local:
    """A local model, what named it, and why it cannot be used; ``fault`` is empty if it can."""

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
        default: the model that is used if none is named; None if one must be named.
        models: its models whose dimensions are known.
        key_source: ``apiKey``, ``apiKeys`` or the name of a variable; None if there is no key.
        key: the same in words.
    """

    provider: str
    default: str | None
    models: Mapping[str, int]
    key_source: str | None
    key: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What can be used. ``used`` names the space that is; None if nothing is embedded. ``why`` gives the reason."""

    used: str | None
    why: str
    local: list[Local]
    no_local: str
    providers: list[Provider]


def catalogue(settings: Settings) -> Catalogue:
    """Collect the providers from configuration, environment and installed packages, without sending anything."""
    used, why = _used(settings)
    config = settings.config
    named = [config.model_path] if config.model_path else []
    named += [config.model] if config.provider == "local" and config.model and not config.model_path else []
    found = [
        Local(
            one.name,
            one.source,
            None if one.model is None else one.model.model,
            None if one.model is None else one.model.dimensions,
            None if one.model is None else str(one.model.folder),
            one.fault or ("" if _can_run_local() else _EXTRA),
        )
        for one in local_models(named)
    ]
    no_local = f"name a folder with modelPath or {MODEL_VARIABLE}"
    return Catalogue(used, why, found, no_local, [_provider(name, config) for name in KEY_VARIABLES])


def key_said(provider: str, source: str | None) -> str:
    """Return in words where the key of a provider comes from, never the key itself."""
    if source in ("apiKey", "apiKeys"):
        return f"key from {source} of the configuration"
    if source is not None:
        return f"key from {source}"
    if wanted := KEY_VARIABLES.get(provider, ()):
        return f"no key: set {' or '.join(wanted)}, or give apiKey"
    return "no key given; none is sent"


def _used(settings: Settings) -> tuple[str | None, str]:
    if settings.config.provider == "none":
        says = "no provider is configured" if settings.source is None else f"{settings.source} says so"
        return None, settings.config.without_provider or says
    try:
        models = configured_models(settings.config)
    except EmbeddingConfigError as fault:
        return None, str(fault)
    made = [one.embedder for one in models if one.embedder is not None]
    for embedder in made:
        embedder.close()
    if not made:
        return None, "; ".join(str(one.fault) for one in models)
    first, *others = map(space_name, made)
    lacking = "".join(f"; {one.fault}" for one in models if one.fault is not None)
    rest = "".join(f"; while it fails, {name}" for name in others)
    return first, f"provider {settings.config.provider}, from {settings.source}{rest}{lacking}"


def _provider(name: str, given: EmbeddingConfig) -> Provider:
    # A key in the configuration belongs to the provider that the configuration names.
    config = given if given.provider == name else config_of({"provider": name})
    source = key_source(config, os.environ)
    default = _DEFAULTS.get(name)
    said = key_said(name, source)
    if default is None:
        needs = "a model" if name == "ollama" else "baseUrl and model"
        said += f"; it has no default model: give {needs}"
    return Provider(name, default, dict(DIMENSIONS.get(name, {})), source, said)


def _can_run_local() -> bool:
    return all(find_spec(needed) is not None for needed in ("tokenizers", "safetensors"))
