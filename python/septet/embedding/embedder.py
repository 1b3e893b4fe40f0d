"""Embedder: what turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder", "Kind", "SpaceIdentity", "space_name"]

#: What a text is to be: something to find, or a question.
Kind: TypeAlias = Literal["document", "query"]


class Embedder(Protocol):
    """A model that turns texts into vectors. Threads may share it."""

    @property
    def provider(self) -> str:
        """Who runs the model, as ``openai`` or ``local``."""

    @property
    def model(self) -> str:
        """The model's name, as its provider writes it."""

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors; None as long as it is not known."""

    @property
    def batch_size(self) -> int:
        """How many texts a call to `embed` should bring, so that a call is one request."""

    def embed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Return one vector of unit length for each text, in order, shape ``(n, d)``.

        Args:
            timeout_s: give up after so many seconds, retries and waits included; None takes as long as it takes.

        Raises:
            EmbeddingRefused: trying again cannot help: a wrong key, no quota, a request that is not understood.
            EmbeddingUnavailable: trying again later may help: no network, a rate limit, a failing server, a timeout.
        """

    def close(self) -> None:
        """Let go of connections; closing twice is fine."""


@dataclass(frozen=True, slots=True)
class SpaceIdentity:
    """Which vectors can be compared: those of one model and dimension. `dimensions` is None when unknown."""

    provider: str
    model: str
    dimensions: int | None


def space_name(embedder: Embedder | SpaceIdentity) -> str:
    """Return the name of the space that an embedder's vectors live in: ``provider/model``.

    Vectors of different spaces are never compared.
    """
    return f"{embedder.provider}/{embedder.model}"
