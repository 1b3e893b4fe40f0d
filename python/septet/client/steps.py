"""Calls as generators: what is asked of a server, step by step, so that threads and loops share one definition."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from septet.aio.mirror import Mirrored
from septet.client.transport import Ask

__all__ = ["Steps", "awaited", "blocking"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")

#: Yields calls, is sent their answers, and returns what the method returns.
Steps: TypeAlias = Generator[Ask, Any, _R]


def blocking(steps: Callable[Concatenate[_S, _P], Steps[_R]]) -> Callable[Concatenate[Any, _P], _R]:
    """Return the method of a `Client` that takes the steps and waits.

    Its type is that of a function, no descriptor's: pyright looks for no descriptors when it compares a class with a
    protocol, such as `Member`.
    """
    plain = cast("Callable[..., Any]", steps)

    @wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return self._take(plain(self._calls, *args, **named))

    method.__module__ = __name__
    return cast("Callable[Concatenate[Any, _P], _R]", method)


def awaited(steps: Callable[Concatenate[_S, _P], Steps[_R]]) -> Mirrored[_P, _R]:
    """Return the method of an `AsyncSeptet` that takes the steps, awaited."""
    plain = cast("Callable[..., Any]", steps)

    @wraps(plain)
    async def method(self: Any, *args: Any, **named: Any) -> Any:
        return await self._take(plain(self._calls, *args, **named))

    method.__module__ = __name__
    return cast("Mirrored[_P, _R]", method)
