"""Vaults of made-up entries in files, each made once a run by a process of its own: `python benches/vaults.py`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import corpus
from septet import Vault


@dataclass(frozen=True)
class Asked:
    """A question in words and as a vector."""

    text: str
    vector: np.ndarray


def prepared(folder: Path, n: int) -> Path:
    """Return the file of a vault of ``n`` entries with vectors; its questions lie beside it."""
    path = folder / f"{n}.db"
    if not path.with_suffix(".npy").exists():
        subprocess.run([sys.executable, __file__, str(path), str(n)], check=True)
    return path


def questions(path: Path) -> list[Asked]:
    texts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return [Asked(text, vector) for text, vector in zip(texts, np.load(path.with_suffix(".npy")))]


def make(path: Path, n: int) -> None:
    with Vault(path) as vault:
        for number, block in enumerate(corpus.stream(n)):
            vault.add_many([{**e, "vector": v} for e, v in zip(block.entries, block.vectors)])
            if number == 0:
                path.with_suffix(".json").write_text(json.dumps(block.queries), encoding="utf-8")
                vectors = block.query_vectors
    # One session in which everything that searches need was made: what a later process may find beside the file.
    with Vault(path) as vault:
        warm(vault, Asked(block.queries[0] if block.queries else "the", vectors[0]))
    np.save(path.with_suffix(".npy"), vectors)


def warm(vault: Vault, asked: Asked) -> None:
    """Search until full text is ranked from memory: the background builds it after the first searches."""
    while not in_memory(vault):
        vault.search(asked.text, query_vector=asked.vector, limit=10)
        time.sleep(0.05)
    for _ in range(20):
        vault.search(asked.text, query_vector=asked.vector, limit=10)


def in_memory(vault: Vault) -> bool:
    manager = vault._tier.manager
    current = manager.current
    # Nothing is under way or due: the sidecar is written too.
    return current is not None and current.postings is not None and not manager.busy and manager.due() is None


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
