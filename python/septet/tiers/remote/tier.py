"""A tier whose sessions run on a server: each method is a call and returns the same values as a local session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from septet.errors import QueryError, SeptetError, Unreachable, printable
from septet.inputs.arguments import cut
from septet.listing.queries import Counted
from septet.notes import Note
from septet.query.facets import Faceted
from septet.query.filters import Filter
from septet.query.plan import SearchPlan
from septet.ranking.pool import Candidate, Pool
from septet.tiers.protocol import (
    Inspected,
    Likeness,
    Neighbours,
    Overrides,
    SearchAgain,
    TierCandidates,
    TierFacts,
    TierLost,
)
from septet.tiers.remote.answers import (
    candidates_of,
    counted_of,
    faceted_data,
    inspected_of,
    known_data,
    likeness_of,
    neighbours_of,
    overrides_of,
)
from septet.tiers.remote.packing import wholes
from septet.tiers.remote.plans import filter_data, plan_data

_Answer = TypeVar("_Answer")

#: Version of the wire format and of the parsing of queries; both ends must have the same.
PROTOCOL = 1
#: Sends a JSON-ready call, with its maximum time in seconds, None for the default. It raises `SeptetError`:
#: `Unreachable` without an answer, `Unauthorized` if the server refuses the token.
AskTier: TypeAlias = Callable[[Mapping[str, Any], "float | None"], Mapping[str, Any]]

#: Seconds that a call may outlast the deadline of its search; the search itself reports a late tier.
GRACE_S = 0.5
#: Timeout of the call that closes a session, in seconds.
CLOSE_S = 1.0
#: Maximum number of restarts of a search by one tier; the tier is dropped then.
MAX_RESTARTS = 3


class RemoteTier:
    """A vault on a server, with a name and a priority here.

    Args:
        name: the tier.
        priority: its priority.
        ask: sends a call to the server.
    """

    #: Its sessions may move from one thread to another.
    crosses_threads = True

    def __init__(self, name: str, priority: float, ask: AskTier) -> None:
        self.name, self.priority, self.ask = name, priority, ask
        #: Number of restarts that the server requested.
        self.restarts = 0

    def open(self, plans: Sequence[SearchPlan], place: int) -> RemoteSession:
        """Begin a search (see `Tier`); the first call is `candidates`."""
        return RemoteSession(self, plans, place)


class RemoteSession:
    """A batch of queries over a vault on a server, at one generation (see `Session`)."""

    def __init__(self, tier: RemoteTier, plans: Sequence[SearchPlan], place: int) -> None:
        self.tier, self.plans, self.place = tier, plans, place
        #: The generation that is read; 0 before the first answer.
        self.generation = 0
        self._standing = TierFacts({}, False)
        self._id: str | None = None
        self._has_candidates = False

    def recovers(self, fault: Exception) -> bool:
        return False

    def close(self) -> None:
        if self._id is not None:
            session, self._id = self._id, None
            with suppress(SeptetError, SearchAgain):
                self.tier.ask({"method": "close", "session": session}, CLOSE_S)

    def standing(self) -> TierFacts:
        return self._standing

    def candidates(self) -> Sequence[TierCandidates]:
        candidates = self._begin(candidates=True).get("recalled")
        results = self._read(lambda: [candidates_of(result, self.place) for result in candidates or ()])
        if len(results) != len(self.plans):
            raise self._unreachable(f"{len(results)} of {len(self.plans)} queries")
        results = self._read(lambda: [self._checked(result, plan) for result, plan in zip(results, self.plans)])
        self._has_candidates = True
        return results

    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        return self._ask_rows("ids", rows)

    def groups(self, rows: Sequence[int]) -> Sequence[str]:
        return self._ask_rows("groups", rows)

    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        most = len(self.plans[query].profile.graph.proximity)

        def read(data: Any) -> Neighbours:
            near = neighbours_of(data, self.place)
            self._check_ids(near.pool)
            if (len(near.known), len(near.steps)) != (len(known), len(near.pool)):
                raise QueryError("wanted steps for each candidate")
            if max(near.known, default=0) > most or max(near.steps, default=0) > most:
                raise QueryError(f"wanted at most {most} steps")
            return near

        call = {"query": query, "anchors": list(anchors), "known": known_data(known)}
        return self._ask("neighbours", read, **call)

    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        def read(data: Any) -> Overrides:
            over = overrides_of(data, self.place)
            self._check_ids(over.pool)
            return over

        return self._ask("overrides", read, query=query, ids=list(ids))

    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        def read(data: Any) -> Sequence[Candidate]:
            if [row.row for row in data] != list(rows):
                raise QueryError("wanted the entries of all rows, in their order")
            return cast("Sequence[Candidate]", data)

        return self._ask("read", read, rows=wholes(rows))

    def inspect(self, entry_id: str) -> Inspected | None:
        return self._ask("inspect", lambda data: None if data is None else inspected_of(data), id=entry_id)

    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        def read(data: Any) -> Sequence[NDArray[np.float64]]:
            if [len(row) for row in data] != [len(rows)] * len(paths):
                raise QueryError("wanted a number for each row and path")
            return cast("Sequence[NDArray[np.float64]]", data)

        return self._ask("numbers", read, rows=wholes(rows), paths=[list(path) for path in paths])

    def places(self, rows: Sequence[int]) -> Sequence[tuple[str, int, int, str]]:
        return self._ask_rows("places", rows)

    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        def read(data: Any) -> tuple[str, NDArray[np.float64] | None]:
            model, values = data
            return model, None if values is None else values.reshape(len(rows), -1)

        return self._ask("vectors", read, query=query, rows=wholes(rows))

    def likeness(self, entry_id: str, model: str | None) -> Likeness | None:
        return self._ask("likeness", lambda data: None if data is None else likeness_of(data), id=entry_id, model=model)

    def facets(self, query: int, fields: Sequence[Faceted]) -> Sequence[Counted]:
        def read(data: Any) -> Sequence[Counted]:
            if len(data) != len(fields):
                raise QueryError(f"wanted {len(fields)} fields")
            return [counted_of(row, what) for row, what in zip(data, fields)]

        return self._ask("facets", read, query=query, fields=faceted_data(fields))

    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        def read(data: Any) -> Sequence[bool]:
            if len(data) != len(filters):
                raise QueryError(f"wanted {len(filters)} answers")
            return list(data)

        return self._ask("any_passing", read, filters=[filter_data(item) for item in filters])

    # -- inside ------------------------------------------------------------------------------------------------------

    def _begin(self, *, candidates: bool) -> Mapping[str, Any]:
        answer = self._send(
            {
                "method": "open",
                "protocol": PROTOCOL,
                "name": self.tier.name,
                "priority": self.tier.priority,
                "place": self.place,
                "recall": candidates,
                "plans": plan_data(self.plans),
            }
        )
        self._id, self.generation = answer["session"], answer["generation"]
        self._standing = TierFacts(*answer["standing"])
        return answer

    def _checked(self, result: TierCandidates, plan: SearchPlan) -> TierCandidates:
        """Return the result of a query, with a note instead of a vector mismatch of the server.

        Raises:
            QueryError: the result does not fit the query.
        """
        self._check_ids(result.pool)
        if result.step is not None and result.step >= len(plan.query.steps):
            raise QueryError(f"step {result.step} of {len(plan.query.steps)}")
        if result.mismatch is None or plan.vector is not None:
            return result
        # The server embedded the query: the mismatch is no error of the caller.
        note = Note("vector_mismatch", str(result.mismatch), "re-embed the vault of the server", self.tier.name)
        return result._replace(mismatch=None, notes=[*result.notes, note])

    def _check_ids(self, pool: Pool) -> None:
        if len(pool) and pool.ids is None and self.plans[0].needs_ids:
            raise QueryError("candidates without ids")

    def _ask_rows(self, method: str, rows: Sequence[int]) -> Sequence[Any]:
        """Return the answer for each row."""

        def read(data: Any) -> Sequence[Any]:
            if len(data) != len(rows):
                raise QueryError(f"wanted an answer for each of {len(rows)} rows")
            return cast("Sequence[Any]", data)

        return self._ask(method, read, rows=wholes(rows))

    def _ask(self, method: str, read: Callable[[Any], _Answer], **fields: Any) -> _Answer:
        try:
            if self._id is None:
                self._begin(candidates=False)
            answer = self._send({"method": method, "session": self._id, **fields})
            return self._read(lambda: read(answer["answer"]))
        except SeptetError as fault:
            # Its candidates are unusable now, so the search loses the tier.
            if self._has_candidates:
                raise TierLost(self.place, fault) from fault
            raise

    def _send(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        deadline = self.plans[0].deadline
        answer = self.tier.ask(call, None if deadline is None else deadline.left_s + GRACE_S)
        if "again" in answer:
            self.tier.restarts += 1
            if self.tier.restarts >= MAX_RESTARTS:
                raise self._unreachable(f"{MAX_RESTARTS} restarts of one search")
            raise SearchAgain(answer["again"])
        return answer

    def _read(self, read: Callable[[], _Answer]) -> _Answer:
        """Return the parsed answer; one that does not fit the call is a failure of the tier."""
        try:
            return read()
        except ValueError as fault:
            reason = printable(cut(str(fault)))
        raise self._unreachable(f"an invalid value: {reason}")

    def _unreachable(self, detail: str) -> Unreachable:
        return Unreachable(f"tier {self.tier.name}: the server answers with {detail}")
