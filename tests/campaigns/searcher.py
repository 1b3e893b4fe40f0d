"""A process that searches, round after round, while another harms the files it has mapped.

Called with the folder of a vault and an index; ends when its standard input does, and says what it did. Each answer
must be the one that was found before any harm, or an error of Septet.
"""

import json
import random
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np

from septet import StoreError, Vault, VectorIndex

NOW = 1_760_000_000.0
ENTRIES, DIMENSIONS, ROWS = 3_000, 96, 10_000
WORDS = [f"word{i}" for i in range(400)]
PROFILES = ("septet", "seven-signals")


def make(folder):
    """Make a vault with a sidecar, and an index."""
    rng = random.Random(1)
    vectors = np.random.default_rng(1).normal(size=(ROWS, DIMENSIONS))
    with Vault(folder / "v.db", clock=lambda: NOW, profile="seven-signals") as vault:
        vault.add_many(
            {
                "id": f"e{i}",
                "title": " ".join(rng.choices(WORDS, k=3)),
                "description": " ".join(rng.choices(WORDS, k=rng.randrange(15, 40))),
                "kind": rng.choice(["entry"] * 9 + ["memory"]),
                "vector": vectors[i],
                "created_at": 1.0,
            }
            for i in range(ENTRIES)
        )
        vault.optimize()
    index = VectorIndex(DIMENSIONS)
    index.add(vectors)
    index.save(folder / "rows.npy")


def questions():
    """Return queries with vectors."""
    rng = random.Random(2)
    vectors = np.random.default_rng(2).normal(size=(12, DIMENSIONS))
    return [(" ".join(rng.choices(WORDS, k=3)), vector) for vector in vectors]


def ask(vault, kind, at):
    """Return what a vault answers, and the codes of its notes."""
    text, vector = questions()[at]
    profile = PROFILES[at % 2]
    if kind == "explain":
        told = vault.explain(text, f"e{at}", query_vector=vector, profile=profile)
        return [told.rank, told.score, [leg.rank for leg in told.legs]], [note.code for note in told.notes]
    if kind == "batch":
        several = questions()[: at + 2]
        found = vault.search_many(
            [text for text, _ in several], query_vectors=[v for _, v in several], profile=profile, limit=10
        )
    else:
        found = [vault.search(text, query_vector=None if kind == "text" else vector, profile=profile, limit=10)]
    answers = [[[hit.id, hit.score] for hit in results] for results in found]
    return answers, [note.code for results in found for note in results.notes]


def nearest(index, at):
    """Return what an index answers."""
    ids, scores = index.search(np.array([vector for _, vector in questions()[: at + 1]]), 10)
    return [ids.tolist(), scores.tolist()]


KINDS = ("text", "hybrid", "batch", "explain")


def right_answers(folder):
    """Return what is answered without files."""
    with Vault(folder / "v.db", clock=lambda: NOW, sidecar=False) as vault:
        answers = {f"{kind} {at}": ask(vault, kind, at)[0] for kind in KINDS for at in range(12)}
    index = VectorIndex.open(folder / "rows.npy", mapped=False)
    return answers | {f"index {at}": nearest(index, at) for at in range(12)}


def main():
    """Search until the input ends."""
    folder, rng = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    wanted = right_answers(folder)
    print("ready", flush=True)
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    tried = Counter()
    while not over.is_set():
        with Vault(folder / "v.db", clock=lambda: NOW, read_only=rng.random() < 0.5) as vault:
            for _ in range(rng.choice([1, 5, 25])):
                kind, at = rng.choice(KINDS), rng.randrange(12)
                found, notes = ask(vault, kind, at)
                assert found == wanted[f"{kind} {at}"], (kind, at, found, wanted[f"{kind} {at}"], notes)
                assert "index_mismatch" not in notes
                tried[kind] += 1
                tried["damaged"] += "sidecar_damaged" in notes
        try:
            index = VectorIndex.open(folder / "rows.npy")
            for _ in range(rng.choice([1, 5, 25])):
                at = rng.randrange(12)
                assert nearest(index, at) == wanted[f"index {at}"], at
                tried["index"] += 1
        except StoreError:
            tried["index refused"] += 1
    print(json.dumps(tried))


if __name__ == "__main__":
    main()
