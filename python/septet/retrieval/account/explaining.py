"""Explaining a retrieval: where an entry stands in each list of each wave, or why it is in none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.notes import Note
from septet.retrieval.ordering import labels_of

if TYPE_CHECKING:
    from septet.model.explanation import Explanation
    from septet.retrieval.account.retrieval import Retrieval
    from septet.retrieval.corpora.misses import Miss
    from septet.retrieval.corpus import Asked, Corpus, RankedList
    from septet.retrieval.rounds import Round
    from septet.retrieval.waves import Answer

__all__ = ["CorpusReport", "ListReport", "RetrievalExplanation", "explained"]


@dataclass(frozen=True, slots=True)
class ListReport:
    """Where an entry stands in one list.

    Attributes:
        wave: which wave asked for it, from 1.
        corpus: whose list it is.
        list: its name.
        variant: which phrasing of the query found it; 0 is the original.
        query: that phrasing.
        rank: from 1; None if the list does not hold the entry.
        of: how many entries it holds.
        weight: how much a rank in it counts.
        score: what the list gives the entry; None if it does not hold it.
        part: what it contributed to the score; None if it counts through another list, or not at all.
    """

    wave: int
    corpus: str
    list: str
    variant: int
    query: str
    rank: int | None
    of: int
    weight: float
    score: float | None
    part: float | None


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """What one corpus has to do with an entry.

    Attributes:
        corpus: its name.
        wave: which wave, from 1; 0 if the plan does not ask it.
        state: ``answered``, ``late``, ``failed``, ``resting`` or ``not asked``.
        holds: whether it has an entry of this id; None if it could not be asked.
        reason: why its lists hold the entry, or do not.
        filters: each of its filters, and whether the entry passes it; empty if it cannot tell.
    """

    corpus: str
    wave: int
    state: str
    holds: bool | None
    reason: str
    filters: Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalExplanation:
    """Why an entry is where it is in a retrieval, or why it is not among the hits.

    Attributes:
        id: of the entry.
        query: as it was given.
        found: whether it is among the hits.
        rank: its place in the order of everything that was found, from 1; None if no list holds it.
        of: how many were found.
        score: the sum of what the lists contributed; None if no list holds it.
        reason: the answer in one sentence.
        breakdown: what each list contributed.
        lists: its place in each list of each wave.
        corpora: what each corpus has to do with it.
        kept: the wave that the hits come from, from 1.
        notes: those of the retrieval.
    """

    id: str
    query: str
    found: bool
    rank: int | None
    of: int
    score: float | None
    reason: str
    breakdown: Mapping[str, float]
    lists: tuple[ListReport, ...]
    corpora: tuple[CorpusReport, ...]
    kept: int
    notes: tuple[Note, ...]

    def __str__(self) -> str:
        lines = [self.reason]
        for one in self.lists:
            phrasing = f", phrasing {one.variant}" if one.variant else ""
            where = f"  wave {one.wave}, {one.corpus}.{one.list}{phrasing}: "
            if one.rank is None:
                lines.append(where + f"not among its {one.of}")
                continue
            part = "" if one.part is None else f", adds {one.part:.4f}"
            lines.append(where + f"rank {one.rank} of {one.of}, weight {one.weight:g}, score {one.score:.4f}{part}")
        for corpus in self.corpora:
            lines.append(f"  {corpus.corpus}: {corpus.reason}")
            lines += [f"    filter {name}: {'passes' if ok else 'fails'}" for name, ok in corpus.filters.items()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        plain = ("id", "query", "found", "rank", "of", "score", "reason", "kept")
        return {name: getattr(self, name) for name in plain} | {
            "breakdown": dict(self.breakdown),
            "lists": [asdict(one) for one in self.lists],
            "corpora": [{**asdict(one), "filters": dict(one.filters)} for one in self.corpora],
            "notes": [note.to_dict() for note in self.notes],
        }


class _Found(NamedTuple):
    """Where an entry stands in the order of all."""

    rank: int
    score: float
    breakdown: Mapping[str, float]


def explained(
    retrieval: Retrieval, entry_id: str, corpora: Mapping[str, Corpus], good: int, least_score: float
) -> RetrievalExplanation:
    """Return why an entry is where it is in a retrieval that was just made.

    Args:
        retrieval: what was found.
        entry_id: the id of the entry; of several entries with this id in different stores, the best one.
        corpora: all that the retriever has, by name.
        good: how many of the order the profile finds good enough.
        least_score: what it drops others below.
    """
    rounds = retrieval._rounds
    kept = next(place for place, one in enumerate(rounds, 1) if one.kept)
    place = _place(retrieval, entry_id)
    lists = [report for number, one in enumerate(rounds, 1) for report in _lists(number, one, entry_id)]
    reports = [
        report
        for number, one in enumerate(rounds, 1)
        for report in _corpora(number, one, entry_id, corpora, [own for own in lists if own.wave == number])
    ]
    asked = {report.corpus for report in reports}
    for name, corpus in corpora.items():
        if name not in asked:
            why = retrieval.plan.why(name)
            reports.append(CorpusReport(name, 0, "not asked", _holds(corpus, entry_id), why, {}))
    found = entry_id in retrieval.ids
    return RetrievalExplanation(
        id=entry_id,
        query=retrieval.query,
        found=found,
        rank=None if place is None else place.rank,
        of=len(retrieval._ordered.found),
        score=None if place is None else place.score,
        reason=_reason(retrieval, entry_id, place, reports, least_score if place and place.rank > good else 0.0),
        breakdown={} if place is None else place.breakdown,
        lists=tuple(lists),
        corpora=tuple(reports),
        kept=kept,
        notes=retrieval.notes,
    )


def _place(retrieval: Retrieval, entry_id: str) -> _Found | None:
    labels = labels_of(retrieval._ordered.lists)
    for rank, one in enumerate(retrieval._ordered.found, 1):
        if one.item.hit.id == entry_id:
            return _Found(rank, one.fused.score, {labels[at]: part for at, _, part in one.fused.parts})
    return None


def _lists(number: int, one: Round, entry_id: str) -> list[ListReport]:
    """Return the place of an entry in the lists of one wave that were fused, and in those that they were made of."""
    key = next((found.item.key for found in one.ordered.found if found.item.hit.id == entry_id), None)
    parts = {} if key is None else _parts(one, key)
    reports = []
    for label, fused in zip(labels_of(one.ordered.lists), one.ordered.lists):
        reports += [_list(number, one, inner, entry_id, None) for inner in one.ordered.inner.get(label, ())]
        reports.append(_list(number, one, fused, entry_id, parts.get(label)))
    return reports


def _parts(one: Round, key: str) -> dict[str, float]:
    labels = labels_of(one.ordered.lists)
    fused = next(found.fused for found in one.ordered.found if found.item.key == key)
    return {labels[at]: part for at, _, part in fused.parts}


def _list(number: int, one: Round, ranked: RankedList, entry_id: str, part: float | None) -> ListReport:
    at = next((place for place, item in enumerate(ranked.items) if item.hit.id == entry_id), None)
    variants = one.wave.variants
    query = variants[ranked.variant] if ranked.variant < len(variants) else one.query
    rank = None if at is None else at + 1
    score = None if at is None else ranked.items[at].hit.score
    name, weight, of = ranked.name, ranked.weight, len(ranked.items)
    return ListReport(number, ranked.corpus, name, ranked.variant, query, rank, of, weight, score, part)


def _corpora(
    number: int, one: Round, entry_id: str, corpora: Mapping[str, Corpus], lists: Sequence[ListReport]
) -> list[CorpusReport]:
    reports = []
    for answer in one.wave.answers:
        if answer.variant:
            continue
        corpus = corpora.get(answer.corpus)
        is_listed = any(report.rank is not None for report in lists if report.corpus == answer.corpus)
        filters: Mapping[str, bool] = {}
        holds: bool | None = is_listed or _is_in(answer, entry_id) or _holds(corpus, entry_id)
        if answer.state != "answered":
            waited = f" ({answer.took_ms:.0f} ms)" if answer.state == "late" else ""
            reason = {
                "late": f"it did not answer in time{waited}",
                "failed": "it failed; the notes say why",
                "resting": "it was not asked: it still works on earlier questions",
            }[answer.state]
        elif is_listed:
            reason = "it found the entry"
        elif (told := _told(corpus, one.asked._replace(query=answer.query), entry_id)) is not None:
            filters, reason = told.filters, told.reason
            holds = getattr(told, "holds", holds)
        elif not holds:
            reason = "it has no entry of this id" if holds is not None else "it could not be asked for the entry"
        else:
            reason = "it has the entry, and did not find it"
        if _is_in(answer, entry_id) and not is_listed:
            reason = "it found the entry, in lists that do not count"
        reports.append(CorpusReport(answer.corpus, number, answer.state, holds, reason, filters))
    return reports


def _is_in(answer: Answer, entry_id: str) -> bool:
    lists = () if answer.found is None else answer.found.lists
    return any(item.hit.id == entry_id for ranked in lists for item in ranked.items)


def _holds(corpus: Corpus | None, entry_id: str) -> bool | None:
    try:
        return None if corpus is None else corpus.get(entry_id) is not None
    except Exception:  # noqa: BLE001 - foreign code; nothing is known then
        return None


def _told(corpus: Corpus | None, asked: Asked, entry_id: str) -> Explanation | Miss | None:
    """Return what the corpus itself says of an entry that it did not find, if it can."""
    explain = getattr(corpus, "explain", None)
    try:
        return None if explain is None else explain(asked, entry_id)
    except Exception:  # noqa: BLE001 - as above
        return None


def _reason(
    retrieval: Retrieval, entry_id: str, place: _Found | None, corpora: Sequence[CorpusReport], least_score: float
) -> str:
    if entry_id in retrieval.ids:
        rank = retrieval.ids.index(entry_id) + 1
        assert place is not None
        lists = len(place.breakdown)
        return f"found: {rank} of {len(retrieval)} hits, by {lists} list{'s' if lists != 1 else ''}"
    if place is not None and place.score < least_score:
        return f"not returned: its score {place.score:.4f} is below {least_score:.4f}, what the profile keeps"
    if place is not None:
        return f"not returned: rank {place.rank}, and {len(retrieval)} hits were wanted"
    if not any(report.holds for report in corpora):
        return "not found: no corpus has an entry of this id"
    missing = [report for report in corpora if report.holds and report.state != "answered"]
    if missing and not any(report.holds and report.state == "answered" for report in corpora):
        names = ", ".join(dict.fromkeys(f"{report.corpus} ({report.state})" for report in missing))
        return f"not found: those that have it did not answer: {names}"
    # Where corpora share a vault, each has the entry: the one whose filters it passes tells most.
    held = min(
        (report for report in corpora if report.holds and report.state == "answered"),
        key=lambda report: (not report.filters, [*report.filters.values()].count(False)),
    )
    failed = [name for name, ok in held.filters.items() if not ok]
    if failed:
        return f"not found: it does not pass {', '.join(failed)} of {held.corpus}"
    return f"not found: {held.corpus} has it, and no list holds it: {held.reason}"
