"""The files of the inspector page by path."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from starlette.responses import Response

FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
#: No external resources, no inline code, no framing.
PAGE_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


class PageFile(NamedTuple):
    """A file of the page: content, media type, and ETag."""

    body: bytes
    media_type: str
    tag: str

    def response(self, scope: Any) -> Response:
        """Return the file, or 304 if the browser has it."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Content-Security-Policy": PAGE_CSP}
        if (b"if-none-match", self.tag.encode()) in scope["headers"]:
            return Response(b"", 304, headers)
        return Response(self.body, 200, headers, self.media_type)


def page_files(folder: Path = FOLDER) -> dict[bytes, PageFile]:
    """Return the files by raw path.

    They are read at startup and served from memory only, so no request path can escape the folder.
    """
    files = {
        f"/{path.relative_to(folder).as_posix()}".encode(): _file(path)
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TYPES and path.is_file() and not path.is_symlink()
    }
    if b"/index.html" in files:
        files[b"/"] = files[b"/index.html"]
    return files


def _file(path: Path) -> PageFile:
    body = path.read_bytes()
    return PageFile(body, _TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
