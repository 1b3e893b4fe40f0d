"""Facts about a server and a vault on it: versions, the role, waiting changes."""

from __future__ import annotations

from typing import NamedTuple

from septet.postgres.store.transactions import PostgresReading

_FACTS = """
SELECT current_setting('server_version'),
       (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
       (SELECT value FROM septet.meta WHERE key = 'schema_version')::int,
       current_user::text,
       has_table_privilege('septet.entries', 'INSERT') AND has_table_privilege('septet.entries', 'UPDATE'),
       pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'septet.entries'::regclass), 'USAGE'),
       pg_is_in_recovery(),
       (SELECT count(*) FROM septet.count_changes WHERE vault = %(vault)s::int AND NOT folded),
       (SELECT coalesce(sum(size), 0)::bigint FROM septet.count_changes WHERE vault = %(vault)s::int AND NOT folded),
       (SELECT count(*) FROM septet.entries WHERE vault = %(vault)s::int AND NOT live)
"""


class ServerFacts(NamedTuple):
    """Facts about a server and a vault on it.

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
