"""Embedder: the protocol of everything that turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.errors import EmbeddingConfigError, EmbeddingUnavailable
from septet.inputs.arguments import exact, listed, real, shown, utf8

__all__ = [
    "Embedder",
    "Kind",
    "Pooling",
    "SpaceIdentity",
    "batch_tokens_of",
    "check_embedder",
    "checked_call",
    "checked_texts",
    "fault_in",
    "name_of",
    "pooling_of",
    "space_name",
]

#: Texts of one call, characters of a name, and the longest time: a year.
MOST_TEXTS, MOST_NAME_CHARS, MOST_SECONDS = 10_000_000, 1_024, 366 * 86_400.0

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


def batch_tokens_of(embedder: Embedder) -> int | None:
    """Return what an embedder's property ``batch_tokens``, if it has one, says of its batches; see `Batching`."""
    found = getattr(embedder, "batch_tokens", None)
    return found if isinstance(found, int) and found > 0 else None


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


def check_embedder(value: object, name: str) -> None:
    """Check that a value has what an `Embedder` has.

    Raises:
        EmbeddingConfigError: it is a class, or lacks something.
    """
    needed = ("provider", "model", "dimensions", "batch_size", "embed", "close")
    lacking = next((one for one in needed if isinstance(value, type) or not hasattr(value, one)), None)
    if lacking is not None:
        raise EmbeddingConfigError(f"{name} has {shown(value)}, which is no embedder: wanted one with {lacking}")


def checked_texts(texts: object) -> list[str]:
    """Return texts as a list.

    Raises:
        EmbeddingConfigError: no collection, or one of them is not text.
    """
    wanted = "a sequence of str, not one str"
    given = listed(texts, "texts", EmbeddingConfigError, wanted, MOST_TEXTS, of=str)
    odd = next((text for text in given if not isinstance(text, str)), None) if given else None
    if odd is not None or None in given:
        raise EmbeddingConfigError(f"texts has {shown(odd)}: wanted {wanted}")
    return [text if type(text) is str else exact(text) for text in given]


def checked_call(kind: object, timeout_s: object) -> float | None:
    """Return the time limit of a call.

    Raises:
        EmbeddingConfigError: an unknown kind, or a time that is not 0 seconds to a year.
    """
    given = exact(kind)
    if not isinstance(given, str) or given not in ("document", "query"):
        raise EmbeddingConfigError(f"kind is {shown(kind)}: wanted 'document' or 'query'")
    return None if timeout_s is None else real(timeout_s, "timeout_s", EmbeddingConfigError, 0, MOST_SECONDS)


def name_of(value: object, what: str) -> str:
    """Return the name of a model or a provider.

    Raises:
        EmbeddingConfigError: not text, empty, or longer than 1,024 characters.
    """
    name = utf8(value, what, EmbeddingConfigError, MOST_NAME_CHARS)
    if not name.strip():
        raise EmbeddingConfigError(f"{what} is empty: wanted a name")
    return name


def space_name(embedder: Embedder | SpaceIdentity) -> str:
    """Return the name of the space that an embedder's vectors live in: ``provider/model``.

    Vectors of different spaces are never compared.

    Raises:
        EmbeddingConfigError: it has no provider or no model.
    """
    if not hasattr(embedder, "provider") or not hasattr(embedder, "model"):
        raise EmbeddingConfigError(f"embedder is {shown(embedder)}: wanted one with provider and model")
    return f"{embedder.provider}/{embedder.model}"
