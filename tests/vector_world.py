"""One vault in SQLite or PostgreSQL, by the functions of its tables: what tests of vectors write and look at."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import numpy as np

from doubles import Letters
from septet import EmbeddingOptions
from septet.embedding.embeddings import Embeddings
from septet.postgres.store.store import PostgresStore
from septet.postgres.tables import counts, covered
from septet.sqlite.store.store import SqliteStore
from septet.store.rows import Keeping
from septet.vault.batch import Batch

BY_HAND = EmbeddingOptions(automatic=False)
#: Every live entry that searches find, with its vector in each space, as it should be counted.
HELD = """
SELECT e.kind = 'memory', s.space, v.sample FROM septet.entries e
JOIN septet.spaces s ON s.vault = e.vault
JOIN septet.vectors v ON v.vault = e.vault AND v.space = s.space AND v.bucket = e.bucket
    AND v.key = CASE s.keyed_by WHEN 'entry' THEN e.text_hash || ':' || e.id ELSE e.text_hash END
WHERE e.vault = %s AND e.live AND e.parent IS DISTINCT FROM e.id
"""
#: Entries whose text has a vector in another bucket, and not in theirs.
APART = """
SELECT count(*) FROM septet.entries e JOIN septet.spaces s ON s.vault = e.vault AND s.keyed_by = 'text'
WHERE e.vault = %s AND e.live AND e.parent IS DISTINCT FROM e.id
    AND (s.space, e.text_hash) IN (SELECT v.space, v.key FROM septet.vectors v WHERE v.vault = %s)
    AND NOT EXISTS (SELECT 1 FROM septet.vectors v WHERE v.vault = e.vault AND v.space = s.space
        AND v.key = e.text_hash AND v.bucket = e.bucket)
"""


class World:
    """A store, and a few of the things that a vault does with it."""

    def __init__(self, store):
        self.store = store

    @property
    def is_local(self):
        return isinstance(self.store, SqliteStore)

    def add(self, *items, one_per_entry=False):
        """Store entries, given as dicts; `vector` and `model` among their fields."""
        batch = Batch()
        for fields in items:
            plain = {name: value for name, value in fields.items() if name not in ("vector", "model")}
            batch.gather(plain, fields.get("vector"), fields.get("model"), now=1_000.0, words=None)
        with self.store.writing() as write:
            batch.store(write, Keeping("add", 1_000.0, 0), one_per_entry=one_per_entry)

    def fill(self, n, start=0, **fields):
        self.add(*({"id": f"e{i}", "title": f"title {i}", **fields} for i in range(start, start + n)))

    def delete(self, *ids):
        with self.store.writing() as write:
            write.tables.changing.erase(write, write.tables.indexing.rows_of(write, ids))

    def purge(self):
        with self.store.writing() as write:
            return write.tables.entries.purge(write)

    @contextmanager
    def embeddings(self, source, **options):
        made = Embeddings(self.store, source, **{"options": BY_HAND, **options})
        try:
            yield made
        finally:
            made.close()

    def embed(self, embedder=None, **options):
        with self.embeddings(embedder or Letters(), **options) as made:
            return made.run(None)

    def spaces(self, embedder=None):
        """Model, entries, missing and whether it is active, of each space."""
        with self.embeddings(embedder) as made:
            return [(s.model, s.entries, s.missing, s.active) for s in made.spaces()]

    def of(self, ids, model="test/letters", dimensions=32):
        """The vectors of entries by id."""
        with self.store.reading() as read:
            found = read.tables.vectors.of_ids(read, model, dimensions, list(ids))
        return {one: np.frombuffer(blob, dtype="<f4") for one, blob in found.items()}

    def check(self, *, apart=True):
        """Counts equal what is there, and every text has its vector where its entries are, if ``apart`` is asked."""
        if self.is_local:
            return
        with self.store.reading() as read:
            kept, wanted = counts.everything(read).counts, {}
            for memory, space, sample in read.sql.execute(HELD, (read.vault.number,)):
                term, part = f"{space}:{min(32 - sample.bit_length(), covered.LEVELS)}", 5 + 16 * memory
                wanted.setdefault(part, Counter())[term] += 1
                wanted.setdefault(part + 1, Counter())[term] += sample
            lacking = read.sql.execute(APART, [read.vault.number] * 2).fetchone()[0]
        wanted = {part: {term: n for term, n in own.items() if n} for part, own in wanted.items()}
        assert {part: own for part, own in kept.items() if part in (5, 6, 21, 22)} == wanted
        assert not (apart and lacking)


def postgres_world(dsn, name, **options):
    return World(PostgresStore(dsn, name, **options))
