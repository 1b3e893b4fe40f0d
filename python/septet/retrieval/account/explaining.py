"""Explains a retrieval: the rank of an entry in each list of each wave, or why it is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.model.codec import Plain
from septet.notes import Note
from septet.retrieval.ordering import labels_of

if TYPE_CHECKING:
    from septet.retrieval.account.retrieval import Retrieval
    from septet.retrieval.corpus import Corpus, RankedList
    from septet.retrieval.ordering import Ordered
    from septet.retrieval.rules import Round
    from septet.retrieval.waves import Reply


@dataclass(frozen=True, slots=True)
class ListReport:
    """The place of an entry in one list.

    Attributes:
        wave: number of the wave, from 1.
        corpus: corpus of the list.
        list: name of the list.
        variant: number of the phrasing; 0 is the original.
        query: text of the phrasing.
        rank: from 1; None if the list does not contain the entry.
        of: number of entries in the list.
        weight: weight of its ranks in the fusion.
        score: score of the entry in the list; None if the list does not contain it.
        part: contribution to the fused score; None if it counts through another list, or not.
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
    """One corpus and the entry.

    Attributes:
        corpus: name of the corpus.
        wave: number of the wave, from 1; 0 if the plan does not include the corpus.
        state: ``answered``, ``late``, ``failed``, ``resting`` or ``not asked``.
        holds: True if it has an entry of this id; None if unknown.
        reason: why its lists contain the entry, or not.
        filters: True for each of its filters that the entry passes; empty if unknown.
    """

    corpus: str
    wave: int
    state: str
    holds: bool | None
    reason: str
    filters: Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalExplanation(Plain):
    """The explanation of an entry's place in a retrieval, or of its absence.

    Attributes:
        id: of the entry.
        query: as passed by the caller.
        found: True if the entry is among the hits.
        rank: rank in the fused order, from 1; None if no list contains it.
        of: length of the fused order.
        score: sum of the contributions of the lists; None if no list contains it.
        reason: the explanation in one sentence.
        breakdown: contribution of each list.
        lists: its place in each list of each wave.
        corpora: a report for each corpus.
        kept: number of the wave that the hits come from, from 1.
        notes: the notes of the retrieval.
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
        for report in self.lists:
            phrasing = f", phrasing {report.variant}" if report.variant else ""
            prefix = f"  wave {report.wave}, {report.corpus}.{report.list}{phrasing}: "
            if report.rank is None:
                lines.append(prefix + f"not among its {report.of}")
                continue
            part = "" if report.part is None else f", adds {report.part:.4f}"
            lines.append(
                prefix + f"rank {report.rank} of {report.of}, weight {report.weight:g}, score {report.score:.4f}{part}"
            )
        for corpus in self.corpora:
            lines.append(f"  {corpus.corpus}: {corpus.reason}")
            lines += [f"    filter {name}: {'passes' if ok else 'fails'}" for name, ok in corpus.filters.items()]
        return "\n".join(lines)


class _Place(NamedTuple):
    """The place of an entry in the fused order."""

    rank: int
    score: float
    breakdown: Mapping[str, float]


def explained(
    retrieval: Retrieval, entry_id: str, corpora: Mapping[str, Corpus], good: int, least_score: float
) -> RetrievalExplanation:
    """Return the explanation of an entry in a fresh retrieval; of several with this id, the best one.

    ``good`` items score high enough for the profile, whose minimum is ``least_score``.
    """
    rounds = retrieval._rounds
    used = next(number for number, entry in enumerate(rounds, 1) if entry.used)
    place = _place(retrieval._ordered, entry_id)
    lists: list[ListReport] = []
    reports: list[CorpusReport] = []
    for number, entry in enumerate(rounds, 1):
        in_wave = _lists(number, entry, entry_id)
        lists += in_wave
        reports += _corpora(number, entry, entry_id, corpora, in_wave)
    searched = {report.corpus for report in reports}
    for name, corpus in corpora.items():
        if name not in searched:
            why = retrieval.plan.why(name)
            reports.append(CorpusReport(name, 0, "not asked", _holds(corpus, entry_id), why, {}))
    return RetrievalExplanation(
        id=entry_id,
        query=retrieval.query,
        found=entry_id in retrieval.ids,
        rank=None if place is None else place.rank,
        of=len(retrieval._ordered.items),
        score=None if place is None else place.score,
        reason=_reason(retrieval, entry_id, place, reports, least_score if place and place.rank > good else 0.0),
        breakdown={} if place is None else place.breakdown,
        lists=tuple(lists),
        corpora=tuple(reports),
        kept=used,
        notes=retrieval.notes,
    )


def _place(ordered: Ordered, entry_id: str) -> _Place | None:
    labels = labels_of(ordered.lists)
    for rank, item in enumerate(ordered.items, 1):
        if item.item.hit.id == entry_id:
            return _Place(rank, item.fused.score, {labels[at]: part for at, _, part in item.fused.parts})
    return None


def _lists(number: int, wave: Round, entry_id: str) -> list[ListReport]:
    """Return the place of an entry in the fused lists of one wave, and in the lists merged into these."""
    ordered = wave.ordered
    place = _place(ordered, entry_id)
    parts = {} if place is None else place.breakdown
    reports = []
    for label, fused in zip(labels_of(ordered.lists), ordered.lists):
        reports += [_list(number, wave, inner, entry_id, None) for inner in ordered.inner.get(label, ())]
        reports.append(_list(number, wave, fused, entry_id, parts.get(label)))
    return reports


def _list(number: int, entry: Round, ranked: RankedList, entry_id: str, part: float | None) -> ListReport:
    at = next((place for place, item in enumerate(ranked.items) if item.hit.id == entry_id), None)
    variants = entry.wave.variants
    query = variants[ranked.variant] if ranked.variant < len(variants) else entry.request.query
    return ListReport(
        wave=number,
        corpus=ranked.corpus,
        list=ranked.name,
        variant=ranked.variant,
        query=query,
        rank=None if at is None else at + 1,
        of=len(ranked.items),
        weight=ranked.weight,
        score=None if at is None else ranked.items[at].hit.score,
        part=part,
    )


def _corpora(
    number: int, entry: Round, entry_id: str, corpora: Mapping[str, Corpus], lists: Sequence[ListReport]
) -> list[CorpusReport]:
    reports = []
    for reply in entry.wave.answers:
        if reply.variant:
            continue
        corpus = corpora.get(reply.corpus)
        is_listed = any(report.rank is not None for report in lists if report.corpus == reply.corpus)
        filters: Mapping[str, bool] = {}
        holds: bool | None = is_listed or _is_in(reply, entry_id) or _holds(corpus, entry_id)
        if reply.state != "answered":
            waited = f" ({reply.took_ms:.0f} ms)" if reply.state == "late" else ""
            reason = {
                "late": f"it did not answer in time{waited}",
                "failed": "it failed; the notes say why",
                "resting": "it was skipped: earlier requests are still running",
            }[reply.state]
        elif is_listed:
            reason = "it found the entry"
        elif (explanation := _explanation(corpus, entry, reply, entry_id)) is not None:
            filters, reason = explanation.filters, explanation.reason
            holds = getattr(explanation, "holds", holds)
        elif not holds:
            reason = "it has no entry of this id" if holds is not None else "it could not be searched for the entry"
        else:
            reason = "it has the entry, but did not find it"
        if _is_in(reply, entry_id) and not is_listed:
            reason = "it found the entry, in lists that do not count"
        reports.append(CorpusReport(reply.corpus, number, reply.state, holds, reason, filters))
    return reports


def _is_in(reply: Reply, entry_id: str) -> bool:
    lists = () if reply.answered is None else reply.answered.lists
    return any(item.hit.id == entry_id for ranked in lists for item in ranked.items)


def _holds(corpus: Corpus | None, entry_id: str) -> bool | None:
    try:
        return None if corpus is None else corpus.get(entry_id) is not None
    except Exception:  # noqa: BLE001 - foreign code; the answer is unknown
        return None


def _explanation(corpus: Corpus | None, entry: Round, reply: Reply, entry_id: str) -> Any:
    """Return the corpus's own explanation of a missing entry, an `Explanation` or a `Miss`; None if it has none."""
    explain = getattr(corpus, "explain", None)
    try:
        return None if explain is None else explain(entry.request._replace(query=reply.query), entry_id)
    except Exception:  # noqa: BLE001 - as above
        return None


