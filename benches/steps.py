"""How many steps one search takes, and one sync: Python calls, modules, switches between files, native calls.

python benches/steps.py

Counts do not depend on the speed of the machine. They do depend on the Python: 3.12 and later inline comprehensions,
which earlier versions call.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import corpus
import septet
from race import Run
from septet import Vault
from table import Row, at_most, plain

TITLE = "Steps of one search, and of one sync"
ABOUT = (
    "`Vault.search`, `Vault.explain` of its first result and `entries`, limit 10, 3,000 entries in a file, postings "
    "built, caches warm. Counted with "
    "`sys.setprofile`: calls of Python functions (a generator's resumption is one), modules of Septet among them, "
    "changes of the file from one call to the next, calls of functions and methods of `septet._core`. `Vault.sync` of "
    "a folder of 20 notes, which are unchanged, or one of which is new. A retrieval is `Retriever.retrieve` over a "
    "vault and what it searches beside it, of one corpus or three with hits, all on the calling thread."
)
ENTRIES = 3_000
WARM = 3
FILES = 20
PACKAGE = str(Path(septet.__file__).parent)
#: What is aimed at, by case and count.
AIMS: dict[str, dict[str, int]] = {
    "text": {"calls": 170, "modules": 16, "switches": 60},
    "filtered hybrid": {"calls": 200},
    "first after an add": {"calls": 260},
    "retrieval": {"calls": 700},
    "hybrid": {"native": 6},
    "explain": {"calls": 400},
}


class Steps(NamedTuple):
    """What one call took.

    Attributes:
        calls: Python functions called, and generators resumed.
        modules: modules of the package among them.
        files: files of all packages among them; generated code is one file.
        switches: how often a call is in another file than the call before it.
        native: functions and methods of the native module that were called; constructors raise no profile event.
    """

    calls: int
    modules: int
    files: int
    switches: int
    native: int


class Counter:
    """A profile function that keeps what it is told of one thread."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.native: list[str] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            self.files.append(frame.f_code.co_filename)
        elif event == "c_call" and is_native(arg):
            self.native.append(arg.__name__)

    @property
    def steps(self) -> Steps:
        files = self.files
        return Steps(
            calls=len(files),
            modules=len({file for file in files if file.startswith(PACKAGE)}),
            files=len(set(files)),
            switches=sum(1 for before, after in pairwise(files) if before != after),
            native=len(self.native),
        )


def is_native(function: Any) -> bool:
    """Say whether a builtin is a function of the native module, or a method of one of its types."""
    owner = getattr(function, "__self__", None)
    # A method's owner is an instance, a class method's a type.
    homes = (getattr(function, "__module__", None), type(owner).__module__, getattr(owner, "__module__", None))
    return "septet._core" in homes


def count(ask: Callable[[], object]) -> Steps:
    """Count the steps of one call on this thread; ``ask`` itself, a Python function, is left out."""
    counter = Counter()
    collecting = gc.isenabled()
    # A collection in the middle may call finalisers.
    gc.collect()
    gc.disable()
    before = sys.getprofile()
    sys.setprofile(counter)
    try:
        ask()
    finally:
        sys.setprofile(before)
        if collecting:
            gc.enable()
    del counter.files[:1]
    return counter.steps


