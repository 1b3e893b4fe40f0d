"""FallbackEmbedder: several embedders of the same vectors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from septet._core import Lock
from septet.embedding.embedder import (
    Embedder,
    Kind,
    Pooling,
    SpaceIdentity,
    batch_tokens_of,
    check_embedder,
    checked_call,
    checked_texts,
    name_of,
    pooling_of,
)
from septet.embedding.rows import BadVector
from septet.embedding.transport.keys import COOL_DOWN_S
from septet.errors import EmbeddingConfigError, EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.inputs.arguments import listed

__all__ = ["FallbackEmbedder", "check_spaces"]

MOST_EMBEDDERS = 100


class FallbackEmbedder:
    """An `Embedder` that tries several embedders of one space, in order. One that fails is tried last for 30 s.

    Args:
        embedders: in order of preference, at least one.
        clock: monotonic seconds.
        provider: the provider that names the space; that of the first embedder if None.

    Raises:
        EmbeddingConfigError: there is no embedder, or their models or dimensions differ.
    """

    def __init__(
        self,
        embedders: Sequence[Embedder],
        *,
        clock: Callable[[], float] = time.monotonic,
        provider: str | None = None,
    ) -> None:
        chain: list[Embedder] = listed(
            embedders, "embedders", EmbeddingConfigError, "a list of embedders", MOST_EMBEDDERS
        )
        if not chain:
            raise EmbeddingConfigError("a fallback chain needs at least one embedder")
        for one in chain:
            check_embedder(one, "embedders")
        check_spaces(chain)
        self._embedders = tuple(chain)
        self._clock = clock
        self._provider = None if provider is None else name_of(provider, "provider")
        self._cool_until = [float("-inf")] * len(chain)
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"FallbackEmbedder({', '.join(map(repr, self._embedders))})"

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """The embedders, in order of preference."""
        return self._embedders

    @property
    def provider(self) -> str:
        """The provider that names the space: that of the first one, unless another was given."""
        return self._embedders[0].provider if self._provider is None else self._provider

    @property
    def model(self) -> str:
        """The model of all of them."""
        return self._embedders[0].model

    @property
    def dimensions(self) -> int | None:
        """The length of the vectors; None while no embedder knows it."""
        return next((one.dimensions for one in self._embedders if one.dimensions is not None), None)

    @property
    def batch_size(self) -> int:
        """The smallest batch size of all, so that a call is one request for each of them."""
        return min(one.batch_size for one in self._embedders)

    @property
    def batch_tokens(self) -> int | None:
        """The smallest bound of those that say one."""
        return min((most for most in map(batch_tokens_of, self._embedders) if most is not None), default=None)

    @property
    def pooling(self) -> Pooling | None:
        """How the first of them that says it makes vectors of long texts."""
        return next((said for said in map(pooling_of, self._embedders) if said is not None), None)

    def is_long(self, text: str) -> bool:
        """Say whether a document is a long text to that one.

        Raises:
            EmbeddingConfigError: the document is not text.
        """
        (text,) = checked_texts([text])
        return any(one.is_long(text) for one in self._embedders if pooling_of(one) is not None)  # type: ignore[attr-defined]

    def embed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Return one vector of unit length for each text, in order, shape ``(n, d)``, from the first that succeeds.

        Args:
            timeout_s: the time limit of all together; each gets an equal share of what is left.

        Raises:
            EmbeddingConfigError: `texts` is no list of texts, the kind unknown, or the time out of range.
            EmbeddingRefused: all refused, or one returned another dimension.
            EmbeddingUnavailable: all failed, at least one of them temporarily.
        """
        texts, timeout_s = checked_texts(texts), checked_call(kind, timeout_s)
        ends_at = None if timeout_s is None else self._clock() + timeout_s
        order = self._order()
        errors: list[EmbeddingError] = []
        for tried, number in enumerate(order):
            left_s = None if ends_at is None else (ends_at - self._clock()) / (len(order) - tried)
            if left_s is not None and left_s <= 0:
                break
            try:
                rows = self._embedders[number].embed(texts, kind, timeout_s=left_s)
            except (EmbeddingRefused, EmbeddingUnavailable) as error:
                errors.append(error)
                self._cool_down(number, self._clock() + COOL_DOWN_S)
                continue
            self._cool_down(number, float("-inf"))
            self._check(rows, number)
            return rows
        raise _joined(errors, self.provider)

    async def aembed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Embed on a thread; see `embed`."""
        return await asyncio.to_thread(self.embed, texts, kind, timeout_s=timeout_s)

    def close(self) -> None:
        """Close all embedders."""
        for one in self._embedders:
            one.close()

    def _order(self) -> list[int]:
        now = self._clock()
        with self._lock.hold():
            return sorted(range(len(self._embedders)), key=lambda n: self._cool_until[n] > now)

    def _cool_down(self, number: int, until: float) -> None:
        with self._lock.hold():
            self._cool_until[number] = until

    def _check(self, rows: NDArray[np.float32], number: int) -> None:
        """Refuse vectors of another dimension, which may be unknown before the first answer."""
        expected = next((one.dimensions for one in self._embedders if one.dimensions is not None), None)
        if len(rows) and expected is not None and rows.shape[1] != expected:
            raise EmbeddingRefused(
                f"{self._embedders[number].provider} returns {rows.shape[1]} dimensions instead of {expected}: "
                "a fallback must produce the same vectors",
                provider=self._embedders[number].provider,
            )


def check_spaces(spaces: Sequence[Embedder | SpaceIdentity]) -> None:
    """Check that all embedders share one space, as far as their dimensions are known.

    Raises:
        EmbeddingConfigError: their models or dimensions differ, so their vectors cannot be compared.
    """
    for other in spaces[1:]:
        first = spaces[0]
        if first.model != other.model:
            differ = f"models {first.model!r} and {other.model!r}"
        elif None not in (first.dimensions, other.dimensions) and first.dimensions != other.dimensions:
            differ = f"{first.dimensions} and {other.dimensions} dimensions"
        else:
            continue
        raise EmbeddingConfigError(
            f"{other.provider} cannot be a fallback for {first.provider}: {differ} are different spaces, whose vectors "
            "cannot be compared; use the same model elsewhere, or with another key"
        )


def _joined(errors: Sequence[EmbeddingError], provider: str) -> EmbeddingError:
    final = bool(errors) and all(isinstance(error, EmbeddingRefused) for error in errors)
    message = "; ".join(str(error) for error in errors) or f"{provider}: no answer within the time allowed"
    temporary = BadVector if errors and all(isinstance(error, BadVector) for error in errors) else EmbeddingUnavailable
    joined = (EmbeddingRefused if final else temporary)(message, provider=provider)
    joined.rows = max((error.rows for error in errors if error.rows is not None), key=len, default=None)
    return joined
