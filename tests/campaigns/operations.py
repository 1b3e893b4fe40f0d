"""Random writes, each a function of a seed and a number, so that two processes know the same ones."""

import random
from collections import Counter
from contextlib import contextmanager
from functools import partial

from campaigns.content import NOW, embed, entry, text, vector
from campaigns.vaults import state
from septet import EmbeddingOptions, EntryError, EntryNotFound, Vault, VectorError
from septet.embedding import CallableEmbedder

IDS = 60
#: How often each write comes.
OFTEN = {
    "add": 30, "add_many": 10, "update": 15, "delete": 8, "purge": 2, "link": 8, "feedback": 5, "remember": 5,
    "embed": 4, "optimize": 3, "backup": 2, "export": 2, "search": 6,
}  # fmt: skip


class Clock:
    """A clock that stands still until it is set, so that two vaults write the same times."""

    now = NOW

    def __call__(self):
        return self.now


def opened(path, **options):
    """Open a vault with a clock that `done` sets, which embeds when it is told to."""
    embedder = CallableEmbedder(embed, model="letters")
    options = {"embedder": embedder, "embedding_options": EmbeddingOptions(automatic=False), **options}
    return Vault(path, **{"clock": Clock(), **options})


@contextmanager
def rebuilt(vault):
    """Open a new vault with what an export of this one holds, and embed both: vectors of texts are in no export."""
    with opened(":memory:", clock=vault._now) as new:
        new.import_(state(vault))
        vault.embed()
        new.embed()
        yield new


def drawn(seed, number):
    """Return the name and the arguments of a write."""
    rng = random.Random(f"{seed} {number}")
    what = rng.choices([*OFTEN], [*OFTEN.values()])[0]
    ids = [f"e{rng.randrange(IDS)}" for _ in range(rng.randint(1, 6))]
    arguments = {
        "add": lambda: entry(rng, IDS),
        "add_many": lambda: {"items": [entry(rng, IDS) for _ in range(rng.choice([1, 5, 60]))]},
        "update": lambda: {"id": ids[0], **_changes(rng)},
        "delete": lambda: {"ids": ids},
        "link": lambda: {"source": ids[0], "target": f"e{rng.randrange(IDS)}", "type": rng.choice(["next", "see"])},
        "feedback": lambda: {"query": text(rng, 3), "id": ids[0], "action": rng.choice(["accepted", "dismissed"])},
        "remember": lambda: {"text": text(rng, 4), "id": f"m{rng.randrange(10)}"},
        "search": lambda: {"query": text(rng, 4), "query_vector": vector(rng), "model": "given"},
    }.get(what, dict)
    return what, arguments()


def _changes(rng):
    return rng.choice([{"severity": "critical"}, {"title": text(rng, 4)}, {"description": text(rng, 30)}])


def done(vault, seed, number, folder):
    """Do a write; one that asks for what is not there says so and changes nothing."""
    what, arguments = drawn(seed, number)
    vault._now.now = NOW + number
    ids = arguments.pop("ids", ())
    own = {
        "delete": lambda **_: vault.delete(*ids),
        "add_many": lambda items: vault.add_many(items),
        "backup": lambda: vault.backup(folder / "backup.db"),
        "export": lambda: vault.export(folder / "export.jsonl"),
    }
    try:
        own.get(what, partial(_called, vault, what))(**arguments)
    except EntryNotFound:
        return f"{what} of nothing"
    except (EntryError, VectorError) as fault:
        # A link from an entry to itself; a search by a vector where there is none.
        if "itself" not in str(fault) and "query_vector" not in str(fault):
            raise
        return f"{what} refused"
    return what


def _called(vault, what, **arguments):
    return getattr(vault, what)(**arguments)


class Twin:
    """What a vault should hold: another one in memory, to which the same is done."""

    def __init__(self, folder):
        self.vault = opened(":memory:")
        self.folder = folder
        self.tried = Counter()

    def do(self, seed, number):
        what, _ = drawn(seed, number)
        if what in ("backup", "export"):
            # A copy changes nothing, and where the vault's just fitted a second one may not.
            self.vault._now.now = NOW + number
            self.tried[what] += 1
            return
        self.tried[done(self.vault, seed, number, self.folder)] += 1
