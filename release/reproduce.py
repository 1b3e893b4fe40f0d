"""Whether the same sources give the same bytes: built once more elsewhere, and compared."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

from release import sdist, toolchain
from release.build import build_wheel, source_files
from release.targets import ROOT, Target
from release.wheelfile import Wheel


def differences(first: Path, second: Path) -> list[str]:
    """What differs between two files of a release: nothing, names of members, or that only the wrapping does."""
    if first.read_bytes() == second.read_bytes():
        return []
    read = sdist.files_in if first.name.endswith(".tar.gz") else lambda path: Wheel(path).members
    one, other = read(first), read(second)
    names = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return names or ["the archive, with the same files in it"]


def copy_sources(folder: Path, root: Path = ROOT) -> None:
    """The sources alone, without git and without anything that was built."""
    for source in source_files(root):
        if source.is_file():
            copy = folder / source.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def built_elsewhere(target: Target | None, out: Path) -> Path:
    """Build the wheel of a target, or the sdist for None, where nothing is called as it is here.

    The sources, the target folder and cargo's home have other paths, and there is no git.
    """
    with tempfile.TemporaryDirectory(prefix="elsewhere-") as work:
        sources = Path(work) / "a" / "longer path" / "septet"
        copy_sources(sources)
        home = Path(work) / "cargo"
        home.mkdir()
        # The crates themselves are the same, and need no second download.
        (home / "registry").symlink_to(toolchain.cargo_home() / "registry")
        other = {
            "CARGO_HOME": str(home),
            "SOURCE_DATE_EPOCH": str(toolchain.source_date()),
            # rustup would look for its toolchains below another home.
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        }
        with mock.patch.dict(os.environ, other):
            if target is None:
                return sdist.build_sdist(out, root=sources)
            return build_wheel(target, out, root=sources, target_dir=Path(work) / "built")
