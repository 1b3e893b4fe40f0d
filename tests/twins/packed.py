"""Packed models for tests, with random weights, and the twin that computes what they should."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from twins.bert import LAYER, Bert

D, WIDTH, HEADS, LAYERS, POSITIONS, TYPES, EPSILON = 64, 96, 4, 2, 24, 2, 1e-5
NAME = "e5-small-q4.bin"
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
#: The pieces and their scores; what is before a text is spelled by some of them.
PIECES = {
    **dict.fromkeys(SPECIALS, 0.0),
    "▁": -3.0,
    "▁query": -8.0,
    "▁passage": -8.5,
    ":": -4.0,
    **{letter: -6.0 - i / 7 for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz")},
    "▁the": -4.5,
    "th": -7.0,
    "ing": -7.5,
    "▁猫": -9.0,
    "猫": -9.5,
    "кот": -9.25,
}
CHARACTERS = {"\t": " ", "\n": " ", "\u200b": "", "㎏": "kg", "Ａ": "a"}
#: Words beyond the pieces, as in the published file.
WORDS = len(PIECES) + 5

_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


def write(folder: Path, seed: int = 0, gap: int = 0) -> Bert:
    """Write a packed model into a new folder, with `gap` bytes before its tensors; return its twin."""
    folder.mkdir(parents=True, exist_ok=True)
    content, twin = made(seed, gap)
    (folder / NAME).write_bytes(content)
    return twin


def made(seed: int = 0, gap: int = 0) -> tuple[bytes, Bert]:
    """Return a packed model's file, and its twin in float64."""
    random = np.random.default_rng(seed)
    tensors, weights = {}, {}
    for ours, theirs, shape in _tensors():
        values = random.normal(0, 0.3, shape)
        if ours.endswith("ln.w"):
            values += 1
        if len(shape) == 2 and ours not in ("emb.pos", "emb.type"):
            tensors[ours], weights[theirs] = four_bits(values)
        else:
            tensors[ours] = (0, values.size, values.astype("<f4").tobytes())
            weights[theirs] = values.astype(np.float32)
    return packed(tensors, gap), Bert(weights, LAYERS, HEADS, EPSILON).as_type(np.float64)


def packed(tensors: Mapping[str, tuple[int, int, bytes]], gap: int = 0) -> bytes:
    """Return the file of tensors, each with its type, its count of numbers and its bytes, behind a gap."""
    texts = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes()
    scores = np.array(list(PIECES.values()), "<f4").tobytes()
    characters = b"".join(
        struct.pack(f"<IB{len(to)}I", ord(of), len(to), *map(ord, to)) for of, to in sorted(CHARACTERS.items())
    )
    sizes = (D, LAYERS, HEADS, WIDTH, WORDS, POSITIONS, TYPES)
    head = struct.pack("<4sI7if6iQ", b"E5S1", 1, *sizes, EPSILON, 32, len(PIECES), 0, 2, 1, 3, sum(map(len, texts)))
    head += offsets + scores + b"".join(texts)
    head += struct.pack("<iI", len(CHARACTERS), len(characters)) + characters + struct.pack("<i", len(tensors))
    first = at = -(-(len(head) + gap + sum(23 + len(name) for name in tensors)) // 64) * 64
    entries, parts = [], []
    for name, (kind, count, content) in tensors.items():
        entries.append(
            struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, at, len(content))
        )
        padded = content + bytes(-len(content) % 64)
        parts.append(padded)
        at += len(padded)
    directory = head + b"".join(entries)
    return directory + bytes(first - len(directory)) + b"".join(parts)


def _tensors():
    yield "emb.word", "embeddings.word_embeddings.weight", (WORDS, D)
    yield "emb.pos", "embeddings.position_embeddings.weight", (POSITIONS, D)
    yield "emb.type", "embeddings.token_type_embeddings.weight", (TYPES, D)
    yield "emb.ln.w", "embeddings.LayerNorm.weight", (D,)
    yield "emb.ln.b", "embeddings.LayerNorm.bias", (D,)
    for number in range(LAYERS):
        for ours, theirs in _NAMES.items():
            rows, columns = {"fi": (WIDTH, D), "fo": (D, WIDTH)}.get(ours, (D, D))
            name = LAYER.format(number) + theirs
            yield f"l{number}.{ours}.w", f"{name}.weight", (rows,) if ours.endswith("ln") else (rows, columns)
            yield f"l{number}.{ours}.b", f"{name}.bias", (rows,)


def four_bits(values):
    """Return the numbers in blocks of four bits, and what they are rounded to."""
    blocks = values.reshape(-1, 32)
    scale = (np.abs(blocks).max(axis=1) / 7).astype("<f2")
    steps = np.clip(np.rint(blocks / scale[:, None].astype(np.float64)), -8, 7)
    raw = (steps + 8).astype(np.uint8)
    content = np.concatenate([scale.view(np.uint8).reshape(-1, 2), raw[:, :16] | raw[:, 16:] << 4], axis=1)
    rounded = (steps * scale[:, None].astype(np.float64)).astype(np.float32)
    return (1, values.size, content.tobytes()), rounded.reshape(values.shape)
