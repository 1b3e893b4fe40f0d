"""A process that searches a vault and an index while somebody else damages their files.

Called with a folder and a seed; it goes on until it is told a line.
"""

import json
import random
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np

from campaigns.content import DIMENSIONS, entry, text, vector
from campaigns.operations import opened
from septet import StoreError, VectorIndex

ROWS = 5_000


class Searcher:
    def __init__(self, folder, seed):
        self.folder, self.rng, self.tried = folder, random.Random(seed), Counter()
        self.vault = opened(folder / "v.db")
        self.rows = np.random.default_rng(seed).normal(size=(ROWS, DIMENSIONS)).astype(np.float32)
        self.index = VectorIndex(DIMENSIONS)
        self.index.add(self.rows)
        self.made = self.index
        self.made.save(folder / "rows.npy")

    def search(self):
        for found in (
            self.vault.search(text(self.rng, 3), query_vector=vector(self.rng), model="given"),
            self.vault.search(text(self.rng, 3), profile="seven-signals", limit=50),
        ):
            self.tried.update(f"note {note.code}" for note in found.notes if "sidecar" in note.code)

    def search_index(self):
        try:
            ids, scores = self.index.search(vector(self.rng), 5)
        except (OSError, StoreError):
            self.tried["index refused"] += 1
        else:
            assert len(ids) == 5 and (ids >= 0).all() and (ids < ROWS).all() and len(scores) == 5

    def open_index(self):
        try:
            self.index = VectorIndex.open(self.folder / "rows.npy", mapped=self.rng.random() < 0.7)
        except StoreError:
            self.tried["index refused"] += 1
            self.index = self.made
        assert len(self.index) == ROWS

    def save_index(self):
        self.made.save(self.folder / "rows.npy")

    def add(self):
        self.vault.add(**{**entry(self.rng, 5_000), "split": None})

    def optimize(self):
        self.vault.optimize()

    def reopen(self):
        self.vault.close()
        self.vault = opened(self.folder / "v.db")

    def step(self):
        what = self.rng.choices(
            [self.search, self.search_index, self.open_index, self.save_index, self.add, self.optimize, self.reopen],
            [20, 20, 4, 2, 5, 2, 3],
        )[0]
        what()
        self.tried[what.__name__.replace("_", " ")] += 1


def main():
    searcher = Searcher(Path(sys.argv[1]), int(sys.argv[2]))
    searcher.optimize()
    told = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), told.set()), daemon=True).start()
    print("ready", flush=True)
    while not told.is_set():
        searcher.step()
    searcher.vault.close()
    print(json.dumps(searcher.tried))


if __name__ == "__main__":
    main()
