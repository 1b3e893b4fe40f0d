"""Pythons of other machines as environments: a `python` to call, and packages that the pip of this one installs."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from release.foreign import debian, musl
from release.foreign.shell import FailedError, run
from release.targets import ROOT, TARGETS, Target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: What the tests need beside the package's own dependencies.
FOR_TESTS = ("packaging", "pytest>=9", "pytest-timeout>=2.3", "pytest-asyncio", "hypothesis>=6.100")
#: glibc's versions that wheels of others ask for, up to that of the root.
GLIBC = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in range(17, 37)))
MUSL = ("musllinux_1_1", "musllinux_1_2")


class Place(NamedTuple):
    """An environment of another machine."""

    target: Target
    #: The Python's version as `3.11`.
    version: str
    #: What pip may install there, newest machines last.
    platforms: tuple[str, ...]
    folder: Path

    @property
    def python(self) -> Path:
        """What to call: it behaves as that machine's interpreter, also for processes that it starts."""
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        """Where its packages are."""
        return self.folder / "lib" / f"python{self.version}" / "site-packages"


def emulator(root: Path | None = None) -> list[str]:
    """How a program of arm64 is started, with the libraries of a root; QEMU_CPU says as which processor."""
    return ["qemu-aarch64-static", *(["-L", str(root)] if root else [])]


def aarch64(folder: Path) -> Place:
    """Debian's Python for arm64 under qemu."""
    root = debian.arm64_root(folder)
    place = Place(TARGETS["manylinux-aarch64"], debian.ROOT_PYTHON, GLIBC, folder / "environment")
    _emulated(place, emulator(root), root / "usr" / "bin" / f"python{place.version}")
    return place


def x86_64_musl(folder: Path) -> Place:
    """A Python built with musl, which this machine runs itself."""
    python = musl.built_python(folder, "x86_64")
    place = Place(TARGETS["musllinux-x86_64"], debian.SOURCE_PYTHON, MUSL, folder / "environment")
    if not place.python.exists():
        run([python, "-m", "venv", "--without-pip", place.folder])
    return place


def aarch64_musl(folder: Path, builder: Path) -> Place:
    """A Python built with musl for aarch64, under qemu; `builder` has that for x86-64, which helps to build it."""
    python = musl.built_python(folder, "aarch64", musl.built_python(builder, "x86_64"))
    place = Place(TARGETS["musllinux-aarch64"], debian.SOURCE_PYTHON, MUSL, folder / "environment")
    # Its loader is named by its whole path.
    _emulated(place, emulator(), python)
    return place


def _emulated(place: Place, start: list[str], python: Path) -> None:
    """Make what is called as the Python of a place: qemu with the real one."""
    place.python.parent.mkdir(parents=True, exist_ok=True)
    # The name it was called by is what Python takes for itself, and calls again for a process of its own.
    place.python.write_text(f'#!/bin/sh\nexec {shlex.join([*start, "-0"])} "$0" {shlex.quote(str(python))} "$@"\n')
    place.python.chmod(0o755)
    (place.folder / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")


def wheel_for(target: Target, wheels: Path) -> Path:
    """The wheel of a target in a folder."""
    found = sorted(wheels.glob(f"*{target.platform}.whl"))
    if len(found) != 1:
        raise FailedError(f"{wheels} holds {len(found)} wheels for {target.name}; `make wheels` builds one")
    return found[0]


def install(place: Place, wheel: Path) -> None:
    """Install a wheel, and what it and the tests need; nothing if the same was installed before."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = [*tomllib.load(file)["project"]["dependencies"], *FOR_TESTS]
    _install(place, ["--upgrade", *needed], "\n".join(needed), place.folder / "needed.txt", fresh=True)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    # pip itself refuses a wheel whose tags do not fit the platforms.
    _install(place, ["--upgrade", "--no-deps", str(wheel)], digest, place.folder / "wheel.txt", fresh=False)


def _install(place: Place, what: list[str], mark: str, marked: Path, *, fresh: bool) -> None:
    if marked.is_file() and marked.read_text() == mark:
        return
    if fresh:
        shutil.rmtree(place.packages, ignore_errors=True)
        (place.folder / "wheel.txt").unlink(missing_ok=True)
    tag = f"cp{place.version.replace('.', '')}"
    chosen = ["--only-binary=:all:", "--no-compile", "--target", str(place.packages)]
    chosen += ["--implementation", "cp", "--python-version", place.version]
    chosen += [word for abi in (tag, "abi3", "none") for word in ("--abi", abi)]
    # The newest first, as pip prefers what comes first.
    chosen += [w for name in reversed(place.platforms) for w in ("--platform", f"{name}_{place.target.machine}")]
    run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *chosen, *what])
    marked.write_text(mark)
