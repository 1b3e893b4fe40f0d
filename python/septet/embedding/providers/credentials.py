"""Credentials: the sources of a provider's API keys."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from septet.embedding.config import EmbeddingConfig, config_of
from septet.errors import EmbeddingConfigError
from septet.inputs.arguments import shown, variables

#: The environment variables that may hold each provider's key, in order.
KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    # These two may be any server, so no variable is sent to them unless apiKeyEnv names it.
    "openai-compatible": (),
    "ollama": (),
}


def key_source(config: EmbeddingConfig, environment: Mapping[str, str] | None = None) -> str | None:
    """Return the source of the provider's key: ``apiKey``, ``apiKeys`` or a variable's name; None without one."""
    if config.api_key is not None:
        return "apiKey"
    if config.api_keys:
        return "apiKeys"
    env = variables(environment, EmbeddingConfigError)
    return next((name for name in _variables(config) if env.get(name, "").strip()), None)


def find_keys(config: EmbeddingConfig, environment: Mapping[str, str]) -> list[SecretStr]:
    """Return the provider's keys; empty for a provider that needs none.

    Raises:
        EmbeddingConfigError: the key is missing, or the environment's is malformed.
    """
    source = key_source(config, environment)
    if source == "apiKey" and config.api_key is not None:
        return [config.api_key]
    if source == "apiKeys":
        return list({key.get_secret_value(): key for key in config.api_keys}.values())
    if source is not None:
        try:
            key = config_of({"api_key": environment[source]}).api_key
        except EmbeddingConfigError as fault:
            message = f"{source} in the environment: {fault}"
            raise EmbeddingConfigError(message, provider=config.provider) from None
        return [key] if key else []
    if variables := _variables(config):
        names = " or ".join(name if name.isprintable() and len(name) < 200 else shown(name) for name in variables)
        message = f"no API key for {config.provider}: set {names} or apiKey"
        raise EmbeddingConfigError(message, provider=config.provider)
    return []


def _variables(config: EmbeddingConfig) -> tuple[str, ...]:
    return (config.api_key_env,) if config.api_key_env else KEY_VARIABLES.get(config.provider, ())
