"""The providers as embedders, each with its defaults, its keys' environment variables and its address."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from septet.embedding.config import EmbeddingConfig, config_of
from septet.embedding.embedder import Kind
from septet.embedding.providers.gemini import GEMINI_MODEL, GEMINI_URL, GeminiFormat
from septet.embedding.providers.http import HttpEmbedder, Prefixes, space_model
from septet.embedding.providers.ollama import OLLAMA_URL, OllamaFormat, ollama_url
from septet.embedding.providers.openai import OPENAI_MODEL, OPENAI_URL, OpenAIFormat, embeddings_url
from septet.embedding.providers.voyage import VOYAGE_MODEL, VOYAGE_URL, VoyageFormat
from septet.embedding.transport.client import IO
from septet.embedding.transport.limits import DIMENSIONS, OPENAI, OPENAI_COMPATIBLE
from septet.embedding.transport.provider_format import ProviderFormat
from septet.errors import EmbeddingConfigError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "KEY_VARIABLES",
    "Fields",
    "GeminiEmbedder",
    "OllamaEmbedder",
    "OpenAICompatibleEmbedder",
    "OpenAIEmbedder",
    "PlannedSpace",
    "VoyageEmbedder",
    "key_source",
]

#: Where each provider's key is looked for when the configuration holds none, in order.
KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    # A key is never sent to an address that it was not meant for: these two take one only when it is named.
    "openai-compatible": (),
    "ollama": (),
}


class Fields(TypedDict, total=False):
    """The fields of `EmbeddingConfig` that every provider over HTTP understands, as keyword arguments."""

    api_key: str | SecretStr | None
    api_keys: Sequence[str | SecretStr]
    api_key_env: str | None
    base_url: str | None
    batch_size: int | None
    input_type: Kind | None
    dimensions: int | None
    max_input_tokens: int | None
    query_prefix: str
    document_prefix: str
    attempt_timeout_s: float


def key_source(config: EmbeddingConfig, environment: Mapping[str, str] | None = None) -> str | None:
    """Return where the provider's key comes from: ``apiKey``, ``apiKeys``, or a variable's name; None for nowhere."""
    if config.api_key is not None:
        return "apiKey"
    if config.api_keys:
        return "apiKeys"
    env = os.environ if environment is None else environment
    names = (config.api_key_env,) if config.api_key_env else KEY_VARIABLES.get(config.provider, ())
    return next((name for name in names if env.get(name, "").strip()), None)


@dataclass(frozen=True, slots=True)
class PlannedSpace:
    """The space of an embedder that is not made yet, for want of a key."""

    provider: str
    model: str
    dimensions: int | None


class _Provider(HttpEmbedder, ABC):
    """An embedder made from a configuration.

    Args:
        model: the provider's default if None.
        fields: those of `EmbeddingConfig`, in snake_case.
        environment: where keys and addresses are looked for; the process's own if None.
        outside: clock, sleep, chance and transport; the real ones if None.
    """

    _name: str

    def __init__(
        self,
        model: str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        outside: IO | None = None,
        **fields: Unpack[Fields],
    ) -> None:
        config = config_of({**fields, "provider": self._name, "model": model})
        env = os.environ if environment is None else environment
        wire = self._wire(config, env)
        super().__init__(
            wire,
            self._keys(config, env),
            dimensions=_dimensions(config, wire),
            batch_size=config.batch_size,
            max_input_tokens=config.max_input_tokens,
            kind=config.input_type or "document",
            prefixes=_prefixes(config),
            attempt_timeout_s=config.attempt_timeout_s,
            outside=outside,
        )

    @classmethod
    def of(
        cls, config: EmbeddingConfig, environment: Mapping[str, str] | None = None, outside: IO | None = None
    ) -> _Provider:
        """Return the embedder that a configuration describes.

        Raises:
            EmbeddingConfigError: no key, no model where there is no default, or an address that is none.
        """
        given = {name: getattr(config, name) for name in config.model_fields_set & Fields.__annotations__.keys()}
        return cls(config.model, environment=environment, outside=outside, **cast("Fields", given))

    @classmethod
    def space_of(cls, config: EmbeddingConfig, environment: Mapping[str, str]) -> PlannedSpace:
        """Return the space that the embedder of a configuration would have; no key is needed to know it."""
        wire = cls._wire(config, environment)
        return PlannedSpace(wire.provider, space_model(wire, _prefixes(config)), _dimensions(config, wire))

    @classmethod
    @abstractmethod
    def _wire(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        """Return the provider's wire, with its defaults filled in."""

    def _keys(self, config: EmbeddingConfig, env: Mapping[str, str]) -> list[SecretStr]:
        source = key_source(config, env)
        if source == "apiKey" and config.api_key is not None:
            return [config.api_key]
        if source == "apiKeys":
            return _distinct(config.api_keys)
        if source is not None:
            try:
                held = config_of({"api_key": env[source]}).api_key
            except EmbeddingConfigError as fault:
                raise EmbeddingConfigError(f"{source} in the environment: {fault}", provider=self._name) from None
            return [held] if held else []
        wanted = [config.api_key_env] if config.api_key_env else list(KEY_VARIABLES[self._name])
        if wanted:
            raise EmbeddingConfigError(
                f"no API key for {self._name}: set {' or '.join(wanted)}, or give apiKey", provider=self._name
            )
        return []


