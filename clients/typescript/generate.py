"""Writes the TypeScript client: types, methods and errors, from the OpenAPI document of the server and the error tree.

`python clients/typescript/generate.py` after a change of either; a test tells when the files are not current.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from septet import errors
from septet.server.openapi import document

SOURCES = Path(__file__).parent / "src"
HEAD = "// Made by clients/typescript/generate.py from the OpenAPI document of the server: do not edit.\n"
WIDTH = 118
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_VERBS = ("get", "post", "patch", "delete")
_LINES = "application/x-ndjson"

Schema = dict[str, Any]


def files() -> dict[str, str]:
    """Return the text of each generated file by its name."""
    api = document(token=True)
    schemas: dict[str, Schema] = {name.lstrip("_"): schema for name, schema in api["components"]["schemas"].items()}
    groups: dict[str, list[str]] = {"requests": [], "answers": []}
    for name, schema in schemas.items():
        groups["answers" if re.search(r"Answer$|^Health$|^Error|^ToolFault$", name) else "requests"].append(
            _declaration(name, schema)
        )
    routes = []
    for path, verb, operation in _operations(api["paths"]):
        fields = {one["name"]: one for one in operation.get("parameters", ()) if one["in"] == "query"}
        if fields:
            groups["requests"].append(_declaration(_query(operation), _query_schema(fields)))
        routes.append(_method(path, verb, operation, schemas, fields))
    named = set(re.findall(r"\b[A-Z]\w+\b", "".join(routes)))
    used = {kind: sorted(named & _declared(parts)) for kind, parts in groups.items()}
    return {
        **{f"{name}.ts": HEAD + "\n" + "\n".join(parts) for name, parts in groups.items()},
        "routes.ts": HEAD
        + "".join(f'\nimport type {{\n{_wrapped(names)}}} from "./{kind}.js";' for kind, names in used.items())
        + '\nimport { type CallOptions, Transport } from "./transport.js";\n\n'
        + "/** The operations of a server, by the names of its OpenAPI document. */\n"
        + "export class Routes extends Transport {\n"
        + "\n".join(routes)
        + "}\n",
        "errors.ts": HEAD + "\n" + _errors(),
    }


def _declared(parts: list[str]) -> set[str]:
    return {found[1] for part in parts if (found := re.search(r"^export (?:interface|type) (\w+)", part, re.MULTILINE))}


def _wrapped(names: list[str]) -> str:
    return textwrap.fill(", ".join(names), WIDTH, initial_indent="  ", subsequent_indent="  ") + ",\n"


def _comment(text: str, indent: str = "") -> str:
    lines = textwrap.wrap(" ".join(text.replace("``", "`").split()), WIDTH - len(indent) - 4)
    if len(lines) < 2:
        return "".join(f"{indent}/** {line} */\n" for line in lines)
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


# -- types -------------------------------------------------------------------------------------------------------------


def _declaration(name: str, schema: Schema) -> str:
    head = _comment(schema.get("description", ""))
    if not schema.get("properties"):
        return f"{head}export type {name} = {_type(schema)};\n"
    return f"{head}export interface {name} {{\n{_fields(schema)}}}\n"


def _fields(schema: Schema) -> str:
    required = schema.get("required", ())
    return "".join(
        f"{_comment(field.get('description', ''), '  ')}  {name}{'' if name in required else '?'}: {_type(field)};\n"
        for name, field in schema["properties"].items()
    )


def _type(schema: Schema) -> str:
    """Return the type of what a schema describes."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2].lstrip("_")
    if "enum" in schema or "const" in schema:
        return " | ".join(map(json.dumps, schema.get("enum", [schema.get("const")])))
    if options := schema.get("anyOf", schema.get("oneOf")):
        return " | ".join(dict.fromkeys(map(_type, options)))
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(map(_type, schema['prefixItems']))}]"
        item = _type(schema.get("items", {}))
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kind == "object":
        more = schema.get("additionalProperties", True)
        return f"Record<string, {_type(more) if isinstance(more, dict) else 'unknown' if more else 'never'}>"
    return _PLAIN.get(str(kind), "unknown")


# -- methods -----------------------------------------------------------------------------------------------------------


def _operations(paths: dict[str, Any]) -> Iterator[tuple[str, str, Schema]]:
    for path, verbs in paths.items():
        yield from ((path, verb, verbs[verb]) for verb in _VERBS if verb in verbs)


