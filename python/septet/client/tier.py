"""A remote vault as a member of a federation: its sessions, and the reads that a federation makes of each tier."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

from septet.client.steps import Steps
from septet.client.transport import ConnectionSettings, ServerCall
from septet.errors import QueryError, SeptetError, StoreBusy, Unreachable
from septet.model.entry import Entry
from septet.ranking.pool import Candidate
from septet.tiers.remote.shapes import shape_of
from septet.tiers.remote.tier import RemoteTier
from septet.vault.batch import ids_of
from septet.vault.reading import asked_model, fullest, rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.listing.queries import ListingMirror, ListingQuery, Shadowing
    from septet.model.arrays import Mask
    from septet.vault.reading import Layout

_Answer = TypeVar("_Answer")
_R = TypeVar("_R")

#: Maximum number of ids per call.
MOST_AT_ONCE = 5_000
#: Maximum number of attempts to list a vault that is written to at the same time.
MOST_ATTEMPTS = 5


class RemoteMember(ABC):
    """The calls of a federation to a remote vault (see `septet.federation.member.Member`)."""

    _settings: ConnectionSettings
    _mirror: ListingMirror | None = None
    #: True if the server embeds queries, by its last answer; True before the first.
    _last_embeds: bool = True

    @abstractmethod
    def _run(self, steps: Steps[_R]) -> _R: ...

    def vectors(self, ids: Iterable[str], model: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of entries, a row for each id; see `Vault.vectors`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        entry_ids, name = ids_of([ids] if isinstance(ids, str) else ids), asked_model(model)
        layout = fullest([self._layouts()], name, self._settings.url)
        return rows_of(entry_ids, layout, self._vectors_of(entry_ids, layout))

    # -- for a federation ----------------------------------------------------------------------------------------------

    def _as_tier(self, name: str, priority: float) -> RemoteTier:
        return RemoteTier(name, priority, self._tier_answer)

    def _clock(self) -> float:
        return time.time()

    def _embeds(self) -> bool:
        return self._last_embeds

    def _embeds_now(self) -> bool:
        try:
            about = self._ask("about")
        except SeptetError:
            return False
        self._last_embeds = about["embeds"]
        return cast("bool", about["embeds_now"])

    def _feedback_counts(self) -> Mapping[str, int]:
        return cast("Mapping[str, int]", self._ask("feedback_counts"))

    def _held(self, ids: Sequence[str]) -> frozenset[str]:
        return frozenset(id_ for part in _chunks(ids) for id_ in self._ask("held", ids=part))

    def _holds(self, ids: Sequence[str], kind: str | None = None) -> set[str]:
        return {id_ for part in _chunks(ids) for id_ in self._ask("holds", ids=part, kind=kind)}

    def _parts(self) -> Iterator[list[Entry]]:
        row, last = 0, None
        while True:
            answer = self._ask("part", row=row, last=last)
            rows, last = part_of(answer, row, self._settings.url), answer["last"]
            if not rows:
                return
            row = rows[-1].row
            yield [candidate.to_entry() for candidate in rows]

    def _layouts(self) -> Mapping[Layout, int]:
        return {(model, dimensions): count for model, dimensions, count in self._ask("layouts")}

    def _vectors_of(self, ids: Sequence[str], layout: Layout) -> dict[str, bytes]:
        blobs: dict[str, bytes] = {}
        for part in _chunks(ids):
            answer = self._ask("vectors_of", ids=part, model=layout[0], dimensions=layout[1])
            if not answer.keys() <= set(part) or any(len(blob) != 4 * layout[1] for blob in answer.values()):
                raise self._unreachable(f"vectors of other entries, or of other than {layout[1]} dimensions")
            blobs.update(answer)
        return blobs

    def _listed(
        self, query: ListingQuery[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        from septet.tiers.remote.listings import answer_of, hidden_data, query_data

        call = {"asked": query_data(query), "state": None, "hidden": None}

        def read(answer: Any) -> _Answer:
            try:
                return cast("_Answer", answer_of(answer, query))
            except QueryError as fault:
                reason = self._settings.masked(str(fault))
            raise self._unreachable(f"an invalid value: {reason}")

        if hidden is None:
            return read(self._ask("listed", **call)), None
        for _ in range(MOST_ATTEMPTS):
            mirror = self._current_mirror()
            request = {**call, "state": mirror.state, "hidden": hidden_data(hidden(mirror))}
            answer = self._tier_answer({"method": "listed", **request}, None)
            if "again" not in answer:
                return read(answer["answer"]), mirror
        raise StoreBusy(f"{self._settings.url} changed during each of {MOST_ATTEMPTS} attempts to list it: try again")

    # -- inside --------------------------------------------------------------------------------------------------------

    def _current_mirror(self) -> ListingMirror:
        from septet.tiers.remote.listings import mirror_of

        known = self._mirror
        answer = self._ask("mirror", known=None if known is None else known.state)
        if "ids" in answer:
            known = self._mirror = mirror_of(answer)
        if known is None or known.state != answer["state"]:
            raise self._unreachable("the state of a listing, without the listing")
        return known

    def _ask(self, method: str, **named: Any) -> Any:
        return answer_in(self._tier_answer({"method": method, **named}, None), self._settings.url)

    def _unreachable(self, detail: str) -> Unreachable:
        return Unreachable(f"{self._settings.url} answers with {detail}")

    def _tier_answer(self, call: Mapping[str, Any], within_s: float | None) -> Mapping[str, Any]:
        if self._settings.tier is not None:
            call = {**call, "tier": self._settings.tier}
        answer = self._run(_single(ServerCall("tier", call, within_s, shape_of(call))))
        if call["method"] == "open":
            self._last_embeds = answer.get("embeds") is True
        return cast("Mapping[str, Any]", answer)


def answer_in(answer: Mapping[str, Any], where: str) -> Any:
    """Return the answer in a reply of a tier.

    Raises:
        Unreachable: the server requests a restart, but there is no session to restart.
    """
    if "again" in answer:
        raise Unreachable(f"{where} requests a restart: {answer['again']}")
    return answer["answer"]


def part_of(answer: Mapping[str, Any], row: int, where: str) -> list[Candidate]:
    """Return a part of all entries, whose rows must be above ``row``.

    Raises:
        Unreachable: they are not; the iteration would be endless.
    """
    candidates: list[Candidate] = answer["entries"]
    rows = [row, *(candidate.row for candidate in candidates)]
    if any(after <= before for before, after in pairwise(rows)):
        raise Unreachable(f"{where} answers with rows that do not ascend")
    return candidates


def _single(call: ServerCall) -> Steps[Any]:
    return (yield call)


def _chunks(ids: Sequence[str]) -> list[list[str]]:
    unique = list(dict.fromkeys(ids))
    return [unique[start : start + MOST_AT_ONCE] for start in range(0, len(unique), MOST_AT_ONCE)]
