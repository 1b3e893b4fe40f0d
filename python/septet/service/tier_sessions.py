"""Sessions of remote tiers: kept for a short time between the requests of one search, few at once."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from septet.errors import QueryError, StoreBusy, TierError
from septet.federation.federation import MAX_PRIORITY
from septet.inputs.arguments import real, shown, utf8, whole
from septet.model.entry import MAX_ID_CHARS
from septet.model.results import Note
from septet.query.plan import Plan
from septet.tiers.protocol import SearchAgain, ServedSession
from septet.tiers.remote.plans import plans_of
from septet.tiers.remote.serving import answered, recalled
from septet.tiers.remote.tier import PROTOCOL
from septet.vault.anywhere import AnyVault
from septet.vault.following import within

if TYPE_CHECKING:
    from septet.embedding.embedder import Kind

__all__ = ["IDLE_S", "MOST_SESSIONS", "TierSessions"]

#: A session of which nothing was asked for so long is ended: it holds a read transaction.
IDLE_S = 30.0
#: So many at once; a search more is told to come again.
MOST_SESSIONS = 64
#: Tiers that are searched together.
MOST_PLACES = 10_000


@dataclass(slots=True)
class Kept:
    """A session, when it was last asked, and the lock of who asks it."""

    session: ServedSession
    asked_at: float
    lock: Lock = field(default_factory=Lock)


class TierSessions:
    """The sessions of remote tiers over one vault. Threads may share it.

    Args:
        idle_s: after so many seconds without a request a session ends.
        most: so many sessions at once.
        clock: monotonic seconds.
    """

    def __init__(
        self, *, idle_s: float = IDLE_S, most: int = MOST_SESSIONS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle_s, self._most, self._clock = idle_s, most, clock
        self._kept: dict[str, Kept] = {}
        self._lock = Lock()
        self._timer: Timer | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._kept)

    def open(self, vault: AnyVault, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a session, and recall if that is wanted.

        Raises:
            TierError: the other end is of another version, or the vault is in memory.
            StoreBusy: there are as many sessions as there may be.
            QueryError: what is asked cannot be understood. Other errors are those of a search.
        """
        if (theirs := asked.get("protocol")) != PROTOCOL:
            raise TierError(
                f"this server speaks version {PROTOCOL} of the protocol of tiers, the client {shown(theirs)}: "
                "install the same version of septet at both ends"
            )
        name = utf8(asked.get("name"), "name", QueryError, MAX_ID_CHARS)
        priority = real(asked.get("priority"), "priority", QueryError, 0, MAX_PRIORITY)
        place = whole(asked.get("place"), "place", QueryError, 0, MOST_PLACES)
        tier = vault._as_tier(name, priority)
        if not tier.crosses_threads:
            raise TierError("a vault in memory cannot be a tier of others: serve one that is in a file")
        self._end_idle()
        plans, notes = _prepared(vault, name, plans_of(asked.get("plans")))
        session = tier.open(plans, place)
        try:
            answer: dict[str, Any] = {
                "generation": session.generation,
                "standing": list(session.standing()),
                "session": self._keep(session),
                "embeds": vault._embeds(),
            }
            if asked.get("recall") is True:
                answer["recalled"] = recalled(session)
                for one in answer["recalled"]:
                    one["notes"] = [note.to_dict() for note in notes] + one["notes"]
        except BaseException:
            self._forget(session)
            session.close()
            raise
        return answer

    def ask(self, asked: Mapping[str, Any]) -> Any:
        """Return what a session answers, JSON-ready.

        Raises:
            SearchAgain: there is no such session any more.
            QueryError: what is asked cannot be understood. Other errors are those of a search.
        """
        kept = self._kept.get(str(asked.get("session")))
        if kept is None:
            raise SearchAgain("the server has ended the session")
        with kept.lock:
            if str(asked.get("session")) not in self._kept:
                raise SearchAgain("the server has ended the session")
            kept.asked_at = self._clock()
            try:
                return answered(kept.session, str(asked.get("method")), asked)
            finally:
                kept.asked_at = self._clock()

    def end(self, session: str) -> bool:
        """End a session; return whether there was one."""
        with self._lock:
            kept = self._kept.pop(session, None)
        if kept is None:
            return False
        with kept.lock:
            kept.session.close()
        return True

    def close(self) -> None:
        """End all sessions, and take no more."""
        self._closed = True
        for session in list(self._kept):
            self.end(session)
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _keep(self, session: ServedSession) -> str:
        with self._lock:
            if self._closed or len(self._kept) >= self._most:
                raise StoreBusy(f"{len(self._kept)} searches of remote tiers are going on: try again")
            name = secrets.token_urlsafe(16)
            self._kept[name] = Kept(session, self._clock())
            self._look_later()
        return name

    def _forget(self, session: ServedSession) -> None:
        with self._lock:
            self._kept = {name: kept for name, kept in self._kept.items() if kept.session is not session}

    def _look_later(self) -> None:
        if self._timer is None and not self._closed:
            self._timer = Timer(self._idle_s / 2, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        self._end_idle()
        with self._lock:
            self._timer = None
            if self._kept:
                self._look_later()

    def _end_idle(self) -> None:
        before = self._clock() - self._idle_s
        for name, kept in list(self._kept.items()):
            # One that is asked now holds its lock.
            if kept.asked_at < before and not kept.lock.locked():
                self.end(name)


def _prepared(vault: AnyVault, name: str, plans: list[Plan]) -> tuple[list[Plan], list[Note]]:
    """Return the plans as a search of the vault itself would make them: with its disk looked at, and query vectors."""
    notes: list[Note] = []
    if vault._on_search is not None:
        looks, budget = vault._on_search
        notes += (replace(note, tier=name) for note in looks.notes(within(plans[0], budget)))
    if not vault._embeds():
        return plans, notes
    from septet.embedding.attach import with_query_vectors

    # What is no question, and compared by vectors alone, is a text that is like entries.
    kind: Kind = "query" if "text" in plans[0].legs or plans[0].query.terms else "document"
    embedded = [with_query_vectors(plan, {name: vault._embeddings}, None, kind) for plan in plans]
    return embedded, [*notes, *dict.fromkeys(note for plan in embedded for note in plan.notes)]
