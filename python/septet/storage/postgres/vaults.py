"""Vaults of a database: found by name, made on first use."""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

import psycopg

from septet.errors import StoreError

__all__ = ["STRIDE", "VaultRow", "opened"]

#: A vault's buckets are numbered from its number times this; rows end in the bucket modulo this.
STRIDE = 1_024


class VaultRow(NamedTuple):
    """A vault: its number, how many buckets it has, and what its vectors are stored as (``vector`` or ``halfvec``)."""

    number: int
    name: str
    buckets: int
    vectors: str

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


def opened(sql: psycopg.Connection[Any], name: str, make: tuple[int, str] | None, now: float, path: str) -> VaultRow:
    """Return a vault, made with so many buckets and such vectors if there is none and it may be made.

    Raises:
        StoreError: there is none.
    """
    find = "SELECT vault, name, buckets, vectors FROM septet.vaults WHERE name = %s"
    found = sql.execute(find, (name,)).fetchone()
    if found is None and make is not None:
        sql.execute(
            "INSERT INTO septet.vaults (name, buckets, vectors, created_at) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (name) DO NOTHING",
            (name, *make, now),
        )
        found = sql.execute(find, (name,)).fetchone()
    if found is None:
        raise StoreError(
            f"{path}: there is no vault of this name: open it for writing once, or see `septet postgres status`"
        )
    return VaultRow(*found)
