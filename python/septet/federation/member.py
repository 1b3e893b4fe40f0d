"""The interface of a tier of a federation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.listing.asked import AskedListing
    from septet.listing.shadows import Shadowing
    from septet.model.arrays import Mask
    from septet.model.entry import Entry, Version
    from septet.model.fields import Action
    from septet.model.links import Link
    from septet.model.stats import Stats
    from septet.tiers import Tier
    from septet.vault.reading import Layout

_Answer = TypeVar("_Answer")


@runtime_checkable
class Member(Protocol):
    """A store of entries that a federation searches, reads and writes as one of its tiers.

    Searches use the sessions of its `Tier`; the other methods have the arguments, results and errors of those of
    `Vault`. A failing member raises a `SeptetError`, and the others are used.
    """

    # -- searching -----------------------------------------------------------------------------------------------------

    def _as_tier(self, name: str, priority: float) -> Tier:
        """Return the tier to search, with its name and priority in the federation."""

    def _clock(self) -> float:
        """Return the current time in epoch seconds."""

    def _embeds(self) -> bool:
        """Return True if queries may be embedded for it; called by every search, so it must be fast."""

    def _embeds_now(self) -> bool:
        """Return True if a query would be embedded now."""

    def _feedback_counts(self) -> Mapping[str, int]:
        """Return the number of feedback rows by action."""

    # -- reading -------------------------------------------------------------------------------------------------------

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """See `Vault.load`."""

    def ids_beginning(self, text: str, *, limit: int = 20) -> list[str]:
        """See `Vault.ids_beginning`."""

    def links(self, id: str) -> list[Link]:
        """See `Vault.links`."""

    def stats(self) -> Stats:
        """See `Vault.stats`."""

    def history(self, id: str) -> list[Version]:
        """See `Vault.history`."""

    def vectors(self, ids: Iterable[str], model: str | None = None) -> NDArray[np.float32]:
        """See `Vault.vectors`."""

    def __contains__(self, id: object) -> bool: ...

    def _held(self, ids: Sequence[str]) -> frozenset[str]:
        """Return the ids of live entries."""

    def _holds(self, ids: Sequence[str], kind: str | None = None) -> set[str]:
        """Return the ids that exist, optionally of one kind."""

    def _parts(self) -> Iterator[list[Entry]]:
        """Yield all entries, some hundred at a time."""

    def _layouts(self) -> Mapping[Layout, int]:
        """Return the number of entries with a vector, by model and dimensions."""

    def _vectors_of(self, ids: Sequence[str], layout: Layout) -> dict[str, bytes]:
        """Return the vectors by id, little-endian float32."""

    def _listed(
        self, query: AskedListing[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Run a query on the listing; return the result, and the listing to compare those of lower tiers with.

        Args:
            hidden: returns the mask of entries hidden by higher tiers; None if no other tier is queried.
        """

    # -- writing -------------------------------------------------------------------------------------------------------

    def add(self, *args: Any, **named: Any) -> str:
        """See `Vault.add`."""

    def add_many(self, *args: Any, **named: Any) -> list[str]:
        """See `Vault.add_many`."""

    def remember(self, *args: Any, **named: Any) -> str:
        """See `Vault.remember`."""

    def update(self, *args: Any, **named: Any) -> Entry:
        """See `Vault.update`."""

    def update_many(self, *args: Any, **named: Any) -> int:
        """See `Vault.update_many`."""

    def delete(self, *args: Any, **named: Any) -> int:
        """See `Vault.delete`."""

    def forget(self, *args: Any, **named: Any) -> int:
        """See `Vault.forget`."""

    def supersede(self, *args: Any, **named: Any) -> str:
        """See `Vault.supersede`."""

    def reinstate(self, id: str) -> bool:
        """See `Vault.reinstate`."""

    def link(self, *args: Any, **named: Any) -> None:
        """See `Vault.link`."""

    def link_many(self, *args: Any, **named: Any) -> int:
        """See `Vault.link_many`."""

    def unlink(self, source: str, target: str) -> bool:
        """See `Vault.unlink`."""

    def feedback(self, query: str, id: str, action: Action) -> None:
        """See `Vault.feedback`."""
