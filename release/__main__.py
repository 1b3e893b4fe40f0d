"""Commands of a release: build the wheels and the sdist, check them, try them, build them once more."""

from __future__ import annotations

import argparse
import platform
import re
import sys
import tempfile
from pathlib import Path

from release import reproduce, sdist, trying
from release.build import build_wheel, expected_of, runtimes
from release.checks import faults_of
from release.report import row_of, table
from release.targets import ROOT, TARGETS, Target, target_of
from release.toolchain import RUSTC, ToolchainError, ensure_std, run, rustc_version, source_date
from release.wheelfile import Wheel

#: The names of wheels that are built on their own systems.
BUILT_ELSEWHERE = re.compile("macosx|win_")
WHEEL_HEAD = ("file", "bytes", "symbols", "checks")


def check(wheels: list[Path]) -> bool:
    """Check wheels, print what each fails and the table, and say whether all hold."""
    rows, held = [], True
    for path in wheels:
        wheel = Wheel(path)
        faults = faults_of(wheel, expected_of(target_of(path.name), runtimes()))
        for name, found in faults.items():
            for fault in found:
                print(f"{path.name}: {name}: {fault}")
        held &= not any(faults.values())
        rows.append(row_of(wheel, faults))
    print(table(WHEEL_HEAD, rows))
    return held


def build(targets: list[Target], out: Path) -> list[Path]:
    """Build the wheels of the targets, saying of each which way was taken."""
    if (release := rustc_version()["release"]) != RUSTC:
        print(f"rustc {release} is not {RUSTC}, by which releases are built: the bytes will differ", flush=True)
    built = []
    for target in targets:
        print(f"{target.name}: {ensure_std(target)}; linked by zig, as {target.policy}", flush=True)
        built.append(build_wheel(target, out))
    return built


def check_sdist(path: Path) -> bool:
    """Check the files of an sdist, print what is wrong with them, and say whether nothing is."""
    faults = sdist.faults_of(path)
    for fault in faults:
        print(f"{path.name}: {fault}")
    print(f"{path.name}: {path.stat().st_size:,} bytes, {len(sdist.files_in(path))} files, {len(faults)} faults")
    return not faults


def make_sdist(out: Path) -> bool:
    """Build the sdist, check its files, build a wheel from it and use that."""
    path = sdist.build_sdist(out)
    held = check_sdist(path)
    with tempfile.TemporaryDirectory() as work:
        wheel = sdist.wheel_from(path, Path(work), target_dir=ROOT / "target" / "sdist")
        tried = trying.try_wheel(wheel, Path(sys.executable))
    print(f"built from it, without git and offline, on {tried.python}: {tried.said}")
    return held and tried.held


def try_all(wheel: Path) -> bool:
    """Use a wheel in an empty environment of every Python, and print the table."""
    tried = [trying.try_wheel(wheel, python) for python in trying.interpreters()]
    print(table(("Python", "held", "what ran"), [(t.python, "yes" if t.held else "NO", t.said) for t in tried]))
    return bool(tried) and all(t.held for t in tried)


def same_again(targets: list[Target], out: Path) -> bool:
    """Build once more in other folders and compare with what is in out."""
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for target in (*targets, None):
            again = reproduce.built_elsewhere(target, Path(work))
            first = out / again.name
            if not first.is_file():
                said = f"is not in {out.name}/, so there is nothing to compare with"
            elif found := reproduce.differences(first, again):
                said = f"differs in {', '.join(found[:5])}"
            else:
                said = "the same bytes"
            rows.append((again.name, said))
    print(table(("file", "built again elsewhere"), rows))
    return all(said == "the same bytes" for _, said in rows)


def native(wheels: list[Path]) -> list[Path]:
    """Those of the wheels that this machine can run."""
    tag = f"manylinux_2_17_{platform.machine()}"
    return [wheel for wheel in wheels if tag in wheel.name]


def check_all(files: list[Path], out: Path) -> bool:
    """Check wheels, and the sdist in out; those for macOS and Windows were checked where they were built."""
    held = check([file for file in files if not BUILT_ELSEWHERE.search(file.name)])
    return all([held, *map(check_sdist, sorted(out.glob("*.tar.gz")))])


def changed_sources() -> str:
    """What git says is not committed: a build of it cannot be repeated from the commit."""
    try:
        return run(["git", "status", "--porcelain"])
    except ToolchainError:
        return ""


def main() -> int:
    """Run one command; 1 when something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("command", choices=("wheels", "sdist", "check", "try", "reproduce"))
    parser.add_argument("files", nargs="*", type=Path, help="wheels to check or try; those in --out if none is named")
    parser.add_argument("--only", action="append", choices=TARGETS, help="a target; all if none is named")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder of what is built (dist/)")
    asked = parser.parse_args()
    targets = [TARGETS[name] for name in asked.only or TARGETS]
    files = asked.files or sorted(asked.out.glob("*.whl"))
    changed = bool(changed_sources())
    if changed:
        print("sources were changed since the last commit: what is built of them is no release")
    print(f"sources of {source_date()}")
    if asked.command == "wheels":
        built = build(targets, asked.out)
        held = check(built)
        return not all([held, *map(try_all, native(built))]) or changed
    if asked.command == "sdist":
        return not make_sdist(asked.out) or changed
    if not files:
        print(f"no wheels in {asked.out}")
        return 1
    if asked.command == "check":
        return not check_all(files, asked.out)
    if asked.command == "try":
        if not (tried := native(files)):
            print(f"{asked.out} has no wheel for this machine")
        return not tried or not all(map(try_all, tried))
    return not same_again(targets, asked.out)


if __name__ == "__main__":
    sys.exit(main())
