"""A tier whose sessions are held by a server: what a search asks of it travels, and comes back as the same values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet.errors import QueryError, SeptetError, TierError, Unauthorized, Unreachable
from septet.listing.counting import Counted
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
from septet.tiers.remote.packing import floats_of, wholes
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
        answer = self._begin(recall=True)
        found = self._read(lambda: [recalled_of(one, self.place) for one in answer["recalled"]])
        if len(found) != len(self.plans):
            raise Unreachable(f"tier {self.tier.name}: the server answered {len(found)} of {len(self.plans)} queries")
        self._recalled = True
        return found

    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of candidates."""
        return self._ask("ids", lambda found: list(found), rows=wholes(rows))

    def groups(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of the parents of candidates, their own where they have none."""
        return self._ask("groups", lambda found: list(found), rows=wholes(rows))

    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        """Walk the links from the anchors."""
        asked = {"query": query, "anchors": list(anchors), "known": known_data(known)}
        return self._ask("neighbours", lambda found: neighbours_of(found, self.place), **asked)

    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        """Say which of the ids the tier holds, and bring those that pass the filters."""
        return self._ask("overrides", lambda found: overrides_of(found, self.place), query=query, ids=list(ids))

    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Return whole candidates in the order of the rows."""
        return self._ask("read", lambda found: [Candidate(*one) for one in found], rows=wholes(rows))

    def inspect(self, entry_id: str) -> Inspected | None:
        """Return how an entry fares."""
        return self._ask("inspect", lambda found: None if found is None else inspected_of(found), id=entry_id)

    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        """Return for each path into attrs the numbers of candidates ``(m,)``, NaN where there is none."""
        asked = {"rows": wholes(rows), "paths": [list(path) for path in paths]}
        return self._ask("numbers", lambda found: [floats_of(one) for one in found], **asked)

    def places(self, rows: Sequence[int]) -> Sequence[tuple[str, int, int, str]]:
        """Return path, first and last line and id of candidates."""
        return self._ask(
            "places", lambda found: [(path, first, last, i) for path, first, last, i in found], rows=wholes(rows)
        )

    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        """Return the model of the vectors that queries are compared with, and those of candidates, NaN without one."""

        def read(found: Any) -> tuple[str, NDArray[np.float64] | None]:
            model, values = found
            return model, None if values is None else floats_of(values).reshape(len(rows), -1)

        return self._ask("vectors", read, query=query, rows=wholes(rows))

    def likeness(self, entry_id: str, model: str | None) -> Likeness | None:
        """Return what entries like one are compared with, None when the tier does not hold it."""
        return self._ask(
            "likeness", lambda found: None if found is None else likeness_of(found), id=entry_id, model=model
        )

    def facets(self, query: int, asked: Sequence[Faceted]) -> Sequence[Counted]:
        """Return by values of fields how many entries match a query and pass the filters."""
        fields = faceted_data(asked)
        return self._ask("facets", lambda found: [counted_of(one) for one in found], query=query, fields=fields)

    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        """Say for each filter whether an entry passes it."""
        asked = [filter_data(one) for one in filters]
        return self._ask("any_passing", lambda found: [bool(passed) for passed in found], filters=asked)

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
        self._id, self.generation, self._standing = self._read(
            lambda: (str(answer["session"]), int(answer["generation"]), Standing(*answer["standing"]))
        )
        return answer

    def _ask(self, method: str, read: Callable[[Any], _Answer], **asked: Any) -> _Answer:
        try:
            if self._id is None:
                self._begin(recall=False)
            answer = self._sent({"method": method, "session": self._id, **asked})
            return self._read(lambda: read(answer["answer"]))
        except (Unreachable, Unauthorized) as fault:
            if self._recalled:
                raise TierLost(self.place, fault) from fault
            raise

    def _sent(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        deadline = self.plans[0].deadline
        answer = self.tier.ask(call, None if deadline is None else deadline.left_s + GRACE_S)
        if "again" in answer:
            raise SearchAgain(str(answer["again"]))
        return answer

    def _read(self, read: Callable[[], _Answer]) -> _Answer:
        """Return what an answer says; one that is none is that of no server of this version."""
        try:
            return read()
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as fault:
            if isinstance(fault, SeptetError) and not isinstance(fault, (QueryError, TierError)):
                raise
            raise Unreachable(f"tier {self.tier.name}: the server's answer cannot be understood") from fault
