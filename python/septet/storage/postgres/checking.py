"""Checks of a vault on a server: what the server is, what its role may do, and whether its tables agree."""

from __future__ import annotations

from typing import NamedTuple

from septet.storage.postgres.transactions import PostgresReading

__all__ = ["ServerFacts", "full_text_faults", "server_facts"]

_FACTS = """
SELECT current_setting('server_version'),
       (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
       (SELECT value FROM septet.meta WHERE key = 'schema_version')::int,
       current_user::text,
       has_table_privilege('septet.entries', 'INSERT') AND has_table_privilege('septet.entries', 'UPDATE'),
       pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'septet.entries'::regclass), 'USAGE'),
       pg_is_in_recovery(),
       (SELECT count(*) FROM septet.count_changes WHERE vault = %(vault)s::int),
       (SELECT coalesce(sum(size), 0)::bigint FROM septet.count_changes WHERE vault = %(vault)s::int),
       (SELECT count(*) FROM septet.entries WHERE vault = %(vault)s::int AND NOT live)
"""
# Terms of memories are counted apart, under the part and 16.
_COUNTED = """
WITH stored AS (
    SELECT part + CASE WHEN memory THEN 16 ELSE 0 END AS part, term, count(*) AS count
    FROM septet.postings WHERE vault = %(vault)s::int GROUP BY 1, 2
), kept AS (
    SELECT part::int, term, sum(count) AS count FROM (
        SELECT part, term, count FROM septet.term_counts WHERE vault = %(vault)s::int
        UNION ALL
        SELECT p.key::int, t.key COLLATE "C", t.value::bigint FROM septet.count_changes c,
            jsonb_each(c.counts) p, jsonb_each_text(p.value) t WHERE c.vault = %(vault)s::int
    ) every WHERE part IN (0, 1, 16, 17) GROUP BY 1, 2
)
SELECT count(*) FROM stored FULL JOIN kept USING (part, term)
WHERE coalesce(stored.count, 0) <> coalesce(kept.count, 0)
"""
_TOKENS = """
WITH stored AS (
    SELECT part, sum(tokens) AS tokens FROM (
        SELECT DISTINCT part + CASE WHEN memory THEN 16 ELSE 0 END AS part, row, tokens
        FROM septet.postings WHERE vault = %(vault)s::int
    ) rows GROUP BY 1
), kept AS (
    SELECT part::int, sum(tokens) AS tokens FROM (
        SELECT part, tokens FROM septet.totals WHERE vault = %(vault)s::int
        UNION ALL
        SELECT o.key::int, (o.value ->> 1)::bigint FROM septet.count_changes c, jsonb_each(c.totals) o
        WHERE c.vault = %(vault)s::int
    ) every WHERE part IN (0, 1, 16, 17) GROUP BY 1
)
SELECT count(*) FROM stored FULL JOIN kept USING (part) WHERE coalesce(stored.tokens, 0) <> coalesce(kept.tokens, 0)
"""
_DEAD = """
SELECT count(DISTINCT p.row) FROM septet.postings p
LEFT JOIN septet.entries e ON e.vault = p.vault AND e.bucket = p.bucket AND e.row = p.row
WHERE p.vault = %(vault)s::int AND e.live IS NOT TRUE
"""


class ServerFacts(NamedTuple):
    """What there is to know of a server and a vault on it.

    Attributes:
        server: the version of PostgreSQL.
        pgvector: the version of the extension; None without it.
        schema: the version of the tables.
        role: who is connected.
        may_write: whether the role may change entries.
        owns: whether it may change the tables themselves.
        standby: whether the server takes no writes.
        changes: differences of counts that wait to be folded into sums.
        terms: terms in these.
        deleted: rows that `purge` would remove.
    """

    server: str
    pgvector: str | None
    schema: int
    role: str
    may_write: bool
    owns: bool
    standby: bool
    changes: int
    terms: int
    deleted: int


def server_facts(read: PostgresReading) -> ServerFacts:
    """Return what there is to know of the server."""
    found = read.sql.execute(_FACTS, {"vault": read.vault.number}).fetchone()
    assert found is not None
    return ServerFacts._make(found)


def full_text_faults(read: PostgresReading) -> list[str]:
    """Return where the tables of full text do not agree with each other; they are all read for it."""
    vault = {"vault": read.vault.number}
    found = [read.sql.execute(sql, vault).fetchone() for sql in (_COUNTED, _TOKENS, _DEAD)]
    terms, totals, dead = (0 if one is None else int(one[0]) for one in found)
    faults = [f"{terms:,} terms are counted wrongly"] if terms else []
    faults += [f"{totals:,} totals of tokens are wrong"] if totals else []
    return faults + ([f"{dead:,} deleted entries still have postings"] if dead else [])
