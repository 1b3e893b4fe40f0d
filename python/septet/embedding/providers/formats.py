"""The formats of embedding providers: each writes requests and reads answers, without a network."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from septet.embedding.batching import group
from septet.embedding.embedder import Kind, estimate_tokens
from septet.embedding.rows import indexed_matrix, matrix_of
from septet.errors import EmbeddingUnavailable
from septet.net.calls import MAX_ANSWER_BYTES, Call, bearer, json_call

OPENAI_URL, OPENAI_MODEL = "https://api.openai.com", "text-embedding-3-small"
VOYAGE_URL, VOYAGE_MODEL = "https://api.voyageai.com", "voyage-3.5"
GEMINI_URL, GEMINI_MODEL = "https://generativelanguage.googleapis.com", "gemini-embedding-001"
OLLAMA_URL = "http://127.0.0.1:11434"
TASK_TYPES: Mapping[Kind, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}

#: Maximum bytes of one number in indented JSON, and of the fields around one vector.
_NUMBER_BYTES, _FIELDS_BYTES = 40, 1024
#: Assumed while the dimension is unknown; models rarely exceed it.
_ASSUMED_DIMENSIONS = 8192
#: The environment variables that may hold each provider's key, in order.
KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    # These two may be any server, so no variable is sent to them unless apiKeyEnv names it.
    "openai-compatible": (),
    "ollama": (),
}
#: The default model of each provider that has one.
DEFAULT_MODELS = {"openai": OPENAI_MODEL, "gemini": GEMINI_MODEL, "voyage": VOYAGE_MODEL}
#: Dimensions when none is requested.
DIMENSIONS: Mapping[str, Mapping[str, int]] = {
    "openai": {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536},
    "voyage": dict.fromkeys(
        "voyage-4-large voyage-4 voyage-4-lite voyage-3.5 voyage-3.5-lite voyage-3-large voyage-code-3".split(), 1024
    ),
    "gemini": {"gemini-embedding-001": 3072},
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request.

    Attributes:
        inputs: maximum texts.
        batch_size: the texts per request unless configured otherwise.
        tokens: maximum tokens of all texts together; None without a stated limit.
        tokens_each: maximum tokens of one text; None if it depends on the model and the provider reports it.
        bytes: maximum bytes of all texts together, with room for the JSON around them; None without a limit.
    """

    inputs: int
    batch_size: int
    tokens: int | None = None
    tokens_each: int | None = None
    bytes: int | None = None


OPENAI = Limits(inputs=2048, batch_size=2048, tokens=300_000, tokens_each=8192)
#: Self-hosted servers often accept only 32 texts; a larger batch is split when the server refuses it.
OPENAI_COMPATIBLE = Limits(inputs=2048, batch_size=32, tokens=300_000, tokens_each=8192)
#: The body's limit is 4 MiB, including escapes and the fields around each text.
GEMINI = Limits(inputs=100, batch_size=100, tokens_each=2048, bytes=2_000_000)
OLLAMA = Limits(inputs=512, batch_size=64)


def voyage_limits(model: str) -> Limits:
    """Return the limits of a Voyage model: 1,000 texts; the number of tokens depends on the model."""
    if model.endswith("-lite") and not model.startswith("voyage-3-lite"):
        tokens = 1_000_000
    elif model in ("voyage-4", "voyage-3.5"):
        tokens = 320_000
    else:
        tokens = 120_000
    return Limits(1000, 128, tokens, 16_000 if model.startswith("voyage-3-lite") else 32_000)


@dataclass(frozen=True, slots=True)
class ProviderFormat(ABC):
    """One provider's format of requests and answers.

    Attributes:
        provider: its name in configurations, spaces and errors.
        limits: the limits of one request.
        model: the provider's name of the model.
        url: the address of the endpoint, or of the server, without the path of the API.
        dimensions: the dimension to request; None for the model's own.
        packed: request vectors as base64, a quarter of the size of JSON numbers. Both forms are read.
    """

    provider: str
    limits: Limits
    model: str
    url: str
    dimensions: int | None = None
    packed: bool = False

    @abstractmethod
    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request for texts, which must be within the limits."""

    @abstractmethod
    def read(self, body: Any, expected: int) -> NDArray[np.floating[Any]]:
        """Return the rows of a parsed JSON answer, shape ``(expected, d)``, in the order of the texts, not normalised.

        Raises:
            EmbeddingUnavailable: the answer does not contain `expected` rows of one length.
        """

    def authorise(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry a key."""
        return bearer(key)

    def _body(self, texts: Sequence[str], dimensions: str = "dimensions", **options: object) -> dict[str, object]:
        """Return the body of a request; ``dimensions`` is the name of that field."""
        body = {"model": self.model, "input": list(texts), **options}
        if self.dimensions is not None:
            body[dimensions] = self.dimensions
        if self.packed:
            body["encoding_format"] = "base64"
        return body


class OpenAIFormat(ProviderFormat):
    """The format of ``/v1/embeddings``, also used by many other servers."""

    __slots__ = ()

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request; this format has no kinds of texts."""
        return json_call(self.url, self._body(texts))

    def read(self, body: Any, expected: int) -> NDArray[np.floating[Any]]:
        """Return the rows, ordered by ``index``."""
        return indexed_matrix(body, expected, self.provider)


class VoyageFormat(OpenAIFormat):
    """The format of Voyage's ``/v1/embeddings``: as OpenAI's, with an input type."""

    __slots__ = ()

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request. Without ``truncation: false``, a long text would be cut silently."""
        return json_call(self.url, self._body(texts, "output_dimension", input_type=kind, truncation=False))