def _reason(
    retrieval: Retrieval, entry_id: str, place: _Place | None, corpora: Sequence[CorpusReport], least_score: float
) -> str:
    if entry_id in retrieval.ids:
        rank = retrieval.ids.index(entry_id) + 1
        assert place is not None
        lists = len(place.breakdown)
        return f"found: {rank} of {len(retrieval)} hits, by {lists} list{'s' if lists != 1 else ''}"
    if place is not None and place.score < least_score:
        return f"not returned: its score {place.score:.4f} is below the profile's minimum of {least_score:.4f}"
    if place is not None:
        return f"not returned: rank {place.rank}, beyond the limit of {len(retrieval)} hits"
    if not any(report.holds for report in corpora):
        return "not found: no corpus has an entry of this id"
    missing = [report for report in corpora if report.holds and report.state != "answered"]
    if missing and not any(report.holds and report.state == "answered" for report in corpora):
        names = ", ".join(dict.fromkeys(f"{report.corpus} ({report.state})" for report in missing))
        return f"not found: the corpora that have it did not answer: {names}"
    # Corpora that share a vault all have the entry: report the one whose filters it fails least.
    best = min(
        (report for report in corpora if report.holds and report.state == "answered"),
        key=lambda report: (not report.filters, [*report.filters.values()].count(False)),
    )
    failed = [name for name, ok in best.filters.items() if not ok]
    if failed:
        return f"not found: it does not pass {', '.join(failed)} of {best.corpus}"
    return f"not found: {best.corpus} has it, and no list holds it: {best.reason}"
