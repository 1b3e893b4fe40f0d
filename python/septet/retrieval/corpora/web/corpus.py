"""WebCorpus: the web as a corpus of a retrieval, off until it is switched on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from septet.errors import QueryError, SeptetError
from septet.files.redaction import Redactor
from septet.inputs.arguments import called, real, shown, utf8
from septet.model.entry import Entry
from septet.model.results import Hit, Scored, hits_of
from septet.notes import Note
from septet.query.parse import parse
from septet.ranking.profile import TextRules
from septet.retrieval.corpora.legs import RecentEntries
from septet.retrieval.corpora.web.asking import Services, WebHits
from septet.retrieval.corpora.web.backends import (
    DUCKDUCKGO_URL,
    TAVILY_URL,
    Backend,
    CreditBudget,
    DuckDuckGo,
    OwnSearch,
    SearXNG,
    Tavily,
    WebSearch,
    tavily_outcome,
)
from septet.retrieval.corpora.web.calls import USER_AGENT
from septet.retrieval.corpora.web.keeping import Keeper
from septet.retrieval.corpora.web.pages import PageReader, PageRules
from septet.retrieval.corpora.web.results import (
    KIND,
    TAVILY,
    WebPage,
    WebResult,
    entry_of,
    ranked,
    scored,
    searxng_engines,
    searxng_language,
)
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge, items_of, store_of
from septet.retrieval.planning.policy import Policy

TIMEOUT_S = 8.0
#: Share of the time for search services, if pages are read afterwards.
SEARCH_SHARE = 0.6
#: Reserve before a deadline, so that the answer is in time.
MARGIN_SHARE, MARGIN_S = 0.05, 0.1
SNIPPET_CHARS = 300
#: Maximum recent entries, for `get` without a vault.
MOST_RECENT = 1_000
FLUSH_S = 5.0
#: Store of hits without a vault.
STORE = "web"


class WebOptions(NamedTuple):
    """Web settings without a documented knob.

    Attributes:
        timeout_s: maximum time of a search without a deadline, 0.01 to 600 seconds.
        user_agent: the User-Agent of requests, and the name for robots.txt.
        duckduckgo_url: address of DuckDuckGo.
        tavily_url: address of Tavily.
    """

    timeout_s: float = TIMEOUT_S
    user_agent: str = USER_AGENT
    duckduckgo_url: str = DUCKDUCKGO_URL
    tavily_url: str = TAVILY_URL


class WebCorpus(RecentEntries):
    """Pages of the web, from search services: SearXNG, else DuckDuckGo, else Tavily; the first with results.

    Nothing is sent unless ``web_enabled`` of the policy is True. SearXNG is used if the policy has its address,
    DuckDuckGo unless the policy disables it, Tavily if the policy enables it and has its key. Hits are untrusted
    entries of kind ``web`` with their address as ``source``; secrets in them are masked. A vault stores them in the
    background, unless ``persist_web_hits`` is False; repeated hits update their entry.

    Only the original phrasing of a query is sent. A failing service adds a note, and backs off. If no service has
    results, the list ``kept`` has stored hits of earlier searches.

    Args:
        policy: the knobs, and the key.
        knowledge: the vault that stores hits; None for none.
        web: a function of the query and the number of results, instead of the three services; it returns dicts with
            ``url``, and optionally ``title``, ``text``, ``score`` and ``engine``, best first.
        budget: credits for Tavily; by default those of the policy, for the lifetime of this corpus.
        options: settings without a knob.
        redactor: masks secrets in requests and hits.

    Raises:
        QueryError: an argument is invalid, or pages are read without the extra ``web``.
    """

    name = "web_research"
    #: Remote; and other phrasings would be further requests to third parties.
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
        super().__init__(self.name, STORE if knowledge is None else store_of(knowledge), MOST_RECENT)
        self._policy = policy
        self._options = _checked(options)
        self.budget = budget or CreditBudget(policy.tavily_credit_budget_per_session)
        self._redactor = redactor or Redactor()
        self._services = Services(_backends(policy, self._options, self.budget, called(web, "web", QueryError)))
        self._reader: PageReader | None = None
        if policy.web_enabled and policy.web_read_pages:
            rules = PageRules(
                timeout_s=policy.scraper_timeout_ms / 1_000,
                min_density=policy.scraper_min_text_density,
                robots=policy.scraper_robots_txt_respect,
                pause_s=policy.web_pause_ms / 1_000,
                allow_private=policy.web_allow_private,
                user_agent=self._options.user_agent,
            )
            self._reader = PageReader(rules)
        self._keeper = Keeper(knowledge) if knowledge is not None and policy.persist_web_hits else None
        self._knowledge = knowledge

    def __repr__(self) -> str:
        asks = ", ".join(self._services.names) or "no service"
        return f"WebCorpus({'asks ' + asks if self._policy.web_enabled else 'off'})"

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the web hits of a phrasing; empty, and nothing is sent, while the web is disabled."""
        query = self._query(request)
        if self._policy.web_enabled and query and not request.variant and self._services.names:
            return self._results_of(query, request, None)
        notes = []
        if self._policy.web_enabled and query and not request.variant:
            cure = "set searxng_url, or switch duckduckgo_fallback_enabled or tavily_enabled on"
            notes = [Note("web_failed", "no search service is configured", cure)]
        return CorpusAnswer([self._list("web", request, [])], notes=notes)

    def corrective(self, request: CorpusRequest, *, local_empty: bool, quality: float) -> CorpusAnswer | None:
        """Return Tavily's hits if the policy uses it after the other corpora; else None."""
        policy = self._policy
        outcome = tavily_outcome(
            enabled=policy.web_enabled and TAVILY in self._services.names,
            on_empty=policy.tavily_fire_on_empty,
            on_weak=policy.tavily_fire_on_weak,
            local_empty=local_empty,
            quality=quality,
            threshold=policy.verification_weak_evidence_threshold,
            budget_remaining=self.budget.left,
        )
        query = self._query(request)
        return None if outcome == "off" or not query else self._results_of(query, request, (TAVILY,))

    def get(self, entry_id: str) -> Entry | None:
        """Return the entry of a web hit, by its id."""
        recent = super().get(entry_id)
        return recent if recent is not None or self._knowledge is None else self._knowledge.get(entry_id)

    def flush(self, timeout_s: float = FLUSH_S) -> bool:
        """Wait until all hits are stored; return True if they are.

        Raises:
            QueryError: the time is outside 0 to 86,400 seconds.
        """
        seconds = real(timeout_s, "timeout_s", QueryError, 0, 86_400)
        return self._keeper is None or self._keeper.flush(seconds)

    def close(self) -> None:
        """Wait at most 5 s until all hits are stored, and close the connections; the next search opens new ones."""
        if self._keeper is not None:
            self._keeper.flush(FLUSH_S)
        self._services.close()
        if self._reader is not None:
            self._reader.close()

    def _query(self, request: CorpusRequest) -> str:
        """Return the query to send, on one line, with secrets masked."""
        return " ".join(self._redactor.redact(request.query).text.split())

    def _results_of(self, query: str, request: CorpusRequest, only: Sequence[str] | None) -> CorpusAnswer:
        now = time.monotonic()
        left_s = self._options.timeout_s
        if request.deadline is not None:
            remaining_s = request.deadline.left_s
            left_s = min(left_s, remaining_s - min(MARGIN_SHARE * remaining_s, MARGIN_S))
        share = 1.0 if self._reader is None else SEARCH_SHARE
        web = self._services.find(query, now + share * left_s, only)
        results = ranked(web.results)[: min(request.limit, self._policy.searxng_max_urls_to_scrape)]
        pages, notes = self._read(results, now + left_s)
        hits = self._hits(query, web, results, pages)
        if self._keeper is not None:
            self._keeper.keep([hit.entry for hit in hits if hit.entry is not None])
            if (fault := self._keeper.fault()) is not None:
                notes.append(Note("web_not_kept", f"a web hit was not stored: {fault}", "the next search stores it"))
        lists = [self._list(web.backend or "web", request, hits)]
        if not hits:
            lists += self._stored_hits(query, request, now + left_s, notes)
        all_notes = [replace(note, tier=self.name) for note in (*web.notes, *notes)]
        return CorpusAnswer(lists, ["web"] if web.responded else [], all_notes)

    def _stored_hits(self, query: str, request: CorpusRequest, ends_at: float, notes: list[Note]) -> list[RankedList]:
        """Return stored hits of earlier searches, as a list; none without a vault."""
        limit = min(request.limit, self._policy.searxng_max_urls_to_scrape)
        if self._keeper is None or self._knowledge is None or limit < 1:
            return []
        left_s = max(0.01, ends_at - time.monotonic())
        try:
            hits = self._knowledge.search(query, kinds=[KIND], limit=limit, timeout_s=left_s)
        except Exception as fault:  # noqa: BLE001 - the vault may be another's code
            reason = str(fault) if isinstance(fault, SeptetError) else type(fault).__name__
            notes.append(Note("web_failed", f"stored web hits cannot be searched: {reason}"))
            return []
        items = items_of(self._store, [changed_hit(hit, tier=self.name) for hit in hits])
        return [RankedList("kept", self.name, items, variant=request.variant)]

    def _read(self, results: Sequence[WebResult], ends_at: float) -> tuple[dict[str, WebPage], list[Note]]:
        """Return the pages read in time, by the addresses of the results."""
        if self._reader is None or not results:
            return {}, []
        pages, faults = self._reader.read_all([result.url for result in results], ends_at)
        unread = len(results) - len(pages)
        if not unread:
            return pages, []
        cause = f"{unread} of {len(results)} pages were not read: {'; '.join(dict.fromkeys(faults))}"
        return pages, [Note("web_page_unread", cause, "their excerpts of the search service are used")]

    def _hits(self, query: str, web: WebHits, results: Sequence[WebResult], pages: dict[str, WebPage]) -> Sequence[Hit]:
        now, pairs = time.time(), []
        for result in results:
            entry = entry_of(
                result,
                pages.get(result.url),
                backend=web.backend or "web",
                now=now,
                keep_days=self._policy.web_keep_days,
                redactor=self._redactor,
            )
            if entry is not None:
                pairs.append((entry, result))
        scores: list[Scored] = [(scored(result), self.name, {}, {}, 0.0, {}) for _, result in pairs]
        terms = parse(query, TextRules.known())
        return hits_of(
            [entry for entry, _ in pairs],
            scores,
            full=True,
            sought=(terms.terms, terms.begun, terms.grams),
            around=True,
            snippet_chars=SNIPPET_CHARS,
        )


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


def _backends(policy: Policy, options: WebOptions, budget: CreditBudget, web: WebSearch | None) -> list[Backend]:
    """Return the search services of a policy, by precedence."""
    agent, most = options.user_agent, policy.searxng_max_results
    if web is not None:
        return [OwnSearch(web, limit=most)]
    backends: list[Backend] = []
    if policy.searxng_url is not None:
        engines, language = searxng_engines(policy.searxng_engines), searxng_language(policy.searxng_language)
        backends.append(SearXNG(policy.searxng_url, engines=engines, language=language, limit=most, user_agent=agent))
    if policy.duckduckgo_fallback_enabled:
        backends.append(
            DuckDuckGo(limit=most, pause_s=policy.web_pause_ms / 1_000, url=options.duckduckgo_url, user_agent=agent)
        )
    if policy.tavily_enabled:
        depth, most = policy.tavily_search_depth, policy.tavily_max_results

        def key() -> str | None:
            secret = policy.secret("tavily_api_key")
            return None if secret is None else secret.get_secret_value()

        backends.append(Tavily(key, depth=depth, limit=most, budget=budget, url=options.tavily_url, user_agent=agent))
    return backends
