"""A process that writes to a vault on a server among others, and tells what it has written: started by tests.

python -m postgres_writer DSN VAULT SEED SECONDS
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter

from septet.model.links import Link
from septet.postgres.store.faults import again
from septet.postgres.store.store import PostgresStore
from septet.sqlite.tables.entries import checked_row
from septet.store.rows import Keeping

__all__ = ["IDS", "NUMBERED"]

#: Entries that everybody rewrites, deletes and links; and those whose versions are numbered one by one.
IDS = [f"e{n}" for n in range(120)]
NUMBERED = [f"v{n}" for n in range(12)]
_WORDS = "retry retries backoff jitter queue Größe getUserName 漢字かな billing of the café".split()


def _fields(rng, entry_id, **more):
    words = " ".join(rng.choices(_WORDS, k=rng.randint(1, 12)))
    kind = rng.choice(["entry", "entry", "memory"])
    return {"id": entry_id, "title": words, "tags": rng.sample(_WORDS, 2), "kind": kind, **more}


def _upsert(write, items):
    now = time.time()
    rows = [checked_row(fields, now=now) for fields in items]
    write.tables.entries.upsert(write, rows, rows, Keeping("add", now, 3))


def _numbered(store, rng):
    """Read entries and write each with the next number; return id, number and title of each."""
    with store.writing() as write:
        ids = rng.sample(NUMBERED, rng.randint(1, 3))
        found = write.tables.entries.find(write, ids)
        items = []
        for one in ids:
            number = json.loads(found[one].attrs_json)["n"] + 1 if one in found else 1
            items.append(_fields(rng, one, attrs={"n": number}))
        _upsert(write, items)
    return [(item["id"], item["attrs"]["n"], item["title"]) for item in items]


def _rewrite(store, rng):
    # Now and then more than are locked one by one.
    many = rng.choice([1, 1, 1, 5, 20, 100])
    with store.writing() as write:
        _upsert(write, [_fields(rng, one) for one in rng.choices(IDS, k=many)])
    return []


def _change(store, rng):
    with store.writing() as write:
        rows = write.tables.entries.rows_of(write, rng.sample(IDS, rng.randint(1, 8)))
        match rng.randrange(3):
            case 0:
                write.tables.changing.erase(write, rows)
            case 1:
                kind = rng.choice(["entry", "memory"])
                write.tables.changing.set_columns(write, rows, {"kind": kind}, Keeping("u", time.time(), 3), touch=True)
            case _:
                tags = json.dumps(rng.sample(_WORDS, 2), ensure_ascii=False)
                write.tables.changing.set_tags(write, rows, [tags] * len(rows), Keeping("u", time.time(), 3))
    return []


def _link(store, rng):
    with store.writing() as write:
        ends = rng.sample(IDS, 2)
        if len(write.tables.entries.find(write, ends)) == 2:
            write.tables.links.put(write, [Link(*ends, "related", "")])
    return []


def _purge(store, rng):
    with store.writing() as write:
        write.tables.entries.purge(write)
    return []


_ACTS = {_numbered: 4, _rewrite: 6, _change: 4, _link: 2, _purge: 0.2}


def main(dsn: str, vault: str, seed: str, seconds: str) -> None:
    """Write until the time is over, and print what was committed, a line for each transaction; last, how many."""
    rng, until, done = random.Random(int(seed)), time.monotonic() + float(seconds), Counter()
    store = PostgresStore(dsn, vault)
    print("[]", flush=True)
    while time.monotonic() < until:
        (act,) = rng.choices([*_ACTS], [*_ACTS.values()])
        written = again(act)(store, rng)
        done[act.__name__.strip("_")] += 1
        print(json.dumps(written), flush=True)
    store.close()
    print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
