"""The files of the inspector page by path, and the API page at /docs, without scripts or external resources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from html import escape
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


def docs_page(document: Mapping[str, Any]) -> PageFile:
    """Return the page of an OpenAPI document."""
    schemas = document["components"]["schemas"]
    body = "".join(_page(document, schemas)).encode()
    return PageFile(body, "text/html; charset=utf-8", f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _page(document: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    info = document["info"]
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark"><title>API · Septet</title>'
    yield '<link rel="icon" href="/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/page.css">'
    yield '</head><body><main class="docs">'
    yield f"<h1>API of Septet {escape(info['version'])}</h1><p>{escape(info['description'])} The same for programs: "
    yield '<a href="/openapi.json">openapi.json</a>. <a href="/">To the page</a>.</p>'
    if "security" in document:
        yield "<p>Requests require a token: <code>Authorization: Bearer TOKEN</code>.</p>"
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            yield from _operation(path, verb.upper(), operation, schemas)
    yield "</main></body></html>\n"


def _operation(path: str, verb: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    name = escape(operation["operationId"])
    yield f'<section id="{name}"><h2><code>{verb} {escape(path)}</code></h2><p>{escape(operation["summary"])}</p>'
    fields = [(item["name"], item["required"], item) for item in operation.get("parameters", ())]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        body = _resolved(content["schema"], schemas)
        required = body.get("required", ())
        fields += [(key, key in required, field) for key, field in body.get("properties", {}).items()]
    if fields:
        yield '<div class="scroll"><table><thead><tr><th scope="col">Field</th><th scope="col">Type</th>'
        yield '<th scope="col">Meaning</th></tr></thead><tbody>'
        for key, needed, field in fields:
            kind = _kind(field.get("schema", field))
            yield f'<tr><th scope="row"><code>{escape(key)}</code>{" (required)" if needed else ""}</th>'
            yield f"<td>{escape(kind)}</td><td>{escape(field.get('description', ''))}</td></tr>"
        yield "</tbody></table></div>"
    yield "</section>"


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the type of a field as short text."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(option) for option in schema["anyOf"] if option != {"type": "null"}))
    if schema.get("type") == "array":
        return f"array of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
