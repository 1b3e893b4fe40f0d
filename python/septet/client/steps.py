"""Calls as generators: the requests of a method step by step, shared by the blocking and the async client."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from septet.aio.mirror import Mirrored
from septet.client.transport import ServerCall

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")

#: Yields calls, receives their answers, and returns the result of the method.
Steps: TypeAlias = Generator[ServerCall, Any, _R]


def blocking(steps: Callable[Concatenate[_S, _P], Steps[_R]]) -> Callable[Concatenate[Any, _P], _R]:
    """Return the method of a `Client` that runs the steps.

    Typed as a function, not as a descriptor: pyright ignores descriptors when it compares a class with a protocol,
    such as `Member`.
    """
    plain = cast("Callable[..., Any]", steps)

    @wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return self._run(plain(self._calls, *args, **named))

    method.__module__ = __name__
    return cast("Callable[Concatenate[Any, _P], _R]", method)


def awaited(steps: Callable[Concatenate[_S, _P], Steps[_R]]) -> Mirrored[_P, _R]:
    """Return the coroutine method of an `AsyncSeptet` that runs the steps."""
    plain = cast("Callable[..., Any]", steps)

    @wraps(plain)
    async def method(self: Any, *args: Any, **named: Any) -> Any:
        return await self._run(plain(self._calls, *args, **named))

    method.__module__ = __name__
    return cast("Mirrored[_P, _R]", method)
