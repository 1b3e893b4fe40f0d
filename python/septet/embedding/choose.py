"""From a configuration to an embedder: by name, by what is configured (``auto``), with fallbacks; or to a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from septet.embedding.config import ConfigLike, EmbeddingConfig, config_of
from septet.embedding.embedder import Embedder, SpaceIdentity, space_name
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
from septet.inputs.arguments import variables

__all__ = ["Configured", "configured", "embedder_from"]

_BY_NAME = {
    kind._name: kind
    for kind in (OpenAIEmbedder, OpenAICompatibleEmbedder, VoyageEmbedder, GeminiEmbedder, OllamaEmbedder)
}
#: The order in which ``auto`` tries providers.
_AUTO_ORDER = ("local", "openai", "gemini", "voyage")
#: Fields that belong to one provider, and mean nothing with ``auto``.
_PROVIDER_FIELDS = ("model", "api_key", "api_keys", "api_key_env", "base_url", "dimensions")


def embedder_from(
    config: ConfigLike, *, environment: Mapping[str, str] | None = None, outside: IO | None = None
) -> Embedder | None:
    """Return the embedder that a configuration describes, or None for provider ``none``. Sends nothing.

    Args:
        config: a configuration, a dict, a file, a provider's name, or None; see `config_of`.
        environment: variables that may hold keys and addresses; the process's own if None.
        outside: clock, sleep, random numbers and transport; the real ones if None.

    Raises:
        EmbeddingConfigError: the configuration is invalid, a key or model is missing, or a fallback would produce
            different vectors: one embedder has one space. A `Vault` takes such a configuration, or several embedders.
    """
    config = config_of(config)
    env = variables(environment, EmbeddingConfigError)
    if config.provider == "none":
        return None
    if config.provider == "auto":
        return _first(config, env, outside)
    if not config.fallback:
        return _create(config, env, outside)
    # Checked first: which keys are present must not decide what the vectors mean.
    remote = [one for one in (config, *config.fallback) if one.provider != "local"]
    check_spaces([_BY_NAME[one.provider].space_of(one, env) for one in remote])
    return _one_space([config, *config.fallback], env, outside)


class Configured(NamedTuple):
    """One model of a chain, as configured.

    Attributes:
        name: of its space; None for a local model that cannot be read.
        embedder: None if a key or the model is missing.
        fault: what is missing.
        query_timeout_s: how long a search waits for it.
    """

    name: str | None
    embedder: Embedder | None
    fault: EmbeddingConfigError | None
    query_timeout_s: float


def configured(
    config: EmbeddingConfig, *, environment: Mapping[str, str] | None = None, outside: IO | None = None
) -> list[Configured]:
    """Return the models of a configuration in order, each with the ways to it; none for provider ``none``.

    Raises:
        EmbeddingConfigError: the configuration is strict and names several models, or the same one in two dimensions.
    """
    env = variables(environment, EmbeddingConfigError)
    if (unnamed := config.without_provider) is not None:
        return [Configured(None, None, EmbeddingConfigError(unnamed), config.query_timeout_s)]
    if config.provider in ("none", "auto") or not config.fallback:
        return [] if config.provider == "none" else [_link([config], _space(config, env), env, outside)]
    ways: list[list[EmbeddingConfig]] = []
    spaces: list[SpaceIdentity | None] = []
    for one in (config, *config.fallback):
        space = _space(one, env)
        same = next((n for n, other in enumerate(spaces) if space and other and space.model == other.model), None)
        if same is None:
            ways.append([one])
            spaces.append(space)
        else:
            check_spaces([found for found in (spaces[same], space) if found])
            ways[same].append(one)
    if config.strict and len(ways) > 1:
        check_spaces([space for space in spaces if space])
        return [_link([config, *config.fallback], spaces[0], env, outside)]
    return [_link(group, space, env, outside) for group, space in zip(ways, spaces, strict=True)]


def _space(config: EmbeddingConfig, env: Mapping[str, str]) -> SpaceIdentity | None:
    """Return the space of a configuration; None where it is unknown: a local model's, or one without a name."""
    try:
        return None if config.provider in ("local", "auto") else _BY_NAME[config.provider].space_of(config, env)
    except EmbeddingConfigError:
        return None


