"""The core and its module, compiled for Windows by Rust and mingw."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from release import toolchain
from release.foreign.rust import PROFILE, RESULT
from release.foreign.shell import FailedError, run
from release.targets import ROOT
from release.windows.wine import WINE

if TYPE_CHECKING:
    from release.windows.wine import Wine

TRIPLE = "x86_64-pc-windows-gnu"
LINKER = "x86_64-w64-mingw32-gcc"


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
    with tempfile.TemporaryDirectory() as work:
        words = ["build", "--release", "--locked", "--target", TRIPLE, "--compatibility", "off", "--out", work]
        toolchain.run(
            [sys.executable, "-m", "maturin", *words],
            env={**toolchain_environment(), **_environment(wine, folder / "cargo")},
            cwd=ROOT,
        )
        out.mkdir(parents=True, exist_ok=True)
        for old in out.glob("*.whl"):
            old.unlink()
        built = next(Path(work).glob("*.whl"))
        path = out / built.name
        path.write_bytes(built.read_bytes())
    return path


def toolchain_environment() -> dict[str, str]:
    """The environment of a build, without flags of this machine."""
    import os

    unwanted = ("RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "MATURIN_PEP517_ARGS")
    return {name: value for name, value in os.environ.items() if name not in unwanted}
