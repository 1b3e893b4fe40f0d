"""Chain: the models of a vault in order; while those before it fail, the next one fills a space of its own.

A model that failed for good (it refuses, or was out of reach for all its attempts) rests, and is then tried again with
one short text: 1 s at first, twice as long after each further failure, up to 60 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from septet._core import Lock
from septet.embedding.embedder import fault_in
from septet.embedding.pipeline import TEXT_STATUSES, Pipeline, Progress
from septet.embedding.report import EmbedReport, Tally
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.model.results import Note
from septet.store.protocol import Store
from septet.system.forks import renew_in_children
from septet.system.threads import call_within

__all__ = ["Chain"]

#: How long the answer to one short text may take, so that a model which hangs does not hold up the one that answers.
PROBE_S = 10.0
PROBE = "Is this model there?"
#: How often one run goes back to a model: it may answer a short text and refuse every batch.
MOST_TURNS = 3
#: Why a run ends when its provider has failed, and not the vault.
FAILED = frozenset({"provider_refuses", "gave_up"})


class _Link:
    """One model of the chain.

    Attributes:
        fault: why it rests; None while it answers, as far as is known.
        temporary: whether that may pass by itself.
        doubted: a query has failed since the model last answered, which may pass by itself.
        refused: texts that it has refused, by hash; only explicit runs try them again.
        used: whether it has embedded in this process.
    """

    __slots__ = ("doubted", "fault", "pipeline", "refused", "rest_s", "retry_at", "temporary", "used")

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.fault: str | None = None
        self.temporary = self.doubted = False
        self.rest_s = 0.0
        self.retry_at = 0.0
        self.refused: set[str] = set()
        self.used = False


class Chain:
    """Runs the pipelines of a vault's models, in order, until one of them has embedded what is missing.

    Args:
        pipelines: of the models, at least one.
        lacking: why models before the first one, or between them, cannot be used at all; by the name of their spaces.
        on_answer: called with a model's name after each run in which it answered.
        rest_s: how long a model rests after its first failure; twice as long after each further one.
        longest_rest_s: the longest rest.
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
        self._links = tuple(map(_Link, pipelines))
        self._lacking = tuple(lacking)
        self._on_answer = on_answer
        self._rest_s, self._longest_rest_s = rest_s, longest_rest_s
        self._clock = clock
        self._lock = Lock()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Renew the lock in a forked child."""
        self._lock = Lock()

    @property
    def first(self) -> Pipeline:
        """The pipeline of the first model."""
        return self._links[0].pipeline

    @property
    def model(self) -> str:
        """The first model's space."""
        return self.first.model

    @property
    def store(self) -> Store:
        """The store that is filled."""
        return self.first.store

    @property
    def answering(self) -> Pipeline | None:
        """The pipeline of the first model that answers, as far as is known; None while all rest."""
        return next((link.pipeline for link in self._links if link.fault is None), None)

    def faults(self) -> dict[str, str]:
        """Return why models rest, by their names."""
        return {link.pipeline.model: link.fault for link in self._links if link.fault is not None}

    def begun(self) -> bool:
        """Say whether the store uses a model of the chain, or no model yet; see `Pipeline.begun`."""
        return self.first.begun()

    def release(self, owner: str) -> None:
        """Release an owner's claims; see `Pipeline.release`."""
        for link in self._links:
            link.pipeline.release(owner)

    def failed(self, model: str, fault: EmbeddingError) -> None:
        """Let a model rest that has refused a query for good; any other is asked by the next explicit run."""
        link = self._link(model)
        if link is None or len(self._links) < 2:
            return
        if isinstance(fault, EmbeddingRefused) and fault.status not in TEXT_STATUSES:
            self._rest(link, str(fault), temporary=False)
        else:
            link.doubted = isinstance(fault, EmbeddingUnavailable)

    def answered(self, model: str) -> bool:
        """Note that a model answers, and say whether another one has embedded in its place, so that it may go on."""
        link = self._link(model)
        if link is None:
            return False
        with self._lock.hold():
            link.fault, link.rest_s, link.doubted = None, 0.0, False
        return any(later.used for later in self._links[self._links.index(link) + 1 :])

    def due(self) -> bool:
        """Say whether a model's rest is over, while another one has embedded in its place."""
        return any(
            self._is_due(link) and any(o.used for o in self._links[n + 1 :]) for n, link in enumerate(self._links)
        )

    def run(
        self,
        *,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
        skip: Collection[str] = (),
        owner: str | None = None,
        begin: bool = True,
        tally: Tally | None = None,
        asked: bool = False,
        batch_s: float | None = None,
    ) -> tuple[EmbedReport, Tally]:
        """Embed missing texts by the first model that can; see `Pipeline.run`.

        Returns:
            The report of the model that came to its end, with those of the models that failed before it. If all failed
            it is the first one's, with every reason. The tally's refused texts are the first model's.

        Args:
            skip: texts by hash that the first model leaves out.
            begin: fill the first model's space even if the store has changed to another model.
            asked: somebody waits for this run: models that rest are tried too.
            batch_s: how long an embedder may compute for a batch; see `Pipeline.run`.

        Raises:
            StoreError: the store cannot be read or written.
        """
        before: list[EmbedReport] = []
        #: How often each model has failed in this run, and why the last time.
        faults: dict[int, list[str]] = {}
        while True:
            failed: list[tuple[EmbedReport, Tally]] = []
            resting: dict[str, str] = {}
            for number, link in enumerate(self._links):
                spent = faults[number] if len(faults.get(number, ())) >= MOST_TURNS else None
                if spent or not self._may_embed(link, asked):
                    resting[link.pipeline.model] = link.fault or (spent or [""])[-1]
                    continue
                report, done = link.pipeline.run(
                    progress=progress,
                    stopped=partial(self._is_over, stopped, self._before(number, faults)),
                    skip=skip if number == 0 else () if asked else link.refused,
                    owner=owner,
                    begin=begin or number > 0,
                    tally=tally if number == 0 else None,
                    batch_s=batch_s,
                )
                if self._judge(link, done):
                    break
                failed.append((report, done))
                resting[report.model] = link.fault or ""
                faults.setdefault(number, []).append(resting[report.model])
            else:
                return self._none(before, failed, resting, owner, skip)
            if stopped() or not any(earlier.fault is None for earlier in self._before(number, faults)):
                return self._told(report, done, resting, [*before, *(one for one, _ in failed)], number)
            # A model before this one answers again.
            before += [*(one for one, _ in failed), *([report] if report.requests or report.cached else [])]
            tally, asked = None, False

    def covered(self) -> dict[str, int]:
        """Return how many texts have a vector of each model.

        Raises:
            StoreError: the store cannot be read.
        """
        with self.store.reading() as read:
            missing, pipelines = read.tables.texts.count_missing, [link.pipeline for link in self._links]
            texts = missing(read, None, memories=self.first.memories)
            return {p.model: texts - missing(read, p.space(read, Tally()), memories=p.memories) for p in pipelines}

    def with_gained(self, report: EmbedReport, before: Mapping[str, int]) -> EmbedReport:
        """Return a report that counts vectors stored by others too, since `covered` returned ``before``."""
        reports, now = [*report.earlier, report], self.covered()
        for at, one in reversed([*enumerate(reports)]):
            known = sum(
                other.embedded + other.cached + other.elsewhere for other in reports if other.model == one.model
            )
            gained = now.get(one.model, 0) - before.get(one.model, 0)
            reports[at] = replace(one, elsewhere=max(0, gained - known))
        return replace(reports[-1], earlier=tuple(reports[:-1]))

    def _judge(self, link: _Link, done: Tally) -> bool:
        """Note what a run says about a model, and return False if it has failed for good."""
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
        self._rest(link, cause, temporary=done.wants_retry)
        return False

    def _told(
        self, report: EmbedReport, done: Tally, resting: dict[str, str], earlier: list[EmbedReport], number: int
    ) -> tuple[EmbedReport, Tally]:
        report = replace(report, earlier=tuple(earlier))
        if not number and not (self._lacking and done.embedded):
            return report, done
        reasons = "; ".join((*self._lacking, *(f"{model}: {why}" for model, why in resting.items())))
        cause = f"{reasons}: {report.model} was used in its place"
        note = Note("embedding_fallback", cause, "it is tried again; what it lacks is then embedded by it")
        if number:
            # What this model has refused concerns no other; the caller keeps those of the first.
            done.refused = set()
        return replace(report, notes=(note, *report.notes)), done

    def _none(
        self,
        before: list[EmbedReport],
        failed: list[tuple[EmbedReport, Tally]],
        resting: dict[str, str],
        owner: str | None,
        skip: Collection[str],
    ) -> tuple[EmbedReport, Tally]:
        """Return the first report, with the reasons of all models."""
        if failed:
            report, done = failed[0]
        else:
            report, done = self.first.run(stopped=lambda: True, skip=skip, owner=owner, begin=False)
        reasons = "; ".join((*self._lacking, *(f"{model}: {why}" for model, why in resting.items())))
        note = Note("gave_up", f"no model embeds: {reasons}", "the next run tries again")
        done.wants_retry = any(link.temporary for link in self._links)
        if report.model != self.model:
            done.refused = set()
        rest = [*before, *(one for one, _ in failed[1:])]
        return replace(report, notes=(note, *report.notes), earlier=tuple(rest)), done

    def _link(self, model: str) -> _Link | None:
        return next((link for link in self._links if link.pipeline.model == model), None)

    def _rest(self, link: _Link, cause: str, *, temporary: bool) -> None:
        with self._lock.hold():
            link.fault, link.temporary = cause, temporary
            link.rest_s = min(max(self._rest_s, 2 * link.rest_s), self._longest_rest_s)
            link.retry_at = self._clock() + link.rest_s

    def _is_due(self, link: _Link) -> bool:
        return link.fault is not None and self._clock() >= link.retry_at

    def _may_embed(self, link: _Link, asked: bool) -> bool:
        """Say whether a model answers, as far as is known; after its rest, or where somebody waits, it is asked."""
        if link.fault is None and not (asked and link.doubted):
            return True
        return (asked or self._is_due(link)) and self._probe(link)

    def _before(self, number: int, faults: Mapping[int, Sequence[str]]) -> list[_Link]:
        """Return the models before another one to which a run goes back."""
        return [link for n, link in enumerate(self._links[:number]) if len(faults.get(n, ())) < MOST_TURNS]

    def _is_over(self, stopped: Callable[[], bool], before: Sequence[_Link]) -> bool:
        """Say whether a run ends: it is stopped, or one of the models before it answers again."""
        return stopped() or any(self._may_embed(link, False) for link in before)

    def _probe(self, link: _Link) -> bool:
        """Ask a model that rests for one vector, and say whether it answers."""
        embedder = link.pipeline.embedder
        try:
            call_within(PROBE_S, lambda: embedder.embed([PROBE], "document", timeout_s=PROBE_S), embedder.provider)
        except EmbeddingError as fault:
            self._rest(link, str(fault), temporary=not isinstance(fault, EmbeddingRefused))
            return False
        except BaseException as fault:  # noqa: BLE001 - foreign code; an interrupt is raised again
            self._rest(link, str(fault_in("raised", fault, embedder.provider)), temporary=True)
            return False
        # How long it rests is forgotten by a whole run alone: it may answer this text and refuse a batch.
        with self._lock.hold():
            link.fault, link.doubted = None, False
        self._on_answer(link.pipeline.model)
        return True
