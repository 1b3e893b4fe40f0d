"""A remote vault as a member of a federation: its sessions, and reads that a federation makes of each tier."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

from septet.client.steps import Steps
from septet.client.transport import Ask, Settings
from septet.errors import QueryError, SeptetError, StoreBusy, Unreachable
from septet.model.entry import Entry
from septet.ranking.pool import Candidate
from septet.tiers.remote.shapes import shape_of
from septet.tiers.remote.tier import RemoteTier
from septet.vault.batch import ids_of
from septet.vault.vectors import asked_model, fullest, rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.listing.asked import AskedListing
    from septet.listing.shadows import Mirror, Shadowing
    from septet.sqlite.snapshot.arrays import Mask
    from septet.vault.vectors import Layout

__all__ = ["RemoteMember", "part_of", "told"]

_Answer = TypeVar("_Answer")
_R = TypeVar("_R")

#: So many ids one call names.
MOST_AT_ONCE = 5_000
#: A listing that was written while it was asked is asked again, so often.
MOST_ATTEMPTS = 5


class RemoteMember(ABC):
    """What a federation asks of a remote vault (see `septet.federation.member.Member`)."""

    _settings: Settings
    _mirror: Mirror | None = None
    #: Whether the server embeds queries, as it said last; until it has, it may.
    _said_embeds: bool = True

    @abstractmethod
    def _take(self, steps: Steps[_R]) -> _R: ...

    def vectors(self, ids: Iterable[str], model: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of entries, a row for each id; see `Vault.vectors`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        wanted, name = ids_of([ids] if isinstance(ids, str) else ids), asked_model(model)
        layout = fullest([self._layouts()], name, self._settings.url)
        return rows_of(wanted, layout, self._vectors_of(wanted, layout))

    # -- for a federation ----------------------------------------------------------------------------------------------

    def _as_tier(self, name: str, priority: float) -> RemoteTier:
        return RemoteTier(name, priority, self._tier_answer)

    def _clock(self) -> float:
        return time.time()

    def _embeds(self) -> bool:
        return self._said_embeds

    def _embeds_now(self) -> bool:
        try:
            about = self._asked("about")
        except SeptetError:
            return False
        self._said_embeds = about["embeds"]
        return cast("bool", about["embeds_now"])

    def _feedback_counts(self) -> Mapping[str, int]:
        return cast("Mapping[str, int]", self._asked("feedback_counts"))

    def _held(self, ids: Sequence[str]) -> frozenset[str]:
        return frozenset(one for part in _parted(ids) for one in self._asked("held", ids=part))

    def _holds(self, ids: Sequence[str], kind: str | None = None) -> set[str]:
        return {one for part in _parted(ids) for one in self._asked("holds", ids=part, kind=kind)}

    def _parts(self) -> Iterator[list[Entry]]:
        row, last = 0, None
        while True:
            answer = self._asked("part", row=row, last=last)
            found, last = part_of(answer, row, self._settings.url), answer["last"]
            if not found:
                return
            row = found[-1].row
            yield [one.to_entry() for one in found]

    def _layouts(self) -> Mapping[Layout, int]:
        return {(model, dimensions): count for model, dimensions, count in self._asked("layouts")}

    def _vectors_of(self, ids: Sequence[str], layout: Layout) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for part in _parted(ids):
            answer = self._asked("vectors_of", ids=part, model=layout[0], dimensions=layout[1])
            if not answer.keys() <= set(part) or any(len(blob) != 4 * layout[1] for blob in answer.values()):
                raise self._wrong(f"vectors of other entries, or of other than {layout[1]} dimensions")
            found.update(answer)
        return found

    def _listed(
        self, asked: AskedListing[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        from septet.tiers.remote.listings import answer_of, asked_data, hidden_data

        call = {"asked": asked_data(asked), "state": None, "hidden": None}

        def read(answer: Any) -> _Answer:
            try:
                return cast("_Answer", answer_of(answer, asked))
            except QueryError as fault:
                said = self._settings.masked(str(fault))
            raise self._wrong(f"what does not fit: {said}")

        if hidden is None:
            return read(self._asked("listed", **call)), None
        for _ in range(MOST_ATTEMPTS):
            mirror = self._mirrored()
            said = {**call, "state": mirror.state, "hidden": hidden_data(hidden(mirror))}
            answer = self._tier_answer({"method": "listed", **said}, None)
            if "again" not in answer:
                return read(answer["answer"]), mirror
        raise StoreBusy(f"{self._settings.url} was written again and again while it was read: try again")

    # -- inside --------------------------------------------------------------------------------------------------------

    def _mirrored(self) -> Mirror:
        from septet.tiers.remote.listings import mirror_of

        known = self._mirror
        answer = self._asked("mirror", known=None if known is None else known.state)
        if "ids" in answer:
            known = self._mirror = mirror_of(answer)
        if known is None or known.state != answer["state"]:
            raise self._wrong("the state of a listing, without the listing")
        return known

    def _asked(self, method: str, **named: Any) -> Any:
        return told(self._tier_answer({"method": method, **named}, None), self._settings.url)

    def _wrong(self, what: str) -> Unreachable:
        return Unreachable(f"{self._settings.url} answers with {what}")

    def _tier_answer(self, call: Mapping[str, Any], within_s: float | None) -> Mapping[str, Any]:
        if self._settings.tier is not None:
            call = {**call, "tier": self._settings.tier}
        answer = self._take(_one(Ask("tier", call, within_s, shape_of(call))))
        if call["method"] == "open":
            self._said_embeds = answer.get("embeds") is True
        return cast("Mapping[str, Any]", answer)


def told(answer: Mapping[str, Any], where: str) -> Any:
    """Return what a tier answers.

    Raises:
        Unreachable: that it is to be asked anew, where there is no session that could begin anew.
    """
    if "again" in answer:
        raise Unreachable(f"{where} answers that it has to be asked anew: {answer['again']}")
    return answer["answer"]


def part_of(answer: Mapping[str, Any], row: int, where: str) -> list[Candidate]:
    """Return the entries of a part of all, which stand behind a row.

    Raises:
        Unreachable: they do not; it would be asked for ever.
    """
    found: list[Candidate] = answer["entries"]
    rows = [row, *(one.row for one in found)]
    if any(after <= before for before, after in pairwise(rows)):
        raise Unreachable(f"{where} answers with rows that do not ascend")
    return found


def _one(ask: Ask) -> Steps[Any]:
    return (yield ask)


def _parted(ids: Sequence[str]) -> list[list[str]]:
    given = list(dict.fromkeys(ids))
    return [given[start : start + MOST_AT_ONCE] for start in range(0, len(given), MOST_AT_ONCE)]
