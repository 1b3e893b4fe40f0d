"""Wheels as users get them: installed into an empty environment of every Python there is, and used in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from release.targets import ROOT

#: What is run in each environment.
SCRIPT = ROOT / "tests" / "installed.py"
OLDEST = (3, 10)
NEWEST_ASKED = 20


class Tried(NamedTuple):
    """What one Python made of a wheel: its version, and the lines that the script printed or the error."""

    python: str
    held: bool
    said: str


def interpreters() -> list[Path]:
    """Every Python from 3.10 on: those on the PATH by their names, and those that pyenv keeps."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], NEWEST_ASKED)]
    candidates = [Path(path) for name in names if (path := shutil.which(name))]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates += sorted(pyenv.glob("versions/3.*/bin/python3"))
    found: dict[tuple[int, ...], Path] = {}
    for candidate in candidates:
        version = version_of(candidate)
        if version is not None and version[:2] >= OLDEST and version not in found:
            found[version] = candidate
    return [found[version] for version in sorted(found)]


def version_of(python: Path) -> tuple[int, ...] | None:
    """The version of an interpreter; None if it does not run, as pyenv's names of what is not chosen."""
    done = subprocess.run([str(python), "-V"], capture_output=True, text=True, check=False)
    said = re.search(r"Python (\d+)\.(\d+)\.(\d+)", done.stdout)
    return (int(said[1]), int(said[2]), int(said[3])) if done.returncode == 0 and said else None


def try_wheel(wheel: Path, python: Path) -> Tried:
    """Install a wheel into an empty environment of an interpreter, and run the script there."""
    version = ".".join(map(str, version_of(python) or ()))
    with tempfile.TemporaryDirectory() as work:
        home = Path(work) / "home"
        home.mkdir()
        inside = Path(work) / "empty" / "bin" / "python"
        # No variable of this environment may help: neither its packages nor its settings.
        env = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SEPTET", "VIRTUAL"))
        }
        env["HOME"] = str(home)
        for command in (
            [str(python), "-m", "venv", str(inside.parent.parent)],
            [str(inside), "-m", "pip", "install", "--quiet", "--only-binary=:all:", str(wheel.resolve())],
            [str(inside), "-I", str(SCRIPT), str(ROOT / "README.md")],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home, env=env)
            if done.returncode:
                lines = (done.stderr or done.stdout).strip().splitlines() or ["no word"]
                return Tried(version, False, lines[-1])
    return Tried(version, True, "; ".join(done.stdout.splitlines()))
