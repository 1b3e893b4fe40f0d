"""Creates the embedder, or the chain of embedders, of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from septet.embedding.config import ConfigLike, EmbeddingConfig, config_of
from septet.embedding.embedder import ConfiguredModel, Embedder, SpaceIdentity, space_name
from septet.embedding.fallback import FallbackEmbedder, check_spaces
from septet.embedding.local.folder import MODEL_VARIABLE
from septet.embedding.providers.embedders import PROVIDERS
from septet.errors import EmbeddingConfigError
from septet.inputs.arguments import variables
from septet.net.client import IO

#: The order in which ``auto`` tries providers.
_AUTO_ORDER = ("local", "openai", "gemini", "voyage")
#: Fields of one provider, invalid with ``auto``.
_PROVIDER_FIELDS = ("model", "api_key", "api_keys", "api_key_env", "base_url", "dimensions")


def embedder_from(
    config: ConfigLike, *, environment: Mapping[str, str] | None = None, outside: IO | None = None
) -> Embedder | None:
    """Return the embedder of a configuration, or None for provider ``none``. Sends nothing.

    Args:
        config: a configuration, a dict, a file, a provider's name, or None; see `config_of`.
        environment: variables that may hold keys and addresses; ``os.environ`` if None.
        outside: clock, sleep, random numbers and transport; the real ones if None.

    Raises:
        EmbeddingConfigError: the configuration is invalid, a key or model is missing, or a fallback would produce
            different vectors: one embedder has one space. A `Vault` accepts such a configuration, or several embedders.
    """
    config = config_of(config)
    env = variables(environment, EmbeddingConfigError)
    if config.provider == "none":
        return None
    if config.provider == "auto":
        return _first(config, env, outside)
    if not config.fallback:
        return _create(config, env, outside)
    # Check before creating: the space must not depend on the keys that are present.
    remote = [each for each in (config, *config.fallback) if each.provider != "local"]
    check_spaces([PROVIDERS[each.provider].space_of(each, env) for each in remote])
    return _one_space([config, *config.fallback], env, outside)


def configured_models(
    config: EmbeddingConfig, *, environment: Mapping[str, str] | None = None, outside: IO | None = None
) -> list[ConfiguredModel]:
    """Return the models of a configuration in order, with providers of one model combined; empty for ``none``.

    Raises:
        EmbeddingConfigError: the configuration is strict and has several models, or one model in two dimensions.
    """
    env = variables(environment, EmbeddingConfigError)
    if (unnamed := config.without_provider) is not None:
        return [ConfiguredModel(None, None, EmbeddingConfigError(unnamed), config.query_timeout_s)]
    if config.provider in ("none", "auto") or not config.fallback:
        return [] if config.provider == "none" else [_configured_model([config], _space(config, env), env, outside)]
    groups: list[list[EmbeddingConfig]] = []
    spaces: list[SpaceIdentity | None] = []
    for each in (config, *config.fallback):
        space = _space(each, env)
        same = next((n for n, other in enumerate(spaces) if space and other and space.model == other.model), None)
        if same is None:
            groups.append([each])
            spaces.append(space)
        else:
            check_spaces([known for known in (spaces[same], space) if known])
            groups[same].append(each)
    if config.strict and len(groups) > 1:
        check_spaces([space for space in spaces if space])
        return [_configured_model([config, *config.fallback], spaces[0], env, outside)]
    return [_configured_model(group, space, env, outside) for group, space in zip(groups, spaces, strict=True)]


def _space(config: EmbeddingConfig, env: Mapping[str, str]) -> SpaceIdentity | None:
    """Return the space of a configuration; None if it is unknown, as for a local model or one without a name."""
    try:
        return None if config.provider in ("local", "auto") else PROVIDERS[config.provider].space_of(config, env)
    except EmbeddingConfigError:
        return None


def _configured_model(
    configs: Sequence[EmbeddingConfig], space: SpaceIdentity | None, env: Mapping[str, str], io: IO | None
) -> ConfiguredModel:
    """Return the embedder of one model, or the error about what is missing."""
    name = None if space is None else space_name(space)
    try:
        if configs[0].provider == "auto":
            embedder: Embedder = _first(configs[0], env, io)
        elif len(configs) == 1:
            embedder = _create(configs[0], env, io)
        else:
            embedder = _one_space(configs, env, io)
    except EmbeddingConfigError as fault:
        # A new error: the frames of this one's traceback hold the environment, and with it the keys.
        fault = EmbeddingConfigError(str(fault), provider=fault.provider)
        return ConfiguredModel(name, None, fault, configs[0].query_timeout_s)
    return ConfiguredModel(space_name(embedder), embedder, None, configs[0].query_timeout_s)


def _create(config: EmbeddingConfig, env: Mapping[str, str], io: IO | None) -> Embedder:
    if config.provider == "local":
        return _local(config, config.model_path or config.model or env.get(MODEL_VARIABLE))
    return PROVIDERS[config.provider].of(config, env, io)


def _one_space(configs: Sequence[EmbeddingConfig], env: Mapping[str, str], io: IO | None) -> Embedder:
    """Return an embedder of all providers of one model, skipping those without a key."""
    created: list[Embedder] = []
    spaces: list[Embedder | SpaceIdentity] = []
    faults: list[str] = []
    for config in configs:
        try:
            created.append(_create(config, env, io))
            spaces.append(created[-1])
        except EmbeddingConfigError as fault:
            faults.append(str(fault))
            spaces += [space for space in [_space(config, env)] if space is not None]
    if not created:
        raise EmbeddingConfigError("; ".join(faults))
    check_spaces(spaces)
    # The first configuration names the space, even if its key is missing.
    first = configs[0]
    provider = None if first.provider == "local" else PROVIDERS[first.provider].space_of(first, env).provider
    return FallbackEmbedder(created, clock=(io or IO()).clock, provider=provider)


def _first(config: EmbeddingConfig, env: Mapping[str, str], io: IO | None) -> Embedder:
    """Return the first embedder that is configured."""
    named = [name for name in _PROVIDER_FIELDS if getattr(config, name)]
    if named or config.fallback:
        field = named[0] if named else "fallback"
        raise EmbeddingConfigError(f"provider auto cannot be combined with {field}: set the provider")
    faults: list[str] = []
    for name in _AUTO_ORDER:
        fields = {field: getattr(config, field) for field in config.model_fields_set - {"model_path", "fallback"}}
        try:
            if name == "local":
                source = config.model_path or env.get(MODEL_VARIABLE)
                if source is None:
                    # An installed model is not chosen by itself.
                    message = f"no model: set modelPath or {MODEL_VARIABLE} to a folder or an installed package"
                    raise EmbeddingConfigError(message, provider="local")
                return _local(config, source)
            return _create(EmbeddingConfig.model_validate({**fields, "provider": name}), env, io)
        except EmbeddingConfigError as fault:
            faults.append(f"{name}: {fault}")
    raise EmbeddingConfigError("no embedding provider is configured. " + "; ".join(faults))


def _local(config: EmbeddingConfig, source: str | None) -> Embedder:
    # Imported on first use: the import is slow.
    from septet.embedding.local.embedder import LocalEmbedder

    query, document = config.query_prefix or None, config.document_prefix or None
    return LocalEmbedder(source, query_prefix=query, document_prefix=document)
