"""Values as PostgreSQL stores and sends them: vectors, arrays, and texts, which have no NUL character.

pgvector sends vectors in binary: a count, two empty bytes, and the numbers, highest byte first.

A vault's vectors are float32 (``vector``), as given to the last bit, or float16 (``halfvec``) with 11 bits a number:
cosines then differ by up to 0.001 from those of the vectors as given. Rows whose numbers float16 cannot hold, or only
with fewer bits, are scaled by a power of two, which leaves their direction as it is.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from psycopg.types.array import ListDumper

from septet.errors import EntryError, VectorError
from septet.inputs.arguments import shown
from septet.store.rows import EntryRow

if TYPE_CHECKING:
    from psycopg.abc import Buffer
    from psycopg.adapt import PyFormat

    from septet.postgres.store.transactions import PostgresWriting


#: Maximum dimensions of pgvector's types.
MOST_DIMENSIONS = 16_000
#: Largest components that float16 keeps with all of its bits, when many others are smaller.
_LEAST, _MOST = 1 / 64, 32_768

#: Columns by type of stored vector.
COLUMNS = {"vector": "vector", "halfvec": "half"}
_SENT = {"vector": "vector_send(v.vector)", "halfvec": "halfvec_send(v.half)"}
_TYPES = {"vector": ">f4", "halfvec": ">f2"}
_FIELDS = "septet.vectors (vault, bucket, space, key, {column}, sample, generation)"
_COPY = f"COPY {_FIELDS} FROM STDIN (FORMAT BINARY)"
_INSERT = f"INSERT INTO {_FIELDS} VALUES (%s, %s, %s, %s, %b, %s, %s)"
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
    """Raise `VectorError` if pgvector cannot store a vector of this length."""
    if dimensions > MOST_DIMENSIONS:
        raise VectorError(
            f"{name} has {dimensions:,} dimensions: PostgreSQL's extension `vector` holds {MOST_DIMENSIONS:,} at most"
        )


def sent(kind: str) -> str:
    """Return the expression over ``septet.vectors v`` of a type (``vector``, ``halfvec``) for `unpacked`."""
    return _SENT[kind]


def packed(kind: str, rows: NDArray[np.float32]) -> list[bytes]:
    """Return rows ``(n, d)`` as pgvector takes them."""
    head = _HEAD.pack(rows.shape[1], 0)
    stored = (_scaled(rows) if kind == "halfvec" else rows).astype(_TYPES[kind])
    return [head + row.tobytes() for row in stored]


def parameter_of(query: NDArray[np.float32]) -> object:
    """Return a query ``(d,)`` as a value that psycopg sends as it is, a ``vector``."""
    return _made("vector")(packed("vector", query[np.newaxis])[0])


def unpacked(kind: str, values: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return what pgvector sent as rows ``(n, d)``."""
    joined, head = np.frombuffer(b"".join(values), dtype=_TYPES[kind]), _HEAD.size // np.dtype(_TYPES[kind]).itemsize
    return joined.reshape(len(values), head + dimensions)[:, head:].astype("<f4", order="C")


def copied(write: PostgresWriting, rows: Sequence[PackedVector], generation: int) -> None:
    """Store new rows, with the generation in which they arrived after their entries, 0 if with them."""
    if not rows:
        return
    kind = write.vault.vectors
    if len(rows) <= FEW:
        pack = _made(kind)
        for row in rows:
            values = write.vault.number, row.bucket, row.space, row.key, pack(row.vector), row.sample, generation
            write.later(_INSERT.format(column=COLUMNS[kind]), values)
        return
    parts = [b"PGCOPY\n\xff\r\n\0", bytes(8)]
    for row in rows:
        key = row.key.encode()
        parts += (
            _FRONT.pack(7, 4, write.vault.number, 4, row.bucket, 4, row.space, len(key)), key,
            struct.pack(">i", len(row.vector)), row.vector, _BACK.pack(8, row.sample, 8, generation),
        )  # fmt: skip
    with write.sql.cursor().copy(_COPY.format(column=COLUMNS[kind])) as copy:
        copy.write(b"".join([*parts, b"\xff\xff"]))


def _made(kind: str) -> Callable[[bytes], object]:
    """Return the function that wraps a packed vector in pgvector's type, which psycopg sends unchanged."""
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


_NUMBERS = frozenset({int, float, bool, NoneType})


class ArrayDumper(ListDumper):
    """Writes a list as an array in text; the statement determines its type.

    psycopg writes value by value, and takes the type from the largest number: a statement then has several types, and
    is prepared once for each.
    """

    def get_key(self, obj: list[Any], format: PyFormat) -> type:
        """Return the key of all lists."""
        return self.cls

    def upgrade(self, obj: list[Any], format: PyFormat) -> ArrayDumper:
        """Return itself, as it writes all lists."""
        return self

    def dump(self, obj: list[Any]) -> Buffer | None:
        """Return a list as text."""
        kinds = {*map(type, obj)}
        if kinds <= _NUMBERS:
            # Python writes floats so that they are read as the same number.
            return f"{{{repr(obj)[1:-1]}}}".replace("None", "NULL").encode()
        if kinds == {str}:
            text = "\0".join(obj)
            if text.count("\0") == len(obj) - 1:
                text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","')
                return f'{{"{text}"}}'.encode(self._tx.encoding)
        return super().dump(obj)


#: The escape of the character in JSON; texts may hold it too.
_MARK = "\\u0000"
_JSON = ("tags", "attrs")
_TEXTS = [at for at, name in enumerate(EntryRow._fields) if name not in _JSON]


def refuse(rows: Iterable[EntryRow]) -> None:
    """Raise `EntryError` if an entry has a NUL character."""
    for row in rows:
        for value in row:
            if type(value) is str and ("\0" in value or _MARK in value):
                refuse_texts(f"entry {shown(row.id)}", *(row[at] for at in _TEXTS))
                if any(_holds(json.loads(getattr(row, name))) for name in _JSON):
                    raise _refused(f"entry {shown(row.id)}")
                break


def refuse_columns(columns: Mapping[str, object]) -> None:
    """Raise `EntryError` if a value of a column has a NUL character."""
    for name, value in columns.items():
        if isinstance(value, str) and (
            "\0" in value or (name in _JSON and _MARK in value and _holds(json.loads(value)))
        ):
            raise _refused(name)


def refuse_texts(what: str, *texts: object) -> None:
    """Raise `EntryError` if a text has a NUL character."""
    if any(isinstance(text, str) and "\0" in text for text in texts):
        raise _refused(what)


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds(part) for item in value.items() for part in item)
    return isinstance(value, list) and any(map(_holds, value))


def _refused(what: str) -> EntryError:
    return EntryError(f"{what} has a NUL character, which PostgreSQL does not store: leave it out")
