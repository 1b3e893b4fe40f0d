"""Search services of the web: off until they are switched on, asked in turn, and left alone when they fail."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from embedding_server import Reply
from septet.model.entry import Entry
from septet.query.refine import deadline_of
from septet.retrieval.corpora.web import WebCorpus, WebOptions
from septet.retrieval.corpora.web.backends import CreditBudget
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.planning.policy import Policy
from web_server import TAVILY_KEY, WebServer, query_of, results, urls_of, values_of

OPENED: list[WebCorpus] = []
HTML = Reply(200, b"<html><body>Sign in</body></html>", {"content-type": "text/html"})


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as made:
        yield made
        while OPENED:
            OPENED.pop().close()


def policy_of(server: WebServer, *, key: str | None = TAVILY_KEY, **knobs: Any) -> Policy:
    made = Policy(**{"web_enabled": True, "searxng_url": server.url, "web_pause_ms": 0, **knobs})
    return made.with_secrets(lambda name: key if name == "TAVILY_API_KEY" else None)


def corpus_of(server: WebServer, policy: Policy | None = None, **rest: Any) -> WebCorpus:
    options = WebOptions(duckduckgo_url=f"{server.url}/ddg", tavily_url=f"{server.url}/tavily")
    OPENED.append(WebCorpus(policy or policy_of(server), options=options, **rest))
    return OPENED[-1]


def ask(corpus: WebCorpus, query: str = "how do doves fly", limit: int = 10, **rest: Any) -> CorpusAnswer:
    return corpus.search(CorpusRequest(query, limit, **rest))


def codes(found: CorpusAnswer) -> list[str]:
    return [note.code for note in found.notes]


def services(server: WebServer) -> list[int]:
    return [len(server.asked(name)) for name in ("searxng", "duckduckgo", "tavily")]


def test_nothing_is_sent_by_default(server: WebServer) -> None:
    knobs: dict[str, Any] = {"searxng_url": server.url, "tavily_enabled": True, "tavily_fire_on_weak": True}
    server.found["searxng"] = results("https://a.example/1")
    for policy in (Policy(), policy_of(server, web_enabled=False), policy_of(server, web_enabled=False, **knobs)):
        corpus = corpus_of(server, policy)
        assert urls_of(ask(corpus).lists) == []
        assert corpus.corrective(CorpusRequest("q", 5), local_empty=True, quality=0.0) is None
    for query in ("", "  \n"):
        assert urls_of(ask(corpus_of(server), query).lists) == []
    # Other phrasings would be as many requests more.
    assert urls_of(ask(corpus_of(server), variant=1).lists) == []
    assert server.requests == []


def test_without_a_service_there_is_a_note() -> None:
    corpus = WebCorpus(Policy(web_enabled=True, duckduckgo_fallback_enabled=False))
    assert codes(ask(corpus)) == ["web_failed"]


def test_searxng_is_asked_as_documented(server: WebServer) -> None:
    server.found["searxng"] = results("https://a.example/1")
    found = ask(corpus_of(server, policy_of(server, searxng_engines="google,wiki", searxng_language="de")))
    assert urls_of(found.lists) == ["https://a.example/1"]
    assert [one.name for one in found.lists] == ["searxng"]
    assert found.backends == ["web"]
    (request,) = server.requests
    assert values_of(request) == {
        "q": "how do doves fly",
        "format": "json",
        "engines": "google,wiki",
        "language": "de",
    }
    assert request.headers["user-agent"] == "septet"


@pytest.mark.parametrize("address", ["", "/", "/search", "/search/"])
def test_searxng_may_be_named_with_its_path(server: WebServer, address: str) -> None:
    server.found["searxng"] = results("https://a.example/1")
    assert len(urls_of(ask(corpus_of(server, policy_of(server, searxng_url=server.url + address))).lists)) == 1


def test_the_next_service_is_asked_only_when_nothing_came(server: WebServer) -> None:
    policy = policy_of(server, tavily_enabled=True)
    wanted = {"searxng": [1, 0, 0], "duckduckgo": [1, 1, 0], "tavily": [1, 1, 1]}
    for name, counts in wanted.items():
        server.requests.clear()
        server.found = {one: results(f"https://{one}.example/") if one == name else [] for one in wanted}
        found = ask(corpus_of(server, policy))
        assert [one.name for one in found.lists] == [name]
        assert services(server) == counts
    assert [one.name for one in ask(corpus_of(server, policy), "else").lists] == ["tavily"]
    server.found["tavily"] = []
    found = ask(corpus_of(server, policy))
    assert urls_of(found.lists) == [] and found.backends == ["web"]


def test_duckduckgo_can_be_switched_off(server: WebServer) -> None:
    server.found["duckduckgo"] = results("https://d.example/")
    assert urls_of(ask(corpus_of(server, policy_of(server, duckduckgo_fallback_enabled=False))).lists) == []
    assert services(server) == [1, 0, 0]


def test_grouped_topics_of_duckduckgo_are_results_too(server: WebServer) -> None:
    deep: dict[str, Any] = {"Name": "deep", "Topics": [{"FirstURL": "https://d.example/deep", "Text": "Deep - in"}]}
    for _ in range(30):
        deep = {"Name": "deeper", "Topics": [deep]}
    server.topics = {
        "Heading": "Dove",
        "AbstractText": "A bird.",
        "AbstractURL": "https://d.example/dove",
        "AbstractSource": "Wikipedia",
        "RelatedTopics": [
            {"FirstURL": "https://d.example/1", "Text": "Rock dove - a bird of cliffs"},
            {"Name": "See also", "Topics": [{"FirstURL": "https://d.example/2", "Text": "Pigeon"}, 7, None]},
            "nothing",
            deep,
        ],
    }
    policy = policy_of(server, searxng_url=None, searxng_max_urls_to_scrape=10)
    found = ask(corpus_of(server, policy))
    assert urls_of(found.lists) == [f"https://d.example/{name}" for name in ("dove", "1", "2", "deep")]
    entries = [item.hit.entry for item in found.lists[0].items]
    assert [one.title for one in entries if one is not None] == ["Dove", "Rock dove", "Pigeon", "Deep"]
    assert found.notes == []


BROKEN = {
    "error": Reply(500, {"error": "boom"}),
    "forbidden": Reply(403, b"Forbidden", {"content-type": "text/html"}),
    "busy": Reply(429, {"error": "slow down"}, {"retry-after": "3600"}),
    "page": HTML,
    "cut": Reply(200, {"results": results("https://a.example/1")}, sending="cut"),
    "dropped": Reply(sending="dropped"),
    "hung": Reply(200, {"results": []}, sending="stalled"),
    "endless": Reply(sending="endless"),
    "dripping": Reply(sending="trickling"),
    "other json": Reply(200, [1, 2, 3]),
    "other shape": Reply(200, {"results": {"a": 1}, "RelatedTopics": 3}),
    "redirected": Reply(302, b"", {"location": "https://elsewhere.example/"}),
    "not json": Reply(200, b"{]", {"content-type": "application/json"}),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_fails_is_noted_and_the_next_service_answers(server: WebServer, fault: str) -> None:
    server.fail("searxng", BROKEN[fault])
    server.found["duckduckgo"] = results("https://d.example/")
    # Whoever never ends has half of the time.
    found = ask(corpus_of(server), deadline=deadline_of(2.0 if fault in ("hung", "dripping") else 60.0))
    assert urls_of(found.lists) == ["https://d.example/"]
    assert codes(found) == ["web_failed"]
    assert found.notes[0].cause.startswith("SearXNG ") and found.notes[0].tier == "web_research"
    assert ("settings.yml" in found.notes[0].cure) == (fault == "forbidden")


@pytest.mark.parametrize("fault", ["error", "busy", "hung", "page"])
def test_a_service_that_failed_rests(server: WebServer, fault: str) -> None:
    server.fail("searxng", BROKEN[fault])
    server.found["duckduckgo"] = results("https://d.example/")
    corpus = corpus_of(server)
    for query in ("one", "two", "three"):
        assert urls_of(ask(corpus, query, deadline=deadline_of(2.0)).lists) == ["https://d.example/"]
    assert services(server) == [1, 3, 0]


def test_every_service_may_fail_at_once(server: WebServer) -> None:
    policy = policy_of(server, tavily_enabled=True)
    for name in ("searxng", "duckduckgo", "tavily"):
        server.fail(name, BROKEN["hung"])
    corpus = corpus_of(server, policy)
    # All three are asked before it is over, on a machine that does other things too.
    found = ask(corpus, deadline=deadline_of(2.0))
    assert urls_of(found.lists) == [] and found.backends == []
    assert codes(found).count("web_failed") == 3
    # All of them rest now, so the next question costs nothing.
    found = ask(corpus, "else", deadline=deadline_of(0.6))
    assert codes(found).count("web_failed") == 3
    assert services(server) == [1, 1, 1]


def test_the_same_question_is_asked_once(server: WebServer) -> None:
    server.found["searxng"] = results("https://a.example/1")
    corpus = corpus_of(server)
    first, second = ask(corpus, "a  b"), ask(corpus, " a b ")
    assert urls_of(first.lists) == urls_of(second.lists) == ["https://a.example/1"]
    assert services(server) == [1, 0, 0]


def test_hits_are_ranked_capped_and_each_page_once(server: WebServer) -> None:
    server.found["searxng"] = [
        *results("https://a.example/1?x=1", "http://a.example/1/", score=0.9),
        *results("https://docs.rs/x/latest", score=0.82),
        *results("javascript:alert(1)", "ftp://f.example/x", "", "https://", "https://a b.example/", score=9.0),
        {"title": "no address"},
        {"url": 7},
        {"url": "https://c.example/", "score": float("nan"), "title": None, "content": ["x"]},
        {"url": "https://d.example/\ud800", "score": 1.0},
    ]
    found = ask(corpus_of(server, policy_of(server, searxng_max_results=20, searxng_max_urls_to_scrape=5)))
    assert urls_of(found.lists) == ["https://docs.rs/x/latest", "https://a.example/1?x=1", "https://c.example/"]
    assert [item.hit.score for item in found.lists[0].items] == [0.82, 0.9, 0.5]
    for limit in (1, 2):
        assert len(urls_of(ask(corpus_of(server), limit=limit).lists)) == limit
    assert len(urls_of(ask(corpus_of(server, policy_of(server, searxng_max_urls_to_scrape=1))).lists)) == 1


def test_hits_are_entries_that_are_not_trusted(server: WebServer) -> None:
    server.found["searxng"] = results("https://a.example/Doves?page=2", score=0.7)
    corpus = corpus_of(server)
    (item,) = ask(corpus, "doves").lists[0].items
    entry = item.hit.entry
    assert isinstance(entry, Entry)
    assert (entry.kind, entry.trust, entry.source) == ("web", "untrusted", "https://a.example/Doves?page=2")
    assert entry.attrs["uri"] == "web-ingest:google:https://a.example/Doves?page=2"
    assert (entry.attrs["host"], entry.attrs["engine"], entry.attrs["page"]) == ("a.example", "google", False)
    assert entry.valid_until == pytest.approx(entry.attrs["retrieved_at"] + 30 * 86_400)
    assert item.key == f"web:{entry.id}" and item.hit.tier == "web_research"
    assert item.hit.excerpt(marks=("[", "]")) == "What https://a.example/[Doves]?page=2 says"
    assert corpus.get(entry.id) == entry and corpus.get("web-none") is None


def test_tavily_is_asked_with_its_key_which_is_shown_nowhere(server: WebServer, caplog: Any) -> None:
    caplog.set_level("DEBUG")
    server.found["tavily"] = results("https://t.example/?token=ghp_0123456789abcdefghij0123456789abcdef", score=0.5)
    policy = policy_of(server, searxng_url=None, duckduckgo_fallback_enabled=False, tavily_enabled=True)
    corpus = corpus_of(server, policy)
    (item,) = ask(corpus).lists[0].items
    entry = item.hit.entry
    assert entry is not None
    assert entry.attrs["uri"] == f"tavily:{entry.source}" and "ghp_" not in str(entry.to_dict())
    (request,) = server.requests
    assert request.json() == {"query": "how do doves fly", "search_depth": "basic", "max_results": 5}
    wrong = corpus_of(server, policy_of(server, key="tvly-wrong-0123456789", **policy_knobs(policy)))
    found = ask(wrong)
    assert codes(found) == ["web_failed"] and "401" in found.notes[0].cause
    said = f"{found} {wrong!r} {wrong.__dict__} {caplog.text}"
    assert "tvly-" not in said and "0123456789" not in said.replace(TAVILY_KEY, "tvly")


def policy_knobs(policy: Policy) -> dict[str, Any]:
    names = ("searxng_url", "duckduckgo_fallback_enabled", "tavily_enabled")
    return {name: getattr(policy, name) for name in names}


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_tavily_is_not_asked(server: WebServer, key: str | None) -> None:
    corpus = corpus_of(server, policy_of(server, key=key, tavily_enabled=True))
    found = ask(corpus)
    assert "tavily_no_key" in codes(found)
    assert services(server) == [1, 1, 0] and corpus.budget.left == 50


@pytest.mark.parametrize(("credits", "depth", "calls"), [(0, "basic", 0), (3, "basic", 3), (3, "advanced", 1)])
def test_no_thread_overdraws_the_credits(server: WebServer, credits: int, depth: str, calls: int) -> None:
    knobs: dict[str, Any] = {"tavily_credit_budget_per_session": credits, "tavily_search_depth": depth}
    policy = policy_of(server, searxng_url=None, duckduckgo_fallback_enabled=False, tavily_enabled=True, **knobs)
    corpus = corpus_of(server, policy)
    with ThreadPoolExecutor(6) as threads:
        told = [codes(found) for found in threads.map(lambda number: ask(corpus, f"q{number}"), range(12))]
    assert services(server) == [0, 0, calls]
    assert sum("tavily_budget_exhausted" in one for one in told) == 12 - calls
    assert sum("tavily_budget_low" in one for one in told) == calls


def test_few_credits_are_told_from_twenty_on(server: WebServer) -> None:
    policy = policy_of(server, searxng_url=None, duckduckgo_fallback_enabled=False, tavily_enabled=True)
    budget = CreditBudget(22)
    corpus = corpus_of(server, policy, budget=budget)
    assert [codes(ask(corpus, query)) for query in ("a", "b", "c")] == [
        [],
        ["tavily_budget_low"],
        ["tavily_budget_low"],
    ]
    assert budget.left == 19 == corpus.budget.left


def test_tavily_answers_after_the_others_when_the_policy_says_so(server: WebServer) -> None:
    server.found["tavily"] = results("https://t.example/")
    asked = CorpusRequest("doves", 5)
    corpus = corpus_of(server, policy_of(server, tavily_enabled=True, tavily_fire_on_weak=True))
    assert corpus.corrective(asked, local_empty=False, quality=0.55) is None
    for rest in ({"local_empty": True, "quality": 1.0}, {"local_empty": False, "quality": 0.54}):
        found = corpus.corrective(asked, **rest)  # type: ignore[arg-type]
        assert found is not None and urls_of(found.lists) == ["https://t.example/"]
    # CorpusRequest twice, answered once from memory.
    assert services(server) == [0, 0, 1]
    spent = corpus_of(server, policy_of(server, tavily_enabled=True, tavily_credit_budget_per_session=0))
    found = spent.corrective(asked, local_empty=True, quality=0.0)
    assert found is not None and codes(found) == ["tavily_budget_exhausted"]


def test_a_long_query_is_cut_at_a_word(server: WebServer) -> None:
    corpus = corpus_of(server)
    found = ask(corpus, "dove " * 200)
    assert "query_cut" in codes(found)
    assert all(query_of(one) == ("dove " * 80).strip() for one in server.requests)


@pytest.mark.parametrize("query", ["a&format=html", "100% of #1?", "naïve 鳩", "\ud800 half", "!w x", "\x00"])
def test_any_query_arrives_whole(server: WebServer, query: str) -> None:
    ask(corpus_of(server), query)
    assert [query_of(one) for one in server.requests] == [query.replace("\ud800", "\ufffd")] * 2


def test_a_secret_in_a_query_is_not_sent(server: WebServer) -> None:
    secret = "ghp_0123456789abcdefghij0123456789abcdef"
    ask(corpus_of(server), f"why is {secret} refused")
    assert [query_of(one) for one in server.requests] == ["why is *** refused"] * 2


def test_a_host_whose_name_is_never_found_costs_no_more_than_its_time(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def lookup(host: Any, *rest: Any, **more: Any) -> Any:
        # No timeout of a connection ends this.
        if host in ("hung.example", b"hung.example"):
            server.closing.wait(60)
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    server.found["duckduckgo"] = results("https://d.example/")
    found = ask(corpus_of(server, policy_of(server, searxng_url="http://hung.example")), deadline=deadline_of(2.0))
    assert urls_of(found.lists) == ["https://d.example/"]
    assert "gave no answer within" in found.notes[0].cause


def test_a_function_of_the_application_stands_for_the_three(server: WebServer) -> None:
    asked: list[tuple[str, int]] = []

    def web(query: str, limit: int) -> Iterator[dict[str, object]]:
        asked.append((query, limit))
        yield {"url": "https://own.example/", "title": "Own", "snippet": "of my own", "engine": "mine"}
        yield {"title": "no address"}

    found = ask(corpus_of(server, web=web))
    assert urls_of(found.lists) == ["https://own.example/"] and asked == [("how do doves fly", 5)]
    assert ask(corpus_of(server, Policy(), web=web)).lists[0].items == [] and len(asked) == 1
    assert server.requests == []


def test_a_function_that_fails_or_hangs_is_noted(server: WebServer) -> None:
    released = threading.Event()

    def hung(query: str, limit: int) -> list[dict[str, object]]:
        released.wait(60)
        return []

    def raising(query: str, limit: int) -> list[dict[str, object]]:
        raise RuntimeError("secret-key-in-here")

    for web in (hung, raising, lambda query, limit: [7], lambda query, limit: None):
        found = ask(corpus_of(server, web=web), deadline=deadline_of(0.2))
        assert codes(found) == ["web_failed"] and "secret-key" not in str(found.notes)
    released.set()


def test_fifty_threads_may_ask_one_corpus(server: WebServer) -> None:
    server.found["searxng"] = results("https://a.example/1")
    corpus = corpus_of(server)
    with ThreadPoolExecutor(50) as threads:
        found = list(threads.map(lambda number: urls_of(ask(corpus, f"q{number % 5}").lists), range(50)))
    assert found == [["https://a.example/1"]] * 50
    # One at a time, however many ask.
    assert server.most_at_once == 1
