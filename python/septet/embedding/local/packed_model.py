"""PackedModel: weights and tokenizer of a packed file, under the names that a local embedder uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet._core import Encoder, four_bit_rows
from septet.embedding.local.folder import LocalModel, local_fault
from septet.embedding.local.packed import PACKED, PackedFile
from septet.embedding.local.tokenizer import Tokens
from septet.embedding.local.weights import Precision
from septet.errors import EmbeddingConfigError
from septet.inputs.documents import Unreadable

_Value = TypeVar("_Value")


class PackedModel:
    """A model of one file, which stays mapped. The layers are copied; words are decoded when used.

    Args:
        model: the configuration, of the same file.

    Raises:
        EmbeddingConfigError: the file is truncated, damaged or not a packed model. The message names it and the remedy.
    """

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._path = model.folder / PACKED
        self._file = self._read(lambda: PackedFile(self._path))
        head = self._file.head
        self._words = self._checked(lambda: self._file.blocks("emb.word", head.words, head.dimensions))

    def words(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors ``(t, d)`` of words by number ``(t,)``."""
        return self._checked(lambda: four_bit_rows(self._words[ids]))

    def encoder(self, precision: Precision) -> Encoder:
        """Return the model's forward pass, with its weights copied; raise if they do not make a model.

        In int8 the codes of four bits are multiplied as they are.
        """
        return self._checked(lambda: self._encoder(precision == "int8"))

    def tokenizer(self) -> UnigramTokenizer:
        """Return the model's tokenizer; raise if it is damaged."""
        head = self._file.head
        inner = self._checked(self._file.tokenizer)
        return UnigramTokenizer(inner, head.begin, head.end, self._model.max_tokens)

    def is_changed(self) -> bool:
        """Return True if the file was truncated or overwritten since it was opened."""
        try:
            self._file.check()
        except _core.Damaged:
            return True
        return False

    def _encoder(self, coded: bool) -> Encoder:
        file, head = self._file, self._file.head
        d = head.dimensions
        with np.errstate(all="ignore"):
            # Texts have no second part, so every token is of the first type.
            # The encoder refuses NaN and infinity, so numpy need not warn.
            positions = file.floats("emb.pos", head.positions, d) + file.floats("emb.type", head.types, d)[0]
        return Encoder(
            np.ascontiguousarray(positions, np.float32),
            self._norm("emb.ln"),
            [self._layer(f"l{number}.", coded) for number in range(head.layers)],
            heads=head.heads,
            epsilon=head.epsilon,
            activation=self._model.activation,
            pooling=self._model.pooling,
        )

    def _layer(self, prefix: str, coded: bool) -> tuple[Any, ...]:
        d, width = self._file.head.dimensions, self._file.head.width
        parts = [self._linear(prefix + part, d, d, coded) for part in "qkv"]
        return (
            tuple(map(np.concatenate, zip(*parts))),
            self._linear(f"{prefix}ao", d, d, coded),
            self._norm(f"{prefix}aln"),
            self._linear(f"{prefix}fi", width, d, coded),
            self._linear(f"{prefix}fo", d, width, coded),
            self._norm(f"{prefix}oln"),
        )

    def _linear(self, name: str, rows: int, columns: int, coded: bool) -> tuple[NDArray[Any], ...]:
        bias = self._file.floats(f"{name}.b", rows)
        if coded:
            return (*self._file.codes(f"{name}.w", rows, columns), bias)
        return self._file.matrix(f"{name}.w", rows, columns), bias

    def _norm(self, name: str) -> NDArray[np.float32]:
        d = self._file.head.dimensions
        return np.stack([self._file.floats(f"{name}.w", d), self._file.floats(f"{name}.b", d)])

    def _checked(self, look: Callable[[], _Value]) -> _Value:
        """Return what is read of the file, unless that changed since it was opened: then neither counts."""

        def read() -> _Value:
            try:
                return look()
            finally:
                self._file.check()

        return self._read(read)

    def _read(self, look: Callable[[], _Value]) -> _Value:
        try:
            return look()
        except _core.Damaged:
            raise self._fault("the file was truncated or overwritten while in use; fetch it again") from None
        except OSError as error:
            raise self._fault(f"{error}; check its permissions") from None
        except Unreadable as error:
            raise local_fault(f"{self._path} {error}") from None
        except ValueError as error:
            raise self._fault(f"{error}; the file is damaged, fetch it again") from None

    def _fault(self, message: str) -> EmbeddingConfigError:
        return local_fault(f"{self._path}: {message}")


class UnigramTokenizer:
    """The tokenizer of a packed file.

    Args:
        inner: returns pieces without the tokens `begin` and `end`, which every text gets.
        max_tokens: maximum tokens of a text, including those two.
    """

    def __init__(self, inner: _core.Unigram, begin: int, end: int, max_tokens: int) -> None:
        self._inner = inner
        self._begin, self._end = begin, end
        self._most = max_tokens - 2

    def encode(self, text: str) -> Tokens:
        """Return the tokens of a text."""
        ids, ends = self._inner.encode(text)
        parts = [
            [self._begin, *ids[start : start + self._most].tolist(), self._end]
            for start in range(0, max(1, len(ids)), self._most)
        ]
        kept = ends[: self._most]
        return Tokens(parts[0], parts[1:], int(kept[-1]) if len(kept) else 0)

    def unknown_script(self, text: str) -> str | None:
        """Return None: the models of this format were made for a hundred languages."""
        return None
