"""What the server's planner knows of our tables: looked at again when they have grown.

PostgreSQL does so by itself, but up to a minute late. Until then it takes new tables for nearly empty ones, and a
search after a load would take seconds rather than milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

    from septet.storage.postgres.vaults import VaultRow

__all__ = ["analyse_if_grown"]

# Tables that have grown by a tenth since the planner looked, and those in which it does not know of the vault. Of more
# than a hundred vaults it knows the largest, and takes the others for equal.
_GROWN = """
SELECT c.relname FROM (VALUES
    ('septet.entries'::regclass, EXISTS (SELECT 1 FROM septet.entries WHERE vault = %(vault)s)),
    ('septet.postings', EXISTS (SELECT 1 FROM septet.postings WHERE vault = %(vault)s)),
    ('septet.vectors', EXISTS (SELECT 1 FROM septet.vectors WHERE vault = %(vault)s)),
    ('septet.term_counts', EXISTS (SELECT 1 FROM septet.term_counts WHERE vault = %(vault)s))
) AS t (oid, used)
JOIN pg_class c ON c.oid = t.oid AND pg_has_role(current_user, c.relowner, 'USAGE')
LEFT JOIN pg_stats s ON s.schemaname = 'septet' AND s.tablename = c.relname AND s.attname = 'vault'
CROSS JOIN LATERAL (
    SELECT pg_relation_size(c.oid) / current_setting('block_size')::bigint AS pages,
        s.most_common_vals::text::text[] AS vaults
) AS n
WHERE n.pages > 8 AND (
    s.attname IS NULL OR n.pages > c.relpages + c.relpages / 10 + 8
    OR (t.used AND cardinality(n.vaults) < 100 AND %(vault)s::text <> ALL (n.vaults))
)
"""
_ANALYSE = {
    "entries": "ANALYZE septet.entries",
    "postings": "ANALYZE septet.postings",
    "vectors": "ANALYZE septet.vectors",
    "term_counts": "ANALYZE septet.term_counts",
}


def analyse_if_grown(sql: psycopg.Connection[Any], vault: VaultRow) -> list[str]:
    """Let the planner look at tables that have grown, outside a transaction; return their names.

    Only the owner of the tables may: for others PostgreSQL does it, within a minute.
    """
    grown = sorted(name for (name,) in sql.execute(_GROWN, {"vault": vault.number}))
    for name in grown:
        sql.execute(_ANALYSE[name])
    return grown
