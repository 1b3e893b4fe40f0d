"""Async twins of methods, run on threads."""

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

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")
_Mirror = TypeVar("_Mirror", bound="Mirror[Any]")


class Mirrored(Generic[_P, _R]):
    """The static type of an async twin: the parameters and the awaited result of the plain method."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[_P, Coroutine[Any, Any, _R]]: ...
    def __get__(self, instance: object, owner: type) -> Any:
        """Bind the method; at run time the attribute is a function, which binds itself."""


def mirrored(method: Callable[Concatenate[_S, _P], _R]) -> Mirrored[_P, _R]:
    """Return a method of a `Mirror` that runs ``method`` on a thread, with the same arguments."""
    plain = cast("Callable[..., Any]", method)

    @wraps(plain)
    async def twin(self: Mirror[Any], *args: Any, **named: Any) -> Any:
        # By name: other kinds of vaults override methods.
        return await self._workers.run(getattr(self.blocking, plain.__name__), *args, **named)

    twin.__module__ = __name__
    return cast("Mirrored[_P, _R]", twin)


def mirrored_static(function: Callable[_P, _R]) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """Return an async function that runs ``function`` on a new thread; nothing is open that would have threads."""

    @wraps(function)
    async def twin(*args: _P.args, **named: _P.kwargs) -> _R:
        return await ended(call_on_thread(lambda: function(*args, **named), "septet-async"))

    twin.__module__ = __name__
    return twin


class Mirror(OfOneProcess, ABC, Generic[_S]):
    """An object whose methods run on threads.

    A subclass lists its methods in its body, for type checkers. Other public methods of the mirrored class are added
    automatically.
    """

    _elsewhere = "open it in the other process"

    def __init_subclass__(cls, of: type | None = None) -> None:
        super().__init_subclass__()
        for name in () if of is None else dir(of):
            plain = getattr_static(of, name)
            if not name.startswith("_") and isfunction(plain) and not hasattr(cls, name):
                setattr(cls, name, mirrored(plain))

    def __init__(self, workers: Workers, target: _S | None = None) -> None:
        self._workers, self._target = workers, target
        #: True if the target belongs to the caller, and stays open.
        self._borrowed = target is not None
        self._opening: Future[_S] | None = None

    @classmethod
    async def open(cls: Callable[_P, _Mirror], *args: _P.args, **named: _P.kwargs) -> _Mirror:
        """Create and open an object; the arguments are those of the class, the errors those of the mirrored class."""
        mirror = cls(*args, **named)
        await mirror._open()
        return mirror

    @abstractmethod
    def _make(self) -> _S:
        """Open the target; called on a thread."""

    @abstractmethod
    def _discard(self, target: _S) -> None:
        """Close a target that `_make` returned; called on a thread."""

    @property
    def blocking(self) -> _S:
        """The synchronous object; both may be used at the same time.

        Raises:
            Closed: the object was closed, or is not open yet.
        """
        if self._target is None or self._workers.closing is not None:
            state = "is not open yet" if self._workers.closing is None else "was closed"
            raise Closed(f"{self!r} {state}: use `async with`, or `await {type(self).__name__}.open(...)`")
        return self._target

    @property
    def max_workers(self) -> int:
        """Maximum number of threads."""
        return self._workers.most

    async def on_thread(self, work: Callable[[_S], _R]) -> _R:
        """Call ``work`` on a thread with the synchronous object, and return its result: several calls as one.

        Cancelled like a method; errors of ``work`` are raised unchanged.

        Raises:
            Closed: the object was closed, or is not open yet.
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
        """Close the object; using it afterwards raises `Closed`. Closing twice is fine.

        Queued calls raise `Closed`. Running calls have at most 10 seconds to finish. Closing continues if its await is
        cancelled.
        """
        await ended(self._workers.close(self._finish))

    async def _open(self) -> None:
        if self._target is not None or self._workers.closing is not None:
            self.blocking  # noqa: B018 - raises if it was closed
            return
        if self._opening is None:
            self._opening = self._workers.submit(self._make)
        try:
            self._target = await ended(self._opening)
        except BaseException:
            # The open may still complete after a cancellation; close it then, or it leaks.
            self._workers.close(self._finish)
            raise

    def _finish(self) -> None:
        if self._borrowed:
            return
        if self._opening is not None:
            # Runs now, or on the opening thread if that has not finished.
            self._opening.add_done_callback(self._discard_opened)

    def _discard_opened(self, opened: Future[_S]) -> None:
        if not opened.cancelled() and opened.exception() is None:
            self._discard(opened.result())

    def _iterated(self, make: Callable[[_S], Iterator[Any]]) -> AsyncIterator[Any]:
        return cast("AsyncIterator[Any]", self._workers.iterate(lambda: make(self.blocking)))
