"""Changing and deleting by filter, history, and near-duplicates, in a large vault, on one core.

python benches/changing.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import corpus
from race import Run, timed
from septet import Vault
from table import Row, at_most, plain

TITLE = "Changing by filter"
ABOUT = (
    "Entries of 60 words with tags and attrs, in a file; each call is one transaction, of other entries than the one "
    "before, spread over the whole file."
)
ENTRIES = 100_000
#: Milliseconds, each.
LIMIT = 20.0
ROUNDS = 9

Act = Callable[[int], object]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = run.folder / f"changing{n}.db"
    with Vault(path) as vault:
        for block in corpus.stream(n):
            vault.add_many(_grouped(block.entries))
    small, large = n // 1_000, n // 100
    # In another session, as a service does it.
    with Vault(path) as vault:
        for name, act, bounded in _acts(vault, small, large):
            took = _median(act)
            what = f"{name}, {n:,} entries"
            yield at_most(what, took, LIMIT) if bounded else plain(what, took)
        vault.search("anything")
        yield plain(f"add(on_similar='skip') by words, {n:,} entries, none is like it", _median(partial(_other, vault)))
        yield plain(f"add(on_similar='skip') by words, {n:,} entries, one is like it", _median(partial(_same, vault)))


def _grouped(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give half of the entries domains of a hundredth of all, the others domains of a thousandth."""
    for entry in entries:
        number = int(entry["id"][1:])
        large = number % 100 < 50
        group = f"large{number % 100}" if large else f"small{number % 1_000 - (number % 1_000) // 100 * 50 - 50}"
        yield {**entry, "domain": group, "tags": [*entry["tags"], group], "attrs": {"size": number % 1_000}}


def _acts(vault: Vault, small: int, large: int) -> Iterator[tuple[str, Act, bool]]:
    """Yield what is measured, and whether it has a limit. Each call has entries of its own."""
    yield f"delete(dry_run=True) of {small}", lambda i: _all(vault.delete(where=_small(i), dry_run=True), small), True
    yield f"delete(where=) of {small}", lambda i: _all(vault.delete(where=_small(i)), small), True
    yield f"delete(where=) of {large:,}", lambda i: _all(vault.delete(where=_large(i)), large), False
    ids = [list(vault.entries(_small(10 + i), limit=1_000).ids) for i in range(ROUNDS)]
    yield f"delete of {small} ids", lambda i: _all(vault.delete(ids[i]), small), False
    yield (
        f"update_many(type=) of {large:,}",
        lambda i: _all(vault.update_many(_large(10 + i), type="old"), large),
        False,
    )
    yield (
        f"update_many(merge_attrs=) of {large:,}",
        lambda i: _all(vault.update_many(_large(10 + i), merge_attrs={"checked": True}), large),
        False,
    )
    yield (
        f"rename of {large:,} tags",
        lambda i: _all(vault.rename("tags", {f"large{20 + i}": f"renamed{i}"}), large),
        False,
    )
    yield (
        f"rename of {large:,} domains",
        lambda i: _all(vault.rename("domain", {f"large{30 + i}": "merged"}), large),
        False,
    )
    others = vault.entries(_large(49), limit=100).ids
    yield "supersede", lambda i: vault.supersede(others[i], {"title": f"In the place of {others[i]}"}), False
    yield "update", lambda i: vault.update(others[20], title=f"Version {i}"), False
    yield "history of nine versions", lambda i: _all(len(vault.history(others[20])), ROUNDS), False


def _small(number: int) -> dict[str, object]:
    return {"domain": f"small{number}"}


def _large(number: int) -> dict[str, object]:
    return {"domain": f"large{number}"}


def _all(found: int, wanted: int) -> None:
    assert found == wanted, f"{found} entries, not {wanted}"


def _other(vault: Vault, number: int) -> None:
    assert vault.add(id=f"other{number}", title=f"unheard{number} of{number}", on_similar="skip") == f"other{number}"


def _same(vault: Vault, number: int) -> None:
    assert vault.add(id=f"same{number}", title="unheard0 of0", on_similar="skip") == "other0"


def _median(act: Act) -> float:
    return median(timed(partial(act, i))[0] for i in range(ROUNDS))


if __name__ == "__main__":
    from run import main

    main(["--only", "changing"])
