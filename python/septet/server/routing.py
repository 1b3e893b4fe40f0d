"""Routes: what a verb and a path mean."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp

from septet.server.exchange import Exchange
from septet.service.faults import Fault
from septet.service.operations import Operation

__all__ = ["Found", "Own", "Refused", "Route", "Routes"]

_ID = "{id}"


class Refused(Exception):
    """A request that is answered with an error.

    Attributes:
        fault: the error.
        headers: more headers of the response.
    """

    def __init__(self, fault: Fault, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(fault.message)
        self.fault, self.headers = fault, headers


class Own(NamedTuple):
    """What a route of the server itself means.

    Attributes:
        handler: answers a request: its scope, its body, its exchange.
        most_body: bytes of its body; None for those of a setting, 0 for one that is read while it is answered.
    """

    handler: Callable[[Any, bytes, Exchange], Coroutine[Any, Any, ASGIApp]]
    most_body: int | None = None


class Route(NamedTuple):
    """A verb, a path that may end in ``{id}``, and what they mean: an `Operation`, or `Own`."""

    verb: str
    path: str
    target: Operation | Own


class Found(NamedTuple):
    """What was found: the route as it is written, what it means, and what the path names."""

    route: str
    target: Operation | Own
    named: dict[str, str]


class Routes:
    """A table of routes.

    The path is read as it was sent: an id may hold any character, such as a slash, which others would take for a
    part of the path.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._plain: dict[str, dict[str, Operation | Own]] = {}
        self._by_id: dict[str, dict[str, Operation | Own]] = {}
        for route in routes:
            table = self._by_id if route.path.endswith(_ID) else self._plain
            table.setdefault(route.path.removesuffix(_ID), {})[route.verb] = route.target

    def find(self, verb: str, raw_path: bytes) -> Found:
        """Return what a request means; HEAD means the same as GET.

        Raises:
            Refused: there is nothing (404), or under another verb (405), or an id is no UTF-8 (400).
        """
        path = raw_path.decode("latin-1")
        verbs, named, route = self._plain.get(path), {}, path
        if verbs is None:
            prefix = next((one for one in self._by_id if path.startswith(one) and len(path) > len(one)), None)
            if prefix is None:
                raise Refused(Fault("no_such_route", "nothing is at this path; /openapi.json lists what there is", 404))
            verbs, named, route = self._by_id[prefix], {"id": _text(raw_path[len(prefix) :])}, prefix + _ID
        target = verbs.get("GET" if verb == "HEAD" else verb)
        if target is None:
            allowed = [*verbs, *(["HEAD"] if "GET" in verbs else [])]
            fault = Fault("method_not_allowed", f"this path takes {', '.join(allowed)}", 405, {"allowed": allowed})
            raise Refused(fault, {"Allow": ", ".join(allowed)})
        return Found(route, target, named)


def _text(quoted: bytes) -> str:
    try:
        return unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise Refused(Fault("invalid_request", "the id in the path is no UTF-8", 400)) from None
