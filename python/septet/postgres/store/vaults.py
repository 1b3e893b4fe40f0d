"""Vaults of a database: found by name, made on first use."""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

import psycopg

from septet.errors import StoreError, VaultReplaced
from septet.postgres.store.link import ServerLink
from septet.postgres.store.pipeline import Statement

#: A vault's buckets are numbered from its number times this; rows end in the bucket modulo this.
STRIDE = 1_024
#: Defaults of a new vault.
BUCKETS, VECTORS = 32, "vector"

_MAKE = (
    "INSERT INTO septet.vaults (name, buckets, vectors, created_at) VALUES (%s, %s, %s, %s) "
    "ON CONFLICT (name) DO NOTHING RETURNING vault, buckets"
)
_MAKE_BUCKETS = "INSERT INTO septet.buckets (vault, bucket) SELECT %s::integer, unnest(%s::integer[])"


class VaultRow(NamedTuple):
    """A vault: its number, number of buckets, type of vectors, and time of creation (epoch seconds).

    If it is ``distributed``, Citus may keep its buckets on several servers: a statement then touches one bucket, or has
    parts for each bucket that need nothing of the others.
    """

    number: int
    name: str
    buckets: int
    vectors: str
    created_at: float
    distributed: bool

    @property
    def first_bucket(self) -> int:
        """The lowest bucket, which has what belongs to no entry."""
        return self.number * STRIDE

    @property
    def all_buckets(self) -> list[int]:
        """Every bucket of the vault."""
        return list(range(self.first_bucket, self.first_bucket + self.buckets))

    def bucket_of(self, text: str) -> int:
        """Return the bucket of an id, or of a term."""
        return self.number * STRIDE + crc32(text.encode()) % self.buckets

    def bucket_of_row(self, row: int) -> int:
        """Return the bucket of a row."""
        return self.number * STRIDE + row % STRIDE

    def row_of(self, number: int, bucket: int) -> int:
        """Return the row that a number of the sequence stands for in a bucket."""
        return number * STRIDE + bucket % STRIDE


class Shape(NamedTuple):
    """The requested number of buckets and type of stored vectors; None for those of the vault."""

    buckets: int | None
    vectors: str | None


def opened(sql: psycopg.Connection[Any], name: str, shape: Shape, now: float, path: str, *, may_make: bool) -> VaultRow:
    """Return a vault; create it if missing and ``may_make``. Raise `StoreError` if it has another shape."""
    find = (
        "SELECT vault, name, buckets, vectors, created_at, EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') "
        "FROM septet.vaults WHERE name = %s"
    )
    # In binary, as a session may have numbers as text rounded.
    row = sql.execute(find, (name,), binary=True).fetchone()
    if row is None and may_make:
        with sql.transaction():
            new = sql.execute(_MAKE, (name, shape.buckets or BUCKETS, shape.vectors or VECTORS, now)).fetchone()
            if new is not None:
                number, buckets = new
                first = number * STRIDE
                sql.execute(_MAKE_BUCKETS, (number, [*range(first, first + buckets)]))
        row = sql.execute(find, (name,), binary=True).fetchone()
    if row is None:
        raise StoreError(
            f"{path}: the vault does not exist: open it for writing to create it, or list the vaults with `septet "
            "postgres status`"
        )
    vault = VaultRow(*row)
    for option, wanted, there in (("buckets", shape.buckets, vault.buckets), ("vectors", shape.vectors, vault.vectors)):
        if wanted not in (None, there):
            raise StoreError(
                f"{path} was created with {option}={there!r}, which cannot be changed: omit {option}={wanted!r}, or "
                "copy the vault to a new one with `septet pull` and `septet push`"
            )
    return vault


def whose(vault: VaultRow) -> Statement:
    """Return the statement for the vault with the number of the opened one, for `check_same`."""
    return Statement("SELECT created_at FROM septet.vaults WHERE vault = %s::integer", (vault.number,))


def check_same(link: ServerLink, vault: VaultRow, rows: list[tuple[Any, ...]], path: str) -> None:
    """Raise `VaultReplaced` unless a connection leads to the vault that was opened.

    A database that was dropped and made again may have given the number to another vault, and connections to the one
    before have ended: so each connection is asked once.
    """
    if rows == [(vault.created_at,)]:
        link.known = True
    # A standby may not have a new vault yet.
    elif rows or link.execute("SELECT pg_is_in_recovery()").fetchone() == (False,):
        raise VaultReplaced(
            f"{path}: the database was recreated while the vault was open; nothing was written: close the vault "
            "and open it again"
        )
