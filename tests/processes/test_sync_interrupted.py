"""Syncs that are broken off: by an interrupt, a callback, a limit of time, a cancelled task, a closed vault, a kill."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from septet import AsyncFederation, AsyncVault, Closed, Federation, SeptetError, StoreBusy, TierError, Vault
from synced import chunks, fresh, picture

STRESS_S = float(os.environ.get("SEPTET_STRESS_S", "0"))


def fill(folder, count, word="heron"):
    folder.mkdir(exist_ok=True)
    for n in range(count):
        path = folder / f"n{n}.md"
        path.write_text(f"# Note {n}\n\nThe {word} of note {n}, see [[n{n + 1}]].\n", encoding="utf-8")
        # Not in the moment in which it is read.
        os.utime(path, (1e9 + len(word), 1e9 + len(word)))


@pytest.fixture
def notes(tmp_path):
    fill(tmp_path / "notes", 40)
    return tmp_path / "notes"


def goes_on(path, folder):
    """Sync by another object, soon, for which nobody may have left a claim; compare with a new vault."""
    with Vault(path) as other:
        report = other.sync(folder, timeout_s=5)
        assert report.complete, report.problems
        assert picture(other) == fresh(folder)


class Interrupt:
    """Raises KeyboardInterrupt at the n-th call or return in Septet's own Python, or in one function; counts them."""

    def __init__(self, at=None, inside=None):
        self.at, self.inside, self.seen = at, inside, 0

    def __call__(self, frame, what, _argument):
        if "septet" not in frame.f_code.co_filename:
            return None
        if what in ("call", "return") and (self.inside is None or self._is_inside(frame)):
            self.seen += 1
            if self.seen == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self

    def _is_inside(self, frame):
        while frame is not None and frame.f_code.co_qualname != self.inside:
            frame = frame.f_back
        return frame is not None

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *fault):
        sys.settrace(self.before)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames do not know their full names")
@pytest.mark.parametrize(("inside", "few"), [(None, 12), ("Lease.take", 5), ("Lease.release", 5)])
def test_after_an_interrupt_at_any_place_the_next_sync_goes_on_at_once(tmp_path, inside, few):
    fill(notes := tmp_path / "notes", 12)
    with Vault(tmp_path / "count.db") as vault, Interrupt(inside=inside) as counting:
        vault.sync(notes)
    step = 1 if STRESS_S else max(1, counting.seen // few)
    for at in range(2, counting.seen, step):
        path = tmp_path / f"v{at}.db"
        with Vault(path) as vault:
            with contextlib.suppress(KeyboardInterrupt), Interrupt(at, inside):
                vault.sync(notes)
            report = vault.sync(notes, timeout_s=5)
            assert report.complete, (at, report.problems)
            assert picture(vault) == fresh(notes)
        goes_on(path, notes)


def test_a_callback_that_raises_ends_the_sync_and_what_was_stored_stays(tmp_path, notes):
    class Own(Exception):
        pass

    def refuse(done, total):
        raise Own(done, total)

    with Vault(tmp_path / "v.db") as vault:
        for _ in range(2):
            with pytest.raises(Own):
                vault.sync(notes, progress=refuse, force=True)
            assert len(vault) == 40
        goes_on(tmp_path / "v.db", notes)


@pytest.mark.parametrize("outer", ["sync", "redact"])
@pytest.mark.parametrize("inner", ["sync", "redact"])
def test_a_callback_that_syncs_is_told_to_wait_and_may_do_all_else(tmp_path, notes, outer, inner):
    said = []

    def try_it(done, total):
        assert vault.search("heron") and vault.sync_status().roots
        with pytest.raises(StoreBusy, match="by this thread") as refused:
            getattr(vault, inner)()
        said.append(refused.value)

    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
        fill(notes, 3, "owl")
        getattr(vault, outer)(progress=try_it)
        vault.sync()
        assert said and picture(vault) == fresh(notes)
    goes_on(tmp_path / "v.db", notes)


def test_a_callback_that_closes_the_vault_ends_the_sync(tmp_path, notes):
    vault = Vault(tmp_path / "v.db")
    with pytest.raises(Closed):
        vault.sync(notes, progress=lambda *_: vault.close())
    goes_on(tmp_path / "v.db", notes)


def test_progress_counts_up_to_the_files_that_are_read(tmp_path, notes):
    told = []
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes, progress=lambda *both: told.append(both))
        assert told[-1] == (40, 40) and told == sorted(told)
        del told[:]
        fill(notes, 7, "owl")
        vault.sync(progress=lambda *both: told.append(both))
        assert told[-1] == (7, 7)
        del told[:]
        vault.sync(progress=lambda *both: told.append(both))
        assert all(done <= total for done, total in told)


@pytest.mark.parametrize("timeout_s", [0, 0.0005, 0.003, 0.02, 0.1])
def test_syncs_within_limits_of_time_come_to_an_end_together(tmp_path, timeout_s):
    fill(tmp_path / "notes", 120)
    with Vault(tmp_path / "v.db") as vault:
        reports = [vault.sync(tmp_path / "notes", timeout_s=timeout_s)]
        while timeout_s and not reports[-1].complete and len(reports) < 400:
            assert len(vault) == sum(report.files_added for report in reports)
            reports.append(vault.sync(timeout_s=timeout_s * len(reports)))
        if not timeout_s:
            reports.append(vault.sync())
        assert reports[-1].complete and sum(report.files_added for report in reports) == 120
        assert picture(vault) == fresh(tmp_path / "notes")


