"""ExternalFirst: the memory of another program is asked first, and a vault answers while that one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from septet._core import Lock
from septet.errors import EntryError, QueryError, StoreError
from septet.inputs.arguments import called, cut, printable, real, shown, utf8
from septet.model.drafts import draft
from septet.model.entry import Entry
from septet.model.results import Hit, Note, Results, Scored, TierReport, hits_of
from septet.query.options import OPTIONS, SearchOptions, takes_options
from septet.query.plan import Plan
from septet.search.searchable import Searchable
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from septet.federation import Federation
    from septet.postgres.vault.vault import PostgresVault
    from septet.vault import Vault

__all__ = ["Asks", "ExternalFirst"]

#: A function of the query and the number of results that are wanted, which returns them best first.
Asks: TypeAlias = "Callable[[str, int], Iterable[Mapping[str, Any] | Hit]]"

TIMEOUT_S = 4.0
REST_S, LONGEST_REST_S = 1.0, 60.0
MOST_WAIT_S = 86_400.0
#: So many results are taken where the limit is higher.
MOST_RESULTS = 10_000
#: The options of a search that the answer of another program can follow.
TAKEN = frozenset({"include_memories", "limit", "mode", "min_score", "timeout_s"})
#: The share of a search's time limit that the other program has: the vault must still answer in time.
SHARE = 0.5


class _Failed(Exception):
    """Why there is no answer."""


class ExternalFirst:
    """A memory of another program, such as a search service, with a vault behind it.

    A search asks that one. When it raises, is late, or gives what is no list of results, the vault answers, and the
    note ``external_failed`` says why. It then rests, 1 s at first and twice as long after each further failure, up to
    60 s, and the vault answers at once. An empty list is an answer. The results of both are never mixed: to merge what
    several vaults hold, see `Federation`.

    The vault also answers searches with options that another program cannot follow: all but ``limit``, ``mode``,
    ``min_score``, ``timeout_s`` and ``include_memories``, as all of it may be memories. Nothing is written to the other
    memory, and nothing of it to the vault.

    Args:
        ask: called with the query and the number of results, on a thread of its own. It returns results, best first:
            dicts with the fields of `Vault.add`, of which ``title`` is needed, and ``score``, a finite number (1 /
            place if there is none); or hits of another search.
        vault: a `Vault`, a `PostgresVault` or a `Federation`.
        name: what hits and notes call it.
        timeout_s: how long a search waits for it, 0.01 to 86,400 seconds, and at most half of its own ``timeout_s``.
        rest_s: how long it rests after its first failure, 0 to 86,400 seconds.
        longest_rest_s: the longest rest.

    Raises:
        QueryError: an argument is none of these.
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
            raise QueryError("ask is None: wanted a function of the query and the number of results")
        self._ask = called(ask, "ask", QueryError)
        if not isinstance(vault, Searchable):
            raise QueryError(f"vault is {shown(vault)}: wanted a Vault or a Federation")
        self._vault: Searchable = vault
        self.name = utf8(name, "name", QueryError, 256)
        self._timeout_s = real(timeout_s, "timeout_s", QueryError, 0.01, MOST_WAIT_S)
        self._rest_s = real(rest_s, "rest_s", QueryError, 0, MOST_WAIT_S)
        self._longest_rest_s = real(longest_rest_s, "longest_rest_s", QueryError, 0, MOST_WAIT_S)
        self._fault: str | None = None
        self._last_rest_s = self._retry_at = 0.0
        self._lock = Lock()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Renew the lock in a forked child."""
        self._lock = Lock()

    @property
    def fault(self) -> str | None:
        """Why the other memory failed last; None while it answers, as far as is known."""
        return self._fault

    @takes_options
    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """Return what the other memory finds; while it fails, or cannot follow an option, what the vault finds.

        Hits of the other memory have its name as ``tier``, no signals, and a confidence of 0: their scores were
        compared with nothing, and a ``min_score`` of the profile does not cut them, only one that is given.
        ``results.tiers`` has a report of it, with the error if it failed.

        Args:
            query: as for `Vault.search`.
            **options: those of `Vault.search`.

        Raises:
            QueryError: as for `Vault.search`, whoever answers; likewise the other errors of an argument.
            StoreError: the vault is needed and cannot be read; the message says why the other memory failed too.
        """
        began = time.monotonic()
        plan = self._vault._plan(query, options)
        if not plan.query.text.strip():
            return self._vault.search(query, **options)
        try:
            entries, scores = self._asked(plan, _beyond(options))
        except _Failed as failed:
            return self._instead(str(failed), began, query, options)
        # What a profile cuts at is meant for its own scores.
        asked = None if options.get("min_score") is None else plan.min_score
        return self._results(plan, entries, scores, asked, began)

    def _asked(self, plan: Plan, beyond: list[str]) -> tuple[list[Entry], list[float]]:
        """Return what the other memory gives.

        Raises:
            _Failed: nothing, and why.
        """
        if beyond:
            raise _Failed(f"{self.name} cannot follow {', '.join(beyond)}")
        with self._lock.hold():
            fault, now = self._fault, time.monotonic()
            if fault is not None:
                if now < self._retry_at:
                    raise _Failed(f"{fault}; it rests")
                # One search tries it; those beside it need not wait as long.
                self._retry_at = now + self._timeout_s
        within_s = self._timeout_s
        if plan.deadline is not None:
            within_s = min(within_s, SHARE * plan.deadline.left_s)
        text, most = plan.query.text, min(plan.most_hits, MOST_RESULTS)
        try:
            future = call_on_thread(lambda: _checked(self._ask(text, most), most), "septet-external")
            if not wait([future], within_s).done:
                raise _Failed(f"{self.name} gave no answer within {within_s:.3g} s")
            found = future.result()
        except Exception as fault:  # noqa: BLE001 - foreign code; an interrupt is raised
            said = str(fault) if isinstance(fault, _Failed) else f"{self.name} {_said(fault)}"
            self._rest(said)
            raise _Failed(said) from None
        with self._lock.hold():
            self._fault, self._last_rest_s = None, 0.0
        return found

    def _rest(self, fault: str) -> None:
        with self._lock.hold():
            self._fault = fault
            self._last_rest_s = min(max(self._rest_s, 2 * self._last_rest_s), self._longest_rest_s)
            self._retry_at = time.monotonic() + self._last_rest_s

    def _results(
        self, plan: Plan, entries: list[Entry], scores: list[float], least: float | None, began: float
    ) -> Results:
        kept = [at for at, score in enumerate(scores) if least is None or score >= least]
        scored: list[Scored] = [(scores[at], self.name, {}, {}, 0.0, {}) for at in kept]
        terms, rules = plan.query, plan.profile.text
        hits = hits_of(
            [entries[at] for at in kept],
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

    def _instead(self, failed: str, began: float, query: str, options: SearchOptions) -> Results:
        waited_s = time.monotonic() - began
        report = TierReport(self.name, 1.0, 0, 0, 1_000 * waited_s, failed)
        if options.get("timeout_s") is not None:
            left_s = max(0.01, float(options["timeout_s"] or 0.0) - waited_s)
            options = {**options, "timeout_s": left_s}
        try:
            results = self._vault.search(query, **options)
        except StoreError as fault:
            raise StoreError(f"{failed}; and the vault behind it: {fault}") from fault
        note = Note("external_failed", f"{failed}; the vault was searched", "it is asked again later", self.name)
        took_ms = results.took_ms + 1_000 * waited_s
        return replace(results, notes=(note, *results.notes), tiers=(report, *results.tiers), took_ms=took_ms)


def _beyond(options: SearchOptions) -> list[str]:
    """Return the options that are given and that another program cannot follow."""
    given: Mapping[str, Any] = options
    found = []
    for name, value in given.items():
        default = OPTIONS[name].default
        if name not in TAKEN and not (value is default or (isinstance(value, str) and value == default)):
            found.append(name)
    return sorted(found)


def _said(fault: Exception) -> str:
    try:
        cause = printable(cut(str(fault)))
    except Exception:  # noqa: BLE001 - foreign code
        cause = "without a message"
    no_result = isinstance(fault, EntryError)
    return f"gave what is no result: {cause}" if no_result else f"raised {type(fault).__name__}: {cause}"


def _checked(given: object, most: int) -> tuple[list[Entry], list[float]]:
    """Return results as entries with scores, each id once.

    Raises:
        EntryError: one of them is no result.
    """
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise EntryError(f"{shown(given)}: wanted a list of dicts")
    entries, scores, seen = [], [], set()
    for place, item in enumerate(islice(given, most), 1):
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
