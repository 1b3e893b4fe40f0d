"""The source distribution: built, looked through, and built from as a stranger would, without git."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from release import toolchain
from release.build import maturin, package_files, places
from release.targets import ROOT

#: What a build needs, and what its licences ask for.
NEEDED = (
    *("PKG-INFO", "pyproject.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"),
    *("Cargo.toml", "Cargo.lock", "rust/core/Cargo.toml", "rust/binding/Cargo.toml"),
)
#: What no source distribution may hold, by the first part of a path or by its ending.
UNWANTED_PARTS = {".git", ".venv", "target", "dist", "__pycache__", ".hypothesis", ".mypy_cache", ".ruff_cache"}
UNWANTED_ENDINGS = {".so", ".pyc", ".db", ".whl"}
#: Faster than a release, and just as telling: every line is compiled.
QUICK = {
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
}


def build_sdist(out: Path, *, root: Path = ROOT) -> Path:
    """Build the sdist of the sources at root, and put it into out."""
    out.mkdir(parents=True, exist_ok=True)
    env = os.environ | {"SOURCE_DATE_EPOCH": str(toolchain.source_date())}
    with tempfile.TemporaryDirectory() as work:
        maturin("sdist", "--out", work, env=env, root=root)
        built = next(Path(work).glob("*.tar.gz"))
        return Path(shutil.copyfile(built, out / built.name))


def files_in(path: Path) -> dict[str, bytes]:
    """The files of an sdist by their paths below its top folder."""
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and (content := archive.extractfile(member)) is not None:
                files[member.name.partition("/")[2]] = content.read()
    return files


def faults_of(path: Path, root: Path = ROOT) -> list[str]:
    """What is wrong with an sdist, as far as its files tell."""
    files = files_in(path)
    faults = [f"{name} is missing" for name in NEEDED if not files.get(name)]
    faults += [f"python/{name} is missing" for name in package_files(root) if f"python/{name}" not in files]
    rust = [p.relative_to(root).as_posix() for p in sorted((root / "rust").rglob("*.rs"))]
    faults += [f"{name} is missing" for name in rust if name not in files]
    folders = places(root)
    for name, content in files.items():
        parts = PurePosixPath(name)
        # cargo lists hidden files only where git does: an sdist with them could not be made again without git.
        if name.startswith(".") or UNWANTED_PARTS & set(parts.parts) or parts.suffix in UNWANTED_ENDINGS:
            faults.append(f"{name} does not belong there")
        faults += [f"{name} names {place}" for place in folders if place.encode() in content]
        # maturin writes Cargo.toml anew: paths as they are in the archive.
        if name != "Cargo.toml" and (source := root / name).is_file() and source.read_bytes() != content:
            faults.append(f"{name} differs from the source")
    return faults


def wheel_from(path: Path, out: Path, *, target_dir: Path) -> Path:
    """Build a wheel from an sdist in a folder without git, offline, with the crates that Cargo.lock names.

    Only maturin is taken from this environment: it is what pip would fetch.
    """
    with tempfile.TemporaryDirectory() as work:
        with tarfile.open(path) as archive:
            archive.extractall(work, filter="data")
        (folder,) = Path(work).iterdir()
        toolchain.run(["cargo", "fetch", "--locked"], cwd=folder)
        env = (
            os.environ
            | QUICK
            | {
                "CARGO_NET_OFFLINE": "true",
                "CARGO_TARGET_DIR": str(target_dir),
                "MATURIN_PEP517_ARGS": "--locked",
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            }
        )
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        toolchain.run([*command, "--wheel-dir", str(out), str(folder)], env=env, cwd=Path(work))
    return max(out.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)
