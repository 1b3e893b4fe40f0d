"""A process that opens, searches, fails and closes for a long time: what it holds must not grow.

Called with a folder, a seed and how often it does everything.
"""

import gc
import json
import os
import random
import sqlite3
import sys
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from campaigns.content import DIMENSIONS, embed, entry, text, vector
from campaigns.operations import opened
from septet import CallableEmbedder, EntryError, Federation, SeptetError, Vault, VectorIndex

#: Of memory, in bytes: allocators keep some.
SLACK = 24 << 20
ROUNDS_BEFORE = 6


def held():
    """Return how many files, threads and bytes of memory this process has when its threads have ended their work."""
    # A vault that was forgotten is held by the thread that works on its index, and its connections go one step later.
    for _ in range(20):
        gc.collect()
        time.sleep(0.1)
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return len(os.listdir("/proc/self/fd")), threading.active_count(), pages * os.sysconf("SC_PAGE_SIZE")  # noqa: PTH208


class Life:
    def __init__(self, folder, seed):
        self.folder, self.rng, self.tried = folder, random.Random(seed), Counter()
        self.path = folder / "v.db"
        with opened(self.path) as vault:
            vault.add_many({**entry(self.rng, 1), "id": f"e{i}", "split": None} for i in range(300))
            vault.optimize()
        with closing(sqlite3.connect(folder / "foreign.db")) as sql:
            sql.execute("CREATE TABLE other (x)")
        (folder / "noise.db").write_bytes(self.rng.randbytes(9_000))
        (folder / "folder").mkdir()
        index = VectorIndex(DIMENSIONS)
        index.add(np.random.default_rng(seed).normal(size=(500, DIMENSIONS)))
        index.save(folder / "rows.npy")

    def ask(self, vault):
        vault.search(text(self.rng, 3), query_vector=vector(self.rng), model="given")
        vault.search(text(self.rng, 3), profile="seven-signals")

    def open_and_close(self):
        with opened(self.path, sidecar=self.rng.random() < 0.5) as vault:
            self.ask(vault)

    def open_and_forget(self):
        vault = opened(self.path)
        self.ask(vault)

    def read_only(self):
        with Vault(self.path, read_only=True) as vault:
            self.ask(vault)

    def refused(self):
        for name in ("foreign.db", "noise.db", "folder", "missing/v.db"):
            with suppress(SeptetError):
                Vault(self.folder / name)

    def failing_calls(self):
        with opened(self.path) as vault:
            for call in (
                lambda: vault.add(title=""),
                lambda: vault.update("missing", title="x"),
                lambda: vault.search("x", limit=-1),
                lambda: vault.backup(self.folder / "missing" / "b.db"),
                lambda: vault.export(self.folder / "folder"),
                lambda: vault.import_(["not json"]),
                lambda: vault.add(title="x", vector=[float("nan")]),
            ):
                try:
                    call()
                except (SeptetError, EntryError):
                    continue
                raise AssertionError("it was to fail")

    def federation(self):
        with opened(self.path) as one, Vault(":memory:") as two:
            two.add(title=text(self.rng, 3))
            with Federation({"one": one, "two": two}) as both:
                both.search(text(self.rng, 3))
                both.search_many([text(self.rng, 3) for _ in range(8)], threads=2)

    def forgotten_federation(self):
        both = Federation({"one": opened(self.path), "two": opened(self.path)})
        both.search(text(self.rng, 3))

    def embedding(self):
        embedder = CallableEmbedder(embed, model="letters")
        with Vault(self.path, embedder=embedder, embedding_cache=self.folder / "cache.db") as vault:
            vault.add(id="changing", title=text(self.rng, 5))
            vault.search(text(self.rng, 3))

    def index(self):
        for mapped in (True, False):
            VectorIndex.open(self.folder / "rows.npy", mapped=mapped).search(vector(self.rng), 3)

    def copies(self):
        with opened(self.path) as vault:
            vault.backup(self.folder / "b.db")
            vault.export(self.folder / "b.jsonl")
            vault.optimize()

    def once(self):
        for what in (
            self.open_and_close, self.open_and_forget, self.read_only, self.refused, self.failing_calls,
            self.federation, self.forgotten_federation, self.embedding, self.index, self.copies,
        ):  # fmt: skip
            what()
            self.tried[what.__name__.replace("_", " ")] += 1


def main():
    life = Life(Path(sys.argv[1]), int(sys.argv[2]))
    for _ in range(ROUNDS_BEFORE):
        life.once()
    before = held()
    for _ in range(int(sys.argv[3])):
        life.once()
    after = held()
    said = f"files, threads and bytes: {before} became {after}"
    # Idle threads end by themselves.
    assert after[0] <= before[0] + 3 and after[1] <= before[1] + 4 and after[2] <= before[2] + SLACK, said
    print(said, file=sys.stderr)
    print(json.dumps(life.tried))


if __name__ == "__main__":
    main()
