"""Embedder: the protocol of everything that turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.errors import EmbeddingUnavailable

__all__ = ["Embedder", "Kind", "Pooling", "SpaceIdentity", "fault_in", "pooling_of", "space_name"]

#: The role of a text: something to find, or a query.
Kind: TypeAlias = Literal["document", "query"]


class Embedder(Protocol):
    """A model that turns texts into vectors. Implementations are thread-safe."""

    @property
    def provider(self) -> str:
        """Who runs the model, such as ``openai`` or ``local``."""

    @property
    def model(self) -> str:
        """The model's name, as its provider spells it."""

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors; None while it is unknown."""

    @property
    def batch_size(self) -> int:
        """The number of texts per call of `embed` that makes one request."""

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
        """Release resources. Closing twice is fine."""


class Pooling(NamedTuple):
    """How an embedder makes one vector of a text that is longer than its model takes.

    An embedder that has changed this says it by a property ``pooling``, and by a method ``is_long(text)``, which says
    whether a document is such a text. Then old vectors of long texts are made anew, and those of all others stay.

    Attributes:
        name: changes with the way.
        whole_bytes: a text of at most so many UTF-8 bytes is never long.
    """

    name: str
    whole_bytes: int


def pooling_of(embedder: Embedder) -> Pooling | None:
    """Return how an embedder makes vectors of long texts; None if it does not say."""
    found = getattr(embedder, "pooling", None)
    return found if isinstance(found, Pooling) else None


@dataclass(frozen=True, slots=True)
class SpaceIdentity:
    """What makes vectors comparable: model and dimension. `dimensions` is None while unknown."""

    provider: str
    model: str
    dimensions: int | None


def fault_in(what: str, error: BaseException, provider: str) -> EmbeddingUnavailable:
    """Return what foreign code raised as an error of Septet's own, in at most 300 characters of its words.

    Raises:
        BaseException: the error itself, when it is none of the code: an interrupt, or the end of the program.
    """
    # A panic of code in Rust is no Exception, and its class has no public name.
    if not isinstance(error, Exception) and type(error).__module__ != "pyo3_runtime":
        raise error
    try:
        said = " ".join(str(error).split())[:300]
    except Exception:  # noqa: BLE001 - foreign code too
        said = "(its text cannot be read)"
    return EmbeddingUnavailable(f"{what} {type(error).__name__}: {said}", provider=provider)


def space_name(embedder: Embedder | SpaceIdentity) -> str:
    """Return the name of the space that an embedder's vectors live in: ``provider/model``.

    Vectors of different spaces are never compared.
    """
    return f"{embedder.provider}/{embedder.model}"
