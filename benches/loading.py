"""Bulk loads, side by side with bare FTS5 inserts of the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import peers
from corpus import make
from race import Competitor, Run, medians, race
from septet import Vault
from table import Row, at_least, plain

TITLE = "Bulk loads"
ABOUT = "`Vault.add_many` and `import_`, one core; FTS5 alone is one table in a file and nothing else."
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

    def into_memory(load: Callable[[Vault], object]) -> int:
        with Vault(":memory:") as vault:
            load(vault)
            return len(vault)

    def into_fts5(_: object) -> int:
        peers.load_fts5(path(), bare)
        return n

    def check(_: object, name: str, loaded: int) -> None:
        assert loaded == n, name
        for file in run.folder.glob("load*.db*"):
            if file.is_file():
                file.unlink()

    lines = run.folder / "entries.jsonl"
    lines.write_text("".join(f"{json.dumps(entry)}\n" for entry in data.entries), encoding="utf-8")
    who = [
        Competitor("vault", lambda _: into_vault(data.entries)),
        Competitor("FTS5", into_fts5),
        Competitor("vectors", lambda _: into_vault(with_vectors)),
        Competitor("memory", lambda _: into_memory(lambda vault: vault.add_many(data.entries))),
        Competitor("matrix", lambda _: into_memory(lambda vault: vault.add_many(data.entries, vectors=data.vectors))),
        Competitor("import", lambda _: into_memory(lambda vault: vault.import_(lines))),
    ]
    middle = medians(race(who, [None], 3, warm=0, check=check))
    rate = {name: 1e3 * n / took for name, took in middle.items()}
    yield at_least(f"load {n:,} entries", rate["vault"], rate["FTS5"], "rows/s", peer="FTS5 alone", bar=0.7)
    yield plain(f"load {n:,} entries with vectors", rate["vectors"], "rows/s")
    yield at_least(f"load {n:,} entries into memory", rate["memory"], 40_000, "rows/s")
    yield plain(f"load {n:,} entries with a matrix into memory", rate["matrix"], "rows/s")
    yield plain(f"import {n:,} JSON lines into memory", rate["import"], "rows/s")


if __name__ == "__main__":
    from run import main

    main(["--only", "loading"])
