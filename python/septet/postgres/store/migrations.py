"""Versions of the schema: created and migrated by any user with the rights, one at a time."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from septet.errors import SchemaTooNew, StoreError
from septet.inputs.arguments import shown

SCHEMA_VERSION = 1
#: Maximum digits of a version.
MOST_DIGITS = 9
#: Key of the advisory lock that migrations hold.
LOCK = 0x5E97E7
#: Attempts, and seconds between them, to find what another process creates.
_LATE, _LATE_S = 20, 1 / 10
EXTENSION = "CREATE EXTENSION IF NOT EXISTS vector"
_TABLE = re.compile(r"^SELECT .*?'(septet\.\w+)'", re.MULTILINE)
#: Statements that bring a version to the next one, by version.
_STEPS: dict[int, str] = {}


def version_of(sql: psycopg.Connection[Any], path: str) -> int:
    """Return the version of the schema in a database, 0 without any; raise `StoreError` if it is no number."""
    if sql.execute("SELECT to_regclass('septet.meta') IS NOT NULL").fetchone() != (True,):
        return 0
    row = sql.execute("SELECT value FROM septet.meta WHERE key = 'schema_version'").fetchone()
    if row is None:
        return 0
    version: str = row[0]
    if not version.isdecimal() or len(version) > MOST_DIGITS:
        raise StoreError(
            f"{path}: schema_version in septet.meta is {shown(version)}: wanted a number; restore the value from "
            f"a backup (this Septet supports version {SCHEMA_VERSION})"
        )
    return int(version)


def check_version(version: int, path: str) -> None:
    """Raise `SchemaTooNew` for a schema of a newer Septet, and `StoreError` for none or an older one."""
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(f"{path} has schema version {version}, this Septet knows {SCHEMA_VERSION}: upgrade Septet")
    if version == 0:
        raise StoreError(f"{path}: the database holds no vaults: run `septet postgres init`")
    if version < SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}: run `septet postgres migrate` to bring it to {SCHEMA_VERSION}"
        )


def check_encoding(sql: psycopg.Connection[Any], path: str) -> None:
    """Raise `StoreError` if the database is in an encoding that lacks characters, or in none."""
    stored = sql.info.parameter_status("server_encoding")
    if stored not in (None, "UTF8"):
        raise StoreError(
            f"{path}: the database has the encoding {stored}: wanted UTF8; create one with CREATE DATABASE ... "
            "ENCODING 'UTF8' TEMPLATE template0"
        )


def prepare(sql: psycopg.Connection[Any], path: str) -> int:
    """Make the schema, or bring it up to date, in one transaction; return the version that was there before.

    In a database with the extension `citus` its tables are distributed.
    """
    check_encoding(sql, path)
    for _ in range(_LATE):
        # On a cluster the first row may appear a little later than the table that another process created.
        with suppress(psycopg.errors.DuplicateTable):
            return _prepared(sql, path)
        time.sleep(_LATE_S)
    return _prepared(sql, path)


def _prepared(sql: psycopg.Connection[Any], path: str) -> int:
    with sql.transaction():
        sql.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        before = version_of(sql, path)
        if before > SCHEMA_VERSION:
            check_version(before, path)
        elif before == 0:
            try:
                sql.execute(EXTENSION)
            except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported) as fault:
                raise StoreError(f"{path}: the server has no extension `vector`: install pgvector there") from fault
            sql.execute(sql_file("schema.sql"))
        for version in range(max(before, 1), SCHEMA_VERSION):
            sql.execute(_STEPS[version])
        sql.execute(
            "INSERT INTO septet.meta VALUES ('schema_version', %s) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(SCHEMA_VERSION),),
        )
        if before == 0:
            distribute(sql)
    return before


def sql_file(name: str) -> str:
    """Return the text of an SQL file of this package."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def distribute(sql: psycopg.Connection[Any]) -> bool:
    """Let Citus distribute the tables that it does not know; return True if there are workers for them."""
    if sql.execute("SELECT FROM pg_extension WHERE extname = 'citus'").fetchone() is None:
        return False
    # Citus enables this on a single server by itself; a coordinator without workers takes no tables.
    if sql.execute("SELECT NOT bool_or(shouldhaveshards) FROM pg_dist_node").fetchone() == (True,):
        return False
    known = {name for (name,) in sql.execute("SELECT logicalrelid::text FROM pg_dist_partition").fetchall()}
    calls = sql_file("citus.sql")
    for call in _TABLE.finditer(calls):
        if call.group(1) not in known:
            sql.execute(calls[call.start() : calls.index(";", call.start())])
    return True
