"""Ranking quality on a collection with judgements: nDCG@10 and Recall@100 of full text alone and of each profile.

python benches/evaluate.py [FOLDER]

FOLDER (default: $SEPTET_DATA/data/cranfield) holds ``corpus.jsonl.gz`` and ``queries.jsonl.gz`` (``id``, ``title``,
``text``), ``qrels.tsv`` (query-id, corpus-id, score) and, optionally, ``embeddings.npz`` (``docs``, ``queries``).
A run over the default folder writes benches/EVAL.json, and the charts of it to benches/charts.

Where the lines of a corpus have a ``group`` and a ``role``, they are turns of conversations, each a vault of its own:
alone, with the turns beside them as context, as a transcript that `sync` cut, and retrieved. Every second conversation
is for choosing, the others for telling. $SEPTET_DATA/data/beam100k is told of behind the default folder.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import charts
import septet
from ablation import MEASURE, ablation
from long_texts import Qrels, joined, vaults
from ranking_steps import SHARES, auc, steps, thinned
from septet import Chunking, Evaluation, Profile, Vault, evaluate
from septet.evaluation.measures import ndcg
from septet.profiles import BUILTIN
from septet.ranking.fusion import Col, Scale
from septet.ranking.profile import Adaptive
from vector_shapes import vector_shapes

NOW = 1_700_000_000.0
SEPTET = BUILTIN["septet"]
PROFILES = ("seven-signals", "six-signals", "septet")
#: Weights that contexts are compared with.
CONTEXTS = (0.0, 0.1, 0.2, 0.4, 1.0)
CUTS = (Chunking(), Chunking(tokens=100, overlap=0), Chunking(overlap=0, variant="entries"))
#: Characters of a turn that are its title.
TITLE = 80
#: Characters of hits that are read.
READ = 4_000


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
    qrels: Qrels
    doc_vectors: NDArray[np.float32] | None
    query_vectors: NDArray[np.float32] | None


def main() -> None:
    default = Path(os.environ.get("SEPTET_DATA", Path(__file__).parents[2] / "shared")) / "data" / "cranfield"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not folder.is_dir():
        missing = f"no collection in {folder}: name its folder, or set SEPTET_DATA"
        sys.exit(missing if len(sys.argv) > 1 else print(missing))
    collection = load(folder)
    print(f"{folder.name}: {len(collection.docs)} documents, {len(collection.queries)} queries")
    if "group" in collection.docs[0]:
        evaluate_conversations(collection)
        return
    print(f"{'':36} {'nDCG@10':>8} {'R@100':>8}")
    with vault_of(collection) as vault:
        for name, found in evaluations(vault, collection):
            print(f"{name:36} {found['nDCG@10']:8.4f} {found['R@100']:8.4f}", flush=True)
        evaluate_steps(vault, collection)
        modes = evaluate_ablation(vault, collection)
        whole = evaluate(vault, collection.queries, collection.qrels, MEASURE, query_vectors=collection.query_vectors)
    evaluate_shapes(collection)
    late = evaluate_late_vectors(collection)
    if folder == default and collection.doc_vectors is not None:
        tell(collection, modes, [*late, (1.0, round(whole[MEASURE], 5))])
    evaluate_long_texts(collection)
    if folder == default:
        talks = default.with_name("beam100k")
        if talks.is_dir():
            evaluate_conversations(load(talks))
        else:
            print(f"no conversations in {talks}")


def evaluate_ablation(vault: Vault, collection: Collection) -> dict[str, Any]:
    modes = {}
    print(f"septet without one of its parts: {MEASURE}, change with its 95 % interval, p")
    for mode, whole, parts in ablation(vault, collection.queries, collection.qrels, collection.query_vectors):
        print(f"{mode + ': whole':36} {whole:8.4f}")
        for part in parts:
            change = f"{part.change:+.4f} ({part.low:+.4f} to {part.high:+.4f}), {part.p:.4f}"
            print(f"{mode + ': without ' + part.name:36} {part.value:8.4f} {change}", flush=True)
        told = [{k: v if isinstance(v, str) else round(v, 5) for k, v in asdict(part).items()} for part in parts]
        modes[mode] = {"whole": round(whole, 5), "without": told}
    return modes


def tell(collection: Collection, modes: dict[str, Any], late: list[tuple[float, float]]) -> None:
    """Write what the charts are drawn from, and draw them."""
    found = {
        "collection": {"name": "Cranfield", "documents": len(collection.docs), "queries": len(collection.queries)},
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "version": septet.__version__,
        "measure": MEASURE,
        "ablation": modes,
        "late_vectors": late,
    }
    charts.EVAL.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {charts.EVAL.name}")
    charts.write_quality(charts.FOLDER)


def evaluated(vault: Vault, collection: Collection, vectors: NDArray[np.float32] | None, **options: Any) -> Evaluation:
    """Return the two measures of a search; each is of one as deep as its rank."""
    return evaluate(vault, collection.queries, collection.qrels, ["nDCG@10", "R@100"], query_vectors=vectors, **options)


def evaluations(vault: Vault, collection: Collection) -> Iterator[tuple[str, Evaluation]]:
    """Yield the competitors by name."""
    vectors = collection.query_vectors
    yield "FTS5 alone (BM25 as documented)", evaluated(vault, collection, None, profile=FTS5_ALONE)
    yield "TF-IDF alone (of FTS5's candidates)", evaluated(vault, collection, None, profile=alone("tfidf", "tfidf"))
    if vectors is not None:
        of_vectors = alone("cosine", "cosine")
        yield "vectors alone", evaluated(vault, collection, vectors, profile=of_vectors, legs="vector")
    for profile in PROFILES:
        yield profile, evaluated(vault, collection, None, profile=profile)
        if vectors is not None:
            yield f"{profile} with vectors", evaluated(vault, collection, vectors, profile=profile)


def evaluate_steps(vault: Vault, collection: Collection) -> None:
    print("the steps of septet, and the AUC of confidence against foreign questions")
    for name, profile, with_vectors in steps():
        vectors = collection.query_vectors if with_vectors else None
        if with_vectors and vectors is None:
            continue
        found = evaluate(vault, collection.queries, collection.qrels, "nDCG@10", query_vectors=vectors, profile=profile)
        print(f"{name:36} {found['nDCG@10']:8.4f}", flush=True)
    questions = [query["text"] for query in collection.queries]
    print(f"{'confidence, text':36} {auc(vault, questions, None):8.4f}")
    if collection.query_vectors is not None:
        print(f"{'confidence, with vectors':36} {auc(vault, questions, collection.query_vectors):8.4f}", flush=True)


def evaluate_late_vectors(collection: Collection) -> list[tuple[float, float]]:
    if collection.doc_vectors is None:
        return []
    print("septet with vectors of so many entries")
    told = []
    for share in (0.0, *SHARES):
        some = replace(collection, doc_vectors=thinned(collection.doc_vectors, share))
        with vault_of(some) as vault:
            found = evaluate(
                vault, collection.queries, collection.qrels, "nDCG@10", query_vectors=collection.query_vectors
            )
            print(f"{share:36.0%} {found['nDCG@10']:8.4f}", flush=True)
            told.append((share, round(found["nDCG@10"], 5)))
    return told


def evaluate_shapes(collection: Collection) -> None:
    """Print what a collection's vectors find in other shapes, alone and with words."""
    if collection.doc_vectors is None or collection.query_vectors is None:
        return
    print(f"vectors in other shapes: {MEASURE} of words, of vectors, of both, both beside the better")
    for shape in vector_shapes(collection.doc_vectors, collection.query_vectors):
        docs, queries = shape.docs.astype(np.float32), shape.queries.astype(np.float32)
        reshaped = replace(collection, doc_vectors=docs, query_vectors=queries)
        with vault_of(reshaped) as vault:
            words = evaluated(vault, reshaped, None)[MEASURE]
            vectors = evaluated(vault, reshaped, queries, legs=["vector"])[MEASURE]
            both = evaluated(vault, reshaped, queries)[MEASURE]
        change = both - max(words, vectors)
        print(f"{shape.name:36} {words:8.4f} {vectors:8.4f} {both:8.4f} {change:+8.4f}", flush=True)


