"""AsyncFederation: several vaults searched as one, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from septet.aio.feeding import Feeding
from septet.aio.mirror import Mirror, mirrored, signed_as
from septet.aio.vault import AsyncAnyVault, AsyncVault, mirrored_retriever
from septet.errors import TierError
from septet.federation.federation import Federation
from septet.federation.member import Member
from septet.inputs.arguments import shown
from septet.model.entry import Entry
from septet.profiles.builtin import CONNECTED_PRIORITY
from septet.vault.faces import AwaitedMethods

if TYPE_CHECKING:
    from typing_extensions import Self

    from septet.postgres.aio import AsyncPostgresVault

_P = ParamSpec("_P")


def _federation(
    kind: Callable[Concatenate[Mapping[str, Member], _P], Federation],
) -> Callable[Concatenate[Mapping[str, Member | AsyncVault | AsyncPostgresVault], _P], Federation]:
    """Return a function that makes a federation of async vaults too."""

    @wraps(Federation.__init__)
    def make(tiers: Any, /, *args: _P.args, **named: _P.kwargs) -> Federation:
        is_mapping = isinstance(tiers, Mapping)
        return kind({name: _plain(vault) for name, vault in tiers.items()} if is_mapping else tiers, *args, **named)

    return make


class AsyncFederation(Mirror[Federation], Feeding, AwaitedMethods, of=Federation):
    """A `Federation` for asyncio: the same methods with the same arguments, awaited, as in `AsyncVault`.

    The arguments are those of `Federation`, and its errors are raised on opening; a tier may be an open `AsyncVault`
    too. The vaults stay open: they belong to the caller. The threads are not shared with the tiers.
    """

    @signed_as(_federation(Federation))
    def __init__(self, *args: Any, **named: Any) -> None:
        self._begin(partial(_federation(Federation), *args, **named))

    @classmethod
    def of(cls, federation: Federation | Callable[[], Federation], *, max_workers: int | None = None) -> Self:
        """Wrap a federation for asyncio, or make one by a function when the wrapper is opened.

        Closing the wrapper closes what the function made. Another federation may be used beside it, and stays open.

        Args:
            federation: a `Federation`, or a function without arguments that makes one.
            max_workers: as for `AsyncVault.of`.

        Raises:
            TierError: ``federation`` is neither.
            StoreError: ``max_workers`` is out of range.
        """
        fault = TierError(f"federation is {shown(federation)}: wanted a Federation")
        return cls._of(federation, Federation, fault, max_workers)

    def __repr__(self) -> str:
        return f"AsyncFederation({', '.join(self._target._vaults) if self._target is not None else ''})"

    # -- tiers ---------------------------------------------------------------------------------------------------------

    async def connect(
        self, name: str, vault: Member | AsyncVault | AsyncPostgresVault, priority: float = CONNECTED_PRIORITY
    ) -> None:
        """Add a vault as a tier; see `Federation.connect`.

        Raises:
            TierError: the name is taken, ``vault`` is not a vault, or the priority is outside 0 to 2.
            Closed: the vault is not open.
        """
        await self._connect(name, _plain(vault), priority)

    _connect = mirrored(Federation.connect)
    disconnect = mirrored(Federation.disconnect)
    tiers = mirrored(Federation.tiers)

    def tier(self, name: str) -> AsyncVault:
        """Return the vault of a tier, for asyncio, on the threads of this federation; see `Federation.tier`.

        It is not closed: its methods end with the federation. A client has fewer methods than a vault.

        Raises:
            TierError: there is no such tier.
            Closed: the federation is not open.
        """
        return AsyncVault._on(self._workers, self.blocking.tier(name))

    _add_many = mirrored(Federation.add_many)
    retriever = mirrored_retriever(Federation.retriever)

    vectors = mirrored(Federation.vectors)

    def __aiter__(self) -> AsyncIterator[Entry]:
        return self._iterated(iter)

    import_ = mirrored(Federation.import_)
    sync = mirrored(Federation.sync)
    forget_root = mirrored(Federation.forget_root)
    sync_status = mirrored(Federation.sync_status)
    watch_files = mirrored(Federation.watch_files)


def _plain(vault: Member | AsyncVault | AsyncPostgresVault) -> Member:
    return vault.blocking if isinstance(vault, AsyncAnyVault) else vault