class OpenAIEmbedder(_Provider):
    """OpenAI, or a server that speaks its format with the same models behind `base_url` (``OPENAI_BASE_URL``)."""

    _name = "openai"

    @classmethod
    def _wire(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        base = config.base_url or env.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL
        home = _address(base, cls._name) == _address(OPENAI_URL, cls._name)
        model = config.model or OPENAI_MODEL
        # Elsewhere the part before the slash may belong to the model's name.
        model = model.removeprefix("openai/") if home else model
        # Every server knows numbers; base64 only some.
        return OpenAIFormat(model, embeddings_url(base), config.dimensions, packed=home, limits=OPENAI)


class OpenAICompatibleEmbedder(_Provider):
    """Any server that speaks OpenAI's format. Needs `base_url` and `model`; sends only a key that it is given."""

    _name = "openai-compatible"

    @classmethod
    def _wire(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        if config.base_url is None or config.model is None:
            raise EmbeddingConfigError(
                "openai-compatible has no address and no model of its own: give baseUrl and model", provider=cls._name
            )
        url = embeddings_url(_checked(config.base_url, cls._name))
        return OpenAIFormat(config.model, url, config.dimensions, provider=cls._name, limits=OPENAI_COMPATIBLE)


class VoyageEmbedder(_Provider):
    """Voyage, with ``input_type`` for documents and queries."""

    _name = "voyage"

    @classmethod
    def _wire(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        base = _checked(config.base_url or VOYAGE_URL, cls._name)
        model = (config.model or VOYAGE_MODEL).removeprefix("voyage/")
        return VoyageFormat(model, embeddings_url(base), config.dimensions, packed=config.base_url is None)


class GeminiEmbedder(_Provider):
    """Gemini, with task types for documents and queries."""

    _name = "gemini"

    @classmethod
    def _wire(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        model = config.model or GEMINI_MODEL
        for prefix in ("models/", "gemini/", "google/"):
            model = model.removeprefix(prefix)
        return GeminiFormat(model, _checked(config.base_url or GEMINI_URL, cls._name), config.dimensions)


class OllamaEmbedder(_Provider):
    """A model in Ollama, at `base_url`, ``OLLAMA_HOST`` or 127.0.0.1:11434. Needs `model`."""

    _name = "ollama"

    @classmethod
    def _wire(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        if config.model is None:
            raise EmbeddingConfigError("ollama has no model of its own: give model, as all-minilm", provider=cls._name)
        base = ollama_url(config.base_url or env.get("OLLAMA_HOST", "") or OLLAMA_URL)
        return OllamaFormat(config.model, _checked(base, cls._name), config.dimensions)


def _dimensions(config: EmbeddingConfig, wire: ProviderFormat) -> int | None:
    return config.dimensions or DIMENSIONS.get(wire.provider, {}).get(wire.model)


def _prefixes(config: EmbeddingConfig) -> Prefixes:
    return Prefixes(query=config.query_prefix, document=config.document_prefix)


def _distinct(keys: Iterable[SecretStr]) -> list[SecretStr]:
    return list({key.get_secret_value(): key for key in keys}.values())


def _checked(url: str, provider: str) -> str:
    _address(url, provider)
    return url


def _address(url: str, provider: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.username or parts.password or parts.query:
        raise EmbeddingConfigError(
            f"the address of {provider} holds a name, a password or a query: give the key as apiKey", provider=provider
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, url)):
        raise EmbeddingConfigError(
            f"baseUrl of {provider} is no address: wanted http://host or https://host", provider=provider
        )
    return parts.hostname, str(port or "")
