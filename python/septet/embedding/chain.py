"""Chain: the models of a vault in order; while the models before it fail, the next one fills a separate space.

A model that fails (it refuses, or cannot be reached in all attempts) rests, and is then probed with a short text: after
1 s at first, twice as long after each further failure, up to 60 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from septet.embedding.embedder import fault_in, timeout_error
from septet.embedding.pipeline import TEXT_STATUSES, Pipeline, Progress
from septet.embedding.report import EmbedReport, Tally
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.notes import Note
from septet.system.breaker import CircuitBreaker
from septet.system.threads import call_within

#: Timeout of a probe: a model that hangs must not delay the one that answers.
PROBE_S = 10.0
PROBE = "Is this model there?"
#: Maximum attempts of one run with a model: it may answer the probe and refuse every batch.
MOST_TURNS = 3
#: Notes of runs that ended because of the provider.
FAILED = frozenset({"provider_refuses", "gave_up"})


@dataclass(slots=True, eq=False)
class _ChainModel:
    """One model of the chain.

    Attributes:
        breaker: pauses it after a failure; its fault is None if the model is not known to fail.
        temporary: True if the failure may pass without action.
        doubted: True if a query has failed temporarily since the model last answered.
        refused: hashes of texts that it has refused; only explicit runs retry them.
        used: True if it has embedded in this process.
    """

    pipeline: Pipeline
    breaker: CircuitBreaker[str]
    temporary: bool = False
    doubted: bool = False
    refused: set[str] = field(default_factory=set)
    used: bool = False

    def rest(self, cause: str, *, temporary: bool) -> None:
        """Start a rest after a failure."""
        self.temporary = temporary
        self.breaker.failed(cause)


class Chain:
    """Runs the pipelines of a vault's models, in order, until one has embedded the missing texts.

    Args:
        pipelines: of the models, at least one.
        lacking: faults of unusable models, each with the name of its space.
        on_answer: called with a model's name after each run in which it answered.
        rest_s: rest of a model after its first failure; twice as long after each further one.
        longest_rest_s: maximum rest.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        pipelines: Sequence[Pipeline],
        *,
        lacking: Sequence[str] = (),
        on_answer: Callable[[str], None] = lambda model: None,
        rest_s: float = 1.0,
        longest_rest_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._links = [_ChainModel(p, CircuitBreaker(rest_s, longest_rest_s, clock=clock)) for p in pipelines]
        self._lacking = tuple(lacking)
        self._on_answer = on_answer

    @property
    def first(self) -> Pipeline:
        """The pipeline of the first model."""
        return self._links[0].pipeline

    @property
    def answering(self) -> Pipeline | None:
        """The pipeline of the first model that does not rest; None if all rest."""
        return next((link.pipeline for link in self._links if link.breaker.fault is None), None)

    def faults(self) -> dict[str, str]:
        """Return the faults of resting models by name."""
        return {link.pipeline.model: link.breaker.fault for link in self._links if link.breaker.fault is not None}

    def release(self, owner: str) -> None:
        """Release an owner's claims; see `Pipeline.release`."""
        for link in self._links:
            link.pipeline.release(owner)

    def failed(self, model: str, fault: EmbeddingError) -> None:
        """Record a failed query: rest a model that refused it; probe others in the next explicit run."""
        link = self._link(model)
        if link is None or len(self._links) < 2:
            return
        if isinstance(fault, EmbeddingRefused) and fault.status not in TEXT_STATUSES:
            link.rest(str(fault), temporary=False)
        else:
            link.doubted = isinstance(fault, EmbeddingUnavailable)

    def answered(self, model: str) -> bool:
        """Record an answer of a model. Return True if another model has embedded in its place."""
        link = self._link(model)
        if link is None:
            return False
        link.breaker.succeeded()
        link.doubted = False
        return any(later.used for later in self._links[self._links.index(link) + 1 :])

    def due(self) -> bool:
        """Return True if the rest of a model has ended and another model has embedded in its place."""
        links = self._links
        return any(link.breaker.is_due and any(o.used for o in links[n + 1 :]) for n, link in enumerate(links))

    def run(
        self,
        *,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
        skip: Collection[str] = (),
        owner: str | None = None,
        begin: bool = True,
        tally: Tally | None = None,
        explicit: bool = False,
        batch_s: float | None = None,
    ) -> tuple[EmbedReport, Tally]:
        """Embed missing texts by the first working model; see `Pipeline.run`.

        Args:
            skip: hashes of texts that the first model skips.
            begin: fill the first model's space even if the store has changed to another model.
            explicit: the caller waits for this run: probe resting models too.

        Returns:
            The report of the model that completed its run, with those of the models that failed before it. If all
            failed, the first one's, with all causes. The tally's refused texts are the first model's.
        """
        before: list[EmbedReport] = []
        #: The failures of each model in this run.
        faults: dict[int, list[str]] = {}
        while True:
            failed: list[tuple[EmbedReport, Tally]] = []
            resting: dict[str, str] = {}
            for number, link in enumerate(self._links):
                spent = faults[number] if len(faults.get(number, ())) >= MOST_TURNS else None
                if spent or not self._may_embed(link, explicit):
                    resting[link.pipeline.model] = link.breaker.fault or (spent or [""])[-1]
                    continue
                report, done = link.pipeline.run(
                    progress=progress,
                    stopped=partial(self._must_stop, stopped, self._before(number, faults)),
                    skip=skip if number == 0 else () if explicit else link.refused,
                    owner=owner,
                    begin=begin or number > 0,
                    tally=tally if number == 0 else None,
                    batch_s=batch_s,
                )
                if self._judge(link, done):
                    break
                failed.append((report, done))
                resting[report.model] = link.breaker.fault or ""
                faults.setdefault(number, []).append(resting[report.model])
            else:
                return self._failure_report(before, failed, resting, owner, skip)
            if stopped() or not any(earlier.breaker.fault is None for earlier in self._before(number, faults)):
                earlier_reports = [*before, *(other for other, _ in failed)]
                return self._with_fallback_note(report, done, resting, earlier_reports, number)
            # A model before this one answers again.
            before += [*(other for other, _ in failed), *([report] if report.requests or report.cached else [])]
            tally, explicit = None, False

    def covered(self) -> dict[str, int]:
        """Return the number of texts with a vector of each model."""
        with self.first.store.reading() as read:
            missing, pipelines = read.tables.texts.count_missing, [link.pipeline for link in self._links]
            texts = missing(read, None, memories=self.first.memories)
            return {p.model: texts - missing(read, p.space(read, Tally()), memories=p.memories) for p in pipelines}

    def with_gained(self, report: EmbedReport, before: Mapping[str, int]) -> EmbedReport:
        """Return a report that also counts vectors stored by others since `covered` returned ``before``."""
        reports, now = [*report.earlier, report], self.covered()
        for at, model in reversed([(at, report.model) for at, report in enumerate(reports)]):
            known = sum(other.embedded + other.cached + other.elsewhere for other in reports if other.model == model)
            gained = now.get(model, 0) - before.get(model, 0)
            reports[at] = replace(reports[at], elsewhere=max(0, gained - known))
        return replace(reports[-1], earlier=tuple(reports[:-1]))

    def _judge(self, link: _ChainModel, done: Tally) -> bool:
        """Update a model's state after a run. Return False if the model failed."""
        if done.embedded:
            self._on_answer(link.pipeline.model)
            link.used = True
        stopped = done.stopped_by
        if len(self._links) == 1 or not (done.failures or (stopped is not None and stopped.code in FAILED)):
            if done.embedded:
                self.answered(link.pipeline.model)
            link.refused |= done.refused
            return True
        causes = [cause for code, cause, _ in done.causes if code in ("batch_failed", "text_refused")]
        cause = causes[-1] if causes else "" if stopped is None else stopped.cause
        link.rest(cause, temporary=done.wants_retry)
        return False

    def _with_fallback_note(
        self, report: EmbedReport, done: Tally, resting: dict[str, str], earlier: list[EmbedReport], number: int
    ) -> tuple[EmbedReport, Tally]:
        report = replace(report, earlier=tuple(earlier))
        if not number and not (self._lacking and done.embedded):
            return report, done
        cause = f"{self._reasons(resting)}: {report.model} was used instead"
        note = Note("embedding_fallback", cause, "it is retried and then embeds the texts that it lacks")
        if number:
            # The caller keeps only the texts refused by the first model.
            done.refused = set()
        return replace(report, notes=(note, *report.notes)), done

    def _failure_report(
        self,
        before: list[EmbedReport],
        failed: list[tuple[EmbedReport, Tally]],
        resting: dict[str, str],
        owner: str | None,
        skip: Collection[str],
    ) -> tuple[EmbedReport, Tally]:
        """Return the first report, with the faults of all models."""
        if failed:
            report, done = failed[0]
        else:
            report, done = self.first.run(stopped=lambda: True, skip=skip, owner=owner, begin=False)
        note = Note("gave_up", f"no model answers: {self._reasons(resting)}", "the next run tries again")
        done.wants_retry = any(link.temporary for link in self._links)
        if report.model != self.first.model:
            done.refused = set()
        earlier = [*before, *(other for other, _ in failed[1:])]
        return replace(report, notes=(note, *report.notes), earlier=tuple(earlier)), done

    def _reasons(self, resting: Mapping[str, str]) -> str:
        return "; ".join((*self._lacking, *(f"{model}: {fault}" for model, fault in resting.items())))

    def _link(self, model: str) -> _ChainModel | None:
        return next((link for link in self._links if link.pipeline.model == model), None)

    def _may_embed(self, link: _ChainModel, explicit: bool) -> bool:
        """Return True if a model is usable; probe it after its rest, and in explicit runs."""
        if link.breaker.fault is None and not (explicit and link.doubted):
            return True
        return (explicit or link.breaker.is_due) and self._probe(link)

    def _before(self, number: int, faults: Mapping[int, Sequence[str]]) -> list[_ChainModel]:
        """Return the earlier models that a run may still return to."""
        return [link for n, link in enumerate(self._links[:number]) if len(faults.get(n, ())) < MOST_TURNS]

    def _must_stop(self, stopped: Callable[[], bool], before: Sequence[_ChainModel]) -> bool:
        """Return True if the run is stopped, or an earlier model answers again."""
        return stopped() or any(self._may_embed(link, False) for link in before)

    def _probe(self, link: _ChainModel) -> bool:
        """Embed a short text with a resting model. Return True if it answers."""
        embedder = link.pipeline.embedder
        try:
            late = timeout_error(PROBE_S, embedder.provider)
            call_within(PROBE_S, lambda: embedder.embed([PROBE], "document", timeout_s=PROBE_S), late)
        except EmbeddingError as fault:
            link.rest(str(fault), temporary=not isinstance(fault, EmbeddingRefused))
            return False
        except BaseException as fault:  # noqa: BLE001 - foreign code; an interrupt is raised again
            link.rest(str(fault_in("raised", fault, embedder.provider)), temporary=True)
            return False
        # Only a whole run resets the rest: the model may answer the probe and refuse a batch.
        link.breaker.resume()
        link.doubted = False
        self._on_answer(link.pipeline.model)
        return True
