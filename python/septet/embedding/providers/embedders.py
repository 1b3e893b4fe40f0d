"""The embedder of each provider, with its default model and address."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from septet.embedding.config import EmbeddingConfig
from septet.embedding.providers import formats
from septet.embedding.providers.formats import ProviderFormat
from septet.embedding.providers.http import HttpEmbedder
from septet.errors import EmbeddingConfigError


class OpenAIEmbedder(HttpEmbedder):
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
        url = formats.embeddings_url(base)
        return formats.OpenAIFormat(cls._name, formats.OPENAI, model, url, config.dimensions, home)


class OpenAICompatibleEmbedder(HttpEmbedder):
    """Any server with OpenAI's format. Requires `base_url` and `model`. Sends a key only if it is configured."""

    _name = "openai-compatible"

    @classmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        if config.base_url is None or config.model is None:
            message = "openai-compatible has no default address or model: set baseUrl and model"
            raise EmbeddingConfigError(message, provider=cls._name)
        url = formats.embeddings_url(_check_url(config.base_url, cls._name))
        return formats.OpenAIFormat(cls._name, formats.OPENAI_COMPATIBLE, config.model, url, config.dimensions)


class VoyageEmbedder(HttpEmbedder):
    """Voyage, with an ``input_type`` for documents and queries."""

    _name = "voyage"
    _home = formats.VOYAGE_URL

    @classmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        base = _check_url(config.base_url or formats.VOYAGE_URL, cls._name)
        model = (config.model or formats.VOYAGE_MODEL).removeprefix("voyage/")
        url, packed = formats.embeddings_url(base), config.base_url is None
        return formats.VoyageFormat(cls._name, formats.voyage_limits(model), model, url, config.dimensions, packed)


class GeminiEmbedder(HttpEmbedder):
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


class OllamaEmbedder(HttpEmbedder):
    """A model in Ollama, at `base_url`, ``OLLAMA_HOST`` or 127.0.0.1:11434. Requires `model`."""

    _name = "ollama"

    @classmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        if config.model is None:
            raise EmbeddingConfigError("ollama has no default model: set model, such as all-minilm", provider=cls._name)
        base = formats.ollama_url(config.base_url or env.get("OLLAMA_HOST", "") or formats.OLLAMA_URL)
        url = _check_url(base, cls._name)
        return formats.OllamaFormat(cls._name, formats.OLLAMA, config.model, url, config.dimensions)


#: The embedders by the name of their provider.
PROVIDERS: Mapping[str, type[HttpEmbedder]] = {
    kind._name: kind
    for kind in (OpenAIEmbedder, OpenAICompatibleEmbedder, VoyageEmbedder, GeminiEmbedder, OllamaEmbedder)
}


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
        message = f"the address of {provider} contains a name, a password or a query: set the key as apiKey"
        raise EmbeddingConfigError(message, provider=provider)
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, url)):
        raise EmbeddingConfigError(f"baseUrl of {provider} must be an address such as https://host", provider=provider)
    return parts.hostname, str(port or "")
