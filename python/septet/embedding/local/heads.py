"""Heads of local models that score a pair of query and text: classification of both, or late interaction."""

from __future__ import annotations

import string
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from septet.embedding.local.folder import MAX_FILE_BYTES, TOKENIZER, WEIGHTS, LocalModel, local_fault
from septet.embedding.local.tokenizer import ModelTokenizer
from septet.embedding.local.weights import ModelWeights
from septet.inputs.documents import Unreadable, read_bytes

Vectors = NDArray[np.float32]

#: Characters of a text that are tokenised, per token of the limit; few texts have more.
_CHARACTERS = 16
#: The file of a late-interaction model with its options.
_METADATA = "artifact.metadata"

#: The tensors before the classification, and the classification, by the name of the former's weight.
_CLASSIFIERS = (
    ("pooler.dense", "classifier"),
    ("pre_classifier", "classifier"),
    ("classifier.dense", "classifier.out_proj"),
)


class _Linear(NamedTuple):
    """A linear map of a head: weight ``(to, from)`` and bias ``(to,)``."""

    weight: Vectors
    bias: Vectors

    def of(self, row: Vectors) -> Vectors:
        """Return the map ``(to,)`` of a row ``(from,)``."""
        return np.asarray(self.weight @ row + self.bias)


class Head(ABC):
    """The last part of a model that scores pairs. Thread-safe.

    Attributes:
        kind: ``cross-encoder`` or ``late interaction``.
    """

    kind: str

    def __init__(self, model: LocalModel, weights: ModelWeights) -> None:
        self._weights, self._max_tokens = weights, model.max_tokens
        self._tokenizer = ModelTokenizer(model.folder / TOKENIZER, model.max_tokens)
        if not self._tokenizer.encode("").ids:
            path = model.folder / TOKENIZER
            raise local_fault(f"{path} adds no special tokens, which a head reads: restore the file")
        self._encoder = weights.encoder("int8")
        self._chars = _CHARACTERS * model.max_tokens

    @abstractmethod
    def scores(self, query: str, texts: Sequence[str], *, threads: int) -> NDArray[np.float64]:
        """Return the score ``(n,)`` of each text, higher is better."""

    def _cut(self, text: str) -> str:
        # The tokenizer refuses lone surrogates, which are not characters.
        return text[: self._chars].encode("utf-8", "replace").decode("utf-8")


class CrossEncoder(Head):
    """A classification of query and text, read together, into one class (its logit is the score) or two.

    The score of two classes is the second's logit less the first's.
    """

    kind = "cross-encoder"

    def __init__(self, model: LocalModel, weights: ModelWeights, dense: _Linear, last: _Linear, *, relu: bool) -> None:
        super().__init__(model, weights)
        self._second = weights.second_type()
        self._dense, self._last, self._relu = dense, last, relu

    def scores(self, query: str, texts: Sequence[str], *, threads: int) -> NDArray[np.float64]:
        """Return the logit ``(n,)`` of each text."""
        query = self._cut(query)
        encodings = [self._tokenizer.encode_pair(query, self._cut(text)) for text in texts]
        words = self._weights.words(np.fromiter(chain.from_iterable(e.ids for e in encodings), np.int64))
        if self._second is not None:
            second = np.fromiter(chain.from_iterable(e.type_ids for e in encodings), np.int64) == 1
            words[second] += self._second
        lengths = [len(encoding.ids) for encoding in encodings]
        firsts = self._encoder.hidden_first(words, np.array(lengths, np.int64), threads=threads)
        return np.array([self._logit(first) for first in firsts])

    def _logit(self, first: Vectors) -> float:
        # A row at a time: a product of several differs in the last bits by their number.
        dense = self._dense.of(first)
        logits = self._last.of(np.maximum(dense, 0) if self._relu else np.tanh(dense))
        return float(logits[-1]) - (float(logits[0]) if len(logits) == 2 else 0.0)


class _Metadata(BaseModel):
    """The options of a late-interaction model that matter here."""

    model_config = ConfigDict(extra="ignore")

    query_token_id: str = "[unused0]"
    doc_token_id: str = "[unused1]"
    query_maxlen: int = Field(default=32, ge=4)
    doc_maxlen: int = Field(default=300, ge=4)
    mask_punctuation: bool = True


