"""The files of the inspector page, by the paths at which they are served."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["PageFile", "page_files"]

FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


class PageFile(NamedTuple):
    """A file of the page: where it is, and its media type."""

    path: Path
    media_type: str


def page_files(folder: Path = FOLDER) -> dict[bytes, PageFile]:
    """Return the files by the raw path of their address: there is no other way to a file, so no path can lead out."""
    files = {
        f"/{path.relative_to(folder).as_posix()}".encode(): PageFile(path, _TYPES[path.suffix])
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TYPES and path.is_file() and not path.is_symlink()
    }
    if b"/index.html" in files:
        files[b"/"] = files[b"/index.html"]
    return files
