"""Commands of a release: build the wheels and the sdist, check them, try them, build them once more."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from release import reproduce, sdist, trying
from release.build import build_wheel, expected_of
from release.checks import faults_of
from release.report import row_of, table
from release.targets import ROOT, TARGETS, Target, target_of
from release.toolchain import ToolchainError, ensure_std, run, source_date
from release.wheelfile import Wheel

WHEEL_HEAD = ("file", "bytes", "symbols", "checks")


def check(wheels: list[Path]) -> bool:
    """Check wheels, print what each fails and the table, and say whether all hold."""
    rows, held = [], True
    for path in wheels:
        wheel = Wheel(path)
        faults = faults_of(wheel, expected_of(target_of(path.name)))
        for name, found in faults.items():
            for fault in found:
                print(f"{path.name}: {name}: {fault}")
        held &= not any(faults.values())
        rows.append(row_of(wheel, faults))
    print(table(WHEEL_HEAD, rows))
    return held


def build(targets: list[Target], out: Path) -> list[Path]:
    """Build the wheels of the targets, saying of each which way was taken."""
    built = []
    for target in targets:
        print(f"{target.name}: {ensure_std(target)}; linked by zig, as {target.policy}", flush=True)
        built.append(build_wheel(target, out))
    return built


def make_sdist(out: Path) -> bool:
    """Build the sdist, check its files, build a wheel from it and use that."""
    path = sdist.build_sdist(out)
    faults = sdist.faults_of(path)
    for fault in faults:
        print(f"{path.name}: {fault}")
    print(f"{path.name}: {path.stat().st_size:,} bytes, {len(sdist.files_in(path))} files, {len(faults)} faults")
    with tempfile.TemporaryDirectory() as work:
        wheel = sdist.wheel_from(path, Path(work), target_dir=ROOT / "target" / "sdist")
        tried = trying.try_wheel(wheel, Path(sys.executable))
    print(f"built from it, without git and offline, on {tried.python}: {tried.said}")
    return not faults and tried.held


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
    import platform

    tag = f"manylinux_2_17_{platform.machine()}"
    return [wheel for wheel in wheels if tag in wheel.name]


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
    if asked.command in ("wheels", "reproduce") and changed_sources():
        print("sources were changed since the last commit")
    print(f"sources of {source_date()}")
    if asked.command == "wheels":
        built = build(targets, asked.out)
        held = check(built)
        return not all([held, *map(try_all, native(built))])
    if asked.command == "sdist":
        return not make_sdist(asked.out)
    if not files:
        print(f"no wheels in {asked.out}")
        return 1
    if asked.command == "check":
        return not check(files)
    if asked.command == "try":
        return not all(map(try_all, native(files)))
    return not same_again(targets, asked.out)


if __name__ == "__main__":
    sys.exit(main())
