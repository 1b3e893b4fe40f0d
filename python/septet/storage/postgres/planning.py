"""What the server's planner knows of our tables: looked at again when they have grown.

PostgreSQL does so by itself, but up to a minute late. Until then it takes new tables for nearly empty ones, and a
search after a load would take seconds rather than milliseconds.
"""

from __future__ import annotations

from typing import Any

import psycopg

__all__ = ["analyse_if_grown"]

# Tables of more than twice the pages that the planner knows of, or of which it knows nothing.
_GROWN = """
SELECT c.relname FROM pg_class c
WHERE c.oid = ANY(ARRAY['septet.entries', 'septet.postings', 'septet.vectors', 'septet.term_counts']::regclass[])
    AND pg_relation_size(c.oid) / current_setting('block_size')::bigint > CASE
        WHEN EXISTS (SELECT 1 FROM pg_stats s WHERE s.schemaname = 'septet' AND s.tablename = c.relname)
        THEN 2 * greatest(c.relpages, 8) ELSE 8 END
    AND pg_has_role(current_user, c.relowner, 'USAGE')
"""
_ANALYSE = {
    "entries": "ANALYZE septet.entries",
    "postings": "ANALYZE septet.postings",
    "vectors": "ANALYZE septet.vectors",
    "term_counts": "ANALYZE septet.term_counts",
}


def analyse_if_grown(sql: psycopg.Connection[Any]) -> list[str]:
    """Let the planner look at tables that have grown, outside a transaction; return their names.

    Only the owner of the tables may: for others PostgreSQL does it, within a minute.
    """
    grown = sorted(name for (name,) in sql.execute(_GROWN))
    for name in grown:
        sql.execute(_ANALYSE[name])
    return grown
