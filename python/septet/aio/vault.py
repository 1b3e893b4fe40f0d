"""AsyncVault: a vault for asyncio."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from septet.aio.feeding import Feeding
from septet.aio.mirror import Mirror, mirrored, signed_as
from septet.errors import StoreError
from septet.inputs.arguments import shown
from septet.model.entry import Entry
from septet.vault.anywhere import AnyVault
from septet.vault.faces import AwaitedOfOneStore, Mirrored
from septet.vault.vault import Vault

if TYPE_CHECKING:
    from typing_extensions import Self

    from septet.aio.retrieving import AsyncRetriever
    from septet.aio.workers import Workers
    from septet.postgres.vault import PostgresVault
    from septet.retrieval.retriever import Retriever

_P = ParamSpec("_P")
_S = TypeVar("_S")
_Vault = TypeVar("_Vault", bound=AnyVault)


def mirrored_retriever(method: Callable[Concatenate[_S, _P], Retriever]) -> Mirrored[_P, AsyncRetriever]:
    """Return a method of a `Mirror` that calls ``method`` on a thread and wraps the retriever for asyncio."""
    plain = cast("Callable[..., Any]", method)

    @wraps(plain)
    async def twin(self: Mirror[Any], *args: Any, **named: Any) -> AsyncRetriever:
        # Imported late: it loads the retrieval package.
        from septet.aio.retrieving import AsyncRetriever

        return AsyncRetriever(
            await self._workers.run(getattr(self.blocking, plain.__name__), *args, **named), self._workers
        )

    twin.__module__ = __name__
    return cast("Mirrored[_P, AsyncRetriever]", twin)


class AsyncAnyVault(Mirror[_Vault], Feeding, AwaitedOfOneStore):
    """The methods of all vaults, for asyncio."""

    _path: Any = "?"

    @classmethod
    def of(
        cls, vault: Vault | PostgresVault | Callable[[], Vault | PostgresVault], *, max_workers: int | None = None
    ) -> Self:
        """Wrap an open vault for asyncio, or open one by a function when the wrapper is opened.

        Closing the wrapper closes what the function opened. An open vault may be used beside it, and stays open.

        Args:
            vault: an open vault, in a file or on a server, or a function without arguments that opens one.
            max_workers: maximum number of threads, 1 to 256; further calls queue in order. None for the number of cores
                plus two, at most 8.

        Raises:
            StoreError: ``vault`` is neither, or ``max_workers`` is out of range.
        """
        return cls._of(vault, AnyVault, StoreError(f"vault is {shown(vault)}: wanted an open Vault"), max_workers)

    @classmethod
    def _on(cls, workers: Workers, vault: Any) -> Self:
        """Wrap an open vault or client on the threads of another wrapper, which closes them."""
        wrapper = cls.__new__(cls)
        wrapper._begin(None, vault, workers)
        wrapper._shares = True
        return wrapper

    @property
    def path(self) -> str:
        """The path of the file, as passed, or the address on a server without the password."""
        return os.fspath(self._path) if self._target is None else self._target.path

    def __repr__(self) -> str:
        place = self._path if self._target is None else getattr(self._target, "path", self._target)
        return f"{type(self).__name__}({place!r})"

    _add_many = mirrored(AnyVault.add_many)
    retriever = mirrored_retriever(AnyVault.retriever)

    vectors = mirrored(AnyVault.vectors)

    def __aiter__(self) -> AsyncIterator[Entry]:
        return self._iterated(iter)

    rename = mirrored(AnyVault.rename)
    purge = mirrored(AnyVault.purge)

    embed = mirrored(AnyVault.embed)
    embedding_status = mirrored(AnyVault.embedding_status)
    export = mirrored(AnyVault.export)
    import_ = mirrored(AnyVault.import_)
    optimize = mirrored(AnyVault.optimize)


class AsyncVault(AsyncAnyVault[Vault], of=Vault):
    """A `Vault` for asyncio: the same methods with the same arguments, awaited. The event loop is never blocked.

    Open it with ``async with AsyncVault(path) as vault`` or ``vault = await AsyncVault.open(path)``; the arguments are
    those of `Vault`, and its errors are raised on opening. `of` takes an open vault, and the number of threads. Tasks,
    threads and loops may share it. ``async for entry in vault`` iterates; use `count` and `get` instead of ``len`` and
    ``in``.

    Callbacks (``progress``, ``clock``, hooks, an embedder) and iterables run on a thread without a loop. A cancelled
    call raises at once. It is dropped if it is still queued; otherwise it runs to its end, so that a transaction is
    stored whole or not at all. The caller cannot know which of the two happened.
    """

    @signed_as(Vault)
    def __init__(self, path: Any, **options: Any) -> None:
        self._path = path
        self._begin(partial(Vault, path, **options))

    sync = mirrored(Vault.sync)
    forget_root = mirrored(Vault.forget_root)
    sync_status = mirrored(Vault.sync_status)
    watch_files = mirrored(Vault.watch_files)
    redact = mirrored(Vault.redact)
    backup = mirrored(Vault.backup)
