"""Documentation pages of other projects, from their source distributions: what technical questions are asked of."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

__all__ = ["PROJECTS", "documents"]

#: Projects whose source distributions hold their documentation, at one version each.
PROJECTS = {
    "attrs": "24.3.0",
    "click": "8.1.8",
    "flask": "3.1.0",
    "jinja2": "3.1.5",
    "pytest": "8.3.4",
    "starlette": "0.41.3",
    "urllib3": "2.3.0",
    "werkzeug": "3.1.3",
}
ENDINGS = (".rst", ".md")
#: Pages about versions, and examples that are run, answer no question.
SKIPPED = ("announce", "changelog", "changes", "license", "release", "historical", "sponsor", "backwards-compat")
MOST_BYTES = 200_000


def documents(folder: Path) -> Path:
    """Fetch the pages into a folder, unless they are there, as ``PROJECT/docs/page.rst``; return the folder.

    Raises:
        subprocess.CalledProcessError: pip cannot fetch a distribution.
    """
    for project, version in PROJECTS.items():
        own = folder / project
        if not own.is_dir():
            archives = folder / ".archives"
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", project]
            subprocess.run([*command, "--dest", str(archives), f"{project}=={version}"], check=True)
            _unpack(archives / f"{project}-{version}.tar.gz", own)
    return folder


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as packed:
        for member in packed:
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            wanted = path.suffix in ENDINGS and path.parts[0] in ("doc", "docs") and member.size <= MOST_BYTES
            if not wanted or any(word in part.lower() for part in path.parts for word in SKIPPED):
                continue
            content = packed.extractfile(member)
            if content is not None:
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content.read())
