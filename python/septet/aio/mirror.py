"""Async twins of methods, run on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import wraps
from inspect import getattr_static, isfunction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

from septet.aio.workers import Workers, ended, workers_of
from septet.errors import Closed, SeptetError
from septet.system.forks import OfOneProcess
from septet.vault.faces import Mirrored, declared

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from typing_extensions import Self

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")
_Mirror = TypeVar("_Mirror", bound="Mirror[Any]")


class Closing(Protocol):
    """An object that is closed at its end."""

    def close(self) -> None:
        """Close it."""


_Target = TypeVar("_Target", bound=Closing)


def mirrored(method: Callable[Concatenate[_S, _P], _R]) -> Mirrored[_P, _R]:
    """Return a method of a `Mirror` that runs ``method`` on a thread, with the same arguments."""
    plain = cast("Callable[..., Any]", method)

    @wraps(plain)
    async def twin(self: Mirror[Any], *args: Any, **named: Any) -> Any:
        # By name: other kinds of vaults override methods.
        return await self._workers.run(getattr(self.blocking, plain.__name__), *args, **named)

    twin.__module__ = __name__
    return cast("Mirrored[_P, _R]", twin)


def signed_as(kind: Callable[_P, object]) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, _P], None]]:
    """Return a decorator that gives a constructor the parameters of another class, for type checkers and `inspect`."""

    def sign(constructor: Callable[..., None]) -> Callable[Concatenate[Any, _P], None]:
        # A function that makes an object wraps the constructor of its class.
        source: Any = kind
        return wraps(source.__init__ if isinstance(kind, type) else source.__wrapped__)(constructor)

    return sign


class Mirror(OfOneProcess, Generic[_Target]):
    """An object whose methods run on threads.

    A subclass lists its methods in its body or inherits a list (`septet.vault.faces`), for type checkers. Other public
    methods of the mirrored class are added automatically.
    """

    _elsewhere = "open it in the other process"
    #: True if the threads belong to another mirror, which closes them.
    _shares = False

    def __init_subclass__(cls, of: type | None = None) -> None:
        super().__init_subclass__()
        if of is None:
            return
        for name, method in declared(cls):
            setattr(cls, name, mirrored(getattr_static(of, method.__name__)))
        for name in dir(of):
            plain = getattr_static(of, name)
            if not name.startswith("_") and isfunction(plain) and not hasattr(cls, name):
                setattr(cls, name, mirrored(plain))

    def _begin(
        self, make: Callable[[], _Target] | None, target: _Target | None = None, workers: Workers | None = None
    ) -> None:
        """Set up the mirror.

        Args:
            make: opens the target, on a thread; None with an open target, which belongs to the caller and stays open.
            target: the open target.
            workers: the threads; None for new ones.
        """
        self._make, self._target = make, target
        self._workers = workers_of(None) if workers is None else workers
        self._opening: Future[_Target] | None = None

    @classmethod
    def _of(cls, target: Any, kind: type, fault: SeptetError, max_workers: int | None) -> Self:
        """Wrap an open target of a kind, which belongs to the caller, or a function that opens one.

        Raises:
            SeptetError: ``fault``, for another value; `StoreError` for ``max_workers`` out of range.
        """
        is_open = isinstance(target, kind)
        if not is_open and (isinstance(target, type) or not callable(target)):
            raise fault
        mirror, workers = cls.__new__(cls), workers_of(max_workers)
        mirror._begin(None if is_open else target, target if is_open else None, workers)
        return mirror

    @classmethod
    async def open(cls: Callable[_P, _Mirror], *args: _P.args, **named: _P.kwargs) -> _Mirror:
        """Create and open an object; the arguments are those of the class, the errors those of the mirrored class."""
        mirror = cls(*args, **named)
        await mirror._open()
        return mirror

    @property
    def blocking(self) -> _Target:
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

    async def on_thread(self, work: Callable[[_Target], _R]) -> _R:
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
        if not self._shares:
            await ended(self._workers.close(self._finish))

    async def _open(self) -> None:
        if self._target is not None or self._workers.closing is not None:
            self.blocking  # noqa: B018 - raises if it was closed
            return
        if self._opening is None:
            assert self._make is not None
            self._opening = self._workers.submit(self._make)
        try:
            self._target = await ended(self._opening)
        except BaseException:
            # The open may still complete after a cancellation; close it then, or it leaks.
            self._workers.close(self._finish)
            raise

    def _finish(self) -> None:
        if self._opening is not None:
            # Runs now, or on the opening thread if that has not finished.
            self._opening.add_done_callback(self._discard_opened)

    def _discard_opened(self, opened: Future[_Target]) -> None:
        if not opened.cancelled() and opened.exception() is None:
            opened.result().close()

    def _iterated(self, make: Callable[[_Target], Iterator[Any]]) -> AsyncIterator[Any]:
        return cast("AsyncIterator[Any]", self._workers.iterate(lambda: make(self.blocking)))
