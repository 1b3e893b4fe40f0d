"""What PostgreSQL does by itself with the same entries: pgvector alone, and `ts_rank_cd` alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from corpus import Corpus
from vaults import Asked

TABLES = """
CREATE SCHEMA IF NOT EXISTS peer;
DROP TABLE IF EXISTS peer.entries;
CREATE TABLE peer.entries (
    id    text PRIMARY KEY,
    title text NOT NULL,
    text  text NOT NULL,
    words tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', text), 'B')
    ) STORED,
    embedding vector(384) NOT NULL
);
"""
BY_VECTOR = "SELECT id FROM peer.entries ORDER BY embedding <=> %s LIMIT 10"
BY_WORDS = (
    "SELECT id FROM peer.entries, to_tsquery('english', %s) asked WHERE words @@ asked "
    "ORDER BY ts_rank_cd(words, asked) DESC, id LIMIT 10"
)
SIZE = "SELECT pg_total_relation_size('peer.entries'), pg_relation_size('peer.by_vector')"


class Peer:
    """One table as manuals show it, asked over one connection."""

    def __init__(self, dsn: str) -> None:
        self.sql = psycopg.connect(dsn, autocommit=True)
        self.sql.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(self.sql)
        self.sql.execute(TABLES)

    def load(self, block: Corpus) -> None:
        """Load entries by a binary COPY."""
        with self.sql.cursor() as cursor, cursor.copy(
            "COPY peer.entries (id, title, text, embedding) FROM STDIN (FORMAT binary)"
        ) as copy:  # fmt: skip
            copy.set_types(["text", "text", "text", "vector"])
            for entry, vector in zip(block.entries, block.vectors):
                text = " ".join((entry["description"], entry["context"], *entry["tags"]))
                copy.write_row((entry["id"], entry["title"], text, vector))

    def index_words(self) -> None:
        self.sql.execute("CREATE INDEX by_words ON peer.entries USING gin (words)")
        self.sql.execute("VACUUM ANALYZE peer.entries")

    def index_vectors(self) -> None:
        """Build pgvector's graph with its defaults: m 16, ef_construction 64."""
        self.sql.execute("CREATE INDEX by_vector ON peer.entries USING hnsw (embedding vector_cosine_ops)")

    def by_vector(self, asked: Asked) -> list[str]:
        return [id for (id,) in self.sql.execute(BY_VECTOR, (asked.vector,)).fetchall()]

    def by_words(self, asked: Asked) -> list[str]:
        return [id for (id,) in self.sql.execute(BY_WORDS, (" | ".join(asked.text.split()),)).fetchall()]

    def sizes(self) -> tuple[int, int]:
        """Return the bytes of everything, and those of the graph."""
        whole, graph = self.sql.execute(SIZE).fetchone() or (0, 0)
        return int(whole), int(graph)

    def close(self) -> None:
        self.sql.execute("DROP TABLE peer.entries")
        self.sql.close()


def recall(answer: Callable[[Asked], Sequence[str]], exact: Sequence[Sequence[str]], asked: Sequence[Asked]) -> float:
    """Return the part of the exact answers that an index found."""
    return float(np.mean([len(set(answer(one)) & set(best)) / max(1, len(best)) for one, best in zip(asked, exact)]))


def spent(sql: psycopg.Connection[Any], like: str) -> float:
    """Return the milliseconds that the server worked on statements that name something, since they were reset."""
    found = sql.execute(
        "SELECT coalesce(sum(total_exec_time + total_plan_time), 0) FROM pg_stat_statements WHERE query ~ %s", (like,)
    ).fetchone()
    return float(found[0]) if found else 0.0
