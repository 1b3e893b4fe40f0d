"""A process whose calls are interrupted by signals at random moments; it goes on with the same vault.

Called with a folder, a seed and the number of calls.
"""

import json
import random
import signal
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

from campaigns.content import text, vector
from campaigns.operations import Twin, done, drawn, opened, rebuilt
from campaigns.vaults import differences, faults, unlike
from septet import EntryNotFound, Federation, VectorError

#: The first calls are left alone: they import modules, and an interrupt may leave Python's lock for imports held.
CALM = 100


class Interrupts:
    """Raises one KeyboardInterrupt, as Ctrl-C does, a random moment after each call begins."""

    def __init__(self, rng):
        self.rng, self.armed, self.calls = rng, False, 0
        signal.signal(signal.SIGALRM, self._handle)

    def _handle(self, _signal, _frame):
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def during(self, call):
        """Call; say whether it was interrupted."""
        try:
            self.armed = self.calls >= CALM
            self.calls += 1
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + self.rng.choice([0.0003, 0.003, 0.02]) * self.rng.random())
            call()
            self.armed = False
        except KeyboardInterrupt:
            return True
        finally:
            self.armed = False
        return False


class Run:
    def __init__(self, folder, seed):
        self.folder, self.seed, self.rng, self.tried = folder, seed, random.Random(seed), Counter()
        self.vault, self.other, self.twin = opened(folder / "v.db"), opened(folder / "v.db"), Twin(folder)
        self.interrupts = Interrupts(self.rng)

    def write(self, number):
        interrupted = self.interrupts.during(lambda: done(self.vault, self.seed, number, self.folder))
        if not interrupted:
            self.twin.do(self.seed, number)
        elif unlike(self.vault, self.twin.vault):
            # It was as good as done.
            self.twin.do(self.seed, number)
        assert not (found := unlike(self.vault, self.twin.vault)), found
        return drawn(self.seed, number)[0], interrupted

    def read(self, _number):
        what = self.rng.choice(
            "search search_many explain recall load get links stats weights len federation open close".split()
        )
        query, id, vault = text(self.rng, 3), f"e{self.rng.randrange(60)}", self.vault
        calls = {
            "search": lambda: vault.search(query, query_vector=vector(self.rng), model="given"),
            "search_many": lambda: vault.search_many([query] * 20),
            "explain": lambda: vault.explain(query, id),
            "recall": lambda: vault.recall(query),
            "load": lambda: vault.load([id]),
            "get": lambda: vault.get(id),
            "links": lambda: vault.links(id),
            "len": lambda: len(vault),
            "federation": lambda: Federation({"one": vault, "two": self.other}).search(query),
            "open": lambda: opened(self.folder / "v.db").search(query),
            "close": self.reopened,
        }

        def call():
            # Nothing has this id, or nobody has given a vector yet.
            with suppress(EntryNotFound, VectorError):
                calls.get(what, lambda: getattr(vault, what)())()

        return what, self.interrupts.during(call)

    def reopened(self):
        closing, self.vault = self.vault, opened(self.folder / "v.db", clock=self.vault._now)
        closing.close()

    def usable(self):
        """Both go on: the object that was interrupted, and another on the same file."""
        for vault in (self.vault, self.other):
            vault.add(id="probe", title="probe")
            assert [hit.id for hit in vault.search("probe", limit=1, where={"id": "probe"})] == ["probe"]
            assert vault.delete("probe") == 1
        # What is deleted is not in an export.
        assert not (found := unlike(self.vault, self.twin.vault)), found


def main():
    run = Run(Path(sys.argv[1]), int(sys.argv[2]))
    for number in range(CALM + int(sys.argv[3])):
        what, interrupted = run.rng.choice([run.write, run.write, run.read])(number)
        run.tried[f"{what} interrupted" if interrupted else what] += 1
        if interrupted:
            run.usable()
    with rebuilt(run.vault) as new:
        assert not (found := differences(run.vault, new, run.seed)), found
    run.vault.close()
    run.other.close()
    assert not (found := faults(run.folder / "v.db")), found
    assert threading.active_count() < 10, threading.enumerate()
    left = [p.name for p in run.folder.rglob("*") if ".part" in p.name]
    assert not left, left
    print(json.dumps(run.tried))


if __name__ == "__main__":
    main()
