"""WebCorpus: the web as a corpus of a retrieval, off until it is switched on."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from septet._core import Lock
from septet.errors import QueryError, SeptetError
from septet.files.redaction import Redactor
from septet.inputs.arguments import called, real, shown, utf8
from septet.model.entry import Entry
from septet.model.results import Hit, Scored, hits_of
from septet.notes import Note
from septet.query.parse import parse
from septet.ranking.profile import TextRules
from septet.retrieval.corpora.web.asking import Found, Tiers
from septet.retrieval.corpora.web.backends import (
    DUCKDUCKGO_URL,
    TAVILY_URL,
    Backend,
    DuckDuckGo,
    OwnSearch,
    SearXNG,
    Tavily,
    WebSearch,
)
from septet.retrieval.corpora.web.calls import USER_AGENT
from septet.retrieval.corpora.web.credits import CreditBudget, tavily_outcome
from septet.retrieval.corpora.web.entries import KIND, TAVILY, entry_of
from septet.retrieval.corpora.web.keeping import Keeper
from septet.retrieval.corpora.web.pages import PageReader, PageRules, WebPage
from septet.retrieval.corpora.web.results import WebResult, ranked, scored, searxng_engines, searxng_language
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge, items_of, store_of
from septet.retrieval.planning.policy import Policy
from septet.system.forks import renew_in_children

__all__ = ["WebCorpus", "WebOptions"]

TIMEOUT_S = 8.0
#: Search services have so much of the time when pages are read after them.
SEARCH_SHARE = 0.6
#: Of a deadline so much is left, at most, so that the answer is there in time.
MARGIN_SHARE, MARGIN_S = 0.05, 0.1
SNIPPET_CHARS = 300
#: So many entries are known by id where no vault keeps them.
MOST_RECENT = 1_000
FLUSH_S = 5.0
#: The store of hits that no vault keeps.
STORE = "web"


class WebOptions(NamedTuple):
    """What no documented knob says of the web.

    Attributes:
        timeout_s: how long a question may take where the retrieval has no deadline, 0.01 to 600 seconds.
        user_agent: how requests introduce themselves, and the name that robots.txt may have rules for.
        duckduckgo_url: where DuckDuckGo is asked.
        tavily_url: where Tavily is asked.
    """

    timeout_s: float = TIMEOUT_S
    user_agent: str = USER_AGENT
    duckduckgo_url: str = DUCKDUCKGO_URL
    tavily_url: str = TAVILY_URL


class WebCorpus:
    """Pages of the web, found by search services: SearXNG, then DuckDuckGo, then Tavily, the next when nothing came.

    Nothing is sent before ``web_enabled`` of the policy is True. SearXNG is asked if the policy has its address,
    DuckDuckGo unless the policy switches it off, Tavily if the policy switches it on and has its key. Hits are entries
    of kind ``web``, not trusted, with their address as ``source``; secrets in them are masked. A vault keeps them, in
    the background, unless ``persist_web_hits`` is False; what is found again is updated.

    Only the original phrasing of a query is asked. What fails is a note, and rests. Where no service gives anything,
    what the vault kept of earlier searches stands in, as the list ``kept``.

    Args:
        policy: the knobs, and the key.
        knowledge: the vault that keeps hits; None for none.
        web: a function of the query and the number of results, asked instead of the three; it returns dicts with
            ``url``, and perhaps ``title``, ``text``, ``score`` and ``engine``, best first.
        budget: credits for Tavily; by default those of the policy, for as long as this corpus lives.
        options: what no knob says.
        redactor: masks secrets in what is sent, and in hits.

    Raises:
        QueryError: an argument is none of these.
    """

    name = "web_research"
    #: It is not of this machine, and other phrasings would be requests to others.
    local = phrasings = False

    def __init__(
        self,
        policy: Policy,
        knowledge: Knowledge | None = None,
        *,
        web: WebSearch | None = None,
        budget: CreditBudget | None = None,
        options: WebOptions | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise QueryError(f"policy is {shown(policy)}: wanted a Policy")
        if budget is not None and not isinstance(budget, CreditBudget):
            raise QueryError(f"budget is {shown(budget)}: wanted a CreditBudget")
        if redactor is not None and not isinstance(redactor, Redactor):
            raise QueryError(f"redactor is {shown(redactor)}: wanted a Redactor")
        self._policy = policy
        self._options = _checked(options)
        self.budget = budget or CreditBudget(policy.tavily_credit_budget_per_session)
        self._redactor = redactor or Redactor()
        self._tiers = Tiers(_backends(policy, self._options, self.budget, called(web, "web", QueryError)))
        self._reader = PageReader(_page_rules(policy, self._options)) if policy.web_read_pages else None
        self._keeper = Keeper(knowledge) if knowledge is not None and policy.persist_web_hits else None
        self._knowledge = knowledge
        self._store = STORE if knowledge is None else store_of(knowledge)
        self._recent: OrderedDict[str, Entry] = OrderedDict()
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        asks = ", ".join(self._tiers.names) or "nobody"
        return f"WebCorpus({'asks ' + asks if self._policy.web_enabled else 'off'})"

    def after_fork(self) -> None:
        """Renew the lock."""
        self._lock = Lock()

    def search(self, asked: Asked) -> Answered:
        """Return what the web has for a phrasing; nothing, and nothing is sent, while the web is off."""
        query = self._query(asked)
        if not self._policy.web_enabled or not query or asked.variant:
            return Answered([self._list("web", asked, [])])
        if not self._tiers.names:
            cure = "set searxng_url, or switch duckduckgo_fallback_enabled or tavily_enabled on"
            note = Note("web_failed", "no search service is configured", cure)
            return Answered([self._list("web", asked, [])], notes=[note])
        return self._searched(query, asked, None)

    def corrective(self, asked: Asked, *, local_empty: bool, quality: float) -> Answered | None:
        """Return what Tavily has, where the policy says that it is asked after the other corpora; None if not.

        Args:
            local_empty: the corpora of this machine found nothing.
            quality: of their evidence, 0 to 1.
        """
        policy = self._policy
        outcome = tavily_outcome(
            enabled=policy.web_enabled and TAVILY in self._tiers.names,
            on_empty=policy.tavily_fire_on_empty,
            on_weak=policy.tavily_fire_on_weak,
            local_empty=local_empty,
            quality=quality,
            threshold=policy.verification_weak_evidence_threshold,
            budget_remaining=self.budget.left,
        )
        query = self._query(asked)
        return None if outcome == "off" or not query else self._searched(query, asked, (TAVILY,))

    def get(self, entry_id: str) -> Entry | None:
        """Return a page that was found, by the id of its hit."""
        with self._lock.hold():
            recent = self._recent.get(entry_id)
        return recent if recent is not None or self._knowledge is None else self._knowledge.get(entry_id)

    def flush(self, timeout_s: float = FLUSH_S) -> bool:
        """Wait until hits are kept; return whether they are.

        Raises:
            QueryError: the time is none of 0 to 86,400 seconds.
        """
        seconds = real(timeout_s, "timeout_s", QueryError, 0, 86_400)
        return self._keeper is None or self._keeper.flush(seconds)

    def close(self) -> None:
        """Wait until hits are kept, 5 s at most, and close the connections; a question opens others."""
        if self._keeper is not None:
            self._keeper.flush(FLUSH_S)
        self._tiers.close()
        if self._reader is not None:
            self._reader.close()

    def _query(self, asked: Asked) -> str:
        """Return what is sent: a query on one line, without the secrets that somebody may have pasted into it."""
        return " ".join(self._redactor.redact(asked.query).text.split())

    def _searched(self, query: str, asked: Asked, only: Sequence[str] | None) -> Answered:
        now = time.monotonic()
        left_s = self._options.timeout_s
        if asked.deadline is not None:
            left = asked.deadline.left_s
            left_s = min(left_s, left - min(MARGIN_SHARE * left, MARGIN_S))
        share = 1.0 if self._reader is None else SEARCH_SHARE
        found = self._tiers.find(query, now + share * left_s, only)
        results = ranked(found.results)[: min(asked.limit, self._policy.searxng_max_urls_to_scrape)]
        pages, notes = self._read(results, now + left_s)
        hits = self._hits(query, found, results, pages)
        if self._keeper is not None:
            self._keeper.keep([hit.entry for hit in hits if hit.entry is not None])
            if (fault := self._keeper.told()) is not None:
                notes.append(Note("web_not_kept", f"a hit of the web was not kept: {fault}", "it is found again"))
        lists = [self._list(found.backend or "web", asked, hits)]
        if not hits:
            lists += self._kept(query, asked, now + left_s, notes)
        told = [replace(note, tier=self.name) for note in (*found.notes, *notes)]
        return Answered(lists, ["web"] if found.asked else [], told)

    def _kept(self, query: str, asked: Asked, ends_at: float, notes: list[Note]) -> list[RankedList]:
        """Return what the vault kept of earlier searches, as a list; none if it keeps nothing."""
        if self._keeper is None or self._knowledge is None:
            return []
        limit = min(asked.limit, self._policy.searxng_max_urls_to_scrape)
        if limit < 1:
            return []
        left_s = max(0.01, ends_at - time.monotonic())
        try:
            hits = self._knowledge.search(query, kinds=[KIND], limit=limit, timeout_s=left_s)
        except Exception as fault:  # noqa: BLE001 - the vault may be another's code
            said = str(fault) if isinstance(fault, SeptetError) else type(fault).__name__
            notes.append(Note("web_failed", f"what was kept of the web cannot be searched: {said}"))
            return []
        return [self._list("kept", asked, [changed_hit(hit, tier=self.name) for hit in hits])]

    def _read(self, results: Sequence[WebResult], ends_at: float) -> tuple[dict[str, WebPage], list[Note]]:
        """Return the pages that can be read in time, by the addresses of the results."""
        if self._reader is None or not results:
            return {}, []
        pages, faults = self._reader.read_all([result.url for result in results], ends_at)
        unread = len(results) - len(pages)
        if not unread:
            return pages, []
        said = f"{unread} of {len(results)} pages were not read: {'; '.join(dict.fromkeys(faults))}"
        return pages, [Note("web_page_unread", said, "what the search service shows of them stands for them")]

    def _hits(self, query: str, found: Found, results: Sequence[WebResult], pages: dict[str, WebPage]) -> Sequence[Hit]:
        now, kept = time.time(), []
        for result in results:
            entry = entry_of(
                result,
                pages.get(result.url),
                backend=found.backend or "web",
                now=now,
                keep_days=self._policy.web_keep_days,
                redactor=self._redactor,
            )
            if entry is not None:
                kept.append((entry, result))
        with self._lock.hold():
            for entry, _ in kept:
                self._recent[entry.id] = entry
                self._recent.move_to_end(entry.id)
            while len(self._recent) > MOST_RECENT:
                self._recent.popitem(last=False)
        scores: list[Scored] = [(scored(result), self.name, {}, {}, 0.0, {}) for _, result in kept]
        terms = parse(query, TextRules.known())
        return hits_of(
            [entry for entry, _ in kept],
            scores,
            full=True,
            sought=(terms.terms, terms.begun, terms.grams),
            around=True,
            snippet_chars=SNIPPET_CHARS,
        )

    def _list(self, name: str, asked: Asked, hits: Sequence[Hit]) -> RankedList:
        return RankedList(name, self.name, items_of(self._store, hits), variant=asked.variant)


def _checked(options: WebOptions | None) -> WebOptions:
    if options is None:
        return WebOptions()
    if not isinstance(options, WebOptions):
        raise QueryError(f"options is {shown(options)}: wanted WebOptions")
    return options._replace(
        timeout_s=real(options.timeout_s, "timeout_s", QueryError, 0.01, 600),
        user_agent=_header(options.user_agent, "user_agent"),
        duckduckgo_url=_header(options.duckduckgo_url, "duckduckgo_url"),
        tavily_url=_header(options.tavily_url, "tavily_url"),
    )


def _header(value: object, name: str) -> str:
    text = utf8(value, name, QueryError, 1_000).strip()
    if not text or not text.isascii() or not text.isprintable():
        raise QueryError(f"{name} is {shown(value)}: wanted printable ASCII")
    return text


def _page_rules(policy: Policy, options: WebOptions) -> PageRules:
    return PageRules(
        timeout_s=policy.scraper_timeout_ms / 1_000,
        min_density=policy.scraper_min_text_density,
        robots=policy.scraper_robots_txt_respect,
        pause_s=policy.web_pause_ms / 1_000,
        allow_private=policy.web_allow_private,
        user_agent=options.user_agent,
    )


def _backends(policy: Policy, options: WebOptions, budget: CreditBudget, web: WebSearch | None) -> list[Backend]:
    """Return the search services that a policy names, in the order in which they are asked."""
    agent, most = options.user_agent, policy.searxng_max_results
    if web is not None:
        return [OwnSearch(web, limit=most)]
    found: list[Backend] = []
    if policy.searxng_url is not None:
        engines, language = searxng_engines(policy.searxng_engines), searxng_language(policy.searxng_language)
        found.append(SearXNG(policy.searxng_url, engines=engines, language=language, limit=most, user_agent=agent))
    if policy.duckduckgo_fallback_enabled:
        found.append(
            DuckDuckGo(limit=most, pause_s=policy.web_pause_ms / 1_000, url=options.duckduckgo_url, user_agent=agent)
        )
    if policy.tavily_enabled:
        depth, most = policy.tavily_search_depth, policy.tavily_max_results

        def key() -> str | None:
            secret = policy.secret("tavily_api_key")
            return None if secret is None else secret.get_secret_value()

        found.append(Tavily(key, depth=depth, limit=most, budget=budget, url=options.tavily_url, user_agent=agent))
    return found
