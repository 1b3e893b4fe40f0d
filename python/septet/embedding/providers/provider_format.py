"""ProviderFormat: writes a provider's requests and reads its answers, without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind
from septet.embedding.providers.limits import Limits
from septet.net.calls import Call


class ProviderFormat(Protocol):
    """One provider's format of requests and answers."""

    @property
    def provider(self) -> str:
        """The provider's name in configurations, spaces and errors."""

    @property
    def model(self) -> str:
        """The provider's name of the model."""

    @property
    def limits(self) -> Limits:
        """The limits of one request."""

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request for texts, which must be within the limits."""

    def read(self, body: Any, expected: int) -> NDArray[np.floating[Any]]:
        """Return the rows of a parsed JSON answer, shape ``(expected, d)``, in the order of the texts, not normalised.

        Raises:
            EmbeddingUnavailable: the answer does not contain `expected` rows of one length.
        """

    def authorise(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry a key."""
