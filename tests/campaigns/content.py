"""Random words, texts, entries and vectors; equal seeds give equal ones, in every process."""

import hashlib
import random

import numpy as np

DIMENSIONS = 24
NOW = 1_780_000_000.0
ENDINGS = ["ing", "ed", "er", "s", "tion", "", "ly"]
WORDS = [
    hashlib.sha1(str(i).encode()).hexdigest()[:5] + random.Random(i).choice(ENDINGS) for i in range(300)
] + "知識検索 ภาษาไทย Đường đường getUserName naïve straße".split()


def text(rng, most=12):
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def vector(rng):
    return [rng.gauss(0, 1) for _ in range(DIMENSIONS)]


def embed(texts):
    """Embed texts: a function of their bytes alone."""
    seeds = [int.from_bytes(hashlib.blake2b(one.encode(), digest_size=4).digest(), "little") for one in texts]
    return np.stack([np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32) for seed in seeds])


def entry(rng, ids):
    """Return the fields of an entry with one of so many ids, some of them with a vector or in several parts."""
    number = rng.randrange(ids)
    fields = {
        "id": f"e{number}",
        "title": text(rng, 5),
        "description": text(rng, 40),
        "severity": rng.choice(["critical", "warning", "suggestion"]),
        "domain": rng.choice(["one", "two", "three"]),
        "tags": rng.sample(["t1", "t2", "t3"], rng.randrange(3)),
    }
    if rng.random() < 0.1:
        fields["kind"] = "memory"
    if rng.random() < 0.1:
        fields["description"] = "\n\n".join(text(rng, 60) + "." for _ in range(6))
        fields["split"] = 60
    elif rng.random() < 0.5:
        fields |= {"vector": vector(rng), "model": "given"}
    return fields


def questions(rng, many):
    """Return queries; each second one comes with a vector."""
    return [(text(rng, 5), vector(rng) if i % 2 else None) for i in range(many)]
