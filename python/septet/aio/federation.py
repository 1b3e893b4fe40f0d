"""AsyncFederation: several vaults searched as one, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from septet.aio.feeding import add_many_from
from septet.aio.mirror import Mirror, mirrored
from septet.aio.retrievers import mirrored_retriever
from septet.aio.vault import AsyncVault
from septet.aio.workers import workers_of
from septet.errors import EntryError, TierError
from septet.federation.federation import Federation
from septet.federation.member import Member
from septet.inputs.arguments import shown
from septet.model.entry import Entry
from septet.profiles import ProfileLike
from septet.profiles.builtin import CONNECTED_PRIORITY
from septet.vault.alike import KEEP, SIMILARITY

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from septet.model.fields import EntryItem, FrameLike, OnSimilar, Split
    from septet.watch.events import SearchEvent, WriteEvent
    from septet.watch.progress import Progress


class AsyncFederation(Mirror[Federation], of=Federation):
    """A `Federation` for asyncio: the same methods with the same arguments, awaited, as in `AsyncVault`.

    Args:
        tiers: open vaults by tier name, each a `Vault`, an `AsyncVault` or a `Client`. They stay open: they belong to
            the caller.
        weights: as for `Federation`, as are all arguments but the last.
        max_workers: as for `AsyncVault`; not shared with the tiers.

    Raises:
        StoreError: ``max_workers`` is out of range. Errors of `Federation` are raised on opening.
    """

    def __init__(
        self,
        tiers: Mapping[str, Member | AsyncVault],
        weights: Mapping[str, float] | None = None,
        *,
        clock: Callable[[], float] | None = None,
        profile: ProfileLike = "septet",
        on_search: Callable[[SearchEvent], object] | None = None,
        on_write: Callable[[WriteEvent], object] | None = None,
        telemetry: bool | None = None,
        max_workers: int | None = None,
    ) -> None:
        super().__init__(workers_of(max_workers))
        self._make_federation = partial(
            _federation,
            tiers,
            weights,
            clock=clock,
            profile=profile,
            on_search=on_search,
            on_write=on_write,
            telemetry=telemetry,
        )

    @classmethod
    def of(cls, federation: Federation, *, max_workers: int | None = None) -> Self:
        """Wrap a federation for asyncio; both may be used. Closing the wrapper does not close ``federation``.

        Raises:
            TierError: ``federation`` is not a `Federation`.
            StoreError: ``max_workers`` is out of range.
        """
        if not isinstance(federation, Federation):
            raise TierError(f"federation is {shown(federation)}: wanted a Federation")
        wrapper = cls.__new__(cls)
        super().__init__(wrapper, workers_of(max_workers), federation)
        return wrapper

    def __repr__(self) -> str:
        return f"AsyncFederation({', '.join(self._target._vaults) if self._target is not None else ''})"

    def _make(self) -> Federation:
        return self._make_federation()

    def _discard(self, target: Federation) -> None:
        target.close()

    # -- tiers ---------------------------------------------------------------------------------------------------------

    async def connect(self, name: str, vault: Member | AsyncVault, priority: float = CONNECTED_PRIORITY) -> None:
        """Add a vault as a tier; see `Federation.connect`.

        Raises:
            TierError: the name is taken, ``vault`` is not a vault, or the priority is outside 0 to 2.
            Closed: the vault is not open.
        """
        await self._connect(name, _plain(vault), priority)

    _connect = mirrored(Federation.connect)
    disconnect = mirrored(Federation.disconnect)
    tiers = mirrored(Federation.tiers)

    # -- searching -----------------------------------------------------------------------------------------------------

    search = mirrored(Federation.search)
    search_many = mirrored(Federation.search_many)
    recall = mirrored(Federation.recall)
    similar = mirrored(Federation.similar)
    explain = mirrored(Federation.explain)
    retriever = mirrored_retriever(Federation.retriever)
    weights = mirrored(Federation.weights)

    # -- reading -------------------------------------------------------------------------------------------------------

    get = mirrored(Federation.get)
    load = mirrored(Federation.load)
    links = mirrored(Federation.links)
    stats = mirrored(Federation.stats)
    vectors = mirrored(Federation.vectors)
    get_many = mirrored(Federation.get_many)
    ids_beginning = mirrored(Federation.ids_beginning)
    entries = mirrored(Federation.entries)
    count = mirrored(Federation.count)
    facets = mirrored(Federation.facets)

    def __aiter__(self) -> AsyncIterator[Entry]:
        return self._iterated(iter)

    history = mirrored(Federation.history)

    # -- writing -------------------------------------------------------------------------------------------------------

    add = mirrored(Federation.add)

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
        tier: str | None = None,
    ) -> list[str]:
        """Store many entries, also from an async iterable; see `Federation.add_many`.

        Raises:
            BatchError: an item could not be stored, or ``items`` raised; ``written`` is the number of stored entries.
            EntryError: ``progress`` is not a plain function, or ``vectors`` is passed with an async iterable.
            TierError: there is no such tier.
        """
        if isinstance(items, AsyncIterable):
            if vectors is not None or model is not None:
                raise EntryError("vectors= requires a list or a frame of items: make a list first")
            add_many = partial(self._add_many, on_similar=on_similar, similarity=similarity, tier=tier)
            return await add_many_from(items, add_many, progress, split=split)
        options: Any = {"vectors": vectors, "model": model, "split": split, "progress": progress, "tier": tier}
        return await self._add_many(items, on_similar=on_similar, similarity=similarity, **options)

    _add_many = mirrored(Federation.add_many)
    update = mirrored(Federation.update)
    update_many = mirrored(Federation.update_many)
    rename_tag = mirrored(Federation.rename_tag)
    merge_domains = mirrored(Federation.merge_domains)
    supersede = mirrored(Federation.supersede)
    reinstate = mirrored(Federation.reinstate)
    remember = mirrored(Federation.remember)
    forget = mirrored(Federation.forget)
    delete = mirrored(Federation.delete)
    purge = mirrored(Federation.purge)
    link = mirrored(Federation.link)
    link_many = mirrored(Federation.link_many)
    unlink = mirrored(Federation.unlink)
    feedback = mirrored(Federation.feedback)
    reset_feedback = mirrored(Federation.reset_feedback)
    import_ = mirrored(Federation.import_)
    sync = mirrored(Federation.sync)
    roots = mirrored(Federation.roots)
    forget_root = mirrored(Federation.forget_root)
    sync_status = mirrored(Federation.sync_status)
    watch_files = mirrored(Federation.watch_files)
    redact = mirrored(Federation.redact)


def _federation(tiers: Mapping[str, Member | AsyncVault], *args: Any, **named: Any) -> Federation:
    if isinstance(tiers, Mapping):
        return Federation({name: _plain(vault) for name, vault in tiers.items()}, *args, **named)
    return Federation(tiers, *args, **named)


def _plain(vault: Member | AsyncVault) -> Member:
    return vault.blocking if isinstance(vault, AsyncVault) else vault
