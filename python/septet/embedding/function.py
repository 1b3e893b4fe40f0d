"""CallableEmbedder: an embedder around a function of the user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind, Pooling, checked_call, checked_texts, fault_in, name_of, timeout_error
from septet.embedding.rows import finish, matrix_of
from septet.errors import EmbeddingConfigError, EmbeddingError
from septet.inputs.arguments import called, whole
from septet.model.vector import MOST_DIMENSIONS
from septet.system.threads import call_within

#: Takes texts and returns one row of numbers for each.
Function: TypeAlias = Callable[[list[str]], Any]


class CallableEmbedder:
    """An `Embedder` around a function.

    ::

        CallableEmbedder(model.encode, model="my-model", queries=lambda texts: model.encode(texts, prompt="query"))

    Args:
        function: takes a list of texts and returns one row of numbers for each, in any form that numpy reads.
        model: the name of the vectors' space; change it with the function.
        dimensions: the length of the rows; None if it is unknown.
        queries: a function for queries; `function` if None.
        provider: the first part of the space's name.
        batch_size: maximum texts per call of the function.
        max_chars: maximum characters of a text; longer texts are cut. None for no maximum. A vault re-embeds longer
            texts after a change.

    Raises:
        EmbeddingConfigError: the function or the name is missing, or a number is out of range.
    """

    def __init__(
        self,
        function: Function,
        *,
        model: str,
        dimensions: int | None = None,
        queries: Function | None = None,
        provider: str = "function",
        batch_size: int = 100,
        max_chars: int | None = None,
    ) -> None:
        error = EmbeddingConfigError
        if called(function, "function", error) is None:
            raise error("function is None: wanted a function of texts that returns a row of numbers for each")
        called(queries, "queries", error)
        self._functions: dict[Kind, Function] = {"document": function, "query": queries or function}
        self._model = name_of(model, "model")
        self._provider = name_of(provider, "provider")
        self._dimensions = None if dimensions is None else whole(dimensions, "dimensions", error, 1, MOST_DIMENSIONS)
        self._batch_size = whole(batch_size, "batch_size", error, 1, 2**31 - 1)
        self._max_chars = None if max_chars is None else whole(max_chars, "max_chars", error, 1, 2**31 - 1)

    def __repr__(self) -> str:
        return f"CallableEmbedder({self._provider!r}, {self._model!r}, dimensions={self._dimensions})"

    @property
    def provider(self) -> str:
        """The first part of the space's name."""
        return self._provider

    @property
    def model(self) -> str:
        """The second part of the space's name."""
        return self._model

    @property
    def dimensions(self) -> int | None:
        """The length of the rows; None if it is unknown before the first call."""
        return self._dimensions

    @property
    def batch_size(self) -> int:
        """Maximum texts per call of the function."""
        return self._batch_size

    @property
    def pooling(self) -> Pooling | None:
        """The pooling of texts beyond `max_chars`; None without a maximum."""
        # A text has at least as many bytes as characters.
        return None if self._max_chars is None else Pooling(f"first {self._max_chars} characters", self._max_chars)

    def is_long(self, text: str) -> bool:
        """Return True if a text is cut.

        Raises:
            EmbeddingConfigError: it is not text.
        """
        (text,) = checked_texts([text])
        return self._max_chars is not None and len(text) > self._max_chars

    def embed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Return one vector of unit length for each text, in order, shape ``(n, d)``.

        Raises:
            EmbeddingRefused: the dimension differs from the declared or previous one.
            EmbeddingUnavailable: the function raised or took too long, or its rows are too few, not finite or all zero.
            EmbeddingConfigError: `texts` is not a list of texts, the kind is unknown, or the time is out of range.
        """
        cut, timeout_s = [text[: self._max_chars] for text in checked_texts(texts)], checked_call(kind, timeout_s)
        if timeout_s is None:
            return self._rows(cut, kind)
        return call_within(timeout_s, lambda: self._rows(cut, kind), timeout_error(timeout_s, self._provider))

    async def aembed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Embed on a thread; see `embed`."""
        return await asyncio.to_thread(self.embed, texts, kind, timeout_s=timeout_s)

    def close(self) -> None:
        """Do nothing: the caller owns the function."""

    def _rows(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        matrices = []
        for start in range(0, len(texts), self._batch_size):
            rows = self._call(list(texts[start : start + self._batch_size]), kind)
            self._dimensions = rows.shape[1]
            matrices.append(rows)
        return np.concatenate(matrices) if matrices else np.empty((0, self._dimensions or 0), np.float32)

    def _call(self, texts: list[str], kind: Kind) -> NDArray[np.float32]:
        try:
            values = self._functions[kind](texts)
            # Reads a generator, which may be infinite, and a tensor as a list of rows.
            listed = isinstance(values, Iterable) and not isinstance(values, np.ndarray)
            rows = list(islice(values, len(texts) + 1)) if listed else values
            matrix = matrix_of(rows, len(texts), self._provider)
        except EmbeddingError:
            raise
        except BaseException as error:
            raise fault_in("the embedding function raised", error, self._provider) from error
        return finish(matrix, self._provider, self._dimensions)
