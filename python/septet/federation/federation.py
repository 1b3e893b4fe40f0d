"""Federation: several vaults searched as one, in tiers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from septet._core import Lock
from septet.errors import SeptetError, TierError
from septet.federation.member import Member
from septet.federation.reading import ReadableTiers
from septet.federation.writing import WritableTiers
from septet.inputs.arguments import called, clock_time, real, shown, utf8
from septet.model.entry import MAX_ID_CHARS
from septet.profiles import ProfileLike, resolve
from septet.profiles.builtin import CONNECTED_PRIORITY, TIER_PRIORITIES
from septet.query.plan import SearchPlan
from septet.search.context import GivesContext
from septet.search.searchable import Searchable
from septet.search.threads import TierThreads
from septet.system.forks import OfOneProcess
from septet.tiers import Tier
from septet.vault.anywhere import AnyVault, Retrievable
from septet.vault.following import within
from septet.vault.near import Similar
from septet.vault.vault import Vault
from septet.watch.hooks import watch_of
from septet.watch.watched import watched

if TYPE_CHECKING:
    from septet.embedding.embeddings import Embeddings
    from septet.watch.events import SearchEvent, WriteEvent

MAX_PRIORITY = 2.0


@watched
class Federation(ReadableTiers, WritableTiers, Similar, GivesContext, Retrievable, OfOneProcess):
    """Several vaults, each a tier with a priority, searched together; slow ones in parallel on threads.

    If tiers have entries with the same id, the copy of the tier with the highest priority replaces the others before
    any cut, even if only a lower tier's copy matches; copies outside their validity do not count. Ties of scores are
    ordered by priority. Otherwise priority does not change a score: full-text scores are put on one scale first, so an
    exact match in a small vault is not buried under many weak matches of a large one.

    Args:
        tiers: vaults by tier name: a `Vault`, a `PostgresVault`, or a `Client` of a server of Septet.
        weights: priorities by tier name, 0 to 2; the defaults are agent 1.0, project 0.8, team 0.6, others 0.5.
        clock: returns the current time in epoch seconds; None uses the clock of the highest tier.
        profile: default ranking of searches.
        on_search: as for `Vault`; hooks of the tiers are not called for searches of the federation.
        on_write: as for `Vault`; hooks of the written tier are called too.
        telemetry: as for `Vault`.

    Raises:
        TierError: ``tiers`` is not a dict of vaults and clients, or a priority is out of range or for an unknown tier.
        ProfileError: an unknown or malformed profile.
    """

    _elsewhere = "open its vaults in the other process and make one of them"

    def __init__(
        self,
        tiers: Mapping[str, Member],
        weights: Mapping[str, float] | None = None,
        *,
        clock: Callable[[], float] | None = None,
        profile: ProfileLike = "septet",
        on_search: Callable[[SearchEvent], object] | None = None,
        on_write: Callable[[WriteEvent], object] | None = None,
        telemetry: bool | None = None,
    ) -> None:
        self._given_clock = called(clock, "clock", TierError)
        self._watch = watch_of(on_search, on_write, telemetry, TierError)
        self._profile = resolve(profile)
        #: Held while tiers are connected and disconnected.
        self._own = Lock()
        self._vaults: dict[str, tuple[Member, float]] = {}
        self._threads = TierThreads()
        for argument, value in (("tiers", tiers), ("weights", weights)):
            if not isinstance(value, Mapping) and (value is not None or argument == "tiers"):
                raise TierError(f"{argument} is {shown(value)}: wanted a dict by tier name")
        priorities = {} if weights is None else dict(weights)
        for name, vault in tiers.items():
            self.connect(name, vault, priorities.pop(name, TIER_PRIORITIES.get(name, CONNECTED_PRIORITY)))
        if priorities:
            known = ", ".join(map(shown, self._vaults))
            raise TierError(f"unknown tier {shown(next(iter(priorities)))} in weights; available: {known}")

    def _clock(self) -> float:
        if self._given_clock is not None:
            return clock_time(self._given_clock(), TierError)
        return next((v._clock() for v in self._by_priority()), time.time())

    def __repr__(self) -> str:
        return f"Federation({self._vaults!r})"

    def __enter__(self) -> Federation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the threads that search the tiers. The vaults stay open: they belong to the caller."""
        self._threads.close()

    def connect(self, name: str, vault: Member, priority: float = CONNECTED_PRIORITY) -> None:
        """Add a `Vault`, a `PostgresVault` or a `Client` as a tier.

        Raises:
            TierError: the name is taken, ``vault`` is neither a vault nor a `Client`, or the priority is outside 0 to
                2.
        """
        name = utf8(name, "tier name", TierError, MAX_ID_CHARS)
        if not name.strip():
            raise TierError(f"tier name is {shown(name)}: wanted a non-empty name")
        if isinstance(vault, type) or not isinstance(vault, Member):
            raise TierError(f"tier {shown(name)} is {shown(vault)}: wanted an open Vault, or a Client")
        place = real(priority, f"priority of {shown(name)}", TierError, 0, MAX_PRIORITY)
        with self._own.hold():
            if name in self._vaults:
                raise TierError(f"tier {shown(name)} exists already: disconnect it first, or choose another name")
            # A new dict, since searches read the one before.
            self._vaults = {**self._vaults, name: (vault, place)}
        if isinstance(vault, Vault) and vault._on_search is not None:
            # Federations without a tier that syncs before searches pay nothing.
            self.__dict__["_plan"] = self._plan_in_step

    def disconnect(self, name: str) -> bool:
        """Remove a tier; return True if it existed. Its vault stays open.

        Raises:
            TierError: the name is not text.
        """
        name = utf8(name, "tier name", TierError)
        with self._own.hold():
            known = name in self._vaults
            self._vaults = {n: v for n, v in self._vaults.items() if n != name}
        return known

    def tier(self, name: str) -> Member:
        """Return the vault of a tier, to read or to write this tier alone: ``federation.tier("team").add(...)``.

        Raises:
            TierError: there is no such tier.
        """
        return self._named(name)

    def _alone(self, name: str) -> Federation:
        """Return a federation of one of the tiers, whose hits have its name.

        Raises:
            TierError: there is no such tier.
        """
        alone = Federation({name: self._named(name)}, clock=self._given_clock, profile=self._profile)
        alone._watch = self._watch
        return alone

    def tiers(self) -> dict[str, float]:
        """Return the priorities by tier name, highest first.

        Raises:
            TierError: there is no tier.
        """
        return {t.name: t.priority for t in self._tiers()}

    def _tiers(self) -> Sequence[Tier]:
        tiers = [vault._as_tier(name, priority) for name, (vault, priority) in self._vaults.items()]
        if not tiers:
            raise TierError("the federation has no tier: connect a vault first")
        return sorted(tiers, key=lambda t: -t.priority)

    def _beside(self, path: str) -> Vault:
        for vault in self._here().values():
            opened: Vault = vault._beside(path)
            return opened
        return Vault(path, read_only=True, clock=self._clock)

    def _embeds(self) -> bool:
        return any(vault._embeds() for vault, _ in self._vaults.values())

    def _embeddings_of(self) -> Mapping[str, Embeddings]:
        return {name: vault._embeddings for name, vault in self._here().items()}

    def _answering(self) -> bool:
        away = (vault for vault, _ in self._vaults.values() if not isinstance(vault, AnyVault))
        return super()._answering() or any(vault._embeds_now() for vault in away)

    def _feedback_counts(self) -> Mapping[str, int]:
        total: Counter[str] = Counter()
        for vault in self._by_priority():
            # The search itself notes a tier that fails.
            with suppress(SeptetError):
                total.update(vault._feedback_counts())
        return total

    def _tier_threads(self) -> TierThreads:
        return self._threads

    # -- sync before searches ----------------------------------------------------------------------------------------

    def _plan_in_step(self, query: str, options: Mapping[str, Any], method: str = "search") -> SearchPlan:
        plan = Searchable._plan(self, query, options, method)
        following = [
            (name, vault._on_search)
            for name, vault in self._here().items()
            if vault._on_search is not None and (plan.tiers is None or name in plan.tiers)
        ]
        if not following:
            return plan
        # Start all syncs before waiting for the first.
        began = time.monotonic()
        requests = [(name, looks, looks.ask(), within(plan, budget)) for name, (looks, budget) in following]
        notes = [
            replace(note, tier=name)
            for name, looks, look, budget in requests
            for note in looks.notes_of(look, max(0.0, began + budget - time.monotonic()))
        ]
        return plan._replace(notes=(*plan.notes, *notes))
