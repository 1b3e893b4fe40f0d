"""AsyncVault: a vault for asyncio."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast, overload

from septet.aio.feeding import add_many_from
from septet.aio.mirror import Mirror, mirrored, mirrored_static
from septet.aio.retrievers import mirrored_retriever
from septet.aio.workers import workers_of
from septet.errors import EntryError, StoreError
from septet.inputs.arguments import shown
from septet.model.entry import Entry
from septet.profiles import ProfileLike
from septet.vault.alike import KEEP, SIMILARITY
from septet.vault.anywhere import AnyVault
from septet.vault.vault import Vault
from septet.watch.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self, Unpack

    from septet.embedding.embeddings import CacheLike, EmbedderLike
    from septet.embedding.options import EmbeddingOptions
    from septet.model.fields import EntryFields, EntryItem, EntryOverrides, FrameLike, OnSimilar, Split, VectorLike
    from septet.postgres.vault.vault import PostgresVault
    from septet.watch.events import SearchEvent, WriteEvent


class AsyncVault(Mirror[Vault], of=Vault):
    """A `Vault` for asyncio: the same methods with the same arguments, awaited. The event loop is never blocked.

    Open it with ``async with AsyncVault(path) as vault`` or ``vault = await AsyncVault.open(path)``. Tasks, threads and
    loops may share it. ``async for entry in vault`` iterates; use `count` and `get` instead of ``len`` and ``in``.

    Callbacks (``progress``, ``clock``, hooks, an embedder) and iterables run on a thread without a loop. A cancelled
    call raises at once. It is dropped if it is still queued; otherwise it runs to its end, so that a transaction is
    stored whole or not at all. The caller cannot know which of the two happened.

    Args:
        path: as for `Vault`, as are all arguments but the last.
        max_workers: maximum number of threads, 1 to 256; further calls queue in order. None for the number of cores
            plus two, at most 8.

    Raises:
        StoreError: ``max_workers`` is out of range. Errors of `Vault` are raised on opening.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        profile: ProfileLike = "septet",
        history: int = 10,
        embedder: EmbedderLike = None,
        previous_embedder: EmbedderLike = None,
        embedding_cache: CacheLike = None,
        embedding_options: EmbeddingOptions | None = None,
        sidecar: bool = True,
        mapped: bool = True,
        on_search: Callable[[SearchEvent], object] | None = None,
        on_write: Callable[[WriteEvent], object] | None = None,
        sync_on_search: bool | float = False,
        sync_on_open: bool = False,
        telemetry: bool | None = None,
        max_workers: int | None = None,
    ) -> None:
        super().__init__(workers_of(max_workers))
        self._path = path
        self._make_vault: Callable[[], Vault] = partial(
            Vault,
            path,
            read_only=read_only,
            clock=clock,
            profile=profile,
            history=history,
            embedder=embedder,
            previous_embedder=previous_embedder,
            embedding_cache=embedding_cache,
            embedding_options=embedding_options,
            sidecar=sidecar,
            mapped=mapped,
            on_search=on_search,
            on_write=on_write,
            sync_on_search=sync_on_search,
            sync_on_open=sync_on_open,
            telemetry=telemetry,
        )

    @classmethod
    def of(cls, vault: Vault | PostgresVault, *, max_workers: int | None = None) -> Self:
        """Wrap an open vault, in a file or on a server, for asyncio; both may be used.

        Closing the wrapper does not close ``vault``.

        Raises:
            StoreError: ``vault`` is not a vault, or ``max_workers`` is out of range.
        """
        if not isinstance(vault, AnyVault):
            raise StoreError(f"vault is {shown(vault)}: wanted an open Vault")
        wrapper = cls.__new__(cls)
        super().__init__(wrapper, workers_of(max_workers), cast("Vault", vault))
        wrapper._path = vault.path
        return wrapper

    @property
    def path(self) -> str:
        """The path of the file, as passed."""
        return os.fspath(self._path)

    def __repr__(self) -> str:
        return f"AsyncVault({self._path!r})"

    def _make(self) -> Vault:
        return self._make_vault()

    def _discard(self, target: Vault) -> None:
        target.close()

    # -- searching -----------------------------------------------------------------------------------------------------

    search = mirrored(Vault.search)
    search_many = mirrored(Vault.search_many)
    recall = mirrored(Vault.recall)
    similar = mirrored(Vault.similar)
    explain = mirrored(Vault.explain)
    retriever = mirrored_retriever(Vault.retriever)
    weights = mirrored(Vault.weights)

    # -- reading -------------------------------------------------------------------------------------------------------

    get = mirrored(Vault.get)
    load = mirrored(Vault.load)
    vectors = mirrored(Vault.vectors)
    get_many = mirrored(Vault.get_many)
    ids_beginning = mirrored(Vault.ids_beginning)
    entries = mirrored(Vault.entries)
    count = mirrored(Vault.count)
    facets = mirrored(Vault.facets)

    def __aiter__(self) -> AsyncIterator[Entry]:
        return self._iterated(iter)

    links = mirrored(Vault.links)
    stats = mirrored(Vault.stats)

    # -- writing -------------------------------------------------------------------------------------------------------

    if TYPE_CHECKING:

        @overload
        async def add(
            self,
            entry: None = None,
            *,
            vector: VectorLike | None = ...,
            model: str | None = ...,
            split: Split | None = ...,
            on_similar: OnSimilar = ...,
            similarity: float = ...,
            **fields: Unpack[EntryFields],
        ) -> str: ...
        @overload
        async def add(
            self,
            entry: Entry,
            *,
            vector: VectorLike | None = ...,
            model: str | None = ...,
            split: Split | None = ...,
            on_similar: OnSimilar = ...,
            similarity: float = ...,
            **fields: Unpack[EntryOverrides],
        ) -> str: ...
        async def add(self, entry: Entry | None = None, **fields: Any) -> str:
            """Store an entry; see `Vault.add`."""

    async def add_many(
        self,
        items: Iterable[Entry | EntryItem | Mapping[str, object]]
        | AsyncIterable[Entry | EntryItem | Mapping[str, object]]
        | FrameLike,
        *,
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
    ) -> list[str]:
        """Store many entries, also from an async iterable; see `Vault.add_many`.

        Raises:
            BatchError: an item could not be stored, or ``items`` raised; ``written`` is the number of stored entries.
            EntryError: ``progress`` is not a plain function, or ``vectors`` is passed with an async iterable.
        """
        if isinstance(items, AsyncIterable):
            if vectors is not None or model is not None:
                raise EntryError("vectors= requires a list or a frame of items: make a list first")
            add_many = partial(self._add_many, on_similar=on_similar, similarity=similarity)
            return await add_many_from(items, add_many, progress, split=split)
        options: Any = {"vectors": vectors, "model": model, "split": split, "progress": progress}
        return await self._add_many(items, on_similar=on_similar, similarity=similarity, **options)

    _add_many = mirrored(Vault.add_many)
    update = mirrored(Vault.update)
    update_many = mirrored(Vault.update_many)
    rename_tag = mirrored(Vault.rename_tag)
    merge_domains = mirrored(Vault.merge_domains)
    supersede = mirrored(Vault.supersede)
    reinstate = mirrored(Vault.reinstate)
    history = mirrored(Vault.history)
    remember = mirrored(Vault.remember)
    forget = mirrored(Vault.forget)
    delete = mirrored(Vault.delete)
    purge = mirrored(Vault.purge)
    link = mirrored(Vault.link)
    link_many = mirrored(Vault.link_many)
    unlink = mirrored(Vault.unlink)
    feedback = mirrored(Vault.feedback)
    reset_feedback = mirrored(Vault.reset_feedback)
    sync = mirrored(Vault.sync)
    roots = mirrored(Vault.roots)
    forget_root = mirrored(Vault.forget_root)
    sync_status = mirrored(Vault.sync_status)
    watch_files = mirrored(Vault.watch_files)
    redact = mirrored(Vault.redact)

    # -- embedding and copies ------------------------------------------------------------------------------------------

    embed = mirrored(Vault.embed)
    wait_embedded = mirrored(Vault.wait_embedded)
    spaces = mirrored(Vault.spaces)
    embedding_status = mirrored(Vault.embedding_status)
    backup = mirrored(Vault.backup)
    restore = staticmethod(mirrored_static(Vault.restore))
    export = mirrored(Vault.export)
    import_ = mirrored(Vault.import_)
    optimize = mirrored(Vault.optimize)
