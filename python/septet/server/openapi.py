"""OpenAPI: the document of the server, generated from the request models and answer types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from septet.client import shapes
from septet.server.calling import HTTP_OPERATIONS
from septet.service.operations import Operation

Schema = dict[str, Any]

_REF = "#/components/schemas/{model}"
#: Meaning of each error status; every route may return any of them.
ERRORS = {
    400: "The request cannot be read.",
    401: "The token is missing or wrong.",
    403: "The host, the origin or the scope of the token is not allowed, or the memory is read-only.",
    404: "There is no such entry, or no such route.",
    408: "The body arrived too slowly.",
    413: "The body is too large.",
    415: "The body is compressed.",
    422: "The request is malformed, or an argument is.",
    500: "The server failed, or the file cannot be used.",
    502: "An embedding provider failed, or a remote tier refused its token.",
    503: "The server is busy or stopping, or another program locks the file: retry later.",
    504: "There was no answer within the deadline.",
}


def _object(required: str, **properties: Any) -> Schema:
    return {
        "type": "object",
        "required": required.split(),
        "additionalProperties": False,
        "properties": properties,
    }


def _ref(name: str) -> Schema:
    return {"$ref": _REF.format(model=name)}


_TEXT: Schema = {"type": "string"}
_ANY: Schema = {"type": "object", "additionalProperties": True}
_REPLIED: dict[str, Schema] = {"success": {"type": "boolean"}, "is_error": {"type": "boolean"}}
#: Schemas besides the requests and answers of operations.
EXTRA_SCHEMAS: dict[str, Schema] = {
    "Error": _object("error", error=_ref("ErrorDetail")),
    "ErrorDetail": _object(
        "code message details",
        code={"type": "string", "description": "Code of the error, for programs."},
        message={"type": "string", "description": "What was seen, what was expected, what to do."},
        details=_ANY,
    ),
    "Health": _object(
        "status",
        status={"type": "string", "enum": ["ok", "degraded", "failed", "stopping"]},
        notes={"type": "array", "items": _TEXT, "description": "Codes."},
    ),
    "ToolCall": _object("name", name=_TEXT, arguments=_ANY),
    "ToolAnswer": _object("success is_error result text", **_REPLIED, result=_ANY, text=_TEXT),
    # For errors of the tool; errors of the request, such as a wrong token, have the form of `Error`.
    "ToolFault": _object("error", **_REPLIED, result=_TEXT, error=_ref("ErrorDetail")),
}


def document(*, token: bool) -> Schema:
    """Return the document of OpenAPI 3.1.

    Args:
        token: True if the server requires one.
    """
    from septet import __version__

    named, schemas = _schemas(HTTP_OPERATIONS.values())
    paths: dict[str, Schema] = {}
    for operation in HTTP_OPERATIONS.values():
        verb, path = operation.route
        paths.setdefault(path, {})[verb.lower()] = _operation(operation, named, schemas)
    for path, method, description in _other_routes():
        paths.setdefault(path, {})[method] = description
    api: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Septet",
            "version": __version__,
            "description": "A memory searched by text, vectors and facts, with one explained score.",
        },
        "paths": paths,
        "components": {"schemas": _reachable(paths, {**schemas, **EXTRA_SCHEMAS})},
    }
    if token:
        api["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        api["security"] = [{"token": []}]
    return api


def _schemas(operations: Iterable[Operation]) -> tuple[Mapping[Any, Schema], dict[str, Schema]]:
    """Return references by model, and the schemas that they refer to."""
    # Several operations may share a request model.
    models = {operation.request for operation in operations} | {operation.answer for operation in operations}
    adapters = {model: TypeAdapter[Any](model) for model in sorted(models, key=lambda model: str(model.__name__))}
    named, generated = TypeAdapter.json_schemas(
        [(model, "validation", adapter) for model, adapter in adapters.items()],
        ref_template=_REF,
    )
    return {model: schema for (model, _), schema in named.items()}, generated["$defs"]


def _operation(operation: Operation, named: Mapping[Any, Schema], schemas: dict[str, Schema]) -> Schema:
    verb, path = operation.route
    out: Schema = {"operationId": operation.name, "summary": operation.summary}
    by_id = path.endswith("{id}")
    reference = named[operation.request]
    request = schemas[reference["$ref"].rpartition("/")[2]] if "$ref" in reference else reference
    parameters = [_parameter("id", "path", request["properties"]["id"], True)] if by_id else []
    if verb in ("GET", "DELETE"):
        required = request.get("required", ())
        fields = {name: field for name, field in request.get("properties", {}).items() if not (by_id and name == "id")}
        parameters += [_parameter(name, "query", field, name in required) for name, field in fields.items()]
    else:
        body = _without_id(request, schemas) if by_id else reference
        out["requestBody"] = {"required": True, "content": _json(body)}
    if parameters:
        out["parameters"] = parameters
    headers = {"Server-Timing": {"description": "Milliseconds of each stage.", "schema": {"type": "string"}}}
    answer = {"content": _json(named[operation.answer]), "headers": headers}
    texts = {operation.status: "Done."}
    if operation.answer is shapes.AddedAnswer:
        texts = {200: "A suggestion: nothing is stored.", operation.status: "Stored."}
    out["responses"] = {str(status): {"description": text, **answer} for status, text in texts.items()} | _errors()
    return out


def _without_id(request: Schema, schemas: dict[str, Schema]) -> Schema:
    title = f"{request['title']}Body"
    properties = {name: field for name, field in request["properties"].items() if name != "id"}
    required = [name for name in request.get("required", ()) if name != "id"]
    schemas[title] = {**request, "title": title, "properties": properties, "required": required}
    return _ref(title)


def _parameter(name: str, place: str, field: Schema, required: bool) -> Schema:
    # An omitted query parameter is null; null cannot be sent.
    options = [option for option in field.get("anyOf", ()) if option != {"type": "null"}]
    schema = {key: value for key, value in field.items() if key not in ("anyOf", "default", "description")}
    if options:
        schema |= options[0] if len(options) == 1 else {"anyOf": options}
    if field.get("default") is not None:
        schema["default"] = field["default"]
    more = {"description": field["description"]} if "description" in field else {}
    return {"name": name, "in": place, "required": required, "schema": schema, **more}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _errors(model: str = "Error") -> Schema:
    content = _json(_ref(model))
    return {str(status): {"description": text, "content": content} for status, text in ERRORS.items()}


def _other_routes() -> Iterable[tuple[str, str, Schema]]:
    """Yield path, verb and description of routes that are no operations."""
    health, answer, call, no_body = _json(_ref("Health")), _json(_ref("ToolAnswer")), _json(_ref("ToolCall")), None
    text, lines = {"text/plain": {"schema": _TEXT}}, {"application/x-ndjson": {"schema": _TEXT}}
    for path, verb, name, summary, body, description, content in (
        ("/healthz", "get", "healthz", "Check that the server is alive.", no_body, "Yes.", health),
        ("/readyz", "get", "readyz", "Check that the memory answers.", no_body, "Yes.", health),
        ("/metrics", "get", "metrics", "Return metrics.", no_body, "Metrics in the text format of Prometheus.", text),
        ("/v1/bulk", "post", "bulk", "Store, change and delete entries.", lines,
         "An answer per line: its number, and an id or an error.", lines),
        ("/v1/tools/call", "post", "call_tool", "Call an agent tool by name.", call,
         "The result of the tool, also as short text.", answer),
        ("/v1/export", "get", "export", "Export all entries.", no_body, "All entries, one object per line.", lines),
    ):  # fmt: skip
        responses = _errors("ToolFault" if name == "call_tool" else "Error")
        responses["200"] = {"description": description, "content": content}
        if name == "readyz":
            responses["503"] = {"description": "No.", "content": health}
        route = {"operationId": name, "summary": summary, "responses": responses}
        yield path, verb, route if body is None else {**route, "requestBody": {"required": True, "content": body}}


def _reachable(paths: dict[str, Schema], schemas: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schemas reachable from the paths; query string models, for instance, are not."""
    reached: dict[str, Schema] = {}
    pending = _references(paths)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached[name] = schemas[name]
            pending += _references(schemas[name])
    return dict(sorted(reached.items()))


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        names = [value["$ref"].rpartition("/")[2]] if isinstance(value.get("$ref"), str) else []
        return names + [name for item in value.values() for name in _references(item)]
    return [name for item in value for name in _references(item)] if isinstance(value, list) else []
