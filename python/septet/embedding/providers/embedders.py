"""The embedder of each provider, with its default model and address."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from septet.embedding.config import EmbeddingConfig, config_of
from septet.embedding.embedder import Kind, SpaceIdentity
from septet.embedding.providers import formats
from septet.embedding.providers.formats import ProviderFormat
from septet.embedding.providers.http import HttpEmbedder, Prefixes, space_model
from septet.errors import EmbeddingConfigError
from septet.inputs.arguments import shown, variables
from septet.net.client import IO

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The environment variables that may hold each provider's key, in order.
KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    # These two may be any server, so no variable is sent to them unless apiKeyEnv names it.
    "openai-compatible": (),
    "ollama": (),
}


class Fields(TypedDict, total=False):
    """The keyword arguments of all providers over HTTP: fields of `EmbeddingConfig`."""

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


class _Provider(HttpEmbedder, ABC):
    """An embedder with a provider's defaults.

    Args:
        model: the provider's default if None.
        environment: variables that may hold keys and addresses; ``os.environ`` if None.
        outside: clock, sleep, random numbers and transport; the real ones if None.
        fields: those of `EmbeddingConfig`, in snake_case.

    Raises:
        EmbeddingConfigError: a field is invalid, the key is missing, or the model is missing and has no default.
    """

    _name: str
    #: The provider's address; None if it has no public one.
    _home: str | None = None

    def __init__(
        self,
        model: str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        outside: IO | None = None,
        **fields: Unpack[Fields],
    ) -> None:
        env: Mapping[str, str] = {}
        try:
            env = variables(environment, EmbeddingConfigError)
            config = config_of({**fields, "provider": self._name, "model": model})
            provider_format = self._format(config, env)
            keys = find_keys(config, env)
        except EmbeddingConfigError as fault:
            # A traceback's frames would hold the fields, the environment, and self, which has no repr yet.
            del fields, environment, env, self
            raise fault.with_traceback(None) from None
        super().__init__(
            provider_format,
            keys,
            dimensions=_dimensions(config, provider_format),
            batch_size=config.batch_size,
            max_input_tokens=config.max_input_tokens,
            kind=config.input_type or "document",
            prefixes=_prefixes(config),
            attempt_timeout_s=config.attempt_timeout_s,
            io=outside,
        )

    @property
    def address(self) -> str | None:
        """The server's address; None for the provider's default."""
        return None if self._home is not None and self.format.url.startswith(self._home) else self.format.url

    @classmethod
    def of(
        cls, config: EmbeddingConfig, environment: Mapping[str, str] | None = None, outside: IO | None = None
    ) -> _Provider:
        """Return the embedder of a configuration.

        Raises:
            EmbeddingConfigError: the key, or a model without a default, is missing, or the address is invalid.
        """
        config = config_of(config)
        fields = {name: getattr(config, name) for name in config.model_fields_set & Fields.__annotations__.keys()}
        return cls(config.model, environment=environment, outside=outside, **cast("Fields", fields))

    @classmethod
    def space_of(cls, config: EmbeddingConfig, environment: Mapping[str, str]) -> SpaceIdentity:
        """Return the space of a configuration's embedder, without needing a key.

        Raises:
            EmbeddingConfigError: the model is missing and has no default, or the address is invalid.
        """
        config = config_of(config)
        provider_format = cls._format(config, environment)
        return SpaceIdentity(
            provider_format.provider,
            space_model(provider_format, _prefixes(config)),
            _dimensions(config, provider_format),
        )

    @classmethod
    @abstractmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        """Return the provider's format, with its defaults filled in."""


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


class OpenAIEmbedder(_Provider):
    """OpenAI, or another server with its models and format, at `base_url` or ``OPENAI_BASE_URL``."""

    _name = "openai"
    _home = formats.OPENAI_URL

    @classmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        base = config.base_url or env.get("OPENAI_BASE_URL", "").strip() or formats.OPENAI_URL
        home = _address(base, cls._name) == _address(formats.OPENAI_URL, cls._name)
        model = config.model or formats.OPENAI_MODEL
        # On other servers, the part before the slash may belong to the model's name.
        model = model.removeprefix("openai/") if home else model
        # Every server supports JSON numbers; only some support base64.
        return formats.OpenAIFormat(
            cls._name, formats.OPENAI, model, formats.embeddings_url(base), config.dimensions, home
        )


class OpenAICompatibleEmbedder(_Provider):
    """Any server with OpenAI's format. Requires `base_url` and `model`. Sends a key only if it is configured."""

    _name = "openai-compatible"

    @classmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        if config.base_url is None or config.model is None:
            raise EmbeddingConfigError(
                "openai-compatible has no default address or model: set baseUrl and model", provider=cls._name
            )
        url = formats.embeddings_url(_check_url(config.base_url, cls._name))
        return formats.OpenAIFormat(cls._name, formats.OPENAI_COMPATIBLE, config.model, url, config.dimensions)


class VoyageEmbedder(_Provider):
    """Voyage, with an ``input_type`` for documents and queries."""

    _name = "voyage"
    _home = formats.VOYAGE_URL

    @classmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        base = _check_url(config.base_url or formats.VOYAGE_URL, cls._name)
        model = (config.model or formats.VOYAGE_MODEL).removeprefix("voyage/")
        url, packed = formats.embeddings_url(base), config.base_url is None
        return formats.VoyageFormat(cls._name, formats.voyage_limits(model), model, url, config.dimensions, packed)


class GeminiEmbedder(_Provider):
    """Gemini, with task types for documents and queries."""

    _name = "gemini"
    _home = formats.GEMINI_URL

    @classmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        model = config.model or formats.GEMINI_MODEL
        for prefix in ("models/", "gemini/", "google/"):
            model = model.removeprefix(prefix)
        url = _check_url(config.base_url or formats.GEMINI_URL, cls._name)
        return formats.GeminiFormat(cls._name, formats.GEMINI, model, url, config.dimensions)


class OllamaEmbedder(_Provider):
    """A model in Ollama, at `base_url`, ``OLLAMA_HOST`` or 127.0.0.1:11434. Requires `model`."""

    _name = "ollama"

    @classmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        if config.model is None:
            raise EmbeddingConfigError("ollama has no default model: set model, such as all-minilm", provider=cls._name)
        base = formats.ollama_url(config.base_url or env.get("OLLAMA_HOST", "") or formats.OLLAMA_URL)
        return formats.OllamaFormat(
            cls._name, formats.OLLAMA, config.model, _check_url(base, cls._name), config.dimensions
        )


def _dimensions(config: EmbeddingConfig, provider_format: ProviderFormat) -> int | None:
    return config.dimensions or formats.DIMENSIONS.get(provider_format.provider, {}).get(provider_format.model)


def _prefixes(config: EmbeddingConfig) -> Prefixes:
    return Prefixes(query=config.query_prefix, document=config.document_prefix)


def _check_url(url: str, provider: str) -> str:
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
            f"the address of {provider} contains a name, a password or a query: set the key as apiKey",
            provider=provider,
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, url)):
        raise EmbeddingConfigError(f"baseUrl of {provider} must be an address such as https://host", provider=provider)
    return parts.hostname, str(port or "")
