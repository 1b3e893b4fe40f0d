"""The interface of a tier of a federation, its members by name, and the methods that call one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload, runtime_checkable

from septet.errors import EntryNotFound, SeptetError, TierError
from septet.inputs.arguments import shown, utf8
from septet.model.suggestion import Suggestion
from septet.vault.alike import Adding, Remembering
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.listing.queries import ListingQuery, Shadowing
    from septet.model.arrays import Mask
    from septet.model.entry import Entry, Version
    from septet.model.fields import Action
    from septet.model.links import Link
    from septet.model.pages import Facets, Page
    from septet.model.results import Results
    from septet.model.stats import Stats
    from septet.tiers import Tier
    from septet.vault.reading import Layout

_Answer = TypeVar("_Answer")
_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")


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

    def search(self, *args: Any, **named: Any) -> Results:
        """See `Vault.search`."""

    def similar(self, *args: Any, **named: Any) -> Results:
        """See `Vault.similar`."""

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, id: str) -> Entry | None:
        """See `Vault.get`."""

    def entries(self, *args: Any, **named: Any) -> Page:
        """See `Vault.entries`."""

    def count(self, *args: Any, **named: Any) -> int:
        """See `Vault.count`."""

    def facets(self, *args: Any, **named: Any) -> Facets:
        """See `Vault.facets`."""

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """See `Vault.load`."""

    def _ids_beginning(self, text: str, *, limit: int = 20) -> list[str]:
        """Return the ids that begin with a text, in order."""

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
        self, query: ListingQuery[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Run a query on the listing; return the result, and the listing to compare those of lower tiers with.

        Args:
            hidden: returns the mask of entries hidden by higher tiers; None if no other tier is queried.
        """

    # -- writing -------------------------------------------------------------------------------------------------------

    def add(self, *args: Any, **named: Any) -> Any:
        """See `Vault.add`."""

    def add_many(self, *args: Any, **named: Any) -> list[str]:
        """See `Vault.add_many`."""

    def remember(self, *args: Any, **named: Any) -> Any:
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


class TierMembers:
    """Members by tier name, each with its priority."""

    _vaults: Mapping[str, tuple[Member, float]]

    def _each(self, ask: Callable[[Member], _Answer]) -> Iterator[tuple[Member, _Answer]]:
        """Call each member from the highest priority down; skip failures, unless all fail."""
        failures: list[SeptetError] = []
        for vault in self._by_priority():
            try:
                answer = ask(vault)
            except SeptetError as fault:
                failures.append(fault)
                continue
            yield vault, answer
        if failures and len(failures) == len(self._vaults):
            raise failures[0]

    def _by_priority(self) -> list[Member]:
        return [v for v, _ in sorted(self._vaults.values(), key=lambda vp: -vp[1])]

    def _here(self) -> dict[str, AnyVault]:
        """Return the vaults opened in this process by tier name, from the highest priority down."""
        named = sorted(self._vaults.items(), key=lambda item: -item[1][1])
        return {name: vault for name, (vault, _) in named if isinstance(vault, AnyVault)}

    def _named(self, tier: str) -> Member:
        """Return the vault of a tier.

        Raises:
            TierError: there is no such tier.
        """
        connected = self._vaults.get(tier) if isinstance(tier, str) else None
        if connected is None:
            known = ", ".join(map(shown, self._vaults)) or "none"
            raise TierError(f"there is no tier {shown(tier)}; available: {known}")
        return connected[0]

    def _holding(self, id: str) -> Member:
        """Return the vault of the highest tier that has an entry.

        Raises:
            EntryNotFound: no tier has the entry.
            SeptetError: every tier failed; the first error.
        """
        for vault, has in self._each(lambda vault: id in vault):
            if has:
                return vault
        raise EntryNotFound(f"no entry {shown(id)} in {', '.join(map(shown, self._vaults))}: check the id")

    def _first(self) -> Member:
        """Return the vault of the highest tier.

        Raises:
            TierError: there is no tier.
        """
        if not self._vaults:
            raise TierError("the federation has no tier: connect a vault first")
        return self._by_priority()[0]

    def _one(self, tier: str | None) -> Member:
        """Return the vault of a tier that must be named.

        Raises:
            TierError: it is not, or there is no such tier.
        """
        if tier is None:
            known = ", ".join(map(shown, self._vaults)) or "none"
            raise TierError(f"a call that changes many entries requires a tier; available: {known}")
        return self._named(tier)

    def _call(self, member: Member, method: str, args: Any, named: Any) -> Any:
        """Call a method of a member.

        Raises:
            TierError: the member is a client, or a vault on a server, that does not have it.
        """
        if (call := getattr(member, method, None)) is None:
            name = shown(next(name for name, (vault, _) in self._vaults.items() if vault is member))
            if isinstance(member, AnyVault):
                raise TierError(f"tier {name} is on a server, which does not support this: name a tier in a file")
            raise TierError(f"tier {name} is on a server of Septet: run this on that machine")
        return call(*args, **named)


@overload
def of_highest(method: Adding[str, Suggestion]) -> Adding[str, Suggestion]: ...  # type: ignore[overload-overlap]
@overload
def of_highest(method: Remembering[str, Suggestion]) -> Remembering[str, Suggestion]: ...  # type: ignore[overload-overlap]
@overload
def of_highest(method: Callable[Concatenate[_S, _P], _R]) -> Callable[Concatenate[Any, _P], _R]: ...
def of_highest(method: Any) -> Any:
    """Return the method of a federation that calls that of its highest tier."""

    @wraps(method)
    def call(self: TierMembers, *args: Any, **named: Any) -> Any:
        return self._call(self._first(), method.__name__, args, named)

    return _documented(call, "the highest tier", "there is no tier, or the highest does not have the method")


def of_holder(method: Callable[Concatenate[_S, _P], _R], id: str = "id") -> Callable[Concatenate[Any, _P], _R]:
    """Return the method of a federation that calls that of the highest tier that has an entry.

    Args:
        id: the argument with the id of the entry.
    """
    plain = cast("Callable[..., Any]", method)
    arguments = signature(plain)

    @wraps(plain)
    def call(self: TierMembers, *args: Any, **named: Any) -> Any:
        entry_id = utf8(arguments.bind(self, *args, **named).arguments[id], id)
        return self._call(self._holding(entry_id), plain.__name__, args, named)

    return cast(
        "Callable[Concatenate[Any, _P], _R]",
        _documented(call, "the highest tier that has the entry", "there is no tier"),
    )


def _documented(call: Any, tier: str, fault: str) -> Any:
    call.__module__ = __name__
    call.__doc__ = (
        f"Call `Vault.{call.__name__}` of {tier}.\n\nRaises:\n    TierError: {fault}.\n    SeptetError: as that method."
    )
    return call
