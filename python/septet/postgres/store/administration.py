"""Administration of a database with vaults: creation and migration of its tables, its roles, its status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg

from septet.postgres.store.dsn import Address
from septet.postgres.store.link import ServerLink
from septet.postgres.store.migrations import SCHEMA_VERSION, check_version, distribute, prepare, sql_file, version_of
from septet.postgres.store.server import PostgresServer
from septet.postgres.store.transactions import PostgresReading

CONNECT_TIMEOUT_S = 10

_ROLES = "SELECT rolname, pg_has_role(current_user, oid, 'MEMBER') FROM pg_roles WHERE rolname = ANY(%s::text[])"
_READER, _WRITER = "septet_reader", "septet_writer"
_EXTENSIONS = "SELECT extname, extversion FROM pg_extension WHERE extname IN ('vector', 'citus')"
_SERVER = """
    SELECT current_setting('server_version'), pg_is_in_recovery(), current_user,
        current_setting('max_connections')::int,
        (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
        extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8, current_setting('synchronous_commit')
"""
_OWNER = "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'septet'"
_TABLES = """
    SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
    WHERE c.relnamespace = 'septet'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 2 DESC, 1
"""
_TABLES_OF_CITUS = """
    SELECT c.relname, coalesce(citus_total_relation_size(p.logicalrelid, fail_on_error => false),
        pg_total_relation_size(c.oid))
    FROM pg_class c LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid
    WHERE c.relnamespace = 'septet'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 2 DESC, 1
"""
_VAULTS = "SELECT vault, name, buckets, vectors, created_at FROM septet.vaults ORDER BY name"
_ENTRIES = "SELECT vault, live, count(*) FROM septet.entries GROUP BY vault, live"
_CHANGES = "SELECT vault, count(*), sum(size) FROM septet.count_changes WHERE NOT folded GROUP BY vault"
_SPACES = "SELECT vault, space, model, dimensions, keyed_by, state, hnsw FROM septet.spaces ORDER BY model, space"
_VECTORS = "SELECT vault, space, count(*) FROM septet.vectors GROUP BY vault, space"


@dataclass(frozen=True)
class Made:
    """The changes that `init` made to a database.

    Attributes:
        path: the server and the database.
        before: the version of the schema that was there, 0 for none.
        version: the version now.
        roles: whether the roles of readers and writers are there.
        distributed: whether Citus keeps the tables.
        left: statements for a user with more rights, or for later, once the extension exists.
    """

    path: str
    before: int
    version: int
    roles: bool
    distributed: bool
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class VaultStatus:
    """The state of one vault.

    Attributes:
        name: the vault.
        buckets: how many it has.
        vectors: what its vectors are stored as.
        created_at: when it was made, in seconds since 1970.
        entries: how many live entries it has.
        deleted: rows of deleted entries, which `purge` removes.
        unfolded: writes whose counts are not yet folded into those of the vault, and the terms in them.
        spaces: of its vectors: model, dimensions, keyed_by, state, vectors, hnsw.
    """

    name: str
    buckets: int
    vectors: str
    created_at: float
    entries: int
    deleted: int
    unfolded: tuple[int, int]
    spaces: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class DatabaseStatus:
    """The state of a database.

    Attributes:
        path: the server and the database.
        server: the version of PostgreSQL.
        standby: whether it takes no writes.
        behind_s: seconds since the last transaction that a standby has replayed was committed; None on a primary.
        pgvector: its version, None without it.
        citus: its version, None without it.
        schema: the version of the schema, 0 for none.
        known: the version that this Septet makes.
        user: who asks.
        owner: of the schema.
        roles: by role whether the user has it; only those that exist.
        connections: of all programs to the database.
        most_connections: that the server takes.
        synchronous_commit: as the session has it.
        sizes: bytes by table, with indexes.
        vaults: those in it.
    """

    path: str
    server: str
    standby: bool
    behind_s: float | None
    pgvector: str | None
    citus: str | None
    schema: int
    known: int
    user: str
    owner: str | None
    roles: dict[str, bool]
    connections: int
    most_connections: int
    synchronous_commit: str
    sizes: dict[str, int] = field(default_factory=dict)
    vaults: tuple[VaultStatus, ...] = ()


def script(*, citus: bool = False) -> str:
    """Return the SQL that `init` runs on an empty database, with the calls that distribute the tables if ``citus``."""
    version = f"INSERT INTO septet.meta VALUES ('schema_version', '{SCHEMA_VERSION}');\n"
    parts = ["CREATE EXTENSION IF NOT EXISTS vector;\n", sql_file("schema.sql"), version, sql_file("roles.sql")]
    return "\n".join([*parts, sql_file("citus.sql")] if citus else parts)


def init(dsn: str, *, citus: bool = False) -> Made:
    """Create or migrate the tables and the roles; existing data stays.

    Where the database has the extension `citus`, the tables are distributed.

    Args:
        dsn: the database.
        citus: without the extension, return the statements that distribute the tables.

    Raises:
        SchemaTooNew: a newer Septet made the tables.
        Unreachable: the server does not answer.
        StoreError: it has no extension `vector`, or the user may not make tables.
    """
    with _administering(dsn) as (sql, path):
        before = prepare(sql, path)
        return _made(sql, path, before, citus=citus)


def migrate(dsn: str) -> Made:
    """Bring the tables up to date, under a lock that other migrations wait for; raise `StoreError` without any."""
    with _administering(dsn) as (sql, path):
        before = version_of(sql, path)
        if before == 0:
            check_version(before, path)
        return _made(sql, path, prepare(sql, path))


def status(dsn: str) -> DatabaseStatus:
    """Return how a database stands; it is only read, and may be empty, a standby, or of another version."""
    with _administering(dsn) as (sql, path):
        server, standby, user, most, connections, behind, synchronous = _row(sql, _SERVER)
        extensions, version = dict[str, str](sql.execute(_EXTENSIONS).fetchall()), version_of(sql, path)
        owner, sizes, vaults = None, dict[str, int](), tuple[VaultStatus, ...]()
        if version:
            owner = _row(sql, _OWNER)[0]
            sizes = dict(sql.execute(_TABLES_OF_CITUS if "citus" in extensions else _TABLES).fetchall())
        if version == SCHEMA_VERSION:
            vaults = _vaults(sql)
        return DatabaseStatus(
            path=path, server=server, standby=standby, behind_s=behind if standby else None,
            pgvector=extensions.get("vector"), citus=extensions.get("citus"), schema=version, known=SCHEMA_VERSION,
            user=user, owner=owner, roles=dict(sql.execute(_ROLES, ([_READER, _WRITER],)).fetchall()),
            connections=connections, most_connections=most, synchronous_commit=synchronous, sizes=sizes, vaults=vaults,
        )  # fmt: skip


@contextmanager
def _administering(dsn: str) -> Iterator[tuple[ServerLink, str]]:
    """Connect to a database without tables, without a timeout of statements."""
    address = Address.of(dsn)
    settings: dict[str, Any] = {"autocommit": True}
    server = PostgresServer(address.conninfo(), address.shown, most=1, settings=settings)
    try:
        link = server.pool.take(CONNECT_TIMEOUT_S)
        try:
            link.answer_s = float("inf")
            yield link, address.shown
        finally:
            server.give_back(link)
    except psycopg.Error as fault:
        raise server.fault(fault) from fault
    finally:
        server.close()


def _made(sql: ServerLink, path: str, before: int, *, citus: bool = False) -> Made:
    """Create the roles and their grants, unless the user may not, and distribute the tables."""
    roles, left = True, []
    try:
        with sql.transaction():
            sql.execute(sql_file("roles.sql"))
    except psycopg.errors.InsufficientPrivilege:
        roles, left = False, [sql_file("roles.sql")]
    distributed = distribute(sql)
    if citus and not distributed:
        left.append(sql_file("citus.sql"))
    return Made(path, before, SCHEMA_VERSION, roles, distributed, tuple(left))


def _vaults(sql: ServerLink) -> tuple[VaultStatus, ...]:
    entries = {(vault, live): count for vault, live, count in sql.execute(_ENTRIES).fetchall()}
    unfolded = {vault: (count, int(size)) for vault, count, size in sql.execute(_CHANGES).fetchall()}
    vectors = {(vault, space): count for vault, space, count in sql.execute(_VECTORS).fetchall()}
    spaces: dict[int, list[dict[str, Any]]] = {}
    for vault, space, model, dimensions, keyed_by, state, hnsw in sql.execute(_SPACES).fetchall():
        spaces.setdefault(vault, []).append(
            {"model": model, "dimensions": dimensions, "keyed_by": keyed_by, "state": state,
             "vectors": vectors.get((vault, space), 0), "hnsw": hnsw}
        )  # fmt: skip
    return tuple(
        VaultStatus(
            name, buckets, kind, created_at, entries.get((vault, True), 0), entries.get((vault, False), 0),
            unfolded.get(vault, (0, 0)), tuple(spaces.get(vault, ())),
        )
        for vault, name, buckets, kind, created_at in sql.execute(_VAULTS).fetchall()
    )  # fmt: skip


def _row(sql: ServerLink, query: str) -> tuple[Any, ...]:
    row = sql.execute(query).fetchone()
    return () if row is None else row


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
    """Return the facts about the server."""
    row = read.sql.execute(_FACTS, {"vault": read.vault.number}).fetchone()
    assert row is not None
    return ServerFacts._make(row)
