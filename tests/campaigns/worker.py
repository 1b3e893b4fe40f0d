"""One of many processes on a vault: three threads that write entries of their own, change and search everybody's.

Called with the path of the vault, a name, a seed and the number of writes of a thread. It tells what it wrote, waits
for a line that says that all have written, and then searches as a process that begins anew.
"""

import json
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from campaigns.content import entry, text, vector
from campaigns.operations import opened
from campaigns.vaults import differences
from septet import StoreBusy

THREADS = 3


class Thread:
    """What one thread does, and what it wrote: the titles of its entries."""

    def __init__(self, vault, name, seed):
        self.vault, self.name, self.rng = vault, name, random.Random(f"{seed} {name}")
        self.wrote, self.tried = {}, Counter()
        self.folder = Path(vault.path).parent

    def run(self, writes):
        for number in range(writes):
            what = self.rng.choices([self.add, self.add_many, self.update, self.delete, self.others], [6, 2, 3, 2, 1])[
                0
            ]
            self.attempt(what, number)
            self.attempt(self.search, number)
        return self

    def attempt(self, what, number):
        try:
            what(number)
            self.tried[what.__name__] += 1
        except StoreBusy:
            self.tried["busy"] += 1

    def fields(self, number):
        return {**entry(self.rng, 1), "id": f"{self.name}-{number}", "split": None}

    def add(self, number):
        fields = self.fields(number)
        self.vault.add(**fields)
        self.wrote[fields["id"]] = fields["title"]

    def add_many(self, number):
        items = [self.fields(f"{number}-{i}") for i in range(self.rng.choice([2, 30]))]
        self.vault.add_many(items)
        self.wrote |= {item["id"]: item["title"] for item in items}

    def update(self, _number):
        if self.wrote:
            id = self.rng.choice([*self.wrote])
            self.wrote[id] = self.vault.update(id, title=text(self.rng, 5)).title

    def delete(self, _number):
        ids = self.rng.sample([*self.wrote], min(3, len(self.wrote)))
        assert self.vault.delete(ids) == len(ids), ids
        for id in ids:
            del self.wrote[id]

    def others(self, number):
        what = self.rng.choice(["optimize", "purge", "backup", "export", "embed", "load", "stats"])
        arguments = {
            "backup": [self.folder / f"{self.name}.backup"],
            "export": [self.folder / f"{self.name}.jsonl"],
            "load": [list(self.wrote)],
        }
        found = getattr(self.vault, what)(*arguments.get(what, []))
        if what == "load":
            assert {e.id: e.title for e in found} == self.wrote
        self.tried[what] += 1

    def search(self, _number):
        given = {"query_vector": vector(self.rng), "model": "given"} if self.rng.random() < 0.5 else {}
        if given and not self.vault.spaces():
            return
        found = self.vault.search(text(self.rng, 3), limit=20, **given)
        assert len(set(found.ids)) == len(found) and all(0 <= hit.score <= 1 + 1e-9 for hit in found), found
        if self.wrote:
            id, title = self.rng.choice([*self.wrote.items()])
            (hit,) = self.vault.search(title, limit=1, where={"id": id}, include_memories=True)
            assert (hit.id, hit.title) == (id, title)


def main():
    path, name, seed, writes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with opened(path) as vault:
        threads = [Thread(vault, f"{name}{i}", seed) for i in range(THREADS)]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda thread: thread.run(writes), threads))
        wrote = {id: title for thread in threads for id, title in thread.wrote.items()}
        print(json.dumps([wrote, sum((thread.tried for thread in threads), Counter())]), flush=True)
        sys.stdin.readline()
        with opened(path, sidecar=False) as anew:
            assert not (found := differences(vault, anew, seed)), found


if __name__ == "__main__":
    main()