HOLD = """
import sys, time
from septet import Vault
with Vault(sys.argv[1]) as vault:
    def hold(done, total):
        print("held", flush=True)
        time.sleep(60)
    vault.sync(sys.argv[2], progress=hold)
"""


def test_a_process_that_syncs_is_waited_for_within_the_limit_and_not_at_all_once_it_is_killed(tmp_path, notes):
    path = tmp_path / "v.db"
    child = subprocess.Popen([sys.executable, "-c", HOLD, path, notes], stdout=subprocess.PIPE)
    assert child.stdout.readline().split() == [b"held"]
    fill(notes, 5, "owl")
    with Vault(path) as vault:
        assert vault.search("heron").hits
        report = vault.sync(notes, timeout_s=0.2)
        assert not report.complete and report.problems == (
            "another process is syncing this vault: sync again when it is done",
        )
    child.kill()
    child.communicate()
    goes_on(path, notes)


def test_a_vault_that_is_closed_while_it_syncs_says_so_and_loses_nothing(tmp_path):
    fill(tmp_path / "notes", 200)
    path = tmp_path / "v.db"
    for wait in (0.0, 0.005, 0.02, 0.05):
        vault, faults = Vault(path), []

        def sync(vault=vault, put=faults.append):
            try:
                vault.sync(tmp_path / "notes", force=True)
            except SeptetError as fault:
                put(str(fault))  # noqa: B023

        thread = threading.Thread(target=sync)
        thread.start()
        time.sleep(wait)
        vault.close()
        thread.join(20)
        assert not thread.is_alive()
        assert all("closed" in fault for fault in faults), faults
    goes_on(path, tmp_path / "notes")


def test_a_sync_that_is_cancelled_goes_on_on_its_thread_and_the_next_one_waits_for_it(tmp_path, notes):
    async def ask():
        begun, go_on = threading.Event(), threading.Event()

        def hold(done, total):
            begun.set()
            assert go_on.wait(20)

        async with AsyncVault(tmp_path / "v.db") as vault:
            task = asyncio.create_task(vault.sync(notes, progress=hold))
            while not begun.is_set():
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The loop is free, and so are searches.
            assert (await vault.search("heron")).hits
            left = await vault.sync(notes, timeout_s=0.05)
            assert not left.complete and "another sync of this vault is running" in left.problems[0]
            go_on.set()
            reports = await asyncio.gather(*(vault.sync(notes) for _ in range(5)))
            assert all(report.complete for report in reports)
            assert [root.name for root in (await vault.sync_status()).roots] == ["notes"]
            assert await vault.forget_root("notes") == 40
            assert (await vault.stats()).entries == 0

    asyncio.run(ask())
    goes_on(tmp_path / "v.db", notes)


def test_a_federation_syncs_its_highest_tier_or_the_one_that_is_named(tmp_path, notes):
    fill(tmp_path / "team", 3, "owl")
    with Vault(tmp_path / "a.db") as own, Vault(tmp_path / "b.db") as team:
        both = Federation({"team": team, "own": own}, weights={"own": 2.0})
        assert both.sync(notes).files_added == 40
        assert both.tier("team").sync(tmp_path / "team").files_added == 3
        assert [root.name for root in both.sync_status().roots] == ["notes"]
        assert [root.name for root in both.tier("team").sync_status().roots] == ["team"]
        assert {hit.tier for hit in both.search("owl note").hits} >= {"team"}
        assert both.tier("team").sync(timeout_s=5).complete
        with pytest.raises(TierError):
            both.tier("none").sync(notes)
        assert both.tier("team").forget_root("team") == 3
        assert (len(own), len(team)) == (40, 0)

        async def ask():
            async with AsyncFederation.of(both) as waiting:
                assert (await waiting.tier("team").sync(tmp_path / "team")).files_added == 3
                assert len((await waiting.tier("team").sync_status()).roots) == 1

        asyncio.run(ask())
        assert picture(team) == fresh(tmp_path / "team")


OTHERS = """
import sys, time
from septet import Vault
until = time.time() + float(sys.argv[3])
with Vault(sys.argv[1]) as vault:
    while time.time() < until:
        assert vault.sync(sys.argv[2]).problems == ()
        for hit in vault.search("note", limit=10).hits:
            assert hit.kind == "chunk", hit
"""


def test_processes_with_roots_of_their_own_share_a_vault_and_one_may_be_killed_at_any_time(tmp_path):
    path, folders = tmp_path / "v.db", [tmp_path / name for name in ("one", "two", "both")]
    for folder in folders:
        fill(folder, 30, folder.name)
    seconds = max(1.2, STRESS_S)
    rng = np.random.default_rng(7)

    def begin(folder):
        return subprocess.Popen([sys.executable, "-c", OTHERS, path, folder, str(seconds)])

    last = [begin(folders[0]), begin(folders[2])]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        victim = begin(folders[int(rng.integers(1, 3))])
        time.sleep(float(rng.uniform(0.2, 0.6)))
        for folder in folders:
            (folder / f"n{rng.integers(30)}.md").write_text(f"# Note\n\nAgain {rng.integers(999)}.\n", encoding="utf-8")
        victim.kill()
        victim.wait()
    assert [one.wait() for one in last] == [0, 0]
    with Vault(path) as vault:
        for folder in folders:
            assert vault.sync(folder, timeout_s=5).complete
            own = [e for e in chunks(vault) if e[2].path.startswith("n") and vault.get(e[0]).source == folder.name]
            with Vault(":memory:") as other:
                other.sync(folder)
                assert sorted((e[2].path, e[3]) for e in own) == sorted((e[2].path, e[3]) for e in chunks(other))
