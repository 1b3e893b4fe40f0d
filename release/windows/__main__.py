"""Run the core's tests, the wheel and the Python tests under wine. All is in target/windows/."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from release.foreign.shell import FailedError
from release.report import table
from release.targets import ROOT
from release.toolchain import ToolchainError
from release.windows import crate, suite
from release.windows.python import Interpreter, wheel_in
from release.windows.wine import Wine, ensure_wine, named

FOLDER = ROOT / "target" / "windows"
INSTALLED = ROOT / "tests" / "installed.py"
PARTS = ("rust", "wheel", "python")
Row = tuple[str, str, str]


def rust(wine: Wine) -> list[Row]:
    """The core's tests."""
    return [timed("cargo test --lib", lambda: crate.core_tests(wine, FOLDER))]


def wheel(wine: Wine) -> list[Row]:
    """The wheel, built, checked as for a release, installed without extras and used."""

    def build() -> str:
        path = crate.built_wheel(wine, FOLDER)
        return f"{path.name}, {path.stat().st_size:,} bytes"

    def use() -> str:
        python = Interpreter(FOLDER / "alone")
        python.prepare()
        python.install(wheel_in(FOLDER / "wheel"), alone=True)
        words = ["-I", named(INSTALLED), named(ROOT / "README.md")]
        return wine.run(python.program, *words, cwd=FOLDER).strip().splitlines()[-1]

    built = timed("the wheel is built", build)
    return [
        built,
        timed("the checks of a release", lambda: crate.checked(wheel_in(FOLDER / "wheel"))),
        timed("README, command, files", use),
    ]


def tests(wine: Wine, python: Interpreter, words: list[str]) -> tuple[list[Row], bool]:
    """The Python tests: a row for each folder, the list of what is left out, and whether all passed."""
    python.prepare()
    python.install(wheel_in(FOLDER / "wheel"))
    place = suite.Suite(wine, python, FOLDER / "reports")
    place.folder.mkdir(parents=True, exist_ok=True)
    (place.folder / "left_out.txt").unlink(missing_ok=True)
    files, left_files = suite.test_files(words)
    counts, seconds, held, again = dict[str, Counter[str]](), Counter[str](), True, list[str]()
    for came in place.run(files, suite.jobs()):
        folder, what = came.files[0].split("/")[1], f"{came.files[0]} … {len(came.files)}"
        counts.setdefault(folder, Counter()).update(came.counts)
        seconds[folder] += round(came.seconds)
        held &= (came.again or not came.broken) and not came.failed
        print(f"{what}: {dict(came.counts)} ({came.seconds:.0f} s)", flush=True)
        if came.broken:
            print(f"{'RUN AGAIN' if came.again else 'FAILED'} {what}: {came.broken}", flush=True)
        if came.again:
            again.append(f"{what}: {came.broken.partition(chr(10))[0]}")
        for name, report in came.failed.items():
            print(f"FAILED {name}\n{report}", flush=True)
    left = suite.left_out_tests(place.folder)
    rows = [(f"tests/{name}", _summary(count), f"{seconds[name]} s") for name, count in counts.items()]
    rows += [("ran again, file by file", why, "") for why in again]
    total = sum(counts.values(), Counter[str]())
    print(f"\n{table(('left out because', 'files', 'tests of other files'), _reasons(left_files, left))}")
    return [*rows, ("Python tests", _summary(total), f"{sum(seconds.values())} s of processes")], held


def _summary(count: Counter[str]) -> str:
    names = (("passed", "passed"), ("failure", "failed"), ("error", "errors"), ("skipped", "skipped themselves"))
    return ", ".join(f"{count[key]} {name}" for key, name in names if count[key] or key == "passed")


def _reasons(files: Counter[str], single: Counter[str]) -> list[Row]:
    return [(why, str(files[why]), str(single[why])) for why in sorted({*files, *single})]


def timed(what: str, do: object) -> Row:
    """Do a step, print its outcome, and return its row; a failure is kept as one."""
    began = time.monotonic()
    try:
        outcome = do()  # type: ignore[operator]
    except (FailedError, ToolchainError) as failed:
        print(failed)
        outcome = "FAILED, see above"
    took = f"{time.monotonic() - began:.0f} s"
    print(f"{what}: {outcome} ({took})", flush=True)
    return what, outcome, took


def main() -> int:
    """Do what was asked for, print the table; 1 when something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m release.windows", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument(
        "--files", action="append", default=[], metavar="WORD", help="only files of tests with the word"
    )
    asked = parser.parse_args()
    parts = asked.parts or PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    ensure_wine()
    wine, python = Wine(FOLDER / "drive"), Interpreter(FOLDER / "python")
    wine.prepare()
    rows, held = list[Row](), True
    try:
        if "rust" in parts:
            rows += rust(wine)
        if "wheel" in parts:
            rows += wheel(wine)
        if "python" in parts:
            more, held = tests(wine, python, asked.files)
            rows += more
    finally:
        wine.end()
    print(f"\n{table(('what ran', 'result', 'time'), rows)}")
    return not held or any("FAILED" in outcome for _, outcome, _ in rows)


if __name__ == "__main__":
    sys.exit(main())
