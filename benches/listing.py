"""Reading without a query: pages, counts and facets of a large vault, on one core.

python benches/listing.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from statistics import median
from typing import Any

import corpus
from race import Run, timed
from septet import Vault
from table import Row, at_most, plain

TITLE = "Reading without a query"
ABOUT = (
    "Entries of 60 words with tags and attrs, in a file. Values that are asked for change from call to call; "
    "a first round, which reads what is compared, does not count."
)
ENTRIES = 100_000
#: Milliseconds, each.
LIMIT = 20.0
ROUNDS = 20
TEAMS = ("core", "web", "ops", "data")
FACETS = ("domain", "type", "severity", "kind", "tags", "parent", "path", "attrs.team", "attrs.labels")

Ask = Callable[[int], object]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = run.folder / f"listing{n}.db"
    with Vault(path) as vault:
        for block in corpus.stream(n):
            vault.add_many(_with_more(block.entries))
    # In another session, as a service does it.
    with Vault(path) as vault:
        took, counted = timed(lambda: vault.count({"domain": "domain1"}))
        assert counted == len(range(1, n, 20))
        yield plain(f"count, the first call of a process, {n:,} entries", took)
        for name, ask in _asked(vault).items():
            yield at_most(f"{name}, {n:,} entries", _warm(ask), LIMIT)
        yield from _after_writes(vault, n)


def _with_more(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        number = int(entry["id"][1:])
        attrs = {"team": TEAMS[number % 4], "size": number % 1_000, "labels": [f"l{number % 7}", f"l{number % 11}"]}
        span = {"path": f"docs/{number % 500}.md", "first_line": 1, "last_line": 9} if number % 3 else None
        yield {**entry, "type": ("note", "rule", "fact")[number % 3], "attrs": attrs, "span": span}


def _asked(vault: Vault) -> dict[str, Ask]:
    tags = list(vault.facets("tags", limit=50))
    after = vault.entries(order_by=("created_at", "desc")).next
    asked: dict[str, Ask] = {
        "page of 100 by time": lambda i: vault.entries(order_by=("created_at", "desc")),
        "page of 100 by time, a later one": lambda i: vault.entries(order_by=("created_at", "desc"), after=after),
        "page of 100 by title, one domain": lambda i: vault.entries({"domain": f"domain{i % 20}"}, order_by="title"),
        "count all": lambda i: vault.count(),
        "count by domain": lambda i: vault.count({"domain": f"domain{i % 20}"}),
        "count by domain and time": lambda i: vault.count(
            {"domain": f"domain{i % 20}", "created_at": {"$gte": 1.69e9 + i}}
        ),
        "count by tag": lambda i: vault.count({"tags": tags[i % len(tags)]}),
        "count by attrs": lambda i: vault.count({"attrs.size": i}),
        "count by attrs, the same filter again": lambda i: vault.count({"attrs.size": {"$gt": 500}}),
        "count valid at a time": lambda i: vault.count(as_of=1.7e9 + i),
        "facets of tags, one domain": lambda i: vault.facets("tags", {"domain": f"domain{i % 20}"}),
        "dates by month": lambda i: vault.facets("created_at", by="month"),
    }
    for field in FACETS:
        asked[f"facets of {field}"] = lambda i, field=field: vault.facets(field)  # type: ignore[misc]
    return asked


def _warm(ask: Ask) -> float:
    for i in range(3):
        ask(i)
    return median(timed(lambda i=i: ask(3 + i))[0] for i in range(ROUNDS))


def _after_writes(vault: Vault, n: int) -> Iterator[Row]:
    """Add an entry, then ask: what is asked follows the write."""
    numbers = count()
    after: dict[str, Callable[[], object]] = {
        "count by tag": lambda: vault.count({"tags": "new"}),
        "facets of domain": lambda: vault.facets("domain"),
        "page of 100 by time": lambda: vault.entries(order_by=("created_at", "desc")),
    }
    for name, ask in after.items():
        times = []
        for _ in range(ROUNDS):
            vault.add(title=f"A new entry {next(numbers)}", tags=["new"])
            times.append(timed(ask)[0])
        yield plain(f"{name}, right after an add, {n:,} entries", median(times))


if __name__ == "__main__":
    from run import main

    main(["--only", "listing"])
