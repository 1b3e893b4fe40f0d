"""Bulk loads, side by side with bare FTS5 inserts of the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import peers
from corpus import make
from race import Competitor, Run, medians, race
from septet import Vault
from table import Row, at_least, plain

TITLE = "Bulk loads"
ABOUT = "`Vault.add_many` into a new file, one core; FTS5 alone is one table and nothing else."
ENTRIES = 50_000

Items = list[dict[str, Any]]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    data = make(n)
    bare = [(e["id"], e["title"], e["description"], e["context"], " ".join(e["tags"])) for e in data.entries]
    with_vectors = [{**e, "vector": v} for e, v in zip(data.entries, data.vectors)]
    numbers = count()

    def path() -> Path:
        return run.folder / f"load{next(numbers)}.db"

    def into_vault(items: Items) -> int:
        with Vault(path()) as vault:
            vault.add_many(items)
            return len(vault)

    def into_fts5(_: object) -> int:
        peers.load_fts5(path(), bare)
        return n

    def check(_: object, name: str, loaded: int) -> None:
        assert loaded == n, name
        for file in run.folder.glob("load*.db*"):
            if file.is_file():
                file.unlink()

    who = [
        Competitor("vault", lambda _: into_vault(data.entries)),
        Competitor("FTS5", into_fts5),
        Competitor("vectors", lambda _: into_vault(with_vectors)),
    ]
    middle = medians(race(who, [None], 3, warm=0, check=check))
    rate = {name: 1e3 * n / took for name, took in middle.items()}
    yield at_least(f"load {n:,} entries", rate["vault"], rate["FTS5"], "rows/s", peer="FTS5 alone", bar=0.7)
    yield plain(f"load {n:,} entries with vectors", rate["vectors"], "rows/s")


if __name__ == "__main__":
    from run import main

    main(["--only", "loading"])
