"""A process that changes the vectors of a vault and has its lists follow, until it is killed; it prints each step.

Called with the path of the vault and a seed.
"""

import os
import random
import sys

import numpy as np

from septet import Vault
from septet.sqlite.snapshot import maintenance

DIMENSIONS = 24
NOW = 1_760_000_000.0


def opened(path, **options):
    maintenance.LEAST_LISTED = 500
    return Vault(path, clock=lambda: NOW, **options)


def entries(rng, count, spread):
    """Yield entries, whose vectors lie about one of 40 centres, or about all of them."""
    numbers = np.random.default_rng(rng.randrange(1 << 32))
    centres = np.random.default_rng(0).standard_normal((40, DIMENSIONS))
    centres = centres if spread else centres[rng.randrange(40)][None]
    for row in centres[numbers.integers(0, len(centres), count)] + 0.4 * numbers.standard_normal((count, DIMENSIONS)):
        yield {"id": f"e{rng.randrange(1 << 40)}", "title": rng.choice(["alpha", "beta"]), "vector": row.tolist()}


def report(text):
    os.write(1, f"{text}\n".encode())


def step(vault, rng):
    """Add vectors in one place or everywhere, or remove many; then make, split and merge lists."""
    kind = rng.choice(["added", "added near", "removed"])
    if kind == "removed" and len(vault) > 1_500:
        ids = sorted(vault.entries(limit=4_000).ids)
        vault.delete(rng.sample(ids, len(ids) // 3))
        vault.add_many(entries(rng, 200, spread=True))
    else:
        vault.add_many(entries(rng, rng.choice([200, 600]), spread=kind == "added"))
    report("optimizing")
    vault.optimize()


def main():
    path, rng = sys.argv[1], random.Random(int(sys.argv[2]))
    arranged = maintenance.arranged

    def arranging(*arguments, **options):
        report("arranging")
        codes = arranged(*arguments, **options)
        report("kept" if codes is None else f"arranged {codes.lists}")
        return codes

    maintenance.arranged = arranging
    with opened(path) as vault:
        vault._tier.manager.sidecar.step = lambda name: report(f"writing {name}")
        report("opened")
        while True:
            step(vault, rng)
            report("optimized")


if __name__ == "__main__":
    main()
