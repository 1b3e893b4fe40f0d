"""FallbackEmbedder: several ways to the same vectors."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Embedder, Kind, SpaceIdentity
from septet.embedding.transport.keys import COOL_DOWN_S
from septet.errors import EmbeddingConfigError, EmbeddingError, EmbeddingRefused, EmbeddingUnavailable

__all__ = ["FallbackEmbedder", "check_spaces"]


class FallbackEmbedder:
    """An `Embedder` that asks the next one when one fails. All must live in one space.

    One that failed is asked last for 30 s.

    Args:
        embedders: in the order of preference, at least one.

    Raises:
        EmbeddingConfigError: their models or dimensions differ, so that their vectors cannot be compared.
    """

    def __init__(self, embedders: Sequence[Embedder], *, clock: Callable[[], float] = time.monotonic) -> None:
        if not embedders:
            raise EmbeddingConfigError("a fallback chain of no embedders: give at least one")
        check_spaces(embedders)
        self._embedders = tuple(embedders)
        self._clock = clock
        self._rests_until = [float("-inf")] * len(embedders)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"FallbackEmbedder({', '.join(map(repr, self._embedders))})"

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """Those that are asked, in the order of preference."""
        return self._embedders

    @property
    def provider(self) -> str:
        """The first one's provider, which names the space."""
        return self._embedders[0].provider

    @property
    def model(self) -> str:
        """The model of all of them."""
        return self._embedders[0].model

    @property
    def dimensions(self) -> int | None:
        """The length of the vectors, as soon as one of them knows it."""
        return next((one.dimensions for one in self._embedders if one.dimensions is not None), None)

    @property
    def batch_size(self) -> int:
        """The smallest of theirs, so that a call is one request whoever answers."""
        return min(one.batch_size for one in self._embedders)

    def embed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Return one vector of unit length for each text, in order, shape ``(n, d)``, from the first that gives them.

        Args:
            timeout_s: for all together; each gets its share of what is left.

        Raises:
            EmbeddingRefused: every one refused. EmbeddingUnavailable: all failed, not all for good.
        """
        ends_at = None if timeout_s is None else self._clock() + timeout_s
        order = self._order()
        errors: list[EmbeddingError] = []
        for asked, number in enumerate(order):
            left_s = None if ends_at is None else (ends_at - self._clock()) / (len(order) - asked)
            if left_s is not None and left_s <= 0:
                break
            try:
                rows = self._embedders[number].embed(texts, kind, timeout_s=left_s)
            except (EmbeddingRefused, EmbeddingUnavailable) as error:
                errors.append(error)
                self._rest(number, self._clock() + COOL_DOWN_S)
                continue
            self._rest(number, float("-inf"))
            self._check(rows, number)
            return rows
        raise _joined(errors, self.provider)

    async def aembed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Do as `embed` does, on a thread."""
        return await asyncio.to_thread(self.embed, texts, kind, timeout_s=timeout_s)

    def close(self) -> None:
        """Close all of them."""
        for one in self._embedders:
            one.close()

    def _order(self) -> list[int]:
        now = self._clock()
        with self._lock:
            return sorted(range(len(self._embedders)), key=lambda n: self._rests_until[n] > now)

    def _rest(self, number: int, until: float) -> None:
        with self._lock:
            self._rests_until[number] = until

    def _check(self, rows: NDArray[np.float32], number: int) -> None:
        """Refuse vectors of another length: a dimension may not be known before the first answer."""
        wanted = next((one.dimensions for one in self._embedders if one.dimensions is not None), None)
        if len(rows) and wanted is not None and rows.shape[1] != wanted:
            raise EmbeddingRefused(
                f"{self._embedders[number].provider} gives {rows.shape[1]} dimensions, wanted {wanted}: "
                "a fallback must give the same vectors",
                provider=self._embedders[number].provider,
            )


def check_spaces(spaces: Sequence[Embedder | SpaceIdentity]) -> None:
    """Check that all are the first one's space, as far as their dimensions are known.

    Raises:
        EmbeddingConfigError: they are not, so that their vectors cannot be compared.
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
            f"{other.provider} cannot stand in for {first.provider}: {differ} are different spaces, whose vectors "
            "cannot be compared; a fallback is the same model elsewhere, or with another key"
        )


def _joined(errors: Sequence[EmbeddingError], provider: str) -> EmbeddingError:
    final = bool(errors) and all(isinstance(error, EmbeddingRefused) for error in errors)
    message = "; ".join(str(error) for error in errors) or f"{provider}: no answer within the time allowed"
    joined = (EmbeddingRefused if final else EmbeddingUnavailable)(message, provider=provider)
    joined.rows = max((error.rows for error in errors if error.rows is not None), key=len, default=None)
    return joined