def _name(operation: Schema) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), operation["operationId"])


def _query(operation: Schema) -> str:
    name = _name(operation)
    return f"{name[0].upper()}{name[1:]}Query"


def _query_schema(fields: dict[str, Schema]) -> Schema:
    described = {name: {**one["schema"], "description": one.get("description", "")} for name, one in fields.items()}
    return {"properties": described, "required": [name for name, one in fields.items() if one["required"]]}


def _method(path: str, verb: str, operation: Schema, schemas: dict[str, Schema], fields: dict[str, Schema]) -> str:
    content = next(answer for status, answer in operation["responses"].items() if status < "300")["content"]
    kind, answer = next(iter(content.items()))
    arguments, place, parts = [], f'"{path}"', [f'verb: "{verb.upper()}"']
    if "{id}" in path:
        arguments.append("id: string")
        place = f"`{path.replace('{id}', '${encodeURIComponent(id)}')}`"
    if fields:
        needed = any(one["required"] for one in fields.values())
        arguments.append(f"query: {_query(operation)}" + ("" if needed else " = {}"))
        parts.append("query")
    if body := operation.get("requestBody"):
        sent, schema = next(iter(body["content"].items()))
        arguments.append(_body(sent, schema["schema"], schemas))
        parts.append("lines" if sent == _LINES else "body")
    arguments.append("options: CallOptions = {}")
    returned, call = f"Promise<{_type(answer['schema'])}>", "json"
    if kind == _LINES:
        returned, call = "AsyncGenerator<unknown, void>", "lines"
    elif kind == "text/plain":
        call = "text"
    if call == "json":
        call = f"json<{_type(answer['schema'])}>"
    signature = f"  {_name(operation)}({', '.join(arguments)}): {returned} {{\n"
    if len(signature) > WIDTH:
        each = "".join(f"    {part},\n" for part in arguments)
        signature = f"  {_name(operation)}(\n{each}  ): {returned} {{\n"
    comment = _comment(f"{operation['summary']} `{verb.upper()} {path}`", "  ")
    return f"{comment}{signature}    return this.{call}({place}, {{ {', '.join(parts)} }}, options);\n  }}\n"


def _body(sent: str, schema: Schema, schemas: dict[str, Schema]) -> str:
    if sent == _LINES:
        return "lines: Iterable<unknown>"
    needed = schemas[_type(schema)].get("required") if "$ref" in schema else True
    return f"body: {_type(schema)}" + ("" if needed else " = {}")


# -- errors ------------------------------------------------------------------------------------------------------------


def _errors() -> str:
    """Return the classes of the error tree, a base before its kinds, and each by its code."""
    kinds: list[type[errors.SeptetError]] = [errors.SeptetError]
    for kind in kinds:
        kinds += [child for name in errors.__all__ if kind in (child := getattr(errors, name)).__bases__]
    out = [_comment("What a server answers instead of a result; `code` is for programs, and names the class.")]
    out.append(
        "export class SeptetError extends Error {\n"
        f'  static readonly code: string = "{errors.SeptetError.code}";\n'
        "  /** The code of the error; the status of the answer, 0 without one; what else the server says. */\n"
        "  constructor(\n"
        "    message: string,\n"
        "    readonly code: string,\n"
        "    readonly status: number = 0,\n"
        "    readonly details: Record<string, unknown> = {},\n"
        "  ) {\n"
        "    super(message);\n"
        "    this.name = new.target.name;\n"
        "  }\n"
        "}\n"
    )
    for kind in kinds[1:]:
        base = next(parent for parent in kind.__bases__ if issubclass(parent, errors.SeptetError))
        comment = _comment((kind.__doc__ or "").split("\n\n")[0])
        out.append(
            f"{comment}export class {kind.__name__} extends {base.__name__} {{\n"
            f'  static override readonly code: string = "{kind.code}";\n}}\n'
        )
    out.append(
        _comment("The request was refused before it reached the memory, or had no answer in time: see `code`.")
        + "export class RequestError extends SeptetError {\n"
        + '  static override readonly code: string = "request_error";\n}\n'
    )
    names = ", ".join(kind.__name__ for kind in kinds)
    listed = textwrap.fill(names, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(out) + f"\nexport const KINDS: readonly (typeof SeptetError)[] = [\n{listed},\n];\n"


if __name__ == "__main__":
    for name, text in files().items():
        (SOURCES / name).write_text(text, encoding="utf-8")