class LateInteraction(Head):
    """The sum over the query's tokens of the largest cosine to a token of the text (MaxSim)."""

    kind = "late interaction"

    def __init__(self, model: LocalModel, weights: ModelWeights, projection: Vectors) -> None:
        super().__init__(model, weights)
        self._projection = projection
        options = _metadata(model.folder / _METADATA)
        self._markers = [self._marker(name) for name in (options.query_token_id, options.doc_token_id)]
        self._most = [min(most, model.max_tokens) for most in (options.query_maxlen, options.doc_maxlen)]
        self._masked = frozenset(string.punctuation) if options.mask_punctuation else frozenset()

    def scores(self, query: str, texts: Sequence[str], *, threads: int) -> NDArray[np.float64]:
        """Return the sum ``(n,)`` of cosines for each text, from minus to plus the query's tokens."""
        ids = [self._ids(query, 0), *(self._ids(text, 1) for text in texts)]
        words = self._weights.words(np.fromiter(chain.from_iterable(ids), np.int64))
        lengths = [len(sequence) for sequence in ids]
        rows = self._encoder.hidden(words, np.array(lengths, np.int64), threads=threads)
        query_hidden, *hidden = np.split(rows, np.cumsum(lengths)[:-1])
        query_vectors = self._projected(query_hidden)
        kept = (self._projected(tokens[self._kept(sequence)]) for tokens, sequence in zip(hidden, ids[1:]))
        return np.array([float((query_vectors @ tokens.T).max(axis=1).sum(dtype=np.float64)) for tokens in kept])

    def _projected(self, hidden: Vectors) -> Vectors:
        vectors = hidden @ self._projection.T
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = np.divide(vectors, norms, out=vectors, where=norms > 0)
        return unit

    def _ids(self, text: str, side: int) -> list[int]:
        """Return the tokens of a query (0) or a text (1), with its marker behind the first."""
        ids, most, marker = self._tokenizer.encode(self._cut(text)).ids, self._most[side], self._markers[side]
        marked = [ids[0], *marker, *ids[1:]]
        # The last token ends the text.
        return marked if len(marked) <= most else [*marked[: most - 1], marked[-1]]

    def _kept(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        kept = np.array([self._tokenizer.token(number) not in self._masked for number in ids])
        return kept if kept.any() else np.ones(len(ids), np.bool_)

    def _marker(self, name: str) -> list[int]:
        number = self._tokenizer.number(name)
        return [] if number is None else [number]


def head_of(model: LocalModel, weights: ModelWeights) -> Head:
    """Return the head of a model; raise `EmbeddingConfigError` if it has none that is supported."""
    d, path = model.dimensions, model.folder / WEIGHTS
    for before, classifier in _CLASSIFIERS:
        dense, last = _linear(weights, before, d), _linear(weights, classifier, None, d)
        if dense is None or last is None:
            continue
        if len(last.bias) not in (1, 2):
            raise local_fault(f"{path} classifies into {len(last.bias)} classes: use a reranker, with one class or two")
        return CrossEncoder(model, weights, dense, last, relu=before == "pre_classifier")
    projection = weights.of_head("linear.weight", (None, d))
    if projection is not None:
        return LateInteraction(model, weights, projection)
    names = "classifier.weight and the layer before it, or linear.weight"
    raise local_fault(
        f"{path} has no head that scores pairs ({names}): use a cross-encoder or a late-interaction model"
    )


def _linear(weights: ModelWeights, name: str, to: int | None, of: int | None = None) -> _Linear | None:
    weight = weights.of_head(f"{name}.weight", (to, of or to))
    bias = None if weight is None else weights.of_head(f"{name}.bias", (len(weight),))
    return None if weight is None or bias is None else _Linear(weight, bias)


def _metadata(path: Path) -> _Metadata:
    if not path.is_file():
        return _Metadata()
    try:
        return _Metadata.model_validate_json(read_bytes(path, MAX_FILE_BYTES))
    except Unreadable as fault:
        raise local_fault(f"{path} {fault}; check its permissions") from None
    except ValidationError:
        raise local_fault(f"{path} is not valid, or not the expected JSON: restore the file") from None
