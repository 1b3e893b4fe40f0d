"""LocalReranker: a cross-encoder or a late-interaction model on this machine, for ``rerank`` of a search."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import checked_texts
from septet.embedding.local.embedder import require_extra
from septet.embedding.local.folder import describe, find_model
from septet.embedding.local.heads import Head, head_of
from septet.embedding.local.weights import ModelWeights
from septet.errors import EmbeddingConfigError
from septet.inputs.arguments import file_path, whole
from septet.system.host import host

if TYPE_CHECKING:
    from septet.model.results import Hit

#: Pairs encoded at once: fewer leave a core idle, and more are lost at a deadline.
PAIRS_OF_A_CORE = 2
#: Scores kept per reranker; one has about 100 bytes.
MOST_KEPT = 20_000
MOST_THREADS = 4_096


class LocalReranker:
    """A `Reranker` that scores hits by a model in a folder. Thread-safe.

    ::

        vault.search("reset a password", rerank=LocalReranker("models/ms-marco-MiniLM-L6-v2"))

    The folder has ``config.json``, ``model.safetensors`` and ``tokenizer.json`` of a BERT, DistilBERT, RoBERTa,
    XLM-RoBERTa or CamemBERT with one of two heads. A cross-encoder classifies query and text, read together, into one
    class or two. Late interaction projects each token; the score is the sum over the query's tokens of the largest
    cosine to a token of the text (MaxSim, as in ColBERT: Khattab and Zaharia 2020; queries are not expanded by mask
    tokens). The text of a hit is its title and description, cut at the model's limit.

    Scores come in the order of the hits, a few at a time, so those computed in the time of a search count. Scores of
    pairs are kept: the same query and text are not computed again.

    Args:
        source: a folder or an installed package.
        threads: maximum cores of a call; all cores of the process if None.

    Raises:
        EmbeddingConfigError: the folder or a file is missing or damaged, the model has no supported head, or the extra
            ``local`` is not installed. The message names the file and the remedy.
    """

    def __init__(self, source: str | os.PathLike[str], *, threads: int | None = None) -> None:
        error = EmbeddingConfigError
        self._threads = None if threads is None else whole(threads, "threads", error, 1, MOST_THREADS)
        require_extra()
        self._about = describe(*find_model(file_path(source, "source", error)), head=True)
        self._weights = ModelWeights(self._about)
        self._head = head_of(self._about, self._weights)
        self._own = threading.Lock()
        self._kept: OrderedDict[bytes, float] = OrderedDict()

    def __repr__(self) -> str:
        return f"LocalReranker({str(self._about.folder)!r}, {self._head.kind})"

    @property
    def model(self) -> str:
        """The folder's or package's name of the model."""
        return self._about.model

    def __call__(self, query: str, hits: Sequence[Hit], /) -> Iterator[float]:
        """Yield a score for each hit, in order, as they are computed; see `scores`."""
        texts = [f"{hit.title}\n{hit.entry.description}" if hit.entry is not None else hit.title for hit in hits]
        return self._scored(query, texts)

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the score ``(n,)`` of each text, higher is better: a logit, or a sum of cosines.

        Raises:
            EmbeddingConfigError: the tokenizer or the weights are damaged; `texts` is not a list of texts.
        """
        (query,) = checked_texts([query])
        return np.fromiter(self._scored(query, checked_texts(texts)), np.float64, len(texts))

    def _scored(self, query: str, texts: Sequence[str]) -> Iterator[float]:
        head, most = self._ready(), PAIRS_OF_A_CORE * (self._threads or host.cores())
        pairs = ((text, _key(query, text)) for text in texts)
        while block := list(islice(pairs, most)):
            known = self._known([key for _, key in block])
            new = {key: text for text, key in block if key not in known}
            if new:
                scores = head.scores(query, list(new.values()), threads=self._threads or host.cores())
                known |= zip(new, map(float, scores))
                self._keep(known)
            yield from (known[key] for _, key in block)

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        with self._own:
            return {key: self._kept[key] for key in keys if key in self._kept}

    def _keep(self, scores: dict[bytes, float]) -> None:
        with self._own:
            for key, score in scores.items():
                self._kept[key] = score
                self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def _ready(self) -> Head:
        with self._own:
            if self._weights.is_changed():
                # The loaded weights may mix both versions of the file.
                self._weights = ModelWeights(self._about)
                self._head = head_of(self._about, self._weights)
                self._kept.clear()
            return self._head


@lru_cache(maxsize=4)
def reranker_of(source: str) -> LocalReranker:
    """Return the reranker of a folder or package, the same for each search."""
    return LocalReranker(source)


def _key(query: str, text: str) -> bytes:
    query_bytes, text_bytes = (part.encode("utf-8", "replace") for part in (query, text))
    return blake2b(query_bytes + b"\0" + text_bytes, digest_size=16, key=str(len(query_bytes)).encode()).digest()
