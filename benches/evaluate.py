"""Ranking quality on a collection with judgements: nDCG@10 and Recall@100 of full text alone and of each profile.

python benches/evaluate.py [FOLDER]

FOLDER (default: $SEPTET_DATA/data/cranfield) holds ``corpus.jsonl.gz`` and ``queries.jsonl.gz`` (``id``, ``title``,
``text``), ``qrels.tsv`` (query-id, corpus-id, score) and, optionally, ``embeddings.npz`` (``docs``, ``queries``).
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from ir_measures import Qrel, R, ScoredDoc, nDCG
from numpy.typing import NDArray

from long_texts import joined, vaults
from ranking_steps import SHARES, auc, steps, thinned
from septet import Profile, Vault
from septet.profiles import BUILTIN, ProfileLike
from septet.query.options import Leg
from septet.ranking.fusion import Col, Scale
from septet.ranking.profile import Adaptive

NOW = 1_700_000_000.0
PROFILES = ("seven-signals", "six-signals", "septet")


FTS5_ALONE = Profile(
    name="fts5",
    text=BUILTIN["seven-signals"].text,
    signals={"text": Scale(scale=Col(col="bm25"))},
    weights={"text": {"text": 1.0}, "hybrid": {"text": 1.0}},
    adaptive=Adaptive(text=("text",), hybrid=("text",)),
)


def alone(name: str, column: str) -> Profile:
    """Rank by one column, among the candidates that the legs find."""
    return replace(FTS5_ALONE, name=name, signals={"text": Col(col=column)})


@dataclass(frozen=True)
class Collection:
    docs: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    qrels: list[Qrel]
    doc_vectors: NDArray[np.float32] | None
    query_vectors: NDArray[np.float32] | None


def main() -> None:
    default = Path(os.environ.get("SEPTET_DATA", Path(__file__).parents[2] / "shared")) / "data" / "cranfield"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not folder.is_dir():
        sys.exit(f"no collection in {folder}: name its folder, or set SEPTET_DATA")
    collection = load(folder)
    print(f"{folder.name}: {len(collection.docs)} documents, {len(collection.queries)} queries")
    print(f"{'':36} {'nDCG@10':>8} {'R@100':>8}")
    with vault_of(collection) as vault:
        for name, run in runs(vault, collection):
            ndcg, recall = (score(collection, run, limit) for limit in (10, 100))
            print(f"{name:36} {ndcg[nDCG @ 10]:8.4f} {recall[R @ 100]:8.4f}", flush=True)
        evaluate_steps(vault, collection)
    evaluate_late_vectors(collection)
    evaluate_long_texts(collection)


def evaluate_steps(vault: Vault, collection: Collection) -> None:
    print("the steps of septet, and the AUC of confidence against foreign questions")
    for name, profile, with_vectors in steps():
        vectors = collection.query_vectors if with_vectors else None
        if with_vectors and vectors is None:
            continue
        print(f"{name:36} {score(collection, ranked_by(vault, profile, vectors), 10)[nDCG @ 10]:8.4f}", flush=True)
    questions = [query["text"] for query in collection.queries]
    print(f"{'confidence, text':36} {auc(vault, questions, None):8.4f}")
    if collection.query_vectors is not None:
        print(f"{'confidence, with vectors':36} {auc(vault, questions, collection.query_vectors):8.4f}", flush=True)


def evaluate_late_vectors(collection: Collection) -> None:
    if collection.doc_vectors is None:
        return
    print("septet with vectors of so many entries")
    for share in SHARES:
        some = replace(collection, doc_vectors=thinned(collection.doc_vectors, share))
        with vault_of(some) as vault:
            run = ranked_by(vault, "septet", collection.query_vectors)
            print(f"{share:36.0%} {score(collection, run, 10)[nDCG @ 10]:8.4f}", flush=True)


def ranked_by(vault: Vault, profile: ProfileLike, vectors: NDArray[np.float32] | None, legs: Leg | None = None) -> Run:
    """Return the function that ranks by a profile."""

    def run(number: int, text: str, limit: int) -> list[tuple[str, float]]:
        vector = None if vectors is None else vectors[number]
        found = vault.search(text, limit=limit, profile=profile, query_vector=vector, legs=legs)
        return [(h.id, h.score) for h in found]

    return run


def evaluate_long_texts(collection: Collection) -> None:
    texts, qrels = joined(collection.docs, collection.qrels)
    whole = replace(collection, qrels=qrels)
    print(f"joined in threes: {len(texts)} texts, septet with vectors")

    def run_in(vault: Vault) -> Run:
        def run(_number: int, text: str, limit: int) -> list[tuple[str, float]]:
            found = vault.search(text, limit=limit, mode="scan", group_by="parent")
            return [(hit.parent or hit.id, hit.score) for hit in found]

        return run

    for name, vault in vaults(texts):
        ndcg, recall = (score(whole, run_in(vault), limit) for limit in (10, 100))
        print(f"{name:36} {ndcg[nDCG @ 10]:8.4f} {recall[R @ 100]:8.4f}", flush=True)


def load(folder: Path) -> Collection:
    with (folder / "qrels.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    qrels = [Qrel(r["query-id"], r["corpus-id"], int(r["score"])) for r in rows]
    vectors = np.load(folder / "embeddings.npz") if (folder / "embeddings.npz").exists() else None
    return Collection(
        docs=read_lines(folder / "corpus.jsonl.gz"),
        queries=read_lines(folder / "queries.jsonl.gz"),
        qrels=qrels,
        doc_vectors=None if vectors is None else vectors["docs"].astype(np.float32),
        query_vectors=None if vectors is None else vectors["queries"].astype(np.float32),
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def vault_of(collection: Collection) -> Vault:
    """All facts equal, so that only text and vectors rank."""
    vault = Vault(":memory:", clock=lambda: NOW)
    items = []
    for i, doc in enumerate(collection.docs):
        title = (doc.get("title") or "").strip() or "(untitled)"
        item = {"id": doc["id"], "title": title, "description": doc["text"], "created_at": NOW}
        if collection.doc_vectors is not None and collection.doc_vectors[i].any():
            item["vector"] = collection.doc_vectors[i]
        items.append(item)
    vault.add_many(items)
    return vault


Run = Callable[[int, str, int], list[tuple[str, float]]]


def runs(vault: Vault, collection: Collection) -> list[tuple[str, Run]]:
    """Return the competitors: a name, and a function from query number, text and limit to ranked ids with scores."""
    found: list[tuple[str, Run]] = [
        ("FTS5 alone (BM25 as documented)", ranked_by(vault, FTS5_ALONE, None)),
        ("TF-IDF alone (of FTS5's candidates)", ranked_by(vault, alone("tfidf", "tfidf"), None)),
    ]
    if collection.query_vectors is not None:
        found.append(("vectors alone", ranked_by(vault, alone("cosine", "cosine"), collection.query_vectors, "vector")))
    for profile in PROFILES:
        found.append((profile, ranked_by(vault, profile, None)))
        if collection.query_vectors is not None:
            found.append((f"{profile} with vectors", ranked_by(vault, profile, collection.query_vectors)))
    return found


def score(collection: Collection, run: Run, limit: int) -> dict[Any, float]:
    scored = [
        # A falling number instead of the score keeps the ranking's own order among equal scores.
        ScoredDoc(query["id"], doc_id, -float(place))
        for number, query in enumerate(collection.queries)
        for place, (doc_id, _) in enumerate(run(number, query["text"], limit))
    ]
    measures: dict[Any, float] = ir_measures.calc_aggregate([nDCG @ 10, R @ 100], collection.qrels, scored)
    return measures


if __name__ == "__main__":
    main()
