"""Vaults with a sidecar, and what they answer."""

import random
import threading

import pytest

from septet import Vault

NOW = 1_760_000_000.0
WORDS = "alpha beta gamma delta epsilon zeta getUserName Straße 数据库 索引 naïve running the of".split()
#: The default profile has no use for token counts, the other one has.
OPTIONS = [
    {},
    {"query_vector": [1.0, 0.5, 0.25]},
    {"profile": "seven-signals"},
    {"profile": "seven-signals", "query_vector": [1.0, 0.5, 0.25]},
]
QUERIES = ["alpha", "beta beta gamma", "user name", "数据库索引", "runs the", "naive zeta delta"]


def entry(number, **fields):
    rng = random.Random(number)
    return {
        "id": f"e{number}",
        "title": " ".join(rng.choices(WORDS, k=3)),
        "description": " ".join(rng.choices(WORDS, k=rng.randrange(12))),
        "kind": rng.choice(["entry", "entry", "entry", "memory"]),
        "valid_until": rng.choice([None, None, NOW - 1, NOW + 1]),
        "vector": [rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 1)],
        "created_at": 1.0,
        **fields,
    }


def opened(path, **options):
    return Vault(path, clock=lambda: NOW, **options)


def answers(vault):
    found = []
    for query in QUERIES:
        for options in OPTIONS:
            results = vault.search(query, limit=20, **options)
            found.append([(hit.id, hit.score) for hit in results])
    return found


def wanted(path):
    with opened(path, sidecar=False) as vault:
        return answers(vault)


def restored(vault):
    """Whether a vault that has searched works with a sidecar."""
    return vault._tier.manager.restored


def folder_of(path):
    return path.with_name(path.name + ".septet")


def files(path):
    return sorted(p.name for p in folder_of(path).iterdir() if p.name != "lock")


def until(condition):
    patience = threading.Event()
    for _ in range(1_000):
        if condition():
            return
        patience.wait(0.01)
    pytest.fail("it did not come true within ten seconds")


def unverified(vault):
    """Whether a sidecar is in use whose checksums were not all compared yet."""
    return vault._tier.manager.unverified


def made(path):
    """Make a vault of some hundred entries with a sidecar, and say what was made."""
    with opened(path, profile="seven-signals") as vault:
        vault.add_many(entry(i) for i in range(300))
        vault.delete("e7", "e8")
        return vault.optimize()
