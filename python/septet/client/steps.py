"""Calls as generators: what is asked of a server, step by step, so that threads and loops share one definition."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

from septet.aio.mirror import Mirrored
from septet.client.transport import Ask

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Blocking", "Steps", "awaited", "blocking"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")

#: Yields calls, is sent their answers, and returns what the method returns.
Steps: TypeAlias = Generator[Ask, Any, _R]


class Blocking(Generic[_P, _R]):
    """What type checkers see of a method that waits: the parameters and the result of its steps."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[_P, _R]: ...
    def __get__(self, instance: object, owner: type) -> Any:
        """Bind the method; functions, which stand here when the program runs, do that themselves."""


def blocking(steps: Callable[Concatenate[_S, _P], Steps[_R]]) -> Blocking[_P, _R]:
    """Return the method of a `Client` that takes the steps and waits."""
    plain = cast("Callable[..., Any]", steps)

    @wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return self._take(plain(self._calls, *args, **named))

    method.__module__ = __name__
    return cast("Blocking[_P, _R]", method)


def awaited(steps: Callable[Concatenate[_S, _P], Steps[_R]]) -> Mirrored[_P, _R]:
    """Return the method of an `AsyncSeptet` that takes the steps, awaited."""
    plain = cast("Callable[..., Any]", steps)

    @wraps(plain)
    async def method(self: Any, *args: Any, **named: Any) -> Any:
        return await self._take(plain(self._calls, *args, **named))

    method.__module__ = __name__
    return cast("Mirrored[_P, _R]", method)
