"""FallbackEmbedder: several embedders of the same vectors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import (
    Embedder,
    Kind,
    Pooling,
    SpaceIdentity,
    Usage,
    batch_tokens_of,
    check_embedder,
    checked_call,
    checked_texts,
    name_of,
    pooling_of,
    unknown_script_of,
    usage_of,
)
from septet.embedding.rows import BadVector
from septet.errors import EmbeddingConfigError, EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.inputs.arguments import flag, listed
from septet.net.keys import COOL_DOWN_S
from septet.system.breaker import CircuitBreaker

MOST_EMBEDDERS = 100


class FallbackEmbedder:
    """An `Embedder` that tries several embedders of one space, in order. A failed one is tried last for 30 s.

    Args:
        embedders: in order of preference, at least one.
        clock: monotonic seconds.
        provider: the provider in the name of the space; the first embedder's if None.

    Raises:
        EmbeddingConfigError: the list is empty, or the models or dimensions differ.
    """

    def __init__(
        self, embedders: Sequence[Embedder], *, clock: Callable[[], float] = time.monotonic, provider: str | None = None
    ) -> None:
        error = EmbeddingConfigError
        chain: list[Embedder] = listed(embedders, "embedders", error, "a list of embedders", MOST_EMBEDDERS)
        if not chain:
            raise error("a fallback chain needs at least one embedder")
        for embedder in chain:
            check_embedder(embedder, "embedders")
        check_spaces(chain)
        self._embedders = tuple(chain)
        self._clock = clock
        self._provider = None if provider is None else name_of(provider, "provider")
        self._breakers = [CircuitBreaker[str](COOL_DOWN_S, COOL_DOWN_S, clock=clock) for _ in chain]

    def __repr__(self) -> str:
        return f"FallbackEmbedder({', '.join(map(repr, self._embedders))})"

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """The embedders, in order of preference."""
        return self._embedders

    @property
    def provider(self) -> str:
        """The provider in the name of the space."""
        return self._embedders[0].provider if self._provider is None else self._provider

    @property
    def model(self) -> str:
        """The common model."""
        return self._embedders[0].model

    @property
    def dimensions(self) -> int | None:
        """The length of the vectors; None while no embedder knows it."""
        return next((embedder.dimensions for embedder in self._embedders if embedder.dimensions is not None), None)

    @property
    def batch_size(self) -> int:
        """The smallest batch size: a call then makes one request with each embedder."""
        return min(embedder.batch_size for embedder in self._embedders)

    @property
    def batch_tokens(self) -> int | None:
        """The smallest bound; None without one."""
        return min((tokens for tokens in map(batch_tokens_of, self._embedders) if tokens is not None), default=None)

    @property
    def pooling(self) -> Pooling | None:
        """The first embedder's pooling of long texts; None without one."""
        return next((pooling for pooling in map(pooling_of, self._embedders) if pooling is not None), None)

    def is_long(self, text: str) -> bool:
        """Return True if a document is a long text for an embedder with a pooling.

        Raises:
            EmbeddingConfigError: the document is not text.
        """
        (text,) = checked_texts([text])
        return any(embedder.is_long(text) for embedder in self._embedders if pooling_of(embedder) is not None)  # type: ignore[attr-defined]

    def unknown_script(self, text: str) -> str | None:
        """Return the script of a text that the model was not made for; see `LocalEmbedder.unknown_script`.

        Raises:
            EmbeddingConfigError: the text is not text.
        """
        (text,) = checked_texts([text])
        return unknown_script_of(self._embedders[0], text)

    def usage(self, texts: Sequence[str], *, batch: bool = False) -> Usage:
        """Return the first embedder's usage by documents; see `Usage`.

        Raises:
            EmbeddingConfigError: `texts` is not a list of texts, or ``batch`` is neither True nor False.
        """
        flag(batch, "batch", EmbeddingConfigError)
        return usage_of(self._embedders[0], checked_texts(texts), batch=batch)

    def embed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Return one vector of unit length for each text, in order, shape ``(n, d)``, from the first that succeeds.

        Args:
            timeout_s: the time limit of all attempts; each gets an equal share of the remaining time.

        Raises:
            EmbeddingConfigError: `texts` is not a list of texts, the kind is unknown, or the time is out of range.
            EmbeddingRefused: all refused, or one returned another dimension.
            EmbeddingUnavailable: all failed, at least one of them temporarily.
        """
        texts, timeout_s = checked_texts(texts), checked_call(kind, timeout_s)
        ends_at = None if timeout_s is None else self._clock() + timeout_s
        order = sorted(range(len(self._embedders)), key=lambda number: self._breakers[number].remaining_s > 0)
        errors: list[EmbeddingError] = []
        for tried, number in enumerate(order):
            share_s = None if ends_at is None else (ends_at - self._clock()) / (len(order) - tried)
            if share_s is not None and share_s <= 0:
                break
            try:
                rows = self._embedders[number].embed(texts, kind, timeout_s=share_s)
            except (EmbeddingRefused, EmbeddingUnavailable) as error:
                errors.append(error)
                self._breakers[number].failed(str(error))
                continue
            self._breakers[number].succeeded()
            # The dimensions may have been unknown before the first answer.
            if len(rows) and self.dimensions is not None and rows.shape[1] != self.dimensions:
                provider = self._embedders[number].provider
                message = f"{provider} returns {rows.shape[1]} dimensions instead of {self.dimensions}: "
                raise EmbeddingRefused(f"{message}a fallback must produce the same vectors", provider=provider)
            return rows
        raise _join_errors(errors, self.provider)

    async def aembed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Embed on a thread; see `embed`."""
        return await asyncio.to_thread(self.embed, texts, kind, timeout_s=timeout_s)

    def close(self) -> None:
        """Close all embedders."""
        for embedder in self._embedders:
            embedder.close()


def check_spaces(spaces: Sequence[Embedder | SpaceIdentity]) -> None:
    """Raise `EmbeddingConfigError` unless all embedders share one space, as far as their dimensions are known."""
    for other in spaces[1:]:
        first = spaces[0]
        if first.model != other.model:
            difference = f"models {first.model!r} and {other.model!r}"
        elif None not in (first.dimensions, other.dimensions) and first.dimensions != other.dimensions:
            difference = f"{first.dimensions} and {other.dimensions} dimensions"
        else:
            continue
        raise EmbeddingConfigError(
            f"{other.provider} cannot be a fallback for {first.provider}: {difference} are different spaces, whose "
            "vectors cannot be compared; use the same model at another provider, or with another key"
        )


def _join_errors(errors: Sequence[EmbeddingError], provider: str) -> EmbeddingError:
    final = bool(errors) and all(isinstance(error, EmbeddingRefused) for error in errors)
    message = "; ".join(str(error) for error in errors) or f"{provider}: no answer within the time allowed"
    temporary = BadVector if errors and all(isinstance(error, BadVector) for error in errors) else EmbeddingUnavailable
    joined = (EmbeddingRefused if final else temporary)(message, provider=provider)
    joined.rows = max((error.rows for error in errors if error.rows is not None), key=len, default=None)
    return joined
