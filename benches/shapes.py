"""Corpora of a shape that could hurt: several vaults, a hub, a dense graph; and long lists in `where`.

python benches/shapes.py
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from race import Competitor, Run, cores, medians, race
from septet import Federation, Vault
from table import Row, at_most

TITLE = "Shapes of corpora"
ABOUT = (
    "Text searches, four words of 3,000, entries of 30 words; one core, interleaved. A federation against as many "
    "searches of one vault; links against the same vault without; a `where` with lists of which one value is there."
)
WORDS = [f"w{i}" for i in range(3_000)]
ENTRIES, PACKAGES, LISTED = 50_000, 20_000, 100_000
ROUNDS = 200


def rows(run: Run) -> Iterator[Row]:
    rng = random.Random(2)
    asked = [" ".join(rng.choices(WORDS, k=4)) for _ in range(64)]
    n = run.entries(ENTRIES)
    with cores(1):
        vaults = [made(run.folder / f"shape{i}.db", n, rng) for i in range(4)]
        yield from federations(run, vaults, asked)
        hub = made(run.folder / "hub.db", n, rng, ((f"e{i}", "e0") for i in range(1, n)))
        middle = against(run, vaults[0], hub, asked)
        name = f"a hub with {n - 1:,} links"
        yield at_most(f"{name}: times without links", middle["ours"] / middle["plain"], 2.0, "x")
        few = run.entries(PACKAGES)
        packages = made(run.folder / "packages.db", few, rng, preferred(few, rng))
        middle = against(run, vaults[0], packages, asked)
        yield at_most(f"{few:,} packages with {packages.stats().links:,} links", middle["ours"], 1.5)
        yield from lists(run, packages)
        for vault in (*vaults, hub, packages):
            vault.close()


def made(path: Path, n: int, rng: random.Random, links: Iterable[tuple[str, str]] = ()) -> Vault:
    """Return a vault that is warm."""
    vault = Vault(path)
    texts = (" ".join(rng.choices(WORDS, k=30)) for _ in range(n))
    vault.add_many({"id": f"e{i}", "title": text, "tags": [f"t{i % 7}"]} for i, text in enumerate(texts))
    vault.link_many(links)
    vault.optimize()
    vault.search(WORDS[0])
    return vault


def preferred(n: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Links as packages have them: most lead to those that have many already."""
    ends: list[int] = []
    for i in range(1, n):
        chosen = {
            rng.choice(ends) if ends and rng.random() < 0.8 else rng.randrange(i) for _ in range(3 + (i % 6 == 0))
        }
        for other in sorted(chosen - {i}):
            ends += (i, other)
            yield f"e{i}", f"e{other}"


def federations(run: Run, vaults: Sequence[Vault], asked: Sequence[str]) -> Iterator[Row]:
    for k in (2, 4):
        # Each its own tiers, so that none warms another's.
        with Federation({f"tier{i}": vault for i, vault in enumerate(vaults[:k])}) as all_of_them:
            middle = against(run, vaults[0], all_of_them, asked)
        ratio = middle["ours"] / middle["plain"] / k
        yield at_most(f"{k} vaults of {len(vaults[0]):,}: times {k} searches", ratio, 1.3, "x")


def against(run: Run, plain: Any, ours: Any, asked: Sequence[str]) -> dict[str, float]:
    who = [
        Competitor("plain", lambda query: plain.search(query, mode="scan")),
        Competitor("ours", lambda query: ours.search(query, mode="scan")),
    ]
    return medians(race(who, asked, run.rounds(ROUNDS), warm=2))


def lists(run: Run, vault: Vault) -> Iterator[Row]:
    for field, hit in (("id", "e7"), ("tags", "t3")):
        values = [f"x{i}" for i in range(LISTED - 1)] + [hit]
        filters = {
            "$in": {field: {"$in": values}},
            "$nin": {field: {"$nin": values}},
            "$all": {field: {"$all": values}},
            "$or": {"$or": [{field: value} for value in values]},
        }
        for operator, where in filters.items():

            def ask(query: str, where: dict[str, Any] = where) -> Any:
                # A snapshot remembers which entries pass.
                vault._tier.manager.current.selections.clear()
                return vault.search(query, where=where)

            middle = medians(race([Competitor("ours", ask)], WORDS[:8], run.rounds(15)))
            yield at_most(
                f"where {operator} of {LISTED:,} values of {field}, {len(vault):,} entries", middle["ours"], 50
            )


if __name__ == "__main__":
    from run import main

    main(["--only", "shapes"])
