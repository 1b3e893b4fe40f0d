"""Documentation pages of other projects, read from their source distributions: the texts of the technical questions.

python benches/technical_documents.py

`technical_questions.tsv` has the questions. It names a page by its path below the folder:
``flask/docs/blueprints.rst``.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

__all__ = ["FOLDER", "PROJECTS", "documents"]

#: Default folder of the pages.
FOLDER = Path(__file__).parents[1] / "target" / "technical"
#: Projects whose source distribution contains the documentation, each pinned to one version.
PROJECTS = {
    "attrs": "24.3.0",
    "click": "8.1.8",
    "flask": "3.1.0",
    "jinja2": "3.1.5",
    "pytest": "8.3.4",
    "sqlalchemy": "2.0.36",
    "starlette": "0.41.3",
    "urllib3": "2.3.0",
    "werkzeug": "3.1.3",
}
TOPS = ("doc", "docs")
ENDINGS = (".rst", ".md", ".txt")
#: Parts of a path that mark release notes, licences and lists of requirements.
SKIPPED = (
    "announce", "backwards-compat", "changelog", "changes", "constraints", "historical", "license", "release",
    "requirements", "sponsor",
)  # fmt: skip
#: Maximum size of a page, in bytes.
MOST_BYTES = 200_000


def documents(folder: Path = FOLDER) -> Path:
    """Fetch the pages of every project into ``folder/PROJECT/...``, and return the folder.

    A project that is already there is skipped. The archives are kept in ``folder/.archives``.

    Raises:
        subprocess.CalledProcessError: pip cannot download a source distribution.
    """
    archives = folder / ".archives"
    for project, version in PROJECTS.items():
        if not (folder / project).is_dir():
            archive = archives / f"{project}-{version}.tar.gz"
            if not archive.is_file():
                _download(project, version, archives)
            _unpack(archive, folder / project)
    return folder


def _download(project: str, version: str, archives: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", project]
    subprocess.run([*command, "--dest", str(archives), f"{project}=={version}"], check=True)


def _unpack(archive: Path, target: Path) -> None:
    """Write the pages of an archive below ``target``, which appears only when it is complete."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as temporary, tarfile.open(archive) as tar:
        root = Path(temporary) / "pages"
        for member in tar:
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            source = tar.extractfile(member) if member.isfile() and _is_page(path, member.size) else None
            if source is not None:
                page = root / path
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_bytes(source.read())
        root.rename(target)


def _is_page(path: PurePosixPath, size: int) -> bool:
    """Return whether a file of a distribution is a documentation page."""
    return (
        path.parts[:1] in {(top,) for top in TOPS}
        and path.suffix in ENDINGS
        and ".." not in path.parts
        and not path.name.startswith("_")  # set-up of SQLAlchemy's doctests
        and size <= MOST_BYTES
        and not any(word in part.lower() for part in path.parts for word in SKIPPED)
    )


def main() -> None:
    """Fetch the pages, and print how many each project has."""
    folder = documents()
    for project, version in PROJECTS.items():
        sizes = [page.stat().st_size for page in (folder / project).rglob("*") if page.is_file()]
        print(f"{project:12} {version:8} {len(sizes):4} pages {sum(sizes) / 1e3:8.0f} kB")


if __name__ == "__main__":
    main()
