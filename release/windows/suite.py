"""The Python tests under wine: files in portions, each in a process of its own, and what came of them."""

from __future__ import annotations

import itertools
import os
import re
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from release.targets import ROOT
from release.windows import leaving
from release.windows.wine import TIMED_OUT, named

if TYPE_CHECKING:
    from release.windows.python import Interpreter
    from release.windows.wine import Ended, Wine

#: Folders of tests; the others test the repository, PostgreSQL or a browser.
FOLDERS = ("golden", "property", "smoke", "unit", "integration", "exhaustive", "processes", "servers", "systems")
#: Files of a process: Python and pytest take seconds to start under wine.
PORTION = 6
#: Maximum time of a process, in seconds.
MOST_S = 3_600
#: A test that hangs ends its process, by a thread, as Windows has no SIGALRM: wine 8 loses about one wake-up in 80,000
#: of an event loop by another thread, and the test that waits for it hangs, each time another one.
OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-p", "release.windows.leaving", "--continue-on-collection-errors"),
    *("--timeout", "240", "-o", "timeout_method=thread", "-o", "faulthandler_timeout=600"),
)
#: A line of the stack of a test that hangs.
STUCK = re.compile(r'File "[^"]*?(tests[\\/][^"]+)", line (\d+), in (test_\w+)')


class Came(NamedTuple):
    """The outcome of one process."""

    files: tuple[str, ...]
    counts: Counter[str]
    seconds: float
    #: The ids of tests that failed, each with the last lines of its report.
    failed: dict[str, str]
    #: What a process printed that ended before its tests did; empty for one that did not.
    broken: str
    #: True if the files run again at the end, one by one.
    again: bool = False


class Suite(NamedTuple):
    """Where tests run: the interpreter with the wheel, and a folder for what they leave."""

    wine: Wine
    python: Interpreter
    folder: Path

    def run(self, files: Sequence[str], jobs: int) -> Iterator[Came]:
        """Yield the outcome of each portion of a folder; files of broken ones run once more at the end, one by one."""
        folders = [tuple(names) for _, names in itertools.groupby(files, lambda file: file.rpartition("/")[0])]
        portions = [names[at : at + PORTION] for names in folders for at in range(0, len(names), PORTION)]
        broken = list[str]()
        with ThreadPoolExecutor(jobs) as pool:
            for came in pool.map(self._portion, portions):
                if came.broken:
                    broken += came.files
                yield came._replace(again=bool(came.broken))
            yield from pool.map(self._portion, ((file,) for file in broken))

    def _portion(self, files: tuple[str, ...]) -> Came:
        self.folder.mkdir(parents=True, exist_ok=True)
        report = self.folder / f"{re.sub(r'[^a-z0-9]+', '-', files[0])}-{len(files)}.xml"
        report.unlink(missing_ok=True)
        env = {
            "PYTHONPATH": named(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            leaving.COUNTED: named(self.folder / "left_out.txt"),
        }
        words = ["-m", "pytest", *OPTIONS, f"--junitxml={named(report)}", *files]
        began = time.monotonic()
        ended = self.wine.start(self.python.program, *words, cwd=ROOT, env=env, seconds=MOST_S)
        return came_of(files, report, ended, time.monotonic() - began)


def came_of(files: tuple[str, ...], report: Path, ended: Ended, seconds: float) -> Came:
    """Read the report of a process."""
    # 5 says that no test was left to run.
    if not report.is_file() or ended.code not in (0, 1, 5):
        why = "ran out of time" if ended.code == TIMED_OUT else f"ended with {ended.code}"
        if found := STUCK.findall(ended.printed):
            path, line, test = found[-1]
            why += f", stuck in {path.replace(chr(92), '/')}:{line}, {test}"
        return Came(files, Counter(), seconds, {}, f"{why}\n{ended.printed[-3000:]}")
    counts, failed = Counter[str](), dict[str, str]()
    for case in ET.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = next((kind for kind in ("failure", "error", "skipped") if kind in kinds), "passed")
        counts[outcome] += 1
        if outcome in ("failure", "error"):
            child = next(child for child in case if child.tag == outcome)
            failed[f"{case.get('classname')}::{case.get('name')}"] = (child.text or "")[-1500:]
    return Came(files, counts, seconds, failed, "")


def test_files(chosen: Sequence[str] = ()) -> tuple[list[str], Counter[str]]:
    """The files of tests to run, and the number of those left out as a whole, by reason."""
    paths = sorted(
        itertools.chain.from_iterable((ROOT / "tests" / folder).glob("test_*.py") for folder in FOLDERS),
    )
    files = [path.relative_to(ROOT).as_posix() for path in paths]
    if chosen:
        files = [file for file in files if any(word in file for word in chosen)]
    whole = {file: leaving.reason(file) for file in files}
    return [file for file in files if whole[file] is None], Counter(why for why in whole.values() if why is not None)


def left_out_tests(folder: Path) -> Counter[str]:
    """The number of single tests that were left out, by reason."""
    place = folder / "left_out.txt"
    lines = set(place.read_text(encoding="utf-8").splitlines()) if place.is_file() else set[str]()
    return Counter(line.partition("\t")[0] for line in lines)


def jobs() -> int:
    """The number of processes that run side by side."""
    return min(os.cpu_count() or 1, 4)
