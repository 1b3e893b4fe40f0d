"""Sidecars and index files that others cut, overwrite, replace or remove while a process searches in them."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from campaigns.campaign import Campaign
from campaigns.content import entry
from campaigns.operations import opened
from campaigns.vaults import differences, faults

TESTS = Path(__file__).parent.parent


def cut(rng, file):
    os.truncate(file, rng.choice([0, 1, 64, 4_096, rng.randrange(file.stat().st_size + 1)]))


def grow(rng, file):
    os.truncate(file, file.stat().st_size + rng.choice([1, 4_096, 1 << 20]))


def overwrite(rng, file):
    with file.open("r+b") as out:
        for _ in range(rng.choice([1, 10, 200])):
            out.seek(rng.randrange(max(1, file.stat().st_size)))
            out.write(rng.randbytes(rng.choice([1, 8, 4_096])))


def fill(rng, file):
    """With the one or the other byte, where positions become as large or as small as they can."""
    size = file.stat().st_size
    with file.open("r+b") as out:
        out.seek(rng.randrange(size + 1))
        out.write(rng.choice([b"\0", b"\xff"]) * min(size - out.tell(), rng.choice([64, 10_000, size])))


def remove(_rng, file):
    file.unlink()


def replace(rng, file):
    other = file.with_name("other")
    other.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size + 1)])
    other.replace(file)


def copy_over(rng, file):
    """As ``cp`` does: the file is cut to nothing, then written again."""
    whole = file.read_bytes()
    with file.open("wb") as out:
        out.write(whole if rng.random() < 0.5 else whole[: len(whole) // 2])


DAMAGE = [cut, cut, grow, overwrite, fill, remove, replace, copy_over]


def test_nothing_that_happens_to_derived_files_kills_a_process(tmp_path):
    campaign = Campaign("damaged files")
    for seed in campaign.rounds(few=1):
        rng, folder, pause = random.Random(seed), tmp_path / str(seed), threading.Event()
        folder.mkdir()
        with opened(folder / "v.db") as vault:
            vault.add_many({**entry(rng, 1), "id": f"e{i}", "split": None} for i in range(1_500))
        command = [sys.executable, "-X", "faulthandler", "-m", "campaigns.searching", str(folder), str(seed)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(command, cwd=TESTS, text=True, **pipes) as searcher:
            assert searcher.stdout.readline() == "ready\n"
            for _ in range(campaign.of(15)):
                files = [*(folder / "v.db.septet").glob("*.arrays"), *folder.glob("rows.npy*")]
                damage, file = rng.choice(DAMAGE), rng.choice(files or [folder / "none"])
                # It may be gone by now, as may be what it is replaced by.
                try:
                    damage(rng, file)
                    campaign.tried[damage.__name__] += 1
                except (FileNotFoundError, ValueError):
                    campaign.tried["too late"] += 1
                pause.wait(0.1 * rng.random())
                if searcher.poll() is not None:
                    break
            said, fault = searcher.communicate("enough\n", timeout=120)
            assert searcher.returncode == 0, f"{searcher.returncode}: {fault}"
        campaign.tried.update(json.loads(said))
        assert not faults(folder / "v.db")
        with opened(folder / "v.db") as vault, opened(folder / "v.db", sidecar=False) as anew:
            vault.search("begin")
            vault.search("to verify what there is")
            with vault._tier.manager.foreground():
                pass
            assert not differences(vault, anew, seed)
        shutil.rmtree(folder)
