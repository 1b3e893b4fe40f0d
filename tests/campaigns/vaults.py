"""What must hold of a vault: its file is sound, and it answers as one that was made anew from its export."""

import io
import random
import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np

from campaigns.content import questions
from septet import VectorError

#: The full-text tables, and which entries are in each: those that were split are in none.
INDEXED = {
    "entries_fts": "live AND parent IS NOT id AND kind <> 'memory'",
    "memories_fts": "live AND parent IS NOT id AND kind = 'memory'",
    "grams_fts": "live AND parent IS NOT id AND kind <> 'memory' AND grams <> ''",
}
ORPHANS = {
    "given vectors of no entry": """
        SELECT count(*) FROM vectors v JOIN spaces s USING (space) WHERE s.keyed_by = 'entry'
        AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.live AND e.text_hash || ':' || e.id = v.key)""",
    "links of no entry": """
        SELECT count(*) FROM links l
        WHERE 2 > (SELECT count(*) FROM entries e WHERE e.live AND e.id IN (l.source, l.target))""",
    "parts of no entry": """
        SELECT count(*) FROM entries p WHERE p.live AND p.id GLOB p.parent || '#*'
        AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.live AND e.id = p.parent)""",
}


def faults(path):
    """Return what SQLite's and FTS5's own checks find in a file, and what the counts of rows do."""
    found = []
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as sql:
        sql.create_function("casefold", 1, lambda v: v.casefold() if isinstance(v, str) else v, deterministic=True)
        found += [f"integrity_check: {row}" for (row,) in sql.execute("PRAGMA integrity_check") if row != "ok"]
        sql.execute("BEGIN IMMEDIATE")
        for table, condition in INDEXED.items():
            try:
                # Rank 0: the index alone; it leaves out rows of the table on purpose.
                sql.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)")
            except sqlite3.DatabaseError as fault:
                found.append(f"{table}: {fault}")
            rows = sql.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0]
            wanted = sql.execute(f"SELECT count(*) FROM entries WHERE {condition}").fetchone()[0]
            if rows != wanted:
                found.append(f"{table} holds {rows} rows for {wanted} entries")
        for what, query in ORPHANS.items():
            number = sql.execute(query).fetchone()[0]
            if number:
                found.append(f"{number} {what}")
        sql.execute("ROLLBACK")
    return found


def state(vault):
    """Return the lines of a vault's export."""
    out = io.StringIO()
    vault.export(out)
    return out.getvalue().splitlines()


def unlike(vault, other):
    """Return the lines of two exports that only one of them has."""
    one, two = Counter(state(vault)), Counter(state(other))
    return [*(one - two), "instead of", *(two - one)] if one != two else []


def differences(vault, other, seed, many=6):
    """Return the searches that two vaults with the same entries answer differently.

    They compare with the vectors that were given, which an export holds.
    """
    found = []
    for query, given in questions(random.Random(seed), many):
        for options in ({}, {"where": {"severity": "warning"}}, {"boost_tags": ["t1"]}, {"include_memories": True}):
            (ranking, disagree), (second, disagree_too) = (
                answer(each, query, given, **options) for each in (vault, other)
            )
            # The agreement of vectors with words is kept until a quarter of them changed, so an older process may know
            # another one; these vectors are random.
            if disagree == disagree_too and not same(ranking, second):
                found.append((query, given is not None, options, ranking, second))
    return found


def answer(vault, query, given=None, **options):
    """Return ids and scores of a search, and True if it says that the vectors disagree with words."""
    if given is not None:
        options |= {"query_vector": given, "model": "given"}
    try:
        found = vault.search(query, limit=10, **options)
    except VectorError:
        # The vault has none.
        return answer(vault, query, None, **{k: v for k, v in options.items() if k not in ("query_vector", "model")})
    return [(hit.id, hit.score) for hit in found], "vectors_disagree" in [note.code for note in found.notes]


def same(one, two):
    """Say whether two rankings are equal, but for the order of equal scores and who of the last ones came in."""
    if one == two:
        return True
    if len(one) != len(two) or not np.allclose([s for _, s in one], [s for _, s in two], rtol=0, atol=1e-9):
        return False
    last = one[-1][1] + 1e-9
    return {i for i, s in one if s > last} == {i for i, s in two if s > last}
