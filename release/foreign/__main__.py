"""Run the core's tests and the wheels as other machines: aarch64 under qemu, and musl. All is in target/foreign/."""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from release.foreign import debian, places
from release.foreign.rust import SDOT, Crate
from release.foreign.shell import FailedError, ensure_commands, run
from release.report import table
from release.targets import ROOT, TARGETS
from release.toolchain import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = ROOT / "target" / "foreign"
INSIDE = Path(__file__).with_name("inside.py")
INSTALLED = ROOT / "tests" / "installed.py"
#: Everything there is, and a processor from before the dot product of bytes; and whether each has that.
PROCESSORS = {"max": True, "cortex-a53": False}
#: Tests of Python that need no more than `places.FOR_TESTS` and reach the kernels.
TESTS = (
    "tests/property/test_codes.py",
    "tests/property/test_kernels_vectors.py",
    "tests/property/test_kernels_fusion.py",
    "tests/property/test_vector_index.py",
    "tests/property/test_fts_equals_sqlite.py",
    "tests/unit/test_core_border.py",
    "tests/unit/test_vector_index.py",
)


class Step(NamedTuple):
    """One row of the closing table, and how to fill its last column."""

    where: str
    what: str
    do: Callable[[], str]


def rust_on_aarch64(name: str) -> Iterator[Step]:
    """The core for a target of aarch64, as each processor; and that each runs the instructions it should."""
    target = TARGETS[name]

    def crate() -> Crate:
        ensure_commands("qemu-aarch64-static", "aarch64-linux-gnu-gcc", "mmdebstrap")
        root = debian.arm64_root(FOLDER / "aarch64")
        return Crate(target, FOLDER, " ".join(places.emulator(root)))

    for processor, wanted in PROCESSORS.items():
        where = f"{name}, {processor}"
        yield Step(where, "cargo test --lib", partial(all_tests, crate, processor))
        yield Step(where, "instructions of codes", partial(dot_products, crate, processor, wanted))


def all_tests(crate: Callable[[], Crate], processor: str) -> str:
    """The core's tests as a processor."""
    return crate().tests(QEMU_CPU=processor)


def dot_products(crate: Callable[[], Crate], processor: str, wanted: bool) -> str:
    """Whether `sdot`, the dot product of bytes, was run; raises where the processor says otherwise."""
    found = crate().executed(SDOT, FOLDER / f"{processor}.log", QEMU_CPU=processor)
    if bool(found) != wanted:
        raise FailedError(f"sdot was translated {found} times")
    return f"sdot in {found} places" if found else "no sdot, as it should be"


def rust_on_musl() -> Iterator[Step]:
    """The core for musl on x86-64, which this machine runs itself."""
    target = TARGETS["musllinux-x86_64"]

    def tests() -> str:
        ensure_commands("gcc")
        return Crate(target, FOLDER).tests()

    yield Step(target.name, "cargo test --lib", tests)


def python_steps(
    where: str, place: Callable[[], places.Place], wheels: Path, tests: bool, **env: str
) -> Iterator[Step]:
    """A wheel installed in a place, and used there."""

    def inside(*arguments: str | Path) -> str:
        made = place()
        places.install(made, places.wheel_for(made.target, wheels))
        return run([made.python, *arguments], cwd=ROOT, env=env)

    def searches() -> str:
        made = place()
        return "; ".join(inside("-I", INSIDE, places.wheel_for(made.target, wheels).name).splitlines())

    def suite() -> str:
        # Hypothesis's own profile for slow machines: no test is wrong because its inputs take time to make.
        patient = ("--timeout", "3600", "-o", "faulthandler_timeout=4000", "--hypothesis-profile", "ci")
        said = inside("-m", "pytest", "-q", "-p", "no:cacheprovider", *patient, *TESTS)
        return said.strip().splitlines()[-1]

    yield Step(where, "vectors beside float64", searches)
    yield Step(where, "README, command, files", lambda: inside("-I", INSTALLED, ROOT / "README.md").strip())
    if tests:
        yield Step(where, f"pytest, {len(TESTS)} files", suite)


def on_aarch64(wheels: Path) -> Iterator[Step]:
    """Everything with glibc on aarch64."""

    def place() -> places.Place:
        ensure_commands("qemu-aarch64-static", "mmdebstrap")
        return places.aarch64(FOLDER / "aarch64")

    yield from emulated("manylinux-aarch64", place, wheels)


def on_musl(wheels: Path) -> Iterator[Step]:
    """Everything with musl on x86-64."""

    def place() -> places.Place:
        ensure_commands("make", "gcc")
        return places.x86_64_musl(FOLDER / "musl")

    yield from python_steps("musllinux-x86_64", place, wheels, True)


def on_aarch64_musl(wheels: Path) -> Iterator[Step]:
    """Everything with musl on aarch64."""

    def place() -> places.Place:
        ensure_commands("qemu-aarch64-static", "make", "gcc")
        return places.aarch64_musl(FOLDER / "aarch64-musl", FOLDER / "musl")

    yield from emulated("musllinux-aarch64", place, wheels)


def emulated(name: str, place: Callable[[], places.Place], wheels: Path) -> Iterator[Step]:
    """A wheel as each processor; the tests of Python as the newest, for they take long."""
    for processor, newest in PROCESSORS.items():
        # The products of numpy, which results are compared with: as `max`, OpenBLAS takes kernels for SME, and with
        # qemu 7.2 these are wrong in the first digits.
        env = {"QEMU_CPU": processor, "OPENBLAS_CORETYPE": "ARMV8"}
        yield from python_steps(f"{name}, {processor}", place, wheels, newest, **env)


def steps(wheels: Path) -> dict[str, list[Step]]:
    """What can be asked for, by name."""
    return {
        "rust-aarch64": list(rust_on_aarch64("manylinux-aarch64")),
        "rust-musl": list(rust_on_musl()),
        "rust-aarch64-musl": list(rust_on_aarch64("musllinux-aarch64")),
        "python-aarch64": list(on_aarch64(wheels)),
        "python-musl": list(on_musl(wheels)),
        "python-aarch64-musl": list(on_aarch64_musl(wheels)),
    }


def done(step: Step) -> tuple[bool, str]:
    """Do a step, and say whether it held and what came of it."""
    began = time.monotonic()
    try:
        held, said = True, step.do()
    except (FailedError, ToolchainError) as failed:
        print(failed)
        held, said = False, "FAILED, see above"
    print(f"{step.where}: {step.what}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return held, said


def main() -> int:
    """Do what was asked for, print the table; 1 when something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m release.foreign", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(steps(ROOT))}")
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist", help="where the wheels are (dist/)")
    asked = parser.parse_args()
    there = steps(asked.wheels.resolve())
    if unknown := set(asked.parts) - set(there):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    rows, broken = [], []
    for step in (step for part in asked.parts or there for step in there[part]):
        holds, said = done(step)
        rows.append((step.where, step.what, said))
        if not holds:
            broken.append(f"{step.where}: {step.what}")
    print(f"\n{table(('platform', 'what ran', 'result'), rows)}")
    # Last, where the checklist of a release looks.
    for name in broken:
        print(f"FAILED {name}")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
