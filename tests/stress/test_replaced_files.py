"""Vaults that are deleted, replaced or restored under a process: what it acknowledges is where the next one looks."""

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from campaigns.campaign import Campaign
from campaigns.content import entry
from campaigns.operations import opened, rebuilt
from campaigns.vaults import differences, faults

TESTS = Path(__file__).parent.parent
BASE = 20
ENDINGS = ("", "-wal", "-shm")


class Places:
    """The path of a vault, and what lay there before, which is kept under other names."""

    def __init__(self, folder, rng):
        self.folder, self.rng, self.path = folder, rng, folder / "v.db"
        #: When each change began and ended, what it was, and where the file before it is kept.
        self.changes = []

    def beside(self, name, ending):
        return self.folder / f"{name}{ending}"

    def other(self):
        """Make another vault, with entries of its own."""
        name = f"other{len(self.changes)}.db"
        with opened(self.folder / name) as vault:
            vault.add_many({**entry(self.rng, 1), "id": f"{name}-{i}", "split": None} for i in range(BASE))
        return name

    def keep(self):
        name = f"kept{len(self.changes)}.db"
        for ending in ENDINGS[:2]:
            with suppress(FileNotFoundError):
                os.link(self.beside("v.db", ending), self.beside(name, ending))
        return name

    def delete(self):
        for ending in ENDINGS:
            self.beside("v.db", ending).unlink(missing_ok=True)

    def replace(self, other):
        self.beside(other, "").replace(self.path)
        for ending in ENDINGS[1:]:
            self.beside("v.db", ending).unlink(missing_ok=True)

    def restore(self, other):
        source = closing(sqlite3.connect(self.beside(other, "")))
        with source as read, closing(sqlite3.connect(self.path, timeout=30)) as target:
            read.backup(target)

    def change(self):
        what, other = self.rng.choice(["delete", "replace", "restore"]), self.other()
        # Nobody may open a vault between its file and its log being replaced: SQLite takes the one for the other's.
        self.beside("changing", "").touch()
        began = time.monotonic()
        kept = None if what == "restore" else self.keep()
        if what == "delete":
            self.delete()
        elif self.path.exists():
            getattr(self, what)(other)
        self.beside("changing", "").unlink()
        self.changes.append((began, time.monotonic(), what, kept))
        return what


def ids_in(path):
    with closing(sqlite3.connect(path)) as sql:
        try:
            return {row[0] for row in sql.execute("SELECT id FROM entries WHERE live")}
        except sqlite3.OperationalError:
            # It was replaced while it was made.
            return set()


def test_what_is_acknowledged_is_in_the_file_that_was_there(tmp_path):
    campaign = Campaign("replaced files")
    for seed in campaign.rounds(few=1):
        rng, folder, pause = random.Random(seed), tmp_path / str(seed), threading.Event()
        folder.mkdir()
        places = Places(folder, rng)
        command = [sys.executable, "-m", "campaigns.robbed", str(folder), str(seed)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(command, cwd=TESTS, text=True, **pipes) as robbed:
            assert robbed.stdout.readline() == "ready\n"
            for _ in range(campaign.of(6)):
                pause.wait(rng.choice([0.02, 0.2]) * rng.random())
                campaign.tried[places.change()] += 1
            pause.wait(0.1)
            said, fault = robbed.communicate("enough\n", timeout=120)
            assert robbed.returncode == 0, fault
        tried, wrote = json.loads(said)
        campaign.tried.update(tried)
        ends = [(began, kept) for began, _, _, kept in places.changes] + [(time.monotonic(), "v.db")]
        starts = [0.0, *(ended for _, ended, _, _ in places.changes)]
        for start, (end, kept) in zip(starts, ends, strict=True):
            if kept is None or not (folder / kept).exists():
                continue
            there = ids_in(folder / kept)
            lost = [id for began, ended, ids in wrote if start < began and ended < end for id in ids if id not in there]
            assert not lost, (kept, lost)
            # One vault alone gave what was there before.
            assert len({id.rpartition("-")[0] for id in there if id.startswith("other")}) <= 1
            assert not there or not faults(folder / kept)
        with opened(folder / "v.db") as vault, opened(folder / "v.db", sidecar=False) as anew, rebuilt(vault) as new:
            assert not differences(vault, anew, seed)
            assert not differences(vault, new, seed)