def evaluate_long_texts(collection: Collection) -> None:
    texts, qrels = joined(collection.docs, collection.qrels)
    whole = replace(collection, qrels=qrels)
    print(f"joined in threes: {len(texts)} texts, septet with vectors")
    for name, vault in vaults(texts):
        found = evaluated(vault, whole, None, group_by="parent")
        print(f"{name:36} {found['nDCG@10']:8.4f} {found['R@100']:8.4f}", flush=True)


# -- conversations -----------------------------------------------------------------------------------------------------


def evaluate_conversations(collection: Collection) -> None:
    for who, told in (("all turns", conversations(collection)), ("users' turns", conversations(collection, "user"))):
        print(f"{who + ': ' + MEASURE:52} {'choosing':>8} {'telling':>8}")
        for name, of_one in ranked_turns():
            show(name, [of_one(one) for one in told])
        print(f"{who}: the part of the answers in the first {READ} characters of hits")
        for cut in CUTS:
            for profile in ("septet", "conversation"):
                name = f"{profile}: {cut.tokens} tokens, overlap {cut.overlap}, {cut.variant}"
                show(name, [read(one, cut, profile) for one in told])


def show(name: str, values: Sequence[float]) -> None:
    print(f"{name:52} {fmean(values[::2]):8.4f} {fmean(values[1::2]):8.4f}", flush=True)


