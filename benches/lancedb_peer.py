"""LanceDB as a competitor of whole searches: full text and exact vectors, fused by reciprocal ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lancedb
from lancedb.rerankers import RRFReranker

import corpus
from race import Competitor
from vaults import Asked


def hybrid(folder: Path, n: int) -> Competitor:
    """Return LanceDB over the entries of `vaults.prepared`, their texts joined in one column."""
    table: Any = None
    database = lancedb.connect(folder / "lance")
    for block in corpus.stream(n):
        rows = [
            {**e, "text": " ".join((e["title"], e["description"], e["context"])), "vector": vector}
            for e, vector in zip(block.entries, block.vectors)
        ]
        if table is None:
            table = database.create_table(f"entries{n}", rows, mode="overwrite")
        else:
            table.add(rows)
    table.create_fts_index("text", replace=True)
    table.optimize()
    reranker = RRFReranker()

    def ask(asked: Asked) -> list[str]:
        found = table.search(query_type="hybrid").vector(asked.vector).distance_type("cosine").text(asked.text)
        return [row["id"] for row in found.rerank(reranker).limit(10).to_list()]

    return Competitor("lancedb", ask)
