"""Vectors as pgvector sends and takes them, in binary: a count, two empty bytes, and the numbers, highest byte first.

A vault's vectors are float32 (``vector``), as given to the last bit, or float16 (``halfvec``) with 11 bits a number:
cosines then differ by up to 0.001 from those of the vectors as given. Rows whose numbers float16 cannot hold, or only
with fewer bits, are scaled by a power of two, which leaves their direction as it is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.errors import VectorError

if TYPE_CHECKING:
    from septet.postgres.store.transactions import PostgresWriting

#: Maximum dimensions of pgvector's types.
MOST_DIMENSIONS = 16_000
#: Largest components that float16 keeps with all of its bits, when many others are smaller.
_LEAST, _MOST = 1 / 64, 32_768

#: Columns by type of stored vector.
COLUMNS = {"vector": "vector", "halfvec": "half"}
_SENT = {"vector": "vector_send(v.vector)", "halfvec": "halfvec_send(v.half)"}
_TYPES = {"vector": ">f4", "halfvec": ">f2"}
_COPY = {
    "vector": "COPY septet.vectors (vault, bucket, space, key, vector, sample, generation) FROM STDIN (FORMAT BINARY)",
    "halfvec": "COPY septet.vectors (vault, bucket, space, key, half, sample, generation) FROM STDIN (FORMAT BINARY)",
}
_INSERT = (
    "INSERT INTO septet.vectors (vault, bucket, space, key, {column}, sample, generation) "
    "VALUES (%s, %s, %s, %s, %b, %s, %s)"
)
#: Maximum vectors sent with the next round trip; COPY takes two.
FEW = 48
_HEAD = struct.Struct(">HH")
_FRONT = struct.Struct(">hiiiiiii")
_BACK = struct.Struct(">iqiq")


class PackedVector(NamedTuple):
    """A row of the table, its vector as pgvector takes it."""

    space: int
    bucket: int
    key: str
    vector: bytes
    sample: int


def check_dimensions(dimensions: int, name: str) -> None:
    """Raise if pgvector cannot store a vector of this length.

    Raises:
        VectorError: it has more than 16,000 components.
    """
    if dimensions > MOST_DIMENSIONS:
        raise VectorError(
            f"{name} has {dimensions:,} dimensions: PostgreSQL's extension `vector` holds {MOST_DIMENSIONS:,} at most"
        )


def sent(kind: str) -> str:
    """Return the expression over ``septet.vectors v`` that gives a vector as `unpacked` reads it.

    Args:
        kind: what the vault's vectors are stored as, ``vector`` or ``halfvec``.
    """
    return _SENT[kind]


def packed(kind: str, rows: NDArray[np.float32]) -> list[bytes]:
    """Return rows ``(n, d)`` as pgvector takes them."""
    head = _HEAD.pack(rows.shape[1], 0)
    made = (_scaled(rows) if kind == "halfvec" else rows).astype(_TYPES[kind])
    return [head + row.tobytes() for row in made]


def asked(query: NDArray[np.float32]) -> object:
    """Return a query ``(d,)`` as a value that psycopg sends as it is, a ``vector``."""
    return _made("vector")(packed("vector", query[np.newaxis])[0])


def unpacked(kind: str, values: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return what pgvector sent as rows ``(n, d)``."""
    joined, head = np.frombuffer(b"".join(values), dtype=_TYPES[kind]), _HEAD.size // np.dtype(_TYPES[kind]).itemsize
    return joined.reshape(len(values), head + dimensions)[:, head:].astype("<f4", order="C")


def copied(write: PostgresWriting, rows: Sequence[PackedVector], generation: int) -> None:
    """Store rows that are not there yet, in bulk.

    Args:
        generation: in which they arrived after their entries, 0 if with them.
    """
    if not rows:
        return
    if len(rows) <= FEW:
        kind = write.vault.vectors
        made = _made(kind)
        for row in rows:
            given = write.vault.number, row.bucket, row.space, row.key, made(row.vector), row.sample, generation
            write.later(_INSERT.format(column=COLUMNS[kind]), given)
        return
    parts = [b"PGCOPY\n\xff\r\n\0", bytes(8)]
    for row in rows:
        key = row.key.encode()
        parts += (
            _FRONT.pack(7, 4, write.vault.number, 4, row.bucket, 4, row.space, len(key)),
            key,
            struct.pack(">i", len(row.vector)),
            row.vector,
            _BACK.pack(8, row.sample, 8, generation),
        )
    with write.sql.cursor().copy(_COPY[write.vault.vectors]) as copy:
        copy.write(b"".join([*parts, b"\xff\xff"]))


def _made(kind: str) -> Callable[[bytes], object]:
    """Return what makes a value of a packed vector that psycopg sends as it is."""
    from pgvector import HalfVector, Vector

    return HalfVector.from_binary if kind == "halfvec" else Vector.from_binary


def _scaled(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of the same directions that float16 can hold."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    outside = (largest < _LEAST) | (largest > _MOST)
    if not outside.any():
        return rows
    exponents = np.where(outside, -np.frexp(largest)[1], 0)
    return np.ldexp(rows, exponents[:, np.newaxis]).astype(np.float32)
