"""A cluster of Citus for tests: SEPTET_CITUS names its coordinator, with a user who may do everything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from septet.postgres.store import administration

__all__ = ["VARIABLE", "PostgresCluster", "address"]

VARIABLE = "SEPTET_CITUS"
_NODES = "SELECT nodename, nodeport, groupid FROM pg_dist_node WHERE noderole = 'primary' AND isactive ORDER BY groupid"


def address() -> str | None:
    """Return where the coordinator is; None where no cluster was named."""
    return os.environ.get(VARIABLE) or None


class PostgresCluster:
    """The databases that tests make on a cluster, on every server of it, and remove again.

    Args:
        coordinator: an address whose database has the extension and knows the workers.
    """

    def __init__(self, coordinator: str) -> None:
        self._given = coordinator
        self.port = urlsplit(coordinator).port or 5432
        with psycopg.connect(coordinator, autocommit=True) as sql:
            #: Host, port and group of each server, the coordinator's first.
            self.nodes: list[tuple[str, int, int]] = [*sql.execute(_NODES)]
        self._made: list[str] = []
        self._own = f"septet_tests_{os.getpid()}"
        administration.init(self.database(self._own))

    def dsn(self, database: str | None = None, node: int = 0) -> str:
        """Return the address of a database, as one of the servers has it; without a name, of one that has tables."""
        host, port, _ = self.nodes[node]
        return self._there(host, port, database or self._own)

    def _there(self, host: str, port: int, database: str) -> str:
        parts = urlsplit(self._given)
        user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        return urlunsplit(parts._replace(netloc=f"{user}{host}:{port}", path=f"/{database}"))

    def database(self, name: str, how: str = "") -> str:
        """Make a database without tables on every server; return its address on the coordinator.

        Args:
            how: what stands behind its name.
        """
        for node in range(len(self.nodes)):
            with self.on(self._given, node) as sql:
                # Newer versions of Citus make it on the others by themselves.
                if sql.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone() is None:
                    sql.execute(f'CREATE DATABASE "{name}" {how}')
        self._made.append(name)
        for node in range(len(self.nodes)):
            with self.on(self.dsn(name), node) as sql:
                sql.execute("CREATE EXTENSION IF NOT EXISTS citus")
        with self.on(self.dsn(name)) as sql:
            (host, port, _), *workers = self.nodes
            sql.execute("SELECT citus_set_coordinator_host(%s, %s)", (host, port))
            if not workers:
                sql.execute("SELECT citus_set_node_property(%s, %s, 'shouldhaveshards', true)", (host, port))
            for host, port, _ in workers:
                sql.execute("SELECT citus_add_node(%s, %s)", (host, port))
        return self.dsn(name)

    def join(self, host: str, port: int) -> None:
        """Make a new server a worker, for the database that has tables."""
        there = self._there(host, port, "postgres")
        with psycopg.connect(there, autocommit=True) as sql:
            sql.execute(f'CREATE DATABASE "{self._own}"')
        with psycopg.connect(self._there(host, port, self._own), autocommit=True) as sql:
            sql.execute("CREATE EXTENSION citus")
        with self.on(self.dsn()) as sql:
            sql.execute("SELECT citus_add_node(%s, %s)", (host, port))
            sql.execute("SELECT replicate_reference_tables('block_writes')")

    def leave(self, host: str, port: int) -> None:
        """Make a server no worker any more, if it is one, for the database that has tables; its shards go elsewhere."""
        with self.on(self.dsn()) as sql:
            if sql.execute("SELECT 1 FROM pg_dist_node WHERE nodename = %s AND nodeport = %s", (host, port)).fetchone():
                sql.execute("SELECT citus_drain_node(%s, %s, 'block_writes')", (host, port))
                sql.execute("CALL citus_cleanup_orphaned_resources()")
                sql.execute("SELECT citus_remove_node(%s, %s)", (host, port))

    def drop(self, name: str) -> None:
        """Remove a database from every server, if it is there, whoever uses it."""
        for node in range(len(self.nodes)):
            with self.on(self._given, node) as sql:
                sql.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    @contextmanager
    def on(self, address: str, node: int = 0) -> Iterator[psycopg.Connection[Any]]:
        """Connect to a database of one of the servers."""
        name = urlsplit(address).path.lstrip("/")
        with psycopg.connect(self.dsn(name, node), autocommit=True) as sql:
            yield sql

    def close(self) -> None:
        """Remove the databases."""
        for name in self._made:
            self.drop(name)
