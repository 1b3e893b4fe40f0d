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
from septet.server.bodies import Gone, lines
from septet.server.breaking import broken_off
from septet.server.entry_operations import HTTP_OPERATIONS
from septet.server.replies import encoded
from septet.server.routing import Refused
from septet.server.settings import Settings
from septet.server.spool import Spool
from septet.service.faults import Fault, fault_of
from septet.service.operations import Operation
from septet.service.requests import Request
from septet.service.running import Memory, arguments_of
from septet.service.served import Served

__all__ = ["Bulk"]

#: What a line may ask for, by its ``op``.
OPERATIONS: Mapping[str, Operation] = {
    "delete": HTTP_OPERATIONS["delete_entry"],
    **{
        name: HTTP_OPERATIONS[name] for name in ("add", "update", "remember", "supersede", "link", "unlink", "feedback")
    },
}
#: So many entries are stored in one transaction.
MOST_TOGETHER = 1_000
#: After so many lines other requests have their turn, and other bodies: one of them a round of the loop.
MOST_AT_A_TURN = 25
#: Of the answer of an operation, what a line tells.
_TOLD = ("id", "count", "changed")
#: What concerns all entries that `add_many` stores together.
_TOGETHER = ("tier", "on_similar", "similarity")


class _Add(NamedTuple):
    """An entry to store: the number of its line, and its fields."""

    line: int
    fields: dict[str, Any]


class Bulk:
    """Works through the lines of one body. Entries that follow each other are stored together, so as fast as can be.

    Args:
        turns: held by the one body whose lines are read now.
        spool: takes the answers.
    """

    def __init__(
        self, served: Served, settings: Settings, admission: Admission, turns: asyncio.Lock, spool: Spool
    ) -> None:
        self._served, self._settings, self._spool = served, settings, spool
        self._admission, self._turns = admission, turns
        #: Of the first line that was wrong before any was answered: the whole body is answered with it.
        self.refused: Refused | None = None
        self._adds: list[_Add] = []
        self._shared: dict[str, Any] = {}

    async def run(self, scope: Any, receive: Receive) -> None:
        """Read the body, do what it says, and write the answers."""
        number = 0
        try:
            found = lines(scope, receive, self._settings, self._admission.bodies)
            async with aclosing(found):  # type: ignore[type-var]
                async for line in found:
                    if line is None:
                        # The client may wait for the answers to what it sent.
                        await self._store()
                        continue
                    number += 1
                    if number % MOST_AT_A_TURN == 0:
                        # A piece holds many lines, and those that are wrong wait for nothing.
                        async with self._turns:
                            await self._admission.after_others()
                        if broken_off(scope):
                            raise Gone
                    if isinstance(line, Refused):
                        await self._store()
                        await self._fail(number, line.fault)
                    elif line.strip():
                        await self._take(number, line)
            await self._store()
        except Refused as refused:
            await self._store()
            if number:
                await self._fail(number + 1, refused.fault)
            else:
                self.refused = refused

    async def _take(self, number: int, line: bytes) -> None:
        try:
            operation, request = _read(line)
            fields = arguments_of(self._served.blocking, request)
        except Exception as error:  # noqa: BLE001 - told as a fault
            await self._store()
            await self._fail(number, _fault(error))
            return
        if operation.name != "add":
            await self._store()
            await self._call(number, operation, request)
            return
        shared = {name: fields.pop(name) for name in _TOGETHER if name in fields}
        if fields.get("span") is not None:
            fields["span"] = fields["span"].model_dump()
        if shared != self._shared or len(self._adds) >= MOST_TOGETHER:
            await self._store()
        self._shared = shared
        self._adds.append(_Add(number, fields))

    async def _call(self, number: int, operation: Operation, request: Request) -> None:
        try:
            answer = await self._admission.in_turn(lambda: self._served.call(operation, request))
        except Exception as error:  # noqa: BLE001 - told as a fault
            await self._fail(number, _fault(error))
        else:
            await self._tell(number, {name: answer[name] for name in _TOLD if name in answer})

    async def _store(self) -> None:
        if not self._adds:
            return
        adds, shared, self._adds = self._adds, self._shared, []
        try:
            done = await self._admission.in_turn(
                lambda: self._served.memory.on_thread(lambda memory: _stored(memory, adds, shared))
            )
        except Refused as late:
            done = [late] * len(adds)
        for add, stored in zip(adds, done):
            if isinstance(stored, str):
                await self._tell(add.line, {"id": stored})
            else:
                if isinstance(stored, SeptetError):
                    self._served.hide_paths(stored)
                await self._fail(add.line, _fault(stored))

    async def _tell(self, number: int, said: dict[str, Any]) -> None:
        await self._spool.write(encoded({"line": number, **said}) + b"\n")

    async def _fail(self, number: int, fault: Fault) -> None:
        await self._tell(number, fault.to_dict())


def _read(line: bytes) -> tuple[Operation, Request]:
    try:
        found = from_json(line, allow_inf_nan=False)
    except ValueError as fault:
        raise _wrong(f"the line is no JSON: {fault}") from None
    if not isinstance(found, dict):
        raise _wrong("the line is no JSON object")
    name = found.pop("op", "add")
    operation = OPERATIONS.get(name) if isinstance(name, str) else None
    if operation is None:
        raise _wrong(f"op: wanted one of {', '.join(OPERATIONS)}")
    return operation, operation.request.model_validate_json(to_json(found), strict=True)


def _fault(error: Exception) -> Fault:
    return error.fault if isinstance(error, Refused) else fault_of(error)


def _wrong(message: str) -> Refused:
    return Refused(Fault("invalid_request", message, 422))


def _stored(memory: Memory, adds: list[_Add], shared: dict[str, Any]) -> list[str | Exception]:
    """Return the id of each entry, or why it could not be stored."""
    try:
        return [*memory.add_many([add.fields for add in adds], **shared)]
    except BatchError:
        # One of them is wrong, and none is stored, since they are one transaction: each is told by itself.
        return [_stored_alone(memory, add, shared) for add in adds]
    except Exception as error:  # noqa: BLE001 - told for each line
        return [error] * len(adds)


def _stored_alone(memory: Memory, add: _Add, shared: dict[str, Any]) -> str | Exception:
    try:
        return memory.add(**add.fields, **shared)
    except SeptetError as error:
        return error
