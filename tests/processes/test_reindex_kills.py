"""Processes that are killed while a root is read in another way: the old chunks are whole, or the new ones are."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from consoles import was_killed
from reindexed import LARGE, SMALL, STRESS_S, fill, fresh, leftovers, note, picture, sound, write
from septet import Chunking, Vault

TESTS = Path(__file__).parent.parent

#: Syncs a folder with other options, and kills itself at a transaction, before or behind its commit, or in the switch.
CHILD = """
import os, sys
from septet import Vault
from septet.files import reindexing
from septet.sqlite.store.store import SqliteStore as Store
from reindexed import SMALL

path, folder, at, when = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
reindexing.MOST_CHUNKS = 1
reindexing.SWITCHED_CHUNKS = 4
number = 0

def die():
    os.kill(os.getpid(), 9)

def counted(transaction):
    class Counted:
        def __init__(self, store):
            self.inside = transaction(store)
        def __enter__(self):
            return self.inside.__enter__()
        def __exit__(self, *fault):
            global number
            number += 1
            if number == at and when == "before":
                die()
            left = self.inside.__exit__(*fault)
            if number == at and when == "behind":
                die()
            return left
    return lambda store: Counted(store)

store_plans = reindexing.store_plans

def store(*given):
    global number
    number += 1
    if number == at and when == "inside":
        die()
    return store_plans(*given)

with Vault(path) as vault:
    if when == "inside":
        reindexing.store_plans = store
    else:
        Store.writing, Store.bookkeeping = counted(Store.writing), counted(Store.bookkeeping)
    vault.sync(folder, chunking=SMALL)
    print(number)
"""


def run(vault, folder, at, when):
    """Return what a process ended with, and what it said."""
    given = [sys.executable, "-c", CHILD, str(vault), str(folder), str(at), when]
    done = subprocess.run(given, cwd=TESTS, stdout=subprocess.PIPE, text=True, timeout=60)
    return done.returncode, done.stdout.strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder, a vault of it, and what it holds: cut in one way, and in the other."""
    place = tmp_path_factory.mktemp("made")
    fill(place / "notes", 6)
    with Vault(place / "v.septet") as vault:
        vault.sync(place / "notes")
        old = picture(vault)
    return place, old, fresh(place / "notes", SMALL)


def copied(place, to):
    """Copy a vault that nobody has open."""
    to.write_bytes((place / "v.septet").read_bytes())
    return to


def transactions(place, tmp_path, when):
    code, said = run(copied(place, tmp_path / "all.septet"), place / "notes", 0, when)
    assert code == 0
    return int(said)


@pytest.mark.parametrize("when", ["before", "behind", "inside"])
def test_a_kill_at_any_transaction_leaves_the_old_chunks_or_the_new_ones_whole(made, tmp_path, when):
    place, old, new = made
    count = transactions(place, tmp_path, when)
    assert count >= (9 if when != "inside" else 3)
    seen = []
    for at in range(1, count + 1) if STRESS_S else sorted({count // 2, count - 3, count}):
        file = copied(place, tmp_path / f"{at}.septet")
        assert was_killed(run(file, place / "notes", at, when)[0])
        with Vault(file) as vault:
            seen.append(picture(vault) == new)
            assert picture(vault) in (old, new) and sound(vault)
            assert vault.search("heron sentence").hits
            report = vault.sync(place / "notes", chunking=SMALL)
            assert report.complete and (report.reindexed == ("notes",)) is not seen[-1]
            assert picture(vault) == new and leftovers(vault) == (0, 0) and sound(vault)
    assert seen == sorted(seen) and (when != "inside" or not any(seen))


SYNCS = """
import sys
from septet import Chunking, Vault
from septet.files import reindexing
reindexing.MOST_CHUNKS = 4
with Vault(sys.argv[1]) as vault:
    print("ready", flush=True)
    vault.sync(sys.argv[2], chunking=Chunking(tokens=int(sys.argv[3]), overlap=10))
"""


def syncing(file, folder, tokens):
    given = [sys.executable, "-c", SYNCS, str(file), str(folder), str(tokens)]
    return subprocess.Popen(given, cwd=TESTS, stdout=subprocess.PIPE, text=True)


def ended(process):
    process.communicate(timeout=60)
    return process.returncode


def test_two_processes_that_read_a_root_in_another_way_at_once_make_it_once(tmp_path):
    fill(tmp_path / "notes", 40)
    with Vault(tmp_path / "v.septet") as vault:
        vault.sync(tmp_path / "notes")
        old, new = picture(vault), fresh(tmp_path / "notes", SMALL)
        both = [syncing(tmp_path / "v.septet", tmp_path / "notes", SMALL.tokens) for _ in range(2)]
        while any(one.poll() is None for one in both):
            assert picture(vault)[0] in (old[0], new[0])
        assert [ended(one) for one in both] == [0, 0]
        assert picture(vault) == new and leftovers(vault) == (0, 0)


def test_processes_that_want_other_ways_leave_one_of_them_whole(tmp_path):
    fill(tmp_path / "notes", 20)
    file, ways = tmp_path / "v.septet", (40, 60, 90)
    with Vault(file) as vault:
        vault.sync(tmp_path / "notes")
        several = [syncing(file, tmp_path / "notes", tokens) for tokens in ways]
        assert [ended(one) for one in several] == [0] * len(ways)
        vault.sync()
        tokens = vault.sync_status().roots[0].options["chunking"]["tokens"]
        assert tokens in ways and picture(vault) == fresh(tmp_path / "notes", Chunking(tokens=tokens, overlap=10))
        assert leftovers(vault) == (0, 0) and sound(vault)


@pytest.mark.skipif(not STRESS_S, reason="a campaign: set SEPTET_STRESS_S to its seconds")
def test_processes_killed_at_any_moment_while_files_change_lose_nothing(tmp_path):
    folder, file, until, round = tmp_path / "notes", tmp_path / "v.septet", time.monotonic() + STRESS_S, 0
    fill(folder, 60)
    with Vault(file) as vault:
        vault.sync(folder)
    while time.monotonic() < until:
        round += 1
        process = syncing(file, folder, 40 + round % 5)
        process.stdout.readline()
        write(folder, f"note{round % 60}.md", note(round % 60, f"came {round} times"))
        time.sleep((round * 7919 % 400) / 1000)
        process.kill()
        ended(process)
        if round % 5 == 0:
            with Vault(file) as vault:
                assert sound(vault)
                way = (SMALL, LARGE)[round % 2]
                assert vault.sync(folder, chunking=way).complete
                assert picture(vault) == fresh(folder, way) and leftovers(vault) == (0, 0)
    assert round
