"""Looking at the disk: the scan of a folder, a search that looks first, and a watcher with nothing to do, on one core.

python benches/following.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from race import Run, timed
from septet import Vault
from septet.files.roots import root_at
from septet.files.sources import file_at, scan
from table import Row, at_most, plain

TITLE = "Following folders"
ABOUT = (
    "Markdown files of 1 kB in folders of 50, indexed and unchanged, in the system's cache of names. A search with "
    "`sync_on_search` looks at all of them first; one file changed before each in the last line."
)
FILES = 10_000
#: Milliseconds: what a scan, and a scan with a comparison, may take.
LIMIT = 300.0
ROUNDS, IDLE_S = 9, 10.0


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(FILES)
    folder = _made(run.folder / f"following{n}", n)
    root, one = root_at(folder), f"d{n // 100}/note{n // 2}.md"
    assert file_at(root, one) is not None
    yield at_most(f"scan of {n:,} files", _median(lambda: scan(root)), LIMIT)
    yield plain(f"one of {n:,} files", _median(lambda: file_at(root, one)))
    path = run.folder / f"following{n}.db"
    with Vault(path) as vault:
        vault.sync(folder)
        vault.optimize()
        yield at_most(f"sync_status() of {n:,} files", _median(vault.sync_status), LIMIT)
        yield plain(f"search, {n:,} files", _median(lambda: vault.search("w123")))
        used = _idle(vault)
        yield plain(f"an idle watcher of {n:,} files, ms of a core in {IDLE_S:.0f} s", used)
    with Vault(path, sync_on_search=60.0) as vault:
        vault.search("w123")
        ask = lambda: vault.search("w123")  # noqa: E731
        yield plain(f"search that looks first, {n:,} files", _median(ask))
        yield plain(f"search that looks first, {n:,} files, one changed", _median(ask, lambda i: _change(folder, i)))


def _made(folder: Path, n: int) -> Path:
    for i in range(n):
        path = folder / f"d{i // 50}" / f"note{i}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {i}\n\n" + f"river stone w{i % 1_000} lorem ipsum dolor\n" * 28, encoding="utf-8")
        # Longer ago than the clock of any file system is coarse.
        os.utime(path, (time.time() - 100, time.time() - 100))
    return folder


def _change(folder: Path, i: int) -> None:
    (folder / "d0" / f"note{i}.md").write_text(f"# Note {i}\n\nriver changed{time.time_ns()}\n", encoding="utf-8")


def _idle(vault: Vault) -> float:
    """Return the milliseconds of a core that a watcher takes when nothing happens, apart from its look at first."""
    with vault.watch_files(interval_s=None):
        time.sleep(5.0)
        before = time.process_time()
        time.sleep(IDLE_S)
        return 1e3 * (time.process_time() - before)


def _median(ask: Callable[[], object], before: Callable[[int], None] | None = None) -> float:
    ask()
    took = []
    for i in range(ROUNDS):
        if before is not None:
            before(i)
        took.append(timed(ask)[0])
    return median(took)


if __name__ == "__main__":
    import tempfile

    from table import show

    with tempfile.TemporaryDirectory() as made:
        for row in rows(Run(Path(made))):
            show(row)