def conversations(collection: Collection, role: str | None = None) -> list[Collection]:
    """Return each conversation with the questions that it answers; only the turns of a role, if one is given."""
    made = []
    for group in dict.fromkeys(doc["group"] for doc in collection.docs):
        turns = [doc for doc in collection.docs if doc["group"] == group and role in (None, doc["role"])]
        ids = {turn["id"] for turn in turns}
        found = {
            query: {id: grade for id, grade in own.items() if id in ids} for query, own in collection.qrels.items()
        }
        qrels = {query: own for query, own in found.items() if own}
        queries = [query for query in collection.queries if query["id"] in qrels]
        made.append(Collection(turns, queries, qrels, None, None))
    return made


def ranked_turns() -> Iterator[tuple[str, Callable[[Collection], float]]]:
    """Yield what measures the ranking of a conversation, by name."""
    yield "seven-signals: turns alone", lambda one: searched(one, 0, "seven-signals")
    yield "septet: turns alone", lambda one: searched(one, 0, "septet")
    yield "septet: turns alone, retriever", retrieved
    yield "septet: turns alone, their beginning as title", lambda one: searched(one, 0, "septet", TITLE)
    for count in (1, 2):
        for weight in CONTEXTS:
            profile = weighing(weight)
            yield (
                f"septet: {count} before and behind, weight {weight:g}",
                lambda one, count=count, profile=profile: searched(one, count, profile),
            )


def weighing(context: float) -> Profile:
    """Return the default profile with another weight of contexts."""
    weights = replace(SEPTET.text.weights, context=context)
    return replace(SEPTET, name="septet-with-context", text=replace(SEPTET.text, weights=weights))


def of_turns(one: Collection, count: int, titled: int = 0) -> Vault:
    """Return a vault of turns, each with ``count`` turns before and after it as context.

    Titles are the first ``titled`` characters, or one for all.
    """
    vault = Vault(":memory:", clock=lambda: NOW)
    texts = [turn["text"] for turn in one.docs]
    contexts = ([*texts[max(0, at - count) : at], *texts[at + 1 : at + 1 + count]] for at in range(len(texts)))
    vault.add_many(
        {"id": turn["id"], "title": text[:titled] or "(untitled)", "description": text, "context": "\n".join(context)}
        for turn, text, context in zip(one.docs, texts, contexts)
    )
    return vault


def searched(one: Collection, count: int, profile: Profile | str, titled: int = 0) -> float:
    with of_turns(one, count, titled) as vault:
        return evaluate(vault, one.queries, one.qrels, MEASURE, profile=profile)[MEASURE]


def retrieved(one: Collection) -> float:
    with of_turns(one, 0) as vault, vault.retriever() as retriever:
        values = []
        for query in one.queries:
            grades = one.qrels[query["id"]]
            found = [grades.get(id, 0) for id in retriever.retrieve(query["text"], limit=10).ids]
            values.append(ndcg(found, sorted(grades.values(), reverse=True), 10))
        return fmean(values)


def read(one: Collection, cut: Chunking, profile: str) -> float:
    """Return how much of the turns that answer stands in the first hits of a transcript, 0 to 1."""
    texts = {turn["id"]: " ".join(turn["text"].split()) for turn in one.docs}
    said = [{"role": turn["role"], "content": turn["text"]} for turn in one.docs]
    with tempfile.TemporaryDirectory() as folder, Vault(":memory:", clock=lambda: NOW, profile=profile) as vault:
        lines = "".join(json.dumps({"type": "message", "message": message}) + "\n" for message in said)
        Path(folder, "talk.jsonl").write_text(lines, encoding="utf-8")
        vault.sync(folder, chunking=cut, redact=False)
        values = []
        for query in one.queries:
            shown = first_lines([hit.entry.description for hit in vault.search(query["text"], limit=80)])
            values.append(fmean(part_shown(texts[id], shown) for id in one.qrels[query["id"]]))
        return fmean(values)


def first_lines(texts: Sequence[str]) -> list[str]:
    """Return the lines of the texts that are read, without who speaks."""
    left, lines = READ, []
    for text in texts:
        left -= len(text)
        if left < 0:
            break
        lines += [
            " ".join(line.removeprefix("User: ").removeprefix("Assistant: ").split()) for line in text.split("\n")
        ]
    return lines


def part_shown(text: str, lines: Sequence[str]) -> float:
    shown: set[int] = set()
    for line in lines:
        at = text.find(line) if line else -1
        if at >= 0:
            shown.update(range(at, at + len(line)))
    return len(shown) / len(text)


# -- collections -------------------------------------------------------------------------------------------------------


def load(folder: Path) -> Collection:
    qrels: Qrels = {}
    for row in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, doc, grade = row.split("\t")
        qrels.setdefault(query, {})[doc] = int(grade)
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


if __name__ == "__main__":
    main()
