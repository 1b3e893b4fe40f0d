"""What the tests of backends share: one PostgreSQL server for all of them, and a new vault on it for each.

Where SEPTET_CITUS names the coordinator of a cluster, that is the server.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from postgres_cluster import PostgresCluster, address
from postgres_server import PostgresServer, why_not

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer | PostgresCluster]:
    """A server that is fast rather than durable, or a cluster."""
    if (coordinator := address()) is not None:
        cluster = PostgresCluster(coordinator)
        yield cluster
        cluster.close()
        return
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def dsn(postgres: PostgresServer | PostgresCluster) -> str:
    """The address of a database with tables for vaults."""
    return postgres.dsn()


@pytest.fixture
def vault_name() -> str:
    """The name of a vault that no other test uses."""
    return f"vault-{next(_numbers)}"


@pytest.fixture
def role(dsn: str, vault_name: str) -> Iterator[str]:
    """The name of a role that may log in, and nothing else, until the test ends: a cluster outlives the tests."""
    name = f"role-{os.getpid()}-{vault_name}"
    with psycopg.connect(dsn, autocommit=True) as sql:
        sql.execute(f'CREATE ROLE "{name}" LOGIN')
    yield name
    with psycopg.connect(dsn, autocommit=True) as sql:
        sql.execute(f'DROP OWNED BY "{name}"')
        sql.execute(f'DROP ROLE "{name}"')


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine on which nothing listens, and that nobody else gets meanwhile."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        yield one.getsockname()[1]
