"""Harms files that another process has mapped, at random moments, and puts whole ones in their place again."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent
HARMS = ("cut", "emptied", "overwritten", "zeroed", "extended", "removed", "grown again")


def harm(path, how, rng):
    """Do one kind of harm to a file, in place."""
    size = path.stat().st_size
    if how == "removed":
        path.unlink()
        return
    with path.open("r+b") as file:
        if how in ("cut", "grown again"):
            file.truncate(rng.randrange(size))
            if how == "grown again":
                file.truncate(size)
        elif how == "emptied":
            file.truncate(0)
        elif how == "extended":
            file.seek(0, os.SEEK_END)
            file.write(rng.randbytes(5_000))
        else:
            at, length = rng.randrange(size), rng.choice([1, 100, 100_000])
            file.seek(at)
            file.write(bytes(length) if how == "zeroed" else rng.randbytes(length))


def whole_again(path, kept):
    """Put a whole file in the place of a harmed one; half of the copies look as old as the original."""
    copy = path.with_name(f"{path.name}.copy")
    shutil.copy2(kept, copy)
    copy.replace(path)


def vandalise(folder, times, seed, tried, options=()):
    """Harm the files that a searching process maps so many times; return what it said, and how it ended."""
    rng = random.Random(seed)
    sidecars = folder / "v.db.septet"
    (arrays,) = sidecars.glob("*.arrays")
    targets = [arrays, folder / "rows.npy", folder / "rows.npy.codes"]
    kept = folder / "kept"
    kept.mkdir(exist_ok=True)
    for target in targets:
        shutil.copy2(target, kept / target.name)
    command = [sys.executable, *options, "-m", "campaigns.searcher", str(folder), str(seed)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=TESTS, text=True, **pipes) as searcher:
        searcher.stdout.readline()
        for _ in range(times):
            if searcher.poll() is not None:
                break
            target, how = rng.choices(targets, [3, 1, 1])[0], rng.choice(HARMS)
            whole = kept / target.name
            if target == arrays:
                # The one in use: the searcher writes others in its place.
                target = max(sidecars.glob("*.arrays"), default=arrays)
            time.sleep(rng.random() * 0.04)
            try:
                harm(target, how, rng)
                tried[f"{target.suffix} {how}"] += 1
            except FileNotFoundError:
                # The searcher removed it, because it was damaged.
                tried["gone already"] += 1
            time.sleep(rng.random() * 0.02)
            whole_again(target, whole)
        said, fault = searcher.communicate(timeout=300)
    return said, fault, searcher.returncode
