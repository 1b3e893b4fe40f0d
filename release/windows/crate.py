"""The core and its module, compiled for Windows by Rust and mingw."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from release.build import expected_of
from release.checks import faults_of
from release.foreign.rust import PROFILE, RESULT
from release.foreign.shell import FailedError, run
from release.macos import build, runtime
from release.targets import ROOT, WINDOWS
from release.wheelfile import Wheel
from release.windows.wine import WINE

if TYPE_CHECKING:
    from release.windows.wine import Wine

TRIPLE = "x86_64-pc-windows-gnu"
LINKER = "x86_64-w64-mingw32-gcc"
#: The wheel of a release, linked by mingw instead of Microsoft's linker.
TARGET = WINDOWS["windows-x86_64"]._replace(triple=TRIPLE)


def _environment(wine: Wine, target_dir: Path) -> dict[str, str]:
    name = TRIPLE.upper().replace("-", "_")
    return {
        **wine.env,
        f"CARGO_TARGET_{name}_LINKER": LINKER,
        f"CARGO_TARGET_{name}_RUNNER": WINE,
        "CARGO_TARGET_DIR": str(target_dir),
        "CARGO_INCREMENTAL": "0",
    }


def ensure_std() -> None:
    """See that rustc has the standard library."""
    libraries = Path(run(["rustc", "--print", "target-libdir", "--target", TRIPLE]).strip())
    if not any(libraries.glob("libstd-*")):
        run(["rustup", "target", "add", TRIPLE])


def core_tests(wine: Wine, folder: Path) -> str:
    """Run the core's tests; raises when one fails, or when fewer ran than there are."""
    ensure_std()
    build = ["cargo", "test", "--locked", "--quiet", "--package", "septet-core", "--lib", "--target", TRIPLE]
    env = {**PROFILE, **_environment(wine, folder / "cargo")}
    listed = run([*build, "--", "--list"], cwd=ROOT, env=env)
    there = len(re.findall(r": test\r?$", listed, re.MULTILINE))
    output = run(build, cwd=ROOT, env=env)
    result = RESULT.search(output)
    if result is None or not there or int(result[2]) + int(result[4]) != there:
        raise FailedError(f"{there} tests are listed, but this ran:\n{output[-2000:]}")
    return f"{result[2]} of {there} passed"


def built_wheel(wine: Wine, folder: Path) -> Path:
    """Build the wheel of these sources; the folder holds it alone."""
    ensure_std()
    out = folder / "wheel"
    for old in out.glob("*.whl"):
        old.unlink()
    return build(TARGET, out, target_dir=folder / "cargo", **_environment(wine, folder / "cargo"))


def checked(path: Path) -> str:
    """Return how many checks of a release a wheel holds; raises when one fails."""
    faults = faults_of(Wheel(path), expected_of(TARGET, [runtime()]))
    if found := [f"{name}: {fault}" for name, faults in faults.items() for fault in faults]:
        raise FailedError("\n".join([path.name, *found]))
    return f"all {len(faults)} hold: {', '.join(faults)}"
