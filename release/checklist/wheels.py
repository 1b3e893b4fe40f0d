"""What is in dist/: every file of the version, each checked, and tried where this machine can run it."""

from __future__ import annotations

import shutil

from release.checklist.item import Outcome, Work, failed, held, not_run
from release.checklist.repository import version_of

__all__ = ["PLATFORMS", "checked", "complete", "foreign", "macos", "tried"]

#: What runs other machines here.
_EMULATOR = "qemu-aarch64-static"

#: The ends of the names of the wheels that a Linux machine makes.
PLATFORMS = ("manylinux_2_17_x86_64", "manylinux_2_17_aarch64", "musllinux_1_2_x86_64", "musllinux_1_2_aarch64")


def complete(work: Work) -> Outcome:
    """dist/ holds a wheel for each kind of machine and the sdist, all of this version, and nothing else."""
    version = version_of(work.root)
    names = sorted(file.name for file in work.dist.glob("*")) if work.dist.is_dir() else []
    missing = [platform for platform in PLATFORMS if not _wheel_of(platform, version, names)]
    if f"septet-{version}.tar.gz" not in names:
        missing.append("the sdist")
    if missing:
        return failed(f"dist/ lacks {', '.join(missing)}: make wheels")
    known = {_wheel_of(platform, version, names) for platform in PLATFORMS} | {f"septet-{version}.tar.gz"}
    # macOS wheels are the workflow's; one that was fetched may lie here.
    if others := [name for name in names if name not in known and "macosx" not in name]:
        return failed(f"dist/ holds {', '.join(others)} besides: rm them")
    return held(", ".join(f"{name} {(work.dist / name).stat().st_size:,}" for name in names))


def _wheel_of(platform: str, version: str, names: list[str]) -> str | None:
    mark = f"septet-{version}-cp310-abi3-"
    return next((name for name in names if name.startswith(mark) and platform in name), None)


def checked(work: Work) -> Outcome:
    """Every wheel holds what it should and nothing else: tags, symbols, places, licences, bill of materials."""
    if work.ran(work.python, "-c", "import auditwheel, elftools, ziglang").returncode:
        return not_run("auditwheel, pyelftools or ziglang is not installed: pip install --group release")
    return work.passed(work.python, "-m", "release", "check", "--out", str(work.dist))


def tried(work: Work) -> Outcome:
    """The wheels that this machine runs work in an empty environment of every Python there is."""
    return work.passed(work.python, "-m", "release", "try", "--out", str(work.dist))


def foreign(work: Work) -> Outcome:
    """The crate's tests and the wheels run as aarch64, emulated, and with musl."""
    if shutil.which(_EMULATOR) is None:
        return not_run(f"{_EMULATOR} is not installed: apt install qemu-user-static")
    return work.passed(work.python, "-m", "release.foreign", "--wheels", str(work.dist), seen="see target/foreign")


def macos(_work: Work) -> Outcome:
    """The wheels for macOS are built and tried."""
    return not_run("the hosted workflow alone has the machines")
