"""OpenAPI: the document of the server, made from the models that check requests and the types of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from septet.server.entry_operations import HTTP_OPERATIONS
from septet.service.operations import Operation

__all__ = ["document"]

Schema = dict[str, Any]

_REF = "#/components/schemas/{model}"
#: What each error status means; every route may answer with them.
ERRORS = {
    400: "The request cannot be read.",
    401: "The token is missing or wrong.",
    403: "The host, the origin or the scope of the token is not allowed, or the memory is for reading only.",
    404: "There is no such entry, or no such route.",
    408: "The body was too slow.",
    413: "The body is too large.",
    415: "The body is packed.",
    422: "The request is malformed, or an argument is.",
    500: "The server failed, or the file cannot be used.",
    502: "An embedding provider failed, or a remote tier does not take the token.",
    503: "The server is busy or stopping, or another program holds the file: ask again later.",
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
#: What is no request or answer of an operation.
OWN: dict[str, Schema] = {
    "Error": _object("error", error=_ref("ErrorDetail")),
    "ErrorDetail": _object(
        "code message details",
        code={"type": "string", "description": "What to test for."},
        message={"type": "string", "description": "What was found, what was wanted, what to do."},
        details=_ANY,
    ),
    "Health": _object(
        "status",
        status={"type": "string", "enum": ["ok", "degraded", "failed", "stopping"]},
        notes={"type": "array", "items": _TEXT, "description": "Codes."},
    ),
    "ToolCall": _object("name", name=_TEXT, arguments=_ANY),
    "ToolAnswer": _object("success is_error result text", **_REPLIED, result=_ANY, text=_TEXT),
    # An error of the tool comes in the form of its answers too; one of the request, such as a wrong token, as anywhere.
    "ToolFault": _object("error", **_REPLIED, result=_TEXT, error=_ref("ErrorDetail")),
}


def document(*, token: bool) -> Schema:
    """Return the document of OpenAPI 3.1.

    Args:
        token: the server wants one.
    """
    from septet import __version__

    named, schemas = _schemas(HTTP_OPERATIONS.values())
    paths: dict[str, Schema] = {}
    for operation in HTTP_OPERATIONS.values():
        verb, path = operation.route
        paths.setdefault(path, {})[verb.lower()] = _operation(operation, named, schemas)
    for at, one, found in _others():
        paths.setdefault(at, {})[one] = found
    made: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Septet",
            "version": __version__,
            "description": "A memory that is searched by text, vectors and facts, with one explained score.",
        },
        "paths": paths,
        "components": {"schemas": _reached(paths, {**schemas, **OWN})},
    }
    if token:
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
    return made


def _schemas(operations: Iterable[Operation]) -> tuple[Mapping[Any, Schema], dict[str, Schema]]:
    """Return references by operation and side, and the schemas that they lead to."""
    # One model may be the request of several operations.
    models = {one.request for one in operations} | {one.answer for one in operations}
    adapters = {model: TypeAdapter[Any](model) for model in sorted(models, key=lambda model: str(model.__name__))}
    named, found = TypeAdapter.json_schemas(
        [(model, "validation", adapter) for model, adapter in adapters.items()],
        ref_template=_REF,
    )
    return {model: schema for (model, _), schema in named.items()}, found["$defs"]


def _operation(operation: Operation, named: Mapping[Any, Schema], schemas: dict[str, Schema]) -> Schema:
    verb, path = operation.route
    made: Schema = {"operationId": operation.name, "summary": operation.summary}
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
        made["requestBody"] = {"required": True, "content": _json(body)}
    if parameters:
        made["parameters"] = parameters
    headers = {"Server-Timing": {"description": "Milliseconds of each stage.", "schema": {"type": "string"}}}
    answer = {"description": "Done.", "content": _json(named[operation.answer]), "headers": headers}
    made["responses"] = {str(operation.status): answer, **_errors()}
    return made


def _without_id(request: Schema, schemas: dict[str, Schema]) -> Schema:
    title = f"{request['title']}Body"
    properties = {name: field for name, field in request["properties"].items() if name != "id"}
    required = [name for name in request.get("required", ()) if name != "id"]
    schemas[title] = {**request, "title": title, "properties": properties, "required": required}
    return _ref(title)


def _parameter(name: str, place: str, field: Schema, required: bool) -> Schema:
    # What is left out is null; in an address there is none.
    options = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
    kept = {key: value for key, value in field.items() if key not in ("anyOf", "default", "description")}
    schema = {**kept, **(options[0] if len(options) == 1 else {"anyOf": options})} if options else kept
    if field.get("default") is not None:
        schema["default"] = field["default"]
    more = {"description": field["description"]} if "description" in field else {}
    return {"name": name, "in": place, "required": required, "schema": schema, **more}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _errors() -> Schema:
    content = _json(_ref("Error"))
    return {str(status): {"description": said, "content": content} for status, said in ERRORS.items()}


def _others() -> Iterable[tuple[str, str, Schema]]:
    """Yield what is no operation: path, verb, description."""
    health = _json(_ref("Health"))
    text = {"text/plain": {"schema": _TEXT}}
    lines = {"application/x-ndjson": {"schema": _TEXT}}
    good = {"200": {"description": "Yes.", "content": health}}
    not_ready = {"503": {"description": "No.", "content": health}}
    yield _other("/healthz", "get", "healthz", "Say that the server lives.", {**_errors(), **good})
    yield _other("/readyz", "get", "readyz", "Say whether the memory answers.", {**_errors(), **good, **not_ready})
    figures = {"200": {"description": "Figures for Prometheus.", "content": text}}
    yield _other("/metrics", "get", "metrics", "Give figures.", {**_errors(), **figures})
    answers = {"200": {"description": "A line for each line: its number, and an id or an error.", "content": lines}}
    bulk = _other("/v1/bulk", "post", "bulk", "Store, change and delete, an object a line.", {**_errors(), **answers})
    bulk[2]["requestBody"] = {"required": True, "content": lines}
    yield bulk
    yield _tools()
    everything = {"200": {"description": "Everything, an object a line.", "content": lines}}
    yield _other("/v1/export", "get", "export", "Export what is held.", {**_errors(), **everything})


def _tools() -> tuple[str, str, Schema]:
    errors = {status: {**one, "content": _json(_ref("ToolFault"))} for status, one in _errors().items()}
    good = {
        "200": {
            "description": "What the tool returns, and the same in few words.",
            "content": _json(_ref("ToolAnswer")),
        }
    }
    found = _other("/v1/tools/call", "post", "call_tool", "Call a tool of agents by name.", {**errors, **good})
    found[2]["requestBody"] = {"required": True, "content": _json(_ref("ToolCall"))}
    return found


def _reached(paths: dict[str, Schema], schemas: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schemas that something leads to; fields of an address, for one, are parameters and no schema."""
    found: dict[str, Schema] = {}
    waiting = _named_in(paths)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = schemas[name]
            waiting += _named_in(schemas[name])
    return dict(sorted(found.items()))


def _named_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        here = [value["$ref"].rpartition("/")[2]] if isinstance(value.get("$ref"), str) else []
        return here + [name for one in value.values() for name in _named_in(one)]
    return [name for one in value for name in _named_in(one)] if isinstance(value, list) else []


def _other(path: str, verb: str, name: str, summary: str, responses: Schema) -> tuple[str, str, Schema]:
    return path, verb, {"operationId": name, "summary": summary, "responses": responses}
