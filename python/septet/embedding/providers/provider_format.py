"""ProviderFormat: how a provider's requests are written and its answers read, without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind
from septet.embedding.providers.limits import Limits
from septet.embedding.transport.calls import Call

__all__ = ["ProviderFormat"]


class ProviderFormat(Protocol):
    """One provider's format: how a call is written and an answer read."""

    @property
    def provider(self) -> str:
        """The provider's name in configurations, spaces and errors."""

    @property
    def model(self) -> str:
        """The model, as the provider writes it."""

    @property
    def limits(self) -> Limits:
        """What one request may hold."""

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request for texts that are within the limits."""

    def read(self, body: Any, wanted: int) -> NDArray[np.floating[Any]]:
        """Return the rows of a parsed JSON answer, ``(wanted, d)``, in the order of the texts, as they came.

        Raises:
            EmbeddingUnavailable: the answer does not hold that many rows of one length.
        """

    def authorise(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry a key."""
