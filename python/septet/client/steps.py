"""The methods of a client: calls as generators, shared by the blocking and the async client.

`steps_of` makes the steps of a method from its declaration in `AnyVault`: the arguments are bound as Python binds them,
those that were passed are the request, and the answer is read by the type of the result. The methods that page, chunk
or check more are generators of their own. `blocking` and `awaited` make the methods that run the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from septet.client.answers import (
    entry_of,
    link_of,
    results_of,
    stats_of,
    suggestion_of,
    version_of,
    weights_of,
)
from septet.client.routes import ROUTES
from septet.client.transport import ConnectionSettings, ServerCall
from septet.client.wire import present
from septet.errors import EntryError, QueryError
from septet.inputs.arguments import flag, shown, utf8, whole
from septet.model.entry import Entry
from septet.profiles import ProfileLike, resolve
from septet.profiles.builtin import BUILTIN
from septet.vault.batch import fields_of, item_fields
from septet.vault.faces import Mirrored

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")

#: Yields calls, receives their answers, and returns the result of the method.
Steps: TypeAlias = Generator[ServerCall, Any, _R]

#: Readers of answers by the type of the result; `Stats` has the address of the server too.
_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "None": lambda answer: None,
    "str": lambda answer: str(answer["id"]),
    "str | Suggestion": lambda answer: suggestion_of(answer) if "verdict" in answer else str(answer["id"]),
    "int": lambda answer: int(answer["count"]),
    "bool": lambda answer: bool(answer["changed"]),
    "Entry": entry_of,
    "Results": results_of,
    "Weights": weights_of,
    "list[Link]": lambda answer: list(map(link_of, answer["links"])),
    "list[Version]": lambda answer: list(map(version_of, answer["versions"])),
    "list[str]": lambda answer: list(answer["ids"]),
}


def blocking(steps: Callable[Concatenate[_S, _P], Steps[_R]]) -> Callable[Concatenate[Any, _P], _R]:
    """Return the method of a `Client` that runs the steps."""
    plain = cast("Callable[..., Any]", steps)

    @wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return self._run(plain(self._calls, *args, **named))

    method.__module__ = __name__
    return cast("Callable[Concatenate[Any, _P], _R]", method)


def awaited(steps: Callable[Concatenate[_S, _P], Steps[_R]]) -> Mirrored[_P, _R]:
    """Return the coroutine method of an `AsyncClient` that runs the steps."""
    plain = cast("Callable[..., Any]", steps)

    @wraps(plain)
    async def method(self: Any, *args: Any, **named: Any) -> Any:
        return await self._run(plain(self._calls, *args, **named))

    method.__module__ = __name__
    return cast("Mirrored[_P, _R]", method)


def steps_of(method: Any) -> Callable[..., Steps[Any]]:
    """Return the steps of a method that is one call."""
    name: str = method.__name__.lstrip("_")
    parameters = signature(method)
    prepare, result = _PREPARED.get(name), method.__annotations__["return"]

    @wraps(method)
    def steps(calls: Any, *args: Any, **named: Any) -> Steps[Any]:
        settings: ConnectionSettings = calls._settings
        request = _request(parameters, (calls, *args), named)
        if prepare is not None:
            prepare(request)
        answer = yield ServerCall(name, with_tier(settings, name, request))
        return stats_of(answer, settings.url) if result == "Stats" else _DECODERS[result](answer)

    return steps


def with_tier(settings: ConnectionSettings, name: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return the request of an operation, with the tier of a client that names one, if it writes or counts."""
    reads = ROUTES[name].effect == "reads" and name != "stats"
    return request if settings.tier is None or reads else {**request, "tier": settings.tier}


def _request(parameters: Signature, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the passed arguments that are not None; changes of fields may be None.

    Raises:
        TypeError: the arguments are not those of the method.
        EntryError: an argument is not text, and must be.
    """
    request: dict[str, Any] = {}
    for name, value in list(parameters.bind(*args, **named).arguments.items())[1:]:
        parameter = parameters.parameters[name]
        if parameter.kind is Parameter.VAR_KEYWORD:
            request |= value
        elif value is not None or parameter.annotation == "str":
            request[name] = utf8(value, name) if parameter.annotation == "str" else value
    return request


def _prepare_add(request: dict[str, Any]) -> None:
    entry = request.pop("entry", None)
    if entry is not None and not isinstance(entry, Entry):
        raise EntryError(f"add takes an Entry or keyword arguments, got {shown(entry)}: use add(**fields) for a dict")
    if entry is not None:
        request |= {**present(fields_of(entry)), **request}


def _prepare_supersede(request: dict[str, Any]) -> None:
    if not isinstance(new := request.get("new"), str):
        request["new"] = item_fields(new)


def _prepare_ids(request: dict[str, Any]) -> None:
    if "limit" in request:
        request["limit"] = whole(request["limit"], "limit", EntryError, 1)


def _prepare_weights(request: dict[str, Any]) -> None:
    if "profile" in request:
        request["profile"] = profile_data(request["profile"])
    if "vectors" in request:
        flag(request["vectors"], "vectors", QueryError)


def profile_data(profile: ProfileLike) -> str | dict[str, Any]:
    """Return a profile as a server accepts it: a built-in name, or the whole profile; files are read here."""
    resolved = resolve(profile)
    return resolved.name if BUILTIN.get(resolved.name) is resolved else resolved.to_dict()


#: Checks and conversions of arguments that their types do not tell, by method.
_PREPARED: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "add": _prepare_add,
    "supersede": _prepare_supersede,
    "ids_beginning": _prepare_ids,
    "weights": _prepare_weights,
}
