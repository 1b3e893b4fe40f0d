"""The API page at /docs, rendered from the OpenAPI document, without scripts or external resources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from septet.server.page_files import PageFile


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
