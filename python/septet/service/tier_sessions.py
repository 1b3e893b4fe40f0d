"""Sessions of remote tiers: kept between the requests of one search, limited in time and number."""

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
from septet.notes import Note
from septet.query.plan import SearchPlan
from septet.tiers.protocol import SearchAgain, ServedSession
from septet.tiers.remote.answers import answered, candidates
from septet.tiers.remote.plans import plans_of
from septet.tiers.remote.tier import PROTOCOL
from septet.vault.anywhere import AnyVault
from septet.vault.following import within

if TYPE_CHECKING:
    from septet.embedding.embedder import Kind

#: Idle time after which a session ends, in seconds: it holds a read transaction.
IDLE_S = 30.0
#: Maximum number of sessions; a further search must retry.
MOST_SESSIONS = 64
#: Maximum number of tiers searched together.
MOST_PLACES = 10_000


@dataclass(slots=True)
class OpenSession:
    """A session, its last use, and the lock of its calls."""

    session: ServedSession
    used_at: float
    lock: Lock = field(default_factory=Lock)


class TierSessions:
    """The sessions of remote tiers over one vault; thread-safe.

    Args:
        idle_s: idle time after which a session ends, in seconds.
        most: maximum number of sessions.
        clock: monotonic seconds.
    """

    def __init__(
        self, *, idle_s: float = IDLE_S, most: int = MOST_SESSIONS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle_s, self._most, self._clock = idle_s, most, clock
        self._sessions: dict[str, OpenSession] = {}
        self._lock = Lock()
        self._timer: Timer | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, vault: AnyVault, call: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a session, and return its candidates if requested.

        Raises:
            TierError: the client has another version, or the vault is in memory.
            StoreBusy: the maximum number of sessions is open.
            QueryError: the call is invalid. Other errors are those of a search.
        """
        if (version := call.get("protocol")) != PROTOCOL:
            raise TierError(
                f"this server speaks version {PROTOCOL} of the protocol of tiers, the client {shown(version)}: "
                "install the same version of septet at both ends"
            )
        name = utf8(call.get("name"), "name", QueryError, MAX_ID_CHARS)
        priority = real(call.get("priority"), "priority", QueryError, 0, MAX_PRIORITY)
        place = whole(call.get("place"), "place", QueryError, 0, MOST_PLACES)
        tier = vault._as_tier(name, priority)
        if not tier.crosses_threads:
            raise TierError("a vault in memory cannot be a tier of others: serve one in a file")
        self._end_idle()
        plans, notes = _prepared(vault, name, plans_of(call.get("plans")))
        session = tier.open(plans, place)
        try:
            answer: dict[str, Any] = {
                "generation": session.generation,
                "standing": list(session.standing()),
                "session": self._register(session),
                "embeds": vault._embeds(),
            }
            if call.get("recall") is True:
                answer["recalled"] = candidates(session)
                for item in answer["recalled"]:
                    item["notes"] = [note.to_dict() for note in notes] + item["notes"]
        except BaseException:
            self._forget(session)
            session.close()
            raise
        return answer

    def ask(self, call: Mapping[str, Any]) -> Any:
        """Return the answer of a session, JSON-ready.

        Raises:
            SearchAgain: the session has ended.
            QueryError: the call is invalid. Other errors are those of a search.
        """
        entry = self._sessions.get(str(call.get("session")))
        if entry is None:
            raise SearchAgain("the server has ended the session")
        with entry.lock:
            if str(call.get("session")) not in self._sessions:
                raise SearchAgain("the server has ended the session")
            entry.used_at = self._clock()
            try:
                return answered(entry.session, str(call.get("method")), call)
            finally:
                entry.used_at = self._clock()

    def end(self, session: str) -> bool:
        """End a session; return True if it existed."""
        with self._lock:
            entry = self._sessions.pop(session, None)
        if entry is None:
            return False
        with entry.lock:
            entry.session.close()
        return True

    def close(self) -> None:
        """End all sessions and accept no more."""
        with self._lock:
            self._closed = True
        for session in list(self._sessions):
            self.end(session)
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _register(self, session: ServedSession) -> str:
        with self._lock:
            if self._closed or len(self._sessions) >= self._most:
                raise StoreBusy(f"{len(self._sessions)} searches of remote tiers are running: try again")
            name = secrets.token_urlsafe(16)
            self._sessions[name] = OpenSession(session, self._clock())
            self._schedule_check()
        return name

    def _forget(self, session: ServedSession) -> None:
        with self._lock:
            self._sessions = {name: entry for name, entry in self._sessions.items() if entry.session is not session}

    def _schedule_check(self) -> None:
        if self._timer is None and not self._closed:
            self._timer = Timer(self._idle_s / 2, self._check_idle)
            self._timer.daemon = True
            self._timer.start()

    def _check_idle(self) -> None:
        self._end_idle()
        with self._lock:
            self._timer = None
            if self._sessions:
                self._schedule_check()

    def _end_idle(self) -> None:
        oldest = self._clock() - self._idle_s
        for name, entry in list(self._sessions.items()):
            # A running call holds the lock.
            if entry.used_at < oldest and not entry.lock.locked():
                self.end(name)


def _prepared(vault: AnyVault, name: str, plans: list[SearchPlan]) -> tuple[list[SearchPlan], list[Note]]:
    """Return the plans as a search of this vault would make them: after a check of its folders, with query vectors."""
    notes: list[Note] = []
    if vault._on_search is not None:
        looks, budget = vault._on_search
        notes += (replace(note, tier=name) for note in looks.notes(within(plans[0], budget)))
    if not vault._embeds():
        return plans, notes
    from septet.embedding.attach import with_query_vectors

    # A text without query terms, compared only by vectors, is a document to find similar entries to.
    kind: Kind = "query" if "text" in plans[0].legs or plans[0].query.terms else "document"
    embedded = [with_query_vectors(plan, {name: vault._embeddings}, None, kind) for plan in plans]
    return embedded, [*notes, *dict.fromkeys(note for plan in embedded for note in plan.notes)]
