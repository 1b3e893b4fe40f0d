"""Methods that await what a method of the same name does on a thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from functools import wraps
from inspect import getattr_static, isfunction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from septet.aio.workers import Workers, ended
from septet.errors import Closed
from septet.system.forks import OfOneProcess
from septet.system.threads import call_on_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from typing_extensions import Self

__all__ = ["Mirror", "Mirrored", "mirrored", "mirrored_static"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")
_Made = TypeVar("_Made", bound="Mirror[Any]")


class Mirrored(Generic[_P, _R]):
    """What type checkers see of a method that is awaited: the parameters and the result of the other one."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[_P, Coroutine[Any, Any, _R]]: ...
    def __get__(self, instance: object, owner: type) -> Any:
        """Bind the method; functions, which stand here when the program runs, do that themselves."""


def mirrored(method: Callable[Concatenate[_S, _P], _R]) -> Mirrored[_P, _R]:
    """Return the method of a `Mirror` that does on a thread what ``method`` does, with the same arguments."""
    plain = cast("Callable[..., Any]", method)

    @wraps(plain)
    async def twin(self: Mirror[Any], *args: Any, **named: Any) -> Any:
        # By name: vaults of another kind have methods of their own.
        return await self._workers.run(getattr(self.blocking, plain.__name__), *args, **named)

    twin.__module__ = __name__
    return cast("Mirrored[_P, _R]", twin)


def mirrored_static(function: Callable[_P, _R]) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """Return what does the same on a thread of its own; nothing is open yet that would have threads."""

    @wraps(function)
    async def twin(*args: _P.args, **named: _P.kwargs) -> _R:
        return await ended(call_on_thread(lambda: function(*args, **named), "septet-async"))

    twin.__module__ = __name__
    return twin


class Mirror(OfOneProcess, ABC, Generic[_S]):
    """Something that is opened, asked and closed on threads.

    A subclass says in its body which methods it has, so that type checkers see them. Those of the other class that it
    does not name are there all the same.
    """

    _elsewhere = "open it in the other process"

    def __init_subclass__(cls, of: type | None = None) -> None:
        super().__init_subclass__()
        for name in () if of is None else dir(of):
            plain = getattr_static(of, name)
            if not name.startswith("_") and isfunction(plain) and not hasattr(cls, name):
                setattr(cls, name, mirrored(plain))

    def __init__(self, workers: Workers, made: _S | None = None) -> None:
        self._workers, self._made = workers, made
        #: What was given is left open: it belongs to the caller.
        self._given = made is not None
        self._opening: Future[_S] | None = None

    @classmethod
    async def open(cls: Callable[_P, _Made], *args: _P.args, **named: _P.kwargs) -> _Made:
        """Return a new one, open; the arguments are those of the class, and the errors those of the other class."""
        made = cls(*args, **named)
        await made._open()
        return made

    @abstractmethod
    def _make(self) -> _S:
        """Open it; called on a thread."""

    @abstractmethod
    def _discard(self, made: _S) -> None:
        """Close what `_make` made; called on a thread."""

    @property
    def blocking(self) -> _S:
        """What is asked, for code without a loop; both may be used at the same time.

        Raises:
            Closed: it was closed, or is not open yet.
        """
        if self._made is None or self._workers.closing is not None:
            state = "is not open yet" if self._workers.closing is None else "was closed"
            raise Closed(f"{self!r} {state}: use `async with`, or `await {type(self).__name__}.open(...)`")
        return self._made

    @property
    def max_workers(self) -> int:
        """How many threads work at most."""
        return self._workers.most

    async def on_thread(self, work: Callable[[_S], _R]) -> _R:
        """Return what ``work`` returns, called on a thread with what is asked: several calls as one.

        Cancelled like a method; errors of ``work`` are raised unchanged.

        Raises:
            Closed: it was closed, or is not open yet.
        """
        return await self._workers.run(work, self.blocking)

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close it; using it afterwards raises `Closed`. Closing twice is fine.

        Calls that no thread has begun raise `Closed`. Those that run are waited for, for 10 seconds at most. Closing
        goes on if the wait for it is cancelled.
        """
        await ended(self._workers.close(self._finish))

    async def _open(self) -> None:
        if self._made is not None or self._workers.closing is not None:
            self.blocking  # noqa: B018 - raises if it was closed
            return
        if self._opening is None:
            self._opening = self._workers.submit(self._make)
        try:
            self._made = await ended(self._opening)
        except BaseException:
            # It may come to be open all the same, and nobody would close it.
            self._workers.close(self._finish)
            raise

    def _finish(self) -> None:
        if self._given:
            return
        if self._opening is not None:
            # At once; or on the thread that opens it, where that takes too long.
            self._opening.add_done_callback(self._discard_opened)

    def _discard_opened(self, opened: Future[_S]) -> None:
        if not opened.cancelled() and opened.exception() is None:
            self._discard(opened.result())

    def _iterated(self, make: Callable[[_S], Iterator[Any]]) -> AsyncIterator[Any]:
        return cast("AsyncIterator[Any]", self._workers.iterate(lambda: make(self.blocking)))
