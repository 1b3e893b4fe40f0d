"""A tier whose sessions are held by a server: what a search asks of it travels, and comes back as the same values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from septet.errors import QueryError, SeptetError, Unreachable
from septet.inputs.arguments import cut, printable
from septet.listing.counting import Counted
from septet.model.results import Note
from septet.query.facets import Faceted
from septet.query.filters import Filter
from septet.query.plan import Plan
from septet.ranking.pool import Candidate, Pool
from septet.tiers.protocol import Inspected, Likeness, Neighbours, Overrides, Recalled, SearchAgain, Standing, TierLost
from septet.tiers.remote.answers import (
    counted_of,
    faceted_data,
    inspected_of,
    known_data,
    likeness_of,
    neighbours_of,
    overrides_of,
    recalled_of,
)
from septet.tiers.remote.packing import wholes
from septet.tiers.remote.plans import filter_data, plan_data

__all__ = ["PROTOCOL", "AskTier", "RemoteSession", "RemoteTier"]

_Answer = TypeVar("_Answer")

#: What both ends must agree in: raised with every change of what travels, or of how queries are understood.
PROTOCOL = 1
#: Asks the server: a JSON-ready call and the seconds it may take, None for the usual time. It raises `SeptetError`, of
#: which `Unreachable` says that the server did not answer, `Unauthorized` that it refuses the token.
AskTier: TypeAlias = Callable[[Mapping[str, Any], "float | None"], Mapping[str, Any]]

#: A tier that is late is told so by the search; its own call ends so many seconds after it.
GRACE_S = 0.5
#: How long the end of a session may take.
CLOSE_S = 1.0
#: So often a tier may want the search to begin anew before it is left out.
MOST_AGAINS = 3


class RemoteTier:
    """A vault that a server holds, with a name and a priority here.

    Args:
        name: the tier.
        priority: its priority.
        ask: how the server is asked.
    """

    #: Its sessions may be used by one thread after another.
    crosses_threads = True

    def __init__(self, name: str, priority: float, ask: AskTier) -> None:
        self.name, self.priority, self.ask = name, priority, ask
        #: How often the server wanted the search to begin anew.
        self.agains = 0

    def open(self, plans: Sequence[Plan], place: int) -> RemoteSession:
        """Begin a search (see `Tier`); the server is asked when it recalls."""
        return RemoteSession(self, plans, place)


class RemoteSession:
    """A batch of queries over a vault that a server holds, at one generation (see `Session`)."""

    def __init__(self, tier: RemoteTier, plans: Sequence[Plan], place: int) -> None:
        self.tier, self.plans, self.place = tier, plans, place
        #: The generation that is read; 0 before the server was asked.
        self.generation = 0
        self._standing = Standing({}, False)
        self._id: str | None = None
        self._recalled = False

    def recovers(self, fault: Exception) -> bool:
        """Say that an error stays (see `Session`)."""
        return False

    def close(self) -> None:
        """Have the server end the session; one that cannot be asked ends it by itself."""
        if self._id is not None:
            ended, self._id = self._id, None
            with suppress(SeptetError, SearchAgain):
                self.tier.ask({"method": "close", "session": ended}, CLOSE_S)

    def standing(self) -> Standing:
        """Return what ranking needs to know of the tier."""
        return self._standing

    def recall(self) -> Sequence[Recalled]:
        """Return the candidates of each query."""
        recalled = self._begin(recall=True).get("recalled")
        found = self._read(lambda: [recalled_of(one, self.place) for one in recalled or ()])
        if len(found) != len(self.plans):
            raise self._wrong(f"{len(found)} of {len(self.plans)} queries")
        found = self._read(lambda: [self._fitting(one, plan) for one, plan in zip(found, self.plans)])
        self._recalled = True
        return found

    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of candidates."""
        return self._each("ids", rows)

    def groups(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of the parents of candidates, their own where they have none."""
        return self._each("groups", rows)

    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        """Walk the links from the anchors."""
        most = len(self.plans[query].profile.graph.proximity)

        def read(found: Any) -> Neighbours:
            near = neighbours_of(found, self.place)
            self._with_ids(near.pool)
            if (len(near.known), len(near.steps)) != (len(known), len(near.pool)):
                raise QueryError("steps for each candidate are wanted")
            if max(near.known, default=0) > most or max(near.steps, default=0) > most:
                raise QueryError(f"a walk has at most {most} steps")
            return near

        asked = {"query": query, "anchors": list(anchors), "known": known_data(known)}
        return self._ask("neighbours", read, **asked)

    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        """Say which of the ids the tier holds, and bring those that pass the filters."""

        def read(found: Any) -> Overrides:
            over = overrides_of(found, self.place)
            self._with_ids(over.pool)
            return over

        return self._ask("overrides", read, query=query, ids=list(ids))

    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Return whole candidates in the order of the rows."""

        def read(found: Any) -> Sequence[Candidate]:
            if [one.row for one in found] != list(rows):
                raise QueryError("the entries of all rows are wanted, in their order")
            return cast("Sequence[Candidate]", found)

        return self._ask("read", read, rows=wholes(rows))

    def inspect(self, entry_id: str) -> Inspected | None:
        """Return how an entry fares."""
        return self._ask("inspect", lambda found: None if found is None else inspected_of(found), id=entry_id)

    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        """Return for each path into attrs the numbers of candidates ``(m,)``, NaN where there is none."""

        def read(found: Any) -> Sequence[NDArray[np.float64]]:
            if [len(one) for one in found] != [len(rows)] * len(paths):
                raise QueryError("a number for each row and path is wanted")
            return cast("Sequence[NDArray[np.float64]]", found)

        return self._ask("numbers", read, rows=wholes(rows), paths=[list(path) for path in paths])

    def places(self, rows: Sequence[int]) -> Sequence[tuple[str, int, int, str]]:
        """Return path, first and last line and id of candidates."""
        return self._each("places", rows)

    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        """Return the model of the vectors that queries are compared with, and those of candidates, NaN without one."""

        def read(found: Any) -> tuple[str, NDArray[np.float64] | None]:
            model, values = found
            return model, None if values is None else values.reshape(len(rows), -1)

        return self._ask("vectors", read, query=query, rows=wholes(rows))

    def likeness(self, entry_id: str, model: str | None) -> Likeness | None:
        """Return what entries like one are compared with, None when the tier does not hold it."""
        return self._ask(
            "likeness", lambda found: None if found is None else likeness_of(found), id=entry_id, model=model
        )

    def facets(self, query: int, asked: Sequence[Faceted]) -> Sequence[Counted]:
        """Return by values of fields how many entries match a query and pass the filters."""

        def read(found: Any) -> Sequence[Counted]:
            if len(found) != len(asked):
                raise QueryError(f"{len(asked)} fields are wanted")
            return [counted_of(one, what) for one, what in zip(found, asked)]

        return self._ask("facets", read, query=query, fields=faceted_data(asked))

    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        """Say for each filter whether an entry passes it."""

        def read(found: Any) -> Sequence[bool]:
            if len(found) != len(filters):
                raise QueryError(f"{len(filters)} answers are wanted")
            return list(found)

        return self._ask("any_passing", read, filters=[filter_data(one) for one in filters])

    # -- inside ------------------------------------------------------------------------------------------------------

    def _begin(self, *, recall: bool) -> Mapping[str, Any]:
        answer = self._sent(
            {
                "method": "open",
                "protocol": PROTOCOL,
                "name": self.tier.name,
                "priority": self.tier.priority,
                "place": self.place,
                "recall": recall,
                "plans": plan_data(self.plans),
            }
        )
        self._id, self.generation = answer["session"], answer["generation"]
        self._standing = Standing(*answer["standing"])
        return answer

    def _fitting(self, found: Recalled, plan: Plan) -> Recalled:
        """Return what was recalled for a query.

        Raises:
            QueryError: it does not fit to the query.
        """
        self._with_ids(found.pool)
        if found.step is not None and found.step >= len(plan.query.steps):
            raise QueryError(f"step {found.step} of {len(plan.query.steps)}")
        if found.mismatch is None or plan.vector is not None:
            return found
        # The server embedded the query: that is no mistake of the caller's.
        note = Note("vector_mismatch", str(found.mismatch), "embed the vault of the server anew", self.tier.name)
        return found._replace(mismatch=None, notes=[*found.notes, note])

    def _with_ids(self, pool: Pool) -> None:
        if len(pool) and pool.ids is None and self.plans[0].needs_ids:
            raise QueryError("candidates without ids")

    def _each(self, method: str, rows: Sequence[int]) -> Sequence[Any]:
        """Return what is asked of each row."""

        def read(found: Any) -> Sequence[Any]:
            if len(found) != len(rows):
                raise QueryError(f"an answer for each of {len(rows)} rows is wanted")
            return cast("Sequence[Any]", found)

        return self._ask(method, read, rows=wholes(rows))

    def _ask(self, method: str, read: Callable[[Any], _Answer], **asked: Any) -> _Answer:
        try:
            if self._id is None:
                self._begin(recall=False)
            answer = self._sent({"method": method, "session": self._id, **asked})
            return self._read(lambda: read(answer["answer"]))
        except SeptetError as fault:
            # Whatever it says now: what it recalled is of no use.
            if self._recalled:
                raise TierLost(self.place, fault) from fault
            raise

    def _sent(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        deadline = self.plans[0].deadline
        answer = self.tier.ask(call, None if deadline is None else deadline.left_s + GRACE_S)
        if "again" in answer:
            self.tier.agains += 1
            if self.tier.agains >= MOST_AGAINS:
                raise self._wrong("a search that has to begin anew, again and again")
            raise SearchAgain(answer["again"])
        return answer

    def _read(self, read: Callable[[], _Answer]) -> _Answer:
        """Return what an answer says; one that does not fit to what was asked is a failure of the tier."""
        try:
            return read()
        except ValueError as fault:
            said = printable(cut(str(fault)))
        raise self._wrong(f"what does not fit: {said}")

    def _wrong(self, what: str) -> Unreachable:
        return Unreachable(f"tier {self.tier.name}: the server answers with {what}")
