"""What the server's planner knows of our tables: looked at again when it takes a vault for much smaller than it is.

PostgreSQL does so by itself, but up to a minute late. Until then it takes new tables, and new vaults in old ones, for
nearly empty, and a search after a load would take seconds rather than milliseconds.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from septet.storage.postgres.pipeline import Statement, sent

if TYPE_CHECKING:
    from septet.storage.postgres.link import Link
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["AMISS", "FEW", "PLANNED", "TABLES", "analyse_if_grown"]

#: Tables that searches read of a vault.
TABLES = ("entries", "postings", "vectors", "term_counts")
#: A vault with more than so many times the rows that the planner reckons with, and `FEW` more, may get bad plans.
AMISS = 4
FEW = 100
#: Tables of so many percent of what they were when the planner looked may have other terms, and more of each.
GROWTH = 150
#: Of vaults for which it reckons with more rows than that, plans stay good while the table does not grow either.
_MANY = 2_500

# Those of our tables that this role may analyse, and whether they have grown.
_GROWN = """
SELECT c.relname::text, n.pages > c.relpages * %s::bigint / 100 + 8
FROM pg_class c
CROSS JOIN LATERAL (SELECT pg_relation_size(c.oid) / current_setting('block_size')::bigint AS pages) AS n
WHERE c.relnamespace = 'septet'::regnamespace AND c.relname = ANY (%s::text[])
    AND n.pages > 8 AND CASE
        WHEN pg_has_role(current_user, c.relowner, 'USAGE') THEN true
        WHEN current_setting('server_version_num')::int < 170000 THEN false
        ELSE has_table_privilege(c.oid, 'MAINTAIN')
    END
"""
#: What the planner says of a vault in each table. Lists of the most common vaults are too short to tell: one that is
#: not among them may be as large as the planner takes the others for.
PLANNED = {
    "entries": "EXPLAIN (FORMAT JSON) SELECT FROM septet.entries WHERE vault = %s::integer",
    "postings": "EXPLAIN (FORMAT JSON) SELECT FROM septet.postings WHERE vault = %s::integer",
    "vectors": "EXPLAIN (FORMAT JSON) SELECT FROM septet.vectors WHERE vault = %s::integer",
    "term_counts": "EXPLAIN (FORMAT JSON) SELECT FROM septet.term_counts WHERE vault = %s::integer",
}
_THERE = {
    "entries": "SELECT count(*) FROM (SELECT FROM septet.entries WHERE vault = %s LIMIT %s) AS found",
    "postings": "SELECT count(*) FROM (SELECT FROM septet.postings WHERE vault = %s LIMIT %s) AS found",
    "vectors": "SELECT count(*) FROM (SELECT FROM septet.vectors WHERE vault = %s LIMIT %s) AS found",
    "term_counts": "SELECT count(*) FROM (SELECT FROM septet.term_counts WHERE vault = %s LIMIT %s) AS found",
}
_ANALYSE = {
    "entries": "ANALYZE septet.entries",
    "postings": "ANALYZE septet.postings",
    "vectors": "ANALYZE septet.vectors",
    "term_counts": "ANALYZE septet.term_counts",
}


def analyse_if_grown(sql: Link, vault: VaultRow, looked: MutableMapping[str, int]) -> list[str]:
    """Let the planner look at tables that have grown, outside a transaction; return their names.

    The owner of the tables may, and from PostgreSQL 17 on writers, too. For others autovacuum does it, once a tenth of
    a table is new.

    Args:
        looked: by table how many rows of the vault were counted when the planner was last made to look for its sake;
            written. A sample may pass over a small vault among large ones, and would again.
    """
    explained = [Statement(PLANNED[name], (vault.number,)) for name in TABLES]
    grown, *plans = sent(sql, [Statement(_GROWN, (GROWTH, list(TABLES))), *explained])
    ours: dict[str, bool] = dict(grown)
    known = {name: int(plan[0]["Plan"]["Plan Rows"]) for name, ((plan,),) in zip(TABLES, plans)}
    doubtful = [name for name, large in ours.items() if not large and known[name] < _MANY]
    counts = sent(sql, [Statement(_THERE[name], (vault.number, AMISS * known[name] + FEW + 1)) for name in doubtful])
    due = {name for name, large in ours.items() if large}
    for name, ((count,),) in zip(doubtful, counts):
        if count > AMISS * known[name] + FEW and count > 2 * looked.get(name, 0):
            looked[name] = count
            due.add(name)
    for name in sorted(due):
        sql.execute(_ANALYSE[name])
    return sorted(due)
