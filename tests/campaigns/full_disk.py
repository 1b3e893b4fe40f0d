"""A process whose disk is full again and again while it writes; it goes on with the same vault.

Called with a folder, a seed, how many times the disk is full, and how: ``tmpfs`` where the folder is a small file
system of its own, ``limit`` to bound the size of files, which any user may.
"""

import json
import os
import random
import resource
import signal
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from campaigns.content import DIMENSIONS, text, vector
from campaigns.operations import Twin, done, drawn, opened, rebuilt
from campaigns.vaults import differences, faults, unlike
from septet import BatchError, StoreError, VectorIndex

FULL = "full|No space left|too large|file size limit"


@contextmanager
def small_tmpfs(folder, free):
    """Leave so many bytes."""
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        room = os.statvfs(folder)
        os.posix_fallocate(file.fileno(), 0, max(1, room.f_bavail * room.f_frsize - free))
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def small_files(folder, free):
    """Let no file grow beyond the largest there is by more than so many bytes."""
    largest = max(file.stat().st_size for file in folder.rglob("*") if file.name != "v.db-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + free, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def says_why(fault):
    said = str(fault)
    print(type(fault).__name__, said, file=sys.stderr)
    assert any(cause in said for cause in ("disk is full", "No space left", "too large", "file size limit")), said
    assert "permission" not in said and "end the process that" not in said, said


class Run:
    def __init__(self, folder, seed):
        self.folder, self.seed, self.number = folder, seed, 0
        self.vault, self.twin = opened(folder / "v.db"), Twin(folder)
        self.rng, self.tried = random.Random(seed), Counter()

    def write(self):
        """Do the next write; say whether there was room."""
        what, _ = drawn(self.seed, self.number)
        self.number += 1
        try:
            done(self.vault, self.seed, self.number - 1, self.folder)
        except (StoreError, BatchError) as fault:
            assert isinstance(fault.__cause__ if isinstance(fault, BatchError) else fault, StoreError), repr(fault)
            says_why(fault)
            self.tried[f"{what} without room"] += 1
            return False
        self.twin.do(self.seed, self.number - 1)
        self.tried[what] += 1
        return True

    def search(self):
        self.vault.search(
            text(self.rng, 3), query_vector=vector(self.rng) if self.vault.stats().spaces else None, model=None
        )
        self.tried["search"] += 1

    def save_index(self):
        index = VectorIndex(DIMENSIONS)
        rows = np.random.default_rng(self.seed).normal(size=(self.rng.choice([10, 3_000]), DIMENSIONS))
        index.add(rows)
        target = self.folder / "rows.npy"
        try:
            index.save(target)
            self.tried["index"] += 1
        except (OSError, StoreError) as fault:
            says_why(fault)
            self.tried["index without room"] += 1
        if target.exists():
            found = VectorIndex.open(target)
            assert len(found) in (10, 3_000) and found.search(rows[0], 1)[0][0] == 0


def main():
    folder, seed, times, how = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    full = small_tmpfs if how == "tmpfs" else small_files
    run = Run(folder, seed)
    for _ in range(20):
        assert run.write()
    for _ in range(times):
        with full(folder, run.rng.choice([0, 4_096, 20_000, 100_000])):
            failed = 0
            for _ in range(30):
                failed += not run.write()
                if run.rng.random() < 0.3:
                    run.search()
                if run.rng.random() < 0.1:
                    run.save_index()
                if failed > 2:
                    break
            assert not (found := unlike(run.vault, run.twin.vault)), found
        with run.vault._tier.manager.foreground():
            # Nothing is written in the background.
            left = [p.name for p in folder.rglob("*") if ".part" in p.name or p.name.startswith(".")]
            assert not left, left
        for _ in range(3):
            assert run.write()
        assert not (found := unlike(run.vault, run.twin.vault)), found
        run.tried["times full"] += 1
    with rebuilt(run.vault) as new:
        assert not (found := differences(run.vault, new, seed)), found
    run.vault.close()
    assert not faults(folder / "v.db")
    print(json.dumps(run.tried))


if __name__ == "__main__":
    main()
