"""Bulk: entries stored, changed and deleted by lines of JSON, with an answer for each line."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json
from starlette.types import Receive

from septet.errors import BatchError, SeptetError
from septet.server.admission import Admission
from septet.server.bodies import lines
from septet.server.calling import HTTP_OPERATIONS
from septet.server.exchange import ClientDisconnected, RequestError, broken_off, encoded
from septet.server.room import Spool
from septet.server.settings import Settings
from septet.service.faults import CallerFault, fault_of
from septet.service.operations import Operation
from septet.service.requests import WireRequest
from septet.service.running import arguments_of, in_tier
from septet.service.served import Served

#: Operations of a line, by its ``op``.
OPERATIONS: Mapping[str, Operation] = {
    "delete": HTTP_OPERATIONS["delete_entry"],
    **{
        name: HTTP_OPERATIONS[name] for name in ("add", "update", "remember", "supersede", "link", "unlink", "feedback")
    },
}
#: Maximum number of entries per transaction.
MOST_TOGETHER = 1_000
#: Number of lines after which other requests and bodies take their turn.
MOST_AT_A_TURN = 25
#: Fields of an operation's answer in the answer of its line.
_ANSWER_FIELDS = ("id", "count", "changed", "verdict", "other", "probability", "reason")
#: Arguments of `add_many` for all entries of a transaction.
_TOGETHER = ("on_similar", "similarity")


class _Add(NamedTuple):
    """An entry to store: its line number and its fields."""

    line: int
    fields: dict[str, Any]


class Bulk:
    """Processes the lines of one body; consecutive entries are stored in one transaction, for speed.

    Args:
        turns: held by the body whose lines are being read.
        spool: receives the answers.
    """

    def __init__(
        self, served: Served, settings: Settings, admission: Admission, turns: asyncio.Lock, spool: Spool
    ) -> None:
        self._served, self._settings, self._spool = served, settings, spool
        self._admission, self._turns = admission, turns
        #: The error of the first line, if nothing was answered before: it becomes the response.
        self.error: RequestError | None = None
        self._adds: list[_Add] = []
        self._shared: dict[str, Any] = {}
        #: The vault, federation or tier to write to.
        self._into: Any = None

    async def run(self, scope: Any, receive: Receive) -> None:
        """Read the body, run its lines, and write the answers."""
        number = 0
        try:
            body_lines = lines(scope, receive, self._settings, self._admission.bodies)
            async with aclosing(body_lines):  # type: ignore[type-var]
                async for line in body_lines:
                    if line is None:
                        # The client may wait for these answers before it sends more.
                        await self._store()
                        continue
                    number += 1
                    if number % MOST_AT_A_TURN == 0:
                        # A piece may hold many lines, and invalid ones await nothing.
                        async with self._turns:
                            await self._admission.after_others()
                        if broken_off(scope):
                            raise ClientDisconnected
                    if isinstance(line, RequestError):
                        await self._store()
                        await self._fail(number, line.fault)
                    elif line.strip():
                        await self._run_line(number, line)
            await self._store()
        except RequestError as error:
            await self._store()
            if number:
                await self._fail(number + 1, error.fault)
            else:
                self.error = error

    async def _run_line(self, number: int, line: bytes) -> None:
        try:
            operation, request = _read(line)
            into = in_tier(self._served, operation.name, request).blocking
            fields = arguments_of(request)
        except Exception as error:  # noqa: BLE001 - becomes the answer
            await self._store()
            await self._fail(number, _fault(error))
            return
        if operation.name != "add":
            await self._store()
            await self._call(number, operation, request)
            return
        shared = {name: fields.pop(name) for name in _TOGETHER if name in fields}
        if into is not self._into or shared != self._shared or len(self._adds) >= MOST_TOGETHER:
            await self._store()
        self._into, self._shared = into, shared
        self._adds.append(_Add(number, fields))

    async def _call(self, number: int, operation: Operation, request: WireRequest) -> None:
        try:
            answer = await self._admission.in_turn(lambda: self._served.call(operation, request))
        except Exception as error:  # noqa: BLE001 - becomes the answer
            await self._fail(number, _fault(error))
        else:
            await self._reply(number, {name: answer[name] for name in _ANSWER_FIELDS if name in answer})

    async def _store(self) -> None:
        if not self._adds:
            return
        adds, into, shared, self._adds = self._adds, self._into, self._shared, []
        try:
            results = await self._admission.in_turn(
                lambda: self._served.memory.on_thread(lambda _: _store_all(into, adds, shared))
            )
        except RequestError as late:
            results = [late] * len(adds)
        for add, result in zip(adds, results):
            if isinstance(result, str):
                await self._reply(add.line, {"id": result})
            else:
                if isinstance(result, SeptetError):
                    self._served.hide_paths(result)
                await self._fail(add.line, _fault(result))

    async def _reply(self, number: int, data: dict[str, Any]) -> None:
        await self._spool.write(encoded({"line": number, **data}) + b"\n")

    async def _fail(self, number: int, fault: CallerFault) -> None:
        await self._reply(number, fault.to_dict())


def _read(line: bytes) -> tuple[Operation, WireRequest]:
    try:
        item = from_json(line, allow_inf_nan=False)
    except ValueError as fault:
        raise _invalid(f"the line is invalid JSON: {fault}") from None
    if not isinstance(item, dict):
        raise _invalid("the line must be a JSON object")
    name = item.pop("op", "add")
    operation = OPERATIONS.get(name) if isinstance(name, str) else None
    if operation is None:
        raise _invalid(f"op: wanted one of {', '.join(OPERATIONS)}")
    return operation, operation.request.model_validate_json(to_json(item), strict=True)


def _fault(error: Exception) -> CallerFault:
    return error.fault if isinstance(error, RequestError) else fault_of(error)


def _invalid(message: str) -> RequestError:
    return RequestError(CallerFault("invalid_request", message, 422))


def _store_all(memory: Any, adds: list[_Add], shared: dict[str, Any]) -> list[str | Exception]:
    """Return the id of each entry, or its error."""
    try:
        return [*memory.add_many([add.fields for add in adds], **shared)]
    except BatchError:
        # An invalid entry rolls back the transaction: store each alone to find the errors.
        results: list[str | Exception] = []
        for add in adds:
            try:
                results.append(str(memory.add(**add.fields, **shared)))
            except SeptetError as error:
                results.append(error)
        return results
    except Exception as error:  # noqa: BLE001 - becomes the answer of each line
        return [error] * len(adds)
