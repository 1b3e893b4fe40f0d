"""The runs behind the pictures: one search of Python's documentation with its hits, and confidence on Cranfield."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluate import Collection, load, vault_of
from race import timed
from ranking_steps import FOREIGN
from real_documents import LEFT_OUT, MODEL
from septet import EmbeddingOptions, LocalEmbedder, Vault
from septet.cli.stdlib_docs import collect
from septet.watch import SearchEvent
from stdlib_collection import QUESTIONS

__all__ = ["QUESTION", "confidence", "explained", "library", "road"]

#: The question whose road and whose hits are shown, and an entry that does not answer it.
QUESTION, ABSENT = "cache the results of a function", "py:json.dumps"
LIMIT, RUNS = 10, 25


def library(path: Path, events: list[SearchEvent]) -> Vault:
    """Open a vault of the documentation of this Python's standard library, made if it is not there yet."""
    vault = Vault(
        path, embedder={"provider": "local", "model": MODEL}, on_search=events.append,
        embedding_options=EmbeddingOptions(automatic=False),
    )  # fmt: skip
    if not vault.count():
        made = collect()
        entries = [e for e in made.entries if e["domain"] not in LEFT_OUT and not _special(e["title"])]
        ids = {entry["id"] for entry in entries}
        vault.add_many(entries)
        vault.link_many([link for link in made.links if link[0] in ids and link[1] in ids])
    vault.embed()
    vault.search("warm", limit=LIMIT)
    return vault


def _special(title: str) -> bool:
    return title.rpartition(".")[2].startswith("__")


def asked() -> list[str]:
    return [line.split("\t")[1] for line in QUESTIONS.read_text(encoding="utf-8").splitlines()[1:]]


def road(vault: Vault, events: list[SearchEvent]) -> dict[str, Any]:
    """Return what one search counted, and the milliseconds of each stage over many questions.

    Of each stage it is the median over the questions of the fastest of some runs: what others do on the machine is left
    out. A vault embeds a query once, so the model is asked beside it.
    """
    taken: dict[str, list[float]] = {}
    model = LocalEmbedder()
    for question in asked():
        runs = []
        for _ in range(RUNS):
            vault.search(question, limit=LIMIT)
            runs.append(events[-1].stages)
        for name in runs[0]:
            times = [run[name] for run in runs]
            if name == "embed":
                times = [timed(lambda question=question: model.embed([question], "query"))[0] for _ in range(RUNS)]
            taken.setdefault(name, []).append(min(times))
    found = vault.search(QUESTION, limit=LIMIT)
    event = events[-1]
    told = vault.explain(QUESTION, found[0].id, limit=LIMIT)
    legs = {leg.leg: {"matched": leg.of, "taken": leg.taken} for leg in told.legs}
    return {
        "entries": vault.count(),
        "question": QUESTION,
        "questions": len(asked()),
        "runs": RUNS,
        "legs": legs,
        "candidates": event.candidates,
        "hits": event.hits,
        "best": {"title": found[0].title, "score": round(found[0].score, 4), "confidence": round(found.confidence, 4)},
        "ms": {name: round(median(values), 4) for name, values in taken.items()},
    }


def explained(vault: Vault) -> dict[str, Any]:
    """Return the parts of the scores of the best hits, and why another entry is not one."""
    found = vault.search(QUESTION, limit=5)
    told = vault.explain(QUESTION, found[0].id, limit=5)
    absent = vault.explain(QUESTION, ABSENT, limit=5)
    return {
        "question": QUESTION,
        "hits": [
            {
                "title": hit.title,
                "score": round(hit.score, 4),
                "confidence": round(hit.confidence or 0.0, 4),
                "parts": {name: round(part, 4) for name, part in hit.breakdown.items()},
            }
            for hit in found
        ],
        "weights": {name: round(weight, 4) for name, weight in told.weights.items()},
        "signals": {name: None if v is None else round(v, 4) for name, v in told.signals.items()},
        "absent": {"id": absent.id, "reason": absent.reason, "remedy": absent.remedy.text if absent.remedy else ""},
    }


def confidence(folder: Path) -> dict[str, Any]:
    """Return first scores and confidences of questions with an answer, and of questions about something else."""
    collection = load(folder)
    own = [query["text"] for query in collection.queries]
    foreign = [*FOREIGN, *asked()]
    with vault_of(collection) as vault:
        modes = {"text": _first(vault, own, foreign, None, None)}
        if collection.query_vectors is not None:
            rows = LocalEmbedder().embed(foreign, "query")
            modes["hybrid"] = _first(vault, own, foreign, collection.query_vectors, rows)
    return {"collection": _size(collection), "foreign": len(foreign), "modes": modes}


def _size(collection: Collection) -> dict[str, Any]:
    return {"name": "Cranfield", "documents": len(collection.docs), "queries": len(collection.queries)}


def _first(
    vault: Vault, own: Sequence[str], foreign: Sequence[str],
    own_rows: NDArray[np.float32] | None, foreign_rows: NDArray[np.float32] | None,
) -> dict[str, Any]:  # fmt: skip
    told: dict[str, Any] = {}
    for name, questions, rows in (("own", own, own_rows), ("foreign", foreign, foreign_rows)):
        results = vault.search_many(questions, query_vectors=rows, limit=LIMIT)
        told[name] = {
            "score": sorted(_below(r[0].score) if len(r) else 0.0 for r in results),
            "confidence": sorted(_below(r.confidence) for r in results),
        }
    return told


def _below(value: float) -> float:
    """Keep three digits, and never more than there was: 0.9999 is not 1."""
    return math.floor(1000 * value) / 1000
