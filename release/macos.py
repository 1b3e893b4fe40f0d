"""The wheel for a Mac, built on one by its own linker and completed as those for Linux. ``python -m release.macos``."""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from pathlib import Path

from release import licences, sbom, toolchain
from release.build import completed, expected_of, maturin
from release.checks import faults_of
from release.crates import Crate, crates_of
from release.targets import ROOT, Target
from release.wheelfile import Wheel, write_wheel

__all__ = ["MACS", "build", "main", "notices", "runtime"]

#: By what `platform.machine` says: the oldest system is the oldest that Rust supports there.
MACS = {
    "x86_64": Target("macos-x86_64", "x86_64-apple-darwin", "macosx_10_12", "x86_64", "", frozenset(), None),
    "arm64": Target("macos-arm64", "aarch64-apple-darwin", "macosx_11_0", "arm64", "", frozenset(), None),
}


def notices(crates: list[Crate]) -> list[licences.Notice]:
    """The licences of everything in a wheel: crates and the standard library; the linker of a Mac adds nothing."""
    std = licences.of_std(toolchain.sysroot(), toolchain.rustc_version()["release"])
    return [*map(licences.of_crate, crates), *std]


def runtime() -> sbom.Runtime:
    """What the toolchain links into a wheel beside the crates."""
    return sbom.Runtime("rust-std", toolchain.rustc_version()["release"], "MIT OR Apache-2.0")


def build(target: Target, out: Path, *, target_dir: Path = ROOT / "target", **variables: str) -> Path:
    """Build the wheel of a system with its own linker and put it into out; variables are added to the environment."""
    epoch = toolchain.source_date()
    env = toolchain.environment(target, ROOT, target_dir, epoch) | variables
    if "apple" in target.triple:
        env["MACOSX_DEPLOYMENT_TARGET"] = target.policy.removeprefix("macosx_").replace("_", ".")
    with tempfile.TemporaryDirectory() as work:
        maturin(*f"build --release --locked --target {target.triple} --out {work}".split(), env=env, root=ROOT)
        built = Wheel(next(Path(work).glob("*.whl")))
    if target.platform not in built.path.name:
        raise ValueError(f"{built.path.name} is not for {target.platform}")
    third_party = licences.rendered(notices(crates_of(target)))
    out.mkdir(parents=True, exist_ok=True)
    write_wheel(out / built.path.name, completed(built, third_party, (runtime(),), epoch), epoch)
    return out / built.path.name


def main() -> int:
    """Build and check the wheel of this machine; 1 where it is no Mac, or something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m release.macos", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder of what is built (dist/)")
    asked = parser.parse_args()
    if sys.platform != "darwin":
        print("wheels for macOS are built on a Mac: its linker and its system's libraries are needed", file=sys.stderr)
        return 1
    target = MACS[platform.machine()]
    return built_and_checked(target, asked.out)


def built_and_checked(target: Target, out: Path) -> int:
    """Build the wheel of this machine in a folder, print its checks, and return 1 if one does not hold."""
    wheel = Wheel(build(target, out))
    faults = faults_of(wheel, expected_of(target, [runtime()]))
    print(wheel.path)
    for name, reasons in faults.items():
        print(f"{name}: {'; '.join(reasons) or 'holds'}")
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
