"""From a configuration to an embedder: by name, by what is there (``auto``), with those that stand in for it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from septet.embedding.config import ConfigLike, EmbeddingConfig, config_of
from septet.embedding.embedder import Embedder
from septet.embedding.fallback import FallbackEmbedder, check_spaces
from septet.embedding.local.folder import MODEL_VARIABLE
from septet.embedding.providers.embedders import (
    GeminiEmbedder,
    OllamaEmbedder,
    OpenAICompatibleEmbedder,
    OpenAIEmbedder,
    VoyageEmbedder,
)
from septet.embedding.transport.client import IO
from septet.errors import EmbeddingConfigError

__all__ = ["embedder_from"]

_BY_NAME = {
    made._name: made
    for made in (OpenAIEmbedder, OpenAICompatibleEmbedder, VoyageEmbedder, GeminiEmbedder, OllamaEmbedder)
}
#: The order in which ``auto`` looks.
_AUTO = ("local", "openai", "gemini", "voyage")
#: What belongs to one provider, and says nothing while none is named.
_NEEDS_A_NAME = ("model", "api_key", "api_keys", "api_key_env", "base_url", "dimensions")


def embedder_from(
    config: ConfigLike, *, environment: Mapping[str, str] | None = None, outside: IO | None = None
) -> Embedder | None:
    """Return the embedder that a configuration describes; None when it asks for none. Nothing is sent anywhere.

    Args:
        config: as `config_of` reads it: a configuration, a dict, a file, a provider's name, or None.
        environment: where keys and addresses are looked for; the process's own if None.
        outside: clock, sleep, chance and transport; the real ones if None.

    Raises:
        EmbeddingConfigError: it cannot be understood, no key or model is there, or a fallback gives other vectors.
    """
    read = config_of(config)
    env = os.environ if environment is None else environment
    if read.provider == "none":
        return None
    if read.provider == "auto":
        return _first(read, env, outside)
    if not read.fallback:
        return _made(read, env, outside)
    return _chain(read, env, outside)


def _made(config: EmbeddingConfig, env: Mapping[str, str], outside: IO | None) -> Embedder:
    if config.provider == "local":
        return _local(config, config.model_path or config.model or env.get(MODEL_VARIABLE))
    return _BY_NAME[config.provider].of(config, env, outside)


def _chain(config: EmbeddingConfig, env: Mapping[str, str], outside: IO | None) -> Embedder:
    """Return the embedder with those that stand in for it; one that has no key is left out while another has."""
    # Before anything is made: whether the keys are there must not decide what the vectors mean.
    remote = [one for one in (config, *config.fallback) if one.provider != "local"]
    check_spaces([_BY_NAME[one.provider].space_of(one, env) for one in remote])
    made: list[Embedder] = []
    faults: list[str] = []
    for one in (config, *config.fallback):
        try:
            made.append(_made(one, env, outside))
        except EmbeddingConfigError as fault:
            faults.append(str(fault))
    if not made:
        raise EmbeddingConfigError("; ".join(faults))
    return FallbackEmbedder(made, clock=(outside or IO()).clock)


def _first(config: EmbeddingConfig, env: Mapping[str, str], outside: IO | None) -> Embedder:
    """Return the first embedder that is configured."""
    named = [name for name in _NEEDS_A_NAME if getattr(config, name)]
    if named or config.fallback:
        raise EmbeddingConfigError(
            f"provider auto and {named[0] if named else 'fallback'} do not go together: name the provider it is for"
        )
    faults: list[str] = []
    for name in _AUTO:
        fields = {field: getattr(config, field) for field in config.model_fields_set - {"model_path", "fallback"}}
        try:
            if name == "local":
                return _named_local(config, env)
            return _made(EmbeddingConfig.model_validate({**fields, "provider": name}), env, outside)
        except EmbeddingConfigError as fault:
            faults.append(f"{name}: {fault}")
    raise EmbeddingConfigError("no embedding provider is configured. " + "; ".join(faults))


def _named_local(config: EmbeddingConfig, env: Mapping[str, str]) -> Embedder:
    """Return the local model that somebody has named; one that merely lies about is not a choice."""
    source = config.model_path or env.get(MODEL_VARIABLE)
    if source is None:
        said = f"no model: give modelPath or {MODEL_VARIABLE}, a folder or an installed package"
        raise EmbeddingConfigError(said, provider="local")
    return _local(config, source)


def _local(config: EmbeddingConfig, source: str | None) -> Embedder:
    # It would load its libraries, which a program without a local model should not wait for.
    from septet.embedding.local.embedder import LocalEmbedder

    return LocalEmbedder(
        source, query_prefix=config.query_prefix or None, document_prefix=config.document_prefix or None
    )