def _link(
    ways: Sequence[EmbeddingConfig], space: SpaceIdentity | None, env: Mapping[str, str], io: IO | None
) -> Configured:
    """Return the embedder of one model, or what it lacks."""
    name = None if space is None else space_name(space)
    try:
        if ways[0].provider == "auto":
            embedder: Embedder = _first(ways[0], env, io)
        elif len(ways) == 1:
            embedder = _create(ways[0], env, io)
        else:
            embedder = _one_space(ways, env, io)
    except EmbeddingConfigError as fault:
        return Configured(name, None, fault, ways[0].query_timeout_s)
    return Configured(space_name(embedder), embedder, None, ways[0].query_timeout_s)


def _create(config: EmbeddingConfig, env: Mapping[str, str], io: IO | None) -> Embedder:
    if config.provider == "local":
        return _local(config, config.model_path or config.model or env.get(MODEL_VARIABLE))
    return _BY_NAME[config.provider].of(config, env, io)


def _one_space(ways: Sequence[EmbeddingConfig], env: Mapping[str, str], io: IO | None) -> Embedder:
    """Return the ways to one model; those without a key are left out, unless none has one."""
    created: list[Embedder] = []
    spaces: list[Embedder | SpaceIdentity] = []
    faults: list[str] = []
    for one in ways:
        try:
            created.append(_create(one, env, io))
            spaces.append(created[-1])
        except EmbeddingConfigError as fault:
            faults.append(str(fault))
            spaces += [space for space in [_space(one, env)] if space is not None]
    if not created:
        raise EmbeddingConfigError("; ".join(faults))
    check_spaces(spaces)
    # The space is the first one's, whether its key is there today or not.
    named = None if ways[0].provider == "local" else _BY_NAME[ways[0].provider].space_of(ways[0], env).provider
    return FallbackEmbedder(created, clock=(io or IO()).clock, provider=named)


def _first(config: EmbeddingConfig, env: Mapping[str, str], io: IO | None) -> Embedder:
    """Return the first embedder that is configured."""
    named = [name for name in _PROVIDER_FIELDS if getattr(config, name)]
    if named or config.fallback:
        raise EmbeddingConfigError(
            f"provider auto cannot be combined with {named[0] if named else 'fallback'}: name the provider it is for"
        )
    faults: list[str] = []
    for name in _AUTO_ORDER:
        fields = {field: getattr(config, field) for field in config.model_fields_set - {"model_path", "fallback"}}
        try:
            if name == "local":
                return _configured_local(config, env)
            return _create(EmbeddingConfig.model_validate({**fields, "provider": name}), env, io)
        except EmbeddingConfigError as fault:
            faults.append(f"{name}: {fault}")
    raise EmbeddingConfigError("no embedding provider is configured. " + "; ".join(faults))


def _configured_local(config: EmbeddingConfig, env: Mapping[str, str]) -> Embedder:
    """Return the local model that the user has named; an installed one is not chosen unless named."""
    source = config.model_path or env.get(MODEL_VARIABLE)
    if source is None:
        said = f"no model: give modelPath or {MODEL_VARIABLE}, a folder or an installed package"
        raise EmbeddingConfigError(said, provider="local")
    return _local(config, source)


def _local(config: EmbeddingConfig, source: str | None) -> Embedder:
    # Programs without a local model should not wait for its imports.
    from septet.embedding.local.embedder import LocalEmbedder

    return LocalEmbedder(
        source, query_prefix=config.query_prefix or None, document_prefix=config.document_prefix or None
    )
