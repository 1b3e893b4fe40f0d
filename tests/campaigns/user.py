"""One of many users of a vault: writes and changes entries of its own, searches everybody's, knows what it wrote."""

import io
import random
from collections import Counter
from contextlib import suppress

from campaigns.content import entry, text, vector
from septet import BatchError, Closed, Federation, StoreBusy, VectorError

WEIGHTS = {"add": 6, "add_many": 2, "update": 3, "delete": 2, "others": 3}
OTHERS = (
    "optimize purge backup export embed load stats vectors link links feedback purge_feedback remember explain "
    "search_many recall weights federation import_ embedding_status contains"
).split()


class User:
    """What one thread does.

    Args:
        vault: returns the vault, which may be another one each time.
        name: the beginning of its ids.

    Attributes:
        wrote: the titles of its entries by id.
        gone: ids that it deleted.
        tried: how often it did what.
    """

    def __init__(self, vault, name, seed, folder):
        self._vault, self.name, self.rng, self.folder = vault, name, random.Random(f"{seed} {name}"), folder
        self.wrote, self.gone, self.tried = {}, set(), Counter()
        self.number = 0

    def run(self, writes):
        for _ in range(writes):
            self.number += 1
            self.attempt(getattr(self, self.rng.choices([*WEIGHTS], [*WEIGHTS.values()])[0]))
            self.attempt(self.search)
        return self

    def attempt(self, what):
        self.vault = self._vault()
        try:
            what()
            self.tried[what.__name__] += 1
        except StoreBusy:
            self.tried["busy"] += 1
        except Closed:
            self.tried["closed"] += 1
        except BatchError as fault:
            assert isinstance(fault.__cause__, (Closed, StoreBusy)) and not fault.written, fault
            self.tried["closed"] += 1

    def fields(self, number):
        return {**entry(self.rng, 1), "id": f"{self.name}-{number}", "split": None}

    def add(self):
        fields = self.fields(self.number)
        self.vault.add(**fields)
        self.wrote[fields["id"]] = fields["title"]

    def add_many(self):
        items = [self.fields(f"{self.number}-{i}") for i in range(self.rng.choice([2, 30]))]
        assert self.vault.add_many(items) == [item["id"] for item in items]
        self.wrote |= {item["id"]: item["title"] for item in items}

    def update(self):
        if self.wrote:
            id = self.rng.choice([*self.wrote])
            self.wrote[id] = self.vault.update(id, title=text(self.rng, 5)).title

    def delete(self):
        ids = self.rng.sample([*self.wrote], min(3, len(self.wrote)))
        assert self.vault.delete(ids) == len(ids), ids
        self.gone |= {*ids}
        for id in ids:
            del self.wrote[id]

    def others(self):
        what = self.rng.choice(OTHERS)
        self.tried[what] += 1
        own = getattr(self, f"_{what}", None)
        if own is not None:
            own()
        else:
            getattr(self.vault, what)()

    def search(self):
        given = {"query_vector": vector(self.rng), "model": "given"} if self.rng.random() < 0.5 else {}
        try:
            found = self.vault.search(text(self.rng, 3), limit=20, **given)
        except VectorError:
            # Nobody has given one yet.
            return
        # A sum of weights is rounded.
        assert len(set(found.ids)) == len(found) and all(0 <= hit.score <= 1 + 1e-9 for hit in found), found
        assert self.gone.isdisjoint(found.ids)
        if self.wrote:
            id, title = self.rng.choice([*self.wrote.items()])
            hits = self.vault.search(title, limit=1, where={"id": id}, include_memories=True)
            assert [(hit.id, hit.title) for hit in hits] == [(id, title)], (id, title, hits, hits.notes)

    def _backup(self):
        self.vault.backup(self.folder / f"{self.name}.backup")

    def _export(self):
        self.vault.export(self.folder / f"{self.name}.jsonl")

    def _load(self):
        found = self.vault.load(list(self.wrote))
        assert {e.id: e.title for e in found} == self.wrote

    def _link(self):
        if len(self.wrote) > 1:
            source, target = self.rng.sample([*self.wrote], 2)
            self.vault.link(source, target)
            assert any(link.target == target for link in self.vault.links(source))

    def _links(self):
        if self.wrote:
            self.vault.links(self.rng.choice([*self.wrote]))

    def _purge_feedback(self):
        self.vault.purge(feedback=True)

    def _vectors(self):
        with suppress(VectorError):
            # No entry may have one yet.
            self.vault.vectors([*self.wrote], model="given")

    def _feedback(self):
        if self.wrote:
            self.vault.feedback(text(self.rng, 2), self.rng.choice([*self.wrote]), "accepted")

    def _remember(self):
        title = text(self.rng, 4)
        self.wrote[self.vault.remember(title, id=f"{self.name}-m{self.number}")] = title

    def _explain(self):
        if self.wrote:
            id, title = self.rng.choice([*self.wrote.items()])
            self.vault.explain(title, id)

    def _search_many(self):
        queries = [text(self.rng, 3) for _ in range(self.rng.choice([1, 5, 40]))]
        assert len(self.vault.search_many(queries, limit=5)) == len(queries)

    def _recall(self):
        assert all(hit.kind == "memory" for hit in self.vault.recall(text(self.rng, 3)))

    def _federation(self):
        with Federation({"one": self.vault, "two": self.vault}) as both:
            both.search(text(self.rng, 3))

    def _import_(self):
        fields = self.fields(f"{self.number}-i")
        with io.StringIO() as lines:
            lines.write(f'{{"id": "{fields["id"]}", "title": "{fields["title"]}"}}\n')
            lines.seek(0)
            self.vault.import_(lines)
        self.wrote[fields["id"]] = fields["title"]

    def _contains(self):
        assert all(id in self.vault for id in [*self.wrote][:3]) and len(self.vault) >= len(self.wrote)
