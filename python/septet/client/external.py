"""ExternalFirst: searches the memory of another program, and the vault while that program fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.errors import EntryError, QueryError, StoreError, printable
from septet.inputs.arguments import called, cut, real, shown, utf8
from septet.model.drafts import draft
from septet.model.entry import Entry
from septet.model.results import Hit, Results, Scored, TierReport, hits_of
from septet.notes import Note
from septet.query.options import OPTIONS, SearchOptions, takes_options
from septet.query.plan import SearchPlan
from septet.search.searchable import Searchable
from septet.system.breaker import CircuitBreaker
from septet.system.threads import call_on_thread

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from septet.federation import Federation
    from septet.postgres.vault import PostgresVault
    from septet.vault import Vault

#: Maps a query and a maximum number of results to results, best first.
Asks: TypeAlias = "Callable[[str, int], Iterable[Mapping[str, Any] | Hit]]"

TIMEOUT_S = 4.0
REST_S, LONGEST_REST_S = 1.0, 60.0
MOST_WAIT_S = 86_400.0
#: Maximum number of results to take from the other program, also for a higher limit.
MOST_RESULTS = 10_000
#: Options that are applied to the answer of another program; any other is searched for in the vault.
TAKEN = frozenset({"include_memories", "limit", "mode", "min_score", "timeout_s"})
#: Share of the search's time limit for the other program; the vault must still answer in the rest.
SHARE = 0.5


class _NoAnswer(Exception):
    """The other program has no usable answer; the message is the reason."""


class ExternalFirst:
    """A memory of another program, such as a search service, with a vault as the fallback.

    A search calls the other program. If that raises, is late, or returns no list of results, the vault answers, and the
    note ``external_failed`` gives the reason. The other program is then skipped for 1 s, and twice as long after each
    further failure, up to 60 s. An empty list is an answer. Results of the two are never mixed: to merge the results of
    several vaults, see `Federation`.

    The vault also answers searches with options that another program cannot follow: all but ``limit``, ``mode``,
    ``min_score``, ``timeout_s`` and ``include_memories`` (each of its results may be a memory). Nothing is copied
    between the two.

    Args:
        ask: called with the query and the maximum number of results, on a thread of its own. It returns results, best
            first: dicts with the fields of `Vault.add`, of which ``title`` is required, and optionally ``score``, a
            finite number (default 1 / rank); or hits of another search.
        vault: a `Vault`, a `PostgresVault` or a `Federation`.
        name: the name of the other program in hits and notes.
        timeout_s: maximum time to wait for it, 0.01 to 86,400 seconds, and at most half of the search's ``timeout_s``.
        rest_s: pause after its first failure, 0 to 86,400 seconds.
        longest_rest_s: maximum pause, in seconds.

    Raises:
        QueryError: an argument is invalid.
    """

    def __init__(
        self,
        ask: Asks,
        vault: Vault | PostgresVault | Federation,
        *,
        name: str = "external",
        timeout_s: float = TIMEOUT_S,
        rest_s: float = REST_S,
        longest_rest_s: float = LONGEST_REST_S,
    ) -> None:
        if ask is None:
            raise QueryError("ask is None: pass a function of the query and the number of results")
        self._ask = called(ask, "ask", QueryError)
        if not isinstance(vault, Searchable):
            raise QueryError(f"vault is {shown(vault)}: wanted a Vault or a Federation")
        self._vault: Searchable = vault
        self.name = utf8(name, "name", QueryError, 256)
        self._timeout_s = real(timeout_s, "timeout_s", QueryError, 0.01, MOST_WAIT_S)
        self._breaker: CircuitBreaker[str] = CircuitBreaker(
            real(rest_s, "rest_s", QueryError, 0, MOST_WAIT_S),
            real(longest_rest_s, "longest_rest_s", QueryError, 0, MOST_WAIT_S),
        )

    @property
    def fault(self) -> str | None:
        """The reason of the last failure of the other program; None while it answers."""
        return self._breaker.fault

    @takes_options
    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """Return the results of the other program; those of the vault if it fails or cannot follow an option.

        Hits of the other program have its name as ``tier``, no signals, and a confidence of 0. Its scores are not
        comparable with those of a vault: only a ``min_score`` of the call cuts them, not that of the profile.
        ``results.tiers`` has a report of it, with the error if it failed.

        Args:
            query: as for `Vault.search`.
            **options: those of `Vault.search`.

        Raises:
            QueryError: as for `Vault.search`, whether or not the vault answers; likewise other errors of an argument.
            StoreError: the vault is needed and cannot be read; the message also gives the error of the other program.
        """
        began = time.monotonic()
        plan = self._vault._plan(query, options)
        if not plan.query.text.strip():
            return self._vault.search(query, **options)
        try:
            entries, scores = self._external_answer(plan, _unsupported(options))
        except _NoAnswer as failed:
            return self._search_vault(str(failed), began, query, options)
        # A profile's min_score is for the scores of that profile only.
        min_score = None if options.get("min_score") is None else plan.min_score
        return self._results(plan, entries, scores, min_score, began)

    def _external_answer(self, plan: SearchPlan, unsupported: list[str]) -> tuple[list[Entry], list[float]]:
        """Return the entries and scores of the other program.

        Raises:
            _NoAnswer: it failed, was late, rests, or cannot follow an option.
        """
        if unsupported:
            raise _NoAnswer(f"{self.name} cannot follow {', '.join(unsupported)}")
        last = self._breaker.fault
        # After a pause a single search retries; concurrent ones go to the vault.
        if last is not None and not self._breaker.allows(self._timeout_s):
            raise _NoAnswer(f"{last}; it is paused")
        within_s = self._timeout_s
        if plan.deadline is not None:
            within_s = min(within_s, SHARE * plan.deadline.left_s)
        text, most = plan.query.text, min(plan.most_hits, MOST_RESULTS)
        try:
            future = call_on_thread(lambda: _entries_and_scores(self._ask(text, most), most), "septet-external")
            if not wait([future], within_s).done:
                raise _NoAnswer(f"{self.name} gave no answer within {within_s:.3g} s")
            answer = future.result()
        except Exception as fault:  # noqa: BLE001 - foreign code; an interrupt is raised
            reason = str(fault) if isinstance(fault, _NoAnswer) else f"{self.name} {_reason(fault)}"
            self._breaker.failed(reason)
            raise _NoAnswer(reason) from None
        self._breaker.succeeded()
        return answer

    def _results(
        self, plan: SearchPlan, entries: list[Entry], scores: list[float], min_score: float | None, began: float
    ) -> Results:
        places = [place for place, score in enumerate(scores) if min_score is None or score >= min_score]
        scored: list[Scored] = [(scores[place], self.name, {}, {}, 0.0, {}) for place in places]
        terms, rules = plan.query, plan.profile.text
        hits = hits_of(
            [entries[place] for place in places],
            scored,
            full=plan.mode == "full",
            sought=(terms.terms, terms.begun, terms.grams),
            around=rules.snippet == "match",
            snippet_chars=rules.snippet_chars,
        )
        took_ms = 1_000 * (time.monotonic() - began)
        report = TierReport(self.name, 1.0, len(entries), 0, took_ms)
        text = plan.query.text
        return Results(hits, text, self.name, plan.mode, {}, 0.0, plan.notes, (report,), took_ms)

    def _search_vault(self, failed: str, began: float, query: str, options: SearchOptions) -> Results:
        waited_s = time.monotonic() - began
        report = TierReport(self.name, 1.0, 0, 0, 1_000 * waited_s, failed)
        if options.get("timeout_s") is not None:
            left_s = max(0.01, float(options["timeout_s"] or 0.0) - waited_s)
            options = {**options, "timeout_s": left_s}
        try:
            results = self._vault.search(query, **options)
        except StoreError as fault:
            raise StoreError(f"{failed}; the vault failed too: {fault}") from fault
        note = Note("external_failed", f"{failed}; the vault was searched", "it is retried later", self.name)
        took_ms = results.took_ms + 1_000 * waited_s
        return replace(results, notes=(note, *results.notes), tiers=(report, *results.tiers), took_ms=took_ms)


def _unsupported(options: SearchOptions) -> list[str]:
    """Return the sorted names of options that another program cannot follow."""
    named: Mapping[str, Any] = options
    names = []
    for name, value in named.items():
        default = OPTIONS[name].default
        if name not in TAKEN and not (value is default or (isinstance(value, str) and value == default)):
            names.append(name)
    return sorted(names)


def _reason(fault: Exception) -> str:
    try:
        cause = printable(cut(str(fault)))
    except Exception:  # noqa: BLE001 - foreign code
        cause = "without a message"
    no_result = isinstance(fault, EntryError)
    return f"returned an invalid result: {cause}" if no_result else f"raised {type(fault).__name__}: {cause}"


def _entries_and_scores(answer: object, most: int) -> tuple[list[Entry], list[float]]:
    """Return the entries and scores of an answer, each id once.

    Raises:
        EntryError: an item is no result.
    """
    if isinstance(answer, (str, bytes, Mapping)) or not isinstance(answer, Iterable):
        raise EntryError(f"{shown(answer)}: wanted a list of dicts")
    entries, scores, seen = [], [], set()
    for place, item in enumerate(islice(answer, most), 1):
        if isinstance(item, Hit):
            if item.entry is None:
                raise EntryError(f"hit {shown(item.id)} without its entry: search with mode='full'")
            entry, score = item.entry, item.score
        elif isinstance(item, Mapping):
            fields = {name: item[name] for name in item if name != "score"}
            entry = draft(fields, now=0.0).entry
            score = real(item["score"], "score", EntryError) if "score" in item else 1.0 / place
        else:
            raise EntryError(f"{shown(item)}: wanted a dict with the fields of an entry")
        if entry.id not in seen:
            seen.add(entry.id)
            entries.append(entry)
            scores.append(score)
    return entries, scores
