"""The entries of a local vault in one on PostgreSQL, row by row, with their postings."""

from __future__ import annotations

import numpy as np

from septet import Vault, _core
from septet.postgres.store.store import PostgresStore

COLUMNS = (
    "id kind type domain severity title description context tags grams attrs path first_line last_line created_at "
    "updated_at valid_from valid_until parent source trust text_hash live generation"
).split()
ENTRY = (
    f"INSERT INTO septet.entries (vault, bucket, row, {', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(['%s'] * (3 + len(COLUMNS)))})"
)
POSTING = f"INSERT INTO septet.postings VALUES ({', '.join(['%s'] * 12)})"


def copy(vault: Vault, store: PostgresStore) -> None:
    """Make a vault on PostgreSQL hold what a local one does; rows keep their order."""
    with vault._store.reading() as read:
        rows = read.sql.execute(f"SELECT row, {', '.join(COLUMNS)} FROM entries ORDER BY row").fetchall()
    number = store.vault.number
    with store.writing() as write:
        for table in ("entries", "postings"):
            write.sql.execute(f"DELETE FROM septet.{table} WHERE vault = %s", (number,))
        for row, *values in rows:
            given = dict(zip(COLUMNS, values))
            bucket = store.bucket_of(given["id"])
            place = number, bucket, store.vault.row_of(row, bucket)
            write.sql.execute(ENTRY, (*place, *{**given, "live": bool(given["live"])}.values()))
            if given["live"] and given["parent"] != given["id"]:
                _put_postings(write.sql, place, given)


def _put_postings(sql, place, given):
    number, bucket, row = place
    texts = [given[name] for name in ("id", "title", "description", "context", "tags", "grams")]
    found = _core.analysed([texts], [""])
    for part, (names, _, terms, counts, tokens) in enumerate([found.texts, found.grams]):
        for term, own in zip(terms.tolist(), np.asarray(counts).tolist()):
            columns = own if part == 0 else [0, own[0], 0, 0, 0]
            is_memory = given["kind"] == "memory"
            sql.execute(POSTING, (number, bucket, part, names[term], row, is_memory, *columns, int(tokens[0])))
