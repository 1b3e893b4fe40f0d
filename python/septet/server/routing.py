"""Routes: which operation a verb and a path mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from septet.service.faults import Fault
from septet.service.operations import OPERATIONS, Operation

__all__ = ["Found", "Refused", "Routes"]

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


class Found(NamedTuple):
    """An operation, and what the path says of its request."""

    operation: Operation
    named: dict[str, str]


class Routes:
    """The routes of a table of operations.

    The path is read as it was sent: an id may hold any character, such as a slash, which others would take for a
    part of the path.
    """

    def __init__(self, operations: Mapping[str, Operation] = OPERATIONS) -> None:
        self._plain: dict[str, dict[str, Operation]] = {}
        self._by_id: dict[str, dict[str, Operation]] = {}
        for operation in operations.values():
            verb, path = operation.route
            table = self._by_id if path.endswith(_ID) else self._plain
            table.setdefault(path.removesuffix(_ID), {})[verb] = operation

    def find(self, verb: str, raw_path: bytes) -> Found:
        """Return the operation of a request.

        Raises:
            Refused: there is none (404), or of another verb (405), or an id is no UTF-8 (400).
        """
        path = raw_path.decode("latin-1")
        verbs, named = self._plain.get(path), {}
        if verbs is None:
            prefix = next((one for one in self._by_id if path.startswith(one) and len(path) > len(one)), None)
            if prefix is None:
                raise Refused(Fault("no_such_route", "nothing is at this path; /openapi.json lists what there is", 404))
            verbs, named = self._by_id[prefix], {"id": _text(raw_path[len(prefix) :])}
        operation = verbs.get(verb)
        if operation is None:
            allowed = ", ".join(verbs)
            raise Refused(
                Fault("method_not_allowed", f"this path takes {allowed}", 405, {"allowed": list(verbs)}),
                {"Allow": allowed},
            )
        return Found(operation, named)


def _text(quoted: bytes) -> str:
    try:
        return unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise Refused(Fault("invalid_request", "the id in the path is no UTF-8", 400)) from None
