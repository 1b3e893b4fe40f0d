"""ProviderFormat: what goes over the network and what comes back, without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind
from septet.embedding.transport.limits import Limits

__all__ = ["Answer", "Call", "ProviderFormat", "TransportError", "bearer", "json_call"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request, still without a key.

    Attributes:
        headers: what the call itself needs, as its content type.
    """

    method: str
    url: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that came in whole.

    Attributes:
        headers: names in lower case.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class TransportError:
    """A request without a whole response: no connection, a cut body, a timeout. `cause` holds no key."""

    cause: str


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


def json_call(url: str, body: Mapping[str, Any]) -> Call:
    """Write a POST with a JSON body. Lone surrogates, which UTF-8 cannot carry, become question marks."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Call("POST", url, text.encode("utf-8", "replace"), {"content-type": "application/json"})


def bearer(key: str) -> Mapping[str, str]:
    """Return the header that most providers take a key in."""
    return {"authorization": f"Bearer {key}"}
