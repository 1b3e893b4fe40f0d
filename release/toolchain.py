"""The compiler's side of a build: the standard library of the target, and an environment that leaves no trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from release.targets import ROOT, Target

#: The compiler of releases, here and in the workflows: another one makes other bytes.
RUSTC = "1.95.0"
#: The first second that a zip file can date.
OLDEST_EPOCH = 315_532_800


class ToolchainError(RuntimeError):
    """A tool that a build needs is not there, with what to do about it."""


def run(command: list[str], *, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    """What a command printed; raises with its errors when it failed."""
    try:
        done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise ToolchainError(f"{command[0]} is needed and not on the PATH") from missing
    if done.returncode:
        raise ToolchainError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-6000:]}")
    return done.stdout


def ensure_std(target: Target) -> str:
    """See that rustc has the standard library of the target, and say where it came from."""
    libraries = Path(run(["rustc", "--print", "target-libdir", "--target", target.triple]).strip())
    if any(libraries.glob("libstd-*")):
        return f"standard library of {target.triple}: was there"
    try:
        run(["rustup", "target", "add", target.triple])
    except ToolchainError as error:
        raise ToolchainError(
            f"rustc has no standard library for {target.triple}, and rustup could not add it: {error}"
        ) from error
    if not any(libraries.glob("libstd-*")):
        raise ToolchainError(f"rustup added {target.triple} to another toolchain than the rustc on the PATH")
    return f"standard library of {target.triple}: added by rustup"


def rustc_version() -> dict[str, str]:
    """What ``rustc -vV`` says of itself: release, commit-hash, host and more."""
    lines = run(["rustc", "-vV"]).splitlines()[1:]
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def sysroot() -> Path:
    """Where the toolchain is installed."""
    return Path(run(["rustc", "--print", "sysroot"]).strip())


def cargo_home() -> Path:
    """Where cargo keeps the sources of crates."""
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def source_date() -> int:
    """The second that everything in a wheel is dated with: that of SOURCE_DATE_EPOCH, or of the last commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return max(int(given), OLDEST_EPOCH)
    try:
        return int(run(["git", "log", "-1", "--format=%ct"]))
    except (ToolchainError, ValueError):
        return OLDEST_EPOCH


def remapped(root: Path, target_dir: Path) -> list[str]:
    """Flags for rustc under which a panic names its source file by a path that is the same on every machine."""
    registry = cargo_home() / "registry" / "src"
    version = rustc_version()
    # The last that fits wins, so that the outer folders stand first.
    places = {str(cargo_home()): "cargo", str(root): "septet", str(target_dir): "target"}
    places |= {str(index): "crates" for index in sorted(registry.glob("*"))}
    # rustc names its own library by the commit, until the component rust-src shows it the real files.
    places[str(sysroot() / "lib/rustlib/src/rust")] = f"/rustc/{version.get('commit-hash', version['release'])}"
    return [f"--remap-path-prefix={place}={name}" for place, name in places.items()]


def environment(target: Target, root: Path, target_dir: Path, epoch: int) -> dict[str, str]:
    """The variables of a build for the target: nothing in them may show in its bytes.

    The crates are fetched here, because their folders must be known before they are compiled.
    """
    run(["cargo", "fetch", "--locked", "--target", target.triple], cwd=root)
    flags = remapped(root, target_dir)
    if "musl" in target.triple:
        # A library that Python loads shares the C library of the process.
        flags += ["-C", "target-feature=-crt-static"]
    unwanted = ("RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "MATURIN_PEP517_ARGS")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return kept | {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_TARGET_DIR": str(target_dir),
        "CARGO_INCREMENTAL": "0",
        "SOURCE_DATE_EPOCH": str(epoch),
        # maturin asks `python -m ziglang` for the linker.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