class Searches:
    """A vault of made-up entries in a file, and the searches that are counted, by name."""

    def __init__(self, path: Path, entries: int = ENTRIES) -> None:
        made = corpus.make(entries, dimensions=64, queries=8)
        self.vault = Vault(path)
        self.vault.add_many({**e, "vector": v} for e, v in zip(made.entries, made.vectors))
        self.vault.optimize()
        for rows in self.vault._tier.manager.current.vectors.values():
            # Vectors are made up without regard to words; a search with those of a model has nothing to say of it.
            rows.sample.agree(1.0)
        self.query, self.vector = made.queries[0], made.query_vectors[0]
        self.first = self.vault.search(self.query, limit=10).ids[0]
        self.added = 0
        self.three = Vault(path.with_name(f"three_{path.name}"))
        kinds = ("entry", "node", "chunk")
        self.three.add_many({**e, "kind": kinds[at % 3]} for at, e in enumerate(made.entries))
        self.three.optimize()
        self.retrievers = {
            "retrieval": self.vault.retriever(),
            "retrieval of three corpora": self.three.retriever(),
            "planned retrieval of three": self.three.retriever("planned-retrieval"),
            "recall": self.vault.retriever("recall"),
        }
        for retriever in self.retrievers.values():
            # With threads, what runs on this one depends on how long a search took.
            retriever._runner._threads.here = lambda corpora, _: {corpus.name for corpus in corpora}

    def __enter__(self) -> Searches:
        return self

    def __exit__(self, *_: object) -> None:
        self.vault.close()
        self.three.close()

    def text(self) -> object:
        return self.vault.search(self.query, limit=10)

    def hybrid(self) -> object:
        return self.vault.search(self.query, query_vector=self.vector, limit=10)

    def filtered(self) -> object:
        where = {"domain": "domain3"}
        return self.vault.search(self.query, query_vector=self.vector, limit=10, where=where)

    def explain(self) -> object:
        return self.vault.explain(self.query, self.first, query_vector=self.vector, limit=10)

    def entries(self) -> object:
        return self.vault.entries(limit=10)

    def add(self) -> None:
        self.added += 1
        self.vault.add(id=f"new{self.added}", title=f"brandnew{self.added}", vector=self.vector)

    def steps(self) -> dict[str, Steps]:
        """Count each kind of search once, warm."""
        found = {}
        cases = {"text": self.text, "hybrid": self.hybrid, "filtered hybrid": self.filtered, "explain": self.explain}
        cases["entries"] = self.entries
        for name, ask in cases.items():
            for _ in range(WARM):
                ask()
            found[name] = count(ask)
        for _ in range(WARM):
            self.add()
            self.text()
        self.add()
        found["first after an add"] = count(self.text)
        for name, retriever in self.retrievers.items():
            ask = partial(retriever.retrieve, self.query, limit=10)
            for _ in range(WARM):
                ask()
            found[name] = count(lambda ask=ask: ask())
        return found


class Syncs:
    """A vault in a file that follows a folder of notes, and the syncs that are counted, by name."""

    def __init__(self, path: Path, files: int = FILES) -> None:
        self.vault, self.folder, self.edits = Vault(path), path.with_name("notes"), 0
        self.folder.mkdir()
        for number in range(files):
            note = self.folder / f"{number}.md"
            note.write_text(f"# Note {number}\n\nducks {number}\n", encoding="utf-8")
            # A file that has just changed is compared by its bytes.
            os.utime(note, (1.6e9, 1.6e9))
        self.sync()

    def __enter__(self) -> Syncs:
        return self

    def __exit__(self, *_: object) -> None:
        self.vault.close()

    def sync(self) -> object:
        return self.vault.sync(self.folder)

    def edit(self) -> None:
        self.edits += 1
        note = self.folder / "7.md"
        note.write_text(f"# Note 7\n\nducks, edited {'again ' * self.edits}\n", encoding="utf-8")
        os.utime(note, (1.6e9, 1.6e9))

    def steps(self) -> dict[str, Steps]:
        """Count each kind of sync once, warm."""
        for _ in range(WARM):
            self.edit()
            self.sync()
        self.sync()
        unchanged = count(self.sync)
        self.edit()
        return {"sync": unchanged, "sync of a changed file": count(self.sync)}


def rows(_: Run) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for case, steps in _counted(Path(folder)).items():
            for what, value in steps._asdict().items():
                aim = AIMS.get(case, {}).get(what)
                name = f"{case}: {what}"
                yield plain(name, value, "steps") if aim is None else at_most(name, value, aim, "steps")


def _counted(folder: Path) -> dict[str, Steps]:
    with Searches(folder / "steps.db") as searches, Syncs(folder / "syncs.db") as syncs:
        return {**searches.steps(), **syncs.steps()}


def table(found: Mapping[str, Steps]) -> str:
    """Lay counts out in lines, an aim behind the count it is for."""
    lines = [("", *Steps._fields)]
    for case, steps in found.items():
        aims = AIMS.get(case, {})
        values = steps._asdict()
        lines.append((case, *(f"{n} (aim {aims[what]})" if what in aims else str(n) for what, n in values.items())))
    return "\n".join(laid_out(lines))


def laid_out(lines: Iterable[Iterable[str]]) -> Iterator[str]:
    for first, *rest in lines:
        yield f"{first:24}" + "".join(f"{cell:>16}" for cell in rest)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(table(_counted(Path(folder))))