class OllamaFormat(ProviderFormat):
    """The format of ``/api/embed``: models on the user's own machine; a key is for an authorising proxy."""

    __slots__ = ()

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request. Without ``truncate: false``, a long text would be cut silently."""
        return json_call(f"{self.url}/api/embed", self._body(texts, truncate=False))

    def read(self, body: Any, expected: int) -> NDArray[np.floating[Any]]:
        """Return the rows, which are in the order of the texts."""
        return matrix_of(body.get("embeddings") if isinstance(body, Mapping) else None, expected, self.provider)


class GeminiFormat(ProviderFormat):
    """The format of ``batchEmbedContents``. Vectors of fewer than 3,072 dimensions do not have unit length."""

    __slots__ = ()

    def request(self, text: str, kind: Kind) -> dict[str, Any]:
        """Return the request of one text."""
        content = {"parts": [{"text": text}]}
        request = {"model": f"models/{self.model}", "content": content, "taskType": TASK_TYPES[kind]}
        return request if self.dimensions is None else {**request, "outputDimensionality": self.dimensions}

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request of several texts."""
        url = models_url(self.url, self.model, "batchEmbedContents")
        return json_call(url, {"requests": [self.request(text, kind) for text in texts]})

    def read(self, body: Any, expected: int) -> NDArray[np.floating[Any]]:
        """Return the rows, which are in the order of the texts and have no index."""
        rows = body.get("embeddings") if isinstance(body, Mapping) else None
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise EmbeddingUnavailable("gemini sent an answer without a list of vectors", provider=self.provider)
        return matrix_of([row.get("values") for row in rows], expected, self.provider)

    def authorise(self, key: str) -> Mapping[str, str]:
        """Return Google's header; a key in the address would appear in logs."""
        return {"x-goog-api-key": key}


def embeddings_url(base_url: str) -> str:
    """Return the address of the embeddings endpoint below a base address.

    Appends ``/v1/embeddings``, or only ``/embeddings`` to an address that ends in a version, or nothing to one that
    ends in ``/embeddings``.
    """
    base = base_url.rstrip("/")
    if base.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if re.search(r"/v\d+(beta\d*)?$", base) else f"{base}/v1/embeddings"


def models_url(base_url: str, model: str, method: str) -> str:
    """Return the address of a method of Gemini's models, with ``/v1beta`` appended if it is missing."""
    return f"{base_url.rstrip('/').removesuffix('/v1beta')}/v1beta/models/{model}:{method}"


def ollama_url(host: str) -> str:
    """Return the address of a server from a value of ``OLLAMA_HOST``: ``host``, ``:port``, ``host:port`` or a URL."""
    text = host.strip().rstrip("/")
    if "://" not in text:
        parts = urlsplit(f"//{text}")
        name = parts.hostname or "127.0.0.1"
        name = f"[{name}]" if ":" in name else name
        # An invalid port is kept, for the check of the whole address to report.
        port = parts.netloc.rpartition("]")[2].partition(":")[2]
        text = f"http://{name}:{port or 11434}{parts.path}"
    for tail in ("/api", "/v1"):
        text = text.removesuffix(tail)
    # A server can listen on the wildcard address, but clients cannot connect to it.
    return text.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]")


def answer_bytes(texts: int, dimensions: int | None) -> int:
    """Return the maximum size of an answer in bytes: its vectors as JSON, and 16 MiB for everything else."""
    return MAX_ANSWER_BYTES + texts * (_FIELDS_BYTES + _NUMBER_BYTES * (dimensions or _ASSUMED_DIMENSIONS))


def batches(texts: Sequence[str], limits: Limits, batch_size: int) -> Iterator[range]:
    """Yield runs of texts, in order; each fits into one request."""
    tokens = limits.tokens
    for run in group([estimate_tokens(t) for t in texts], most=min(batch_size, limits.inputs), budget=tokens):
        sizes = [len(texts[i].encode("utf-8", "replace")) for i in run]
        for part in group(sizes, most=len(sizes), budget=limits.bytes):
            yield run[part.start : part.stop]


def pieces(text: str, limit: int | None) -> list[str]:
    """Split a text into the fewest pieces that its estimated tokens allow."""
    tokens = estimate_tokens(text)
    if limit is None or tokens <= limit:
        return [text]
    return split_bytes(text, max(1, limit * len(text.encode("utf-8", "replace")) // tokens))


def split_bytes(text: str, most: int) -> list[str]:
    """Split a text into pieces of at most `most` UTF-8 bytes, as long as possible, never inside a character.

    A single character beyond the bound makes a separate piece; 0 or less means no bound.
    """
    if most <= 0 or len(text) * 4 <= most:
        return [text]
    parts: list[str] = []
    start = size = 0
    for position, char in enumerate(text):
        width = len(char.encode("utf-8", "replace"))
        if size + width > most and position > start:
            parts.append(text[start:position])
            start, size = position, 0
        size += width
    return [*parts, text[start:]]
