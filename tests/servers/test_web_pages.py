"""Pages of the web: read politely, within bounds, and never from a private network unless it is allowed."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from embedding_server import Reply, Request
from septet.query.refine import deadline_of
from septet.retrieval.corpora.web import WebCorpus
from septet.retrieval.corpora.web.calls import WebFault
from septet.retrieval.corpora.web.pages import PageReader, PageRules
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.planning.policy import Policy
from web_server import WebServer, html, redirect, results, urls_of

RULES = PageRules(timeout_s=20, pause_s=0, allow_private=True, robots=False)
LONG = "Doves fly with their wings, and pigeons too. " * 20


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as made:
        yield made
        while OPENED:
            OPENED.pop().close()


OPENED: list[Any] = []


def reader_of(**rules: Any) -> PageReader:
    OPENED.append(PageReader(RULES._replace(**rules)))
    return OPENED[-1]


def read(server: WebServer, path: str, timeout_s: float = 20.0, **rules: Any) -> str:
    return reader_of(**rules).read(server.url + path, timeout_s).text


def corpus_of(server: WebServer, **knobs: Any) -> WebCorpus:
    knobs = {"duckduckgo_fallback_enabled": False, "web_read_pages": True, "web_allow_private": True, **knobs}
    OPENED.append(WebCorpus(Policy(web_enabled=True, searxng_url=server.url, web_pause_ms=0, **knobs)))
    return OPENED[-1]


def ask(corpus: WebCorpus, **rest: Any) -> CorpusAnswer:
    return corpus.search(CorpusRequest("doves", 10, **rest))


def texts(found: CorpusAnswer) -> list[str]:
    return [item.hit.entry.description for one in found.lists for item in one.items if item.hit.entry is not None]


def test_the_text_of_pages_takes_the_place_of_snippets(server: WebServer) -> None:
    server.found["searxng"] = results(f"{server.url}/a", f"{server.url}/b", f"{server.url}/c", f"{server.url}/d")
    server.pages["/a"] = html(LONG, "All of doves")
    server.pages["/b"] = Reply(200, b"\x89PNG", {"content-type": "image/png"})
    found = ask(corpus_of(server))
    # Three hits are kept, and no more pages are looked at.
    assert sorted({*server.paths()} - {"/robots.txt"}) == ["/a", "/b", "/c"]
    assert texts(found) == [LONG.strip(), f"What {server.url}/b says", f"What {server.url}/c says"]
    (note,) = found.notes
    assert note.code == "web_page_unread" and "image/png" in note.cause and "404" in note.cause
    first = found.lists[0].items[0].hit.entry
    assert first is not None
    assert (first.title, first.context, first.attrs["page"]) == ("All of doves", f"What {server.url}/a says", True)


def test_without_the_option_no_page_is_read(server: WebServer) -> None:
    server.found["searxng"] = results(f"{server.url}/a")
    assert len(urls_of(ask(corpus_of(server, web_read_pages=False)).lists)) == 1
    assert server.paths() == []


BAD = {
    "missing": (Reply(404, b"<p>no</p>", {"content-type": "text/html"}), "404"),
    "error": (Reply(500, b"boom"), "500"),
    "image": (Reply(200, b"\x89PNG", {"content-type": "image/png"}), "image/png"),
    "json": (Reply(200, {"a": 1}), "application/json"),
    "empty": (Reply(200, b"", {"content-type": "text/html"}), "no text"),
    "links": (
        Reply(200, b'<a href="/very/long/address/of/a/page">x</a>' * 50, {"content-type": "text/html"}),
        "is text",
    ),
    "script": (Reply(200, b"<script>" + b"doves " * 500 + b"</script>", {"content-type": "text/html"}), "no text"),
    "huge": (Reply(200, b"<p>" + b"dove " * 500_000, {"content-type": "text/html"}), "sent more than"),
    "bomb": (
        Reply(200, gzip.compress(bytes(50 * 2**20)), {"content-type": "text/html", "content-encoding": "gzip"}),
        "sent more than",
    ),
    "no gzip": (Reply(200, b"<p>dove", {"content-type": "text/html", "content-encoding": "gzip"}), "not valid gzip"),
    "brotli": (Reply(200, b"<p>dove", {"content-type": "text/html", "content-encoding": "br"}), "encoding"),
    "hung": (Reply(200, b"<p>dove", {"content-type": "text/html"}, sending="stalled"), "no answer within"),
    "dripping": (Reply(200, b"<p>dove", sending="trickling"), "no answer within"),
    "endless": (Reply(200, b"<p>dove", sending="endless"), "sent more than"),
    "dropped": (Reply(sending="dropped"), "broke off"),
    "cut": (Reply(200, b"<p>dove", {"content-type": "text/html"}, sending="cut"), "broke off"),
    "loop": (redirect("/loop"), "more than 5 redirects"),
    "nowhere": (redirect("file:///etc/passwd"), "not http"),
    "named": (redirect("http://user:password@127.0.0.1/"), "contains a user name"),
    "strange": (redirect("http://[::1"), "not http|Invalid"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_page_is_refused_and_the_reader_goes_on(server: WebServer, fault: str) -> None:
    server.pages = {"/" + fault.replace(" ", "-"): BAD[fault][0], "/good": html(LONG)}
    reader = reader_of()
    with pytest.raises(WebFault, match=BAD[fault][1]):
        reader.read(f"{server.url}/{fault.replace(' ', '-')}", 0.4 if "no answer" in BAD[fault][1] else 20.0)
    assert reader.read(f"{server.url}/good", 20.0).text == LONG.strip()
    assert len(server.requests) <= 7


def test_cookies_are_not_taken(server: WebServer) -> None:
    server.pages = {path: html(LONG, set_cookie="seen=1; Max-Age=9999") for path in ("/a", "/b")}
    reader = reader_of()
    for path in ("/a", "/b"):
        assert reader.read(server.url + path, 20.0).text
    assert not [one for one in server.requests if "cookie" in one.headers]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(server: WebServer, status: int) -> None:
    server.pages = {f"/{number}": redirect(f"/{number + 1}", status) for number in range(5)}
    server.pages["/5"] = html(LONG)
    assert reader_of().read(f"{server.url}/0", 20.0).url == f"{server.url}/5"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=utf-8", "Tauben, 鳩".encode()),
        ("text/html", "Tauben, 鳩".encode()),
        ("text/html", '<meta charset="shift_jis">Tauben, 鳩'.encode("shift_jis")),
        ("text/html; charset=utf-8", "Tauben, 鳩 \ufeff".encode("utf-16")),
        ("text/html; charset=no-such", "Tauben, 鳩".encode()),
        ("text/html; charset=unicode_escape", "Tauben, 鳩".encode()),
        ("text/plain; charset=euc-jp", "Tauben, 鳩".encode("euc-jp")),
        ("text/markdown", "Tauben, 鳩".encode()),
    ],
)
def test_pages_are_decoded_as_they_say_or_as_they_are(server: WebServer, kind: str, body: bytes) -> None:
    server.pages["/a"] = Reply(200, body, {"content-type": kind})
    assert read(server, "/a").startswith("Tauben, 鳩")


def test_a_page_of_latin_letters_that_says_utf8_is_read(server: WebServer) -> None:
    body = "Übermäßig große Tauben fliegen über Häuser. ".encode("cp1252") * 9
    server.pages["/a"] = Reply(200, body, {"content-type": "text/html; charset=utf-8"})
    assert read(server, "/a").startswith("Übermäßig große Tauben")
    # One broken character does not make another encoding of it.
    server.pages["/b"] = Reply(200, LONG.encode() + b"\xff" + "鳩".encode(), {"content-type": "text/html"})
    assert read(server, "/b").endswith("\ufffd鳩")


def test_private_addresses_are_refused_also_behind_redirects(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pages["/a"] = html(LONG)
    reader = reader_of(allow_private=False)
    for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"):
        with pytest.raises(WebFault, match=r"not a public address|no address|cannot be reached"):
            reader.read(server.url.replace("127.0.0.1", host) + "/a", 20.0)
    assert server.requests == []
    # A public name may lead there, or look as if it did not: what is connected to is what was looked at.
    looked_up: list[str] = []
    real = socket.getaddrinfo

    def lookup(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        looked_up.append(host)
        return real("127.0.0.1", port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with pytest.raises(WebFault, match="not a public address"):
        reader.read(f"http://public.example:{server.url.rpartition(':')[2]}/a", 20.0)
    assert looked_up == ["public.example"] and server.requests == []


def test_a_redirect_to_a_private_address_is_not_followed(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    port = server.url.rpartition(":")[2]
    monkeypatch.setattr("septet.retrieval.corpora.web.calls.is_public", lambda address: address != "127.0.0.2")
    server.pages = {"/a": redirect(f"http://127.0.0.2:{port}/b"), "/b": html(LONG)}
    with pytest.raises(WebFault, match="not a public address"):
        read(server, "/a", allow_private=False)
    assert server.paths() == ["/a"]


def test_a_name_that_leads_elsewhere_when_it_is_asked_again_is_asked_once(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("septet.retrieval.corpora.web.calls.is_public", lambda address: address == "127.0.0.1")
    server.pages = {"/a": html(LONG)}
    real, addresses = socket.getaddrinfo, ["127.0.0.1"]

    def lookup(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        # An address is looked up as itself; the name leads to the machine's own network from the second time on.
        named = (addresses.pop() if addresses else "127.0.0.2") if host == "rebinding.example" else host
        return real(named, port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    port = server.url.rpartition(":")[2]
    assert reader_of(allow_private=False).read(f"http://rebinding.example:{port}/a", 20.0)
    assert server.paths()[-1] == "/a"


def test_with_a_proxy_names_are_looked_up_before_it_is_asked(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    with pytest.raises(WebFault, match="not a public address"):
        reader_of(allow_private=False).read("http://10.0.0.1/", 20.0)
    assert server.requests == []


ROBOTS = b"User-agent: *\nDisallow: /\nAllow: /open\n\nUser-agent: septet\nDisallow: /private\nAllow: /private/but\n"


def robots(content: bytes | Reply, **rest: Any) -> Reply:
    return content if isinstance(content, Reply) else Reply(200, content, {"content-type": "text/plain"})


def test_robots_txt_is_kept_to_and_asked_for_once(server: WebServer) -> None:
    server.pages = {f"/{name}": html(LONG) for name in ("private/x", "private/but", "open", "other")}
    server.pages["/robots.txt"] = robots(ROBOTS)
    reader = reader_of(robots=True)
    for path in ("/private/but", "/open", "/other"):
        assert reader.read(server.url + path, 20.0).text
    with pytest.raises(WebFault, match=r"robots\.txt"):
        reader.read(f"{server.url}/private/x", 20.0)
    assert server.paths() == ["/robots.txt", "/private/but", "/open", "/other"]
    with pytest.raises(WebFault, match=r"robots\.txt"):
        read(server, "/other", robots=True, user_agent="other/1.0 (+https://o.example)")


def test_robots_txt_holds_for_what_a_redirect_leads_to(server: WebServer) -> None:
    server.pages = {"/open": redirect("/private/x"), "/private/x": html(LONG), "/robots.txt": robots(ROBOTS)}
    with pytest.raises(WebFault, match=r"robots\.txt"):
        read(server, "/open", robots=True)
    assert "/private/x" not in server.paths()


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        (Reply(404, b""), True),
        (Reply(403, b""), True),
        (Reply(429, b""), False),
        (Reply(500, b""), False),
        (Reply(sending="dropped"), False),
        (Reply(200, b"<html>not found</html>", {"content-type": "text/html"}), True),
        (Reply(200, b"\xff\xfe\x00 : \n:::\nDisallow\n", {"content-type": "text/plain"}), True),
        (Reply(sending="endless"), False),
        (redirect("/elsewhere.txt"), False),
    ],
)
def test_a_host_that_cannot_say_is_left_alone(server: WebServer, answer: Reply, allowed: bool) -> None:
    server.pages = {"/robots.txt": answer, "/a": html(LONG), "/elsewhere.txt": robots(b"User-agent: *\nDisallow: /")}
    if allowed:
        assert read(server, "/a", robots=True)
    else:
        with pytest.raises(WebFault, match=r"robots\.txt"):
            read(server, "/a", robots=True)
        assert "/a" not in server.paths()


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_for_time_has_it(server: WebServer, status: int) -> None:
    server.pages = {"/a": Reply(status, b"", {"retry-after": "60"}), "/b": html(LONG)}
    reader = reader_of()
    for path, said in (("/a", str(status)), ("/b", "is paused")):
        with pytest.raises(WebFault, match=said):
            reader.read(server.url + path, 20.0)
    assert server.paths() == ["/a"]


def test_a_crawl_delay_is_kept_to(server: WebServer) -> None:
    server.pages = {"/robots.txt": robots(b"User-agent: *\nCrawl-delay: 60"), "/a": html(LONG), "/b": html(LONG)}
    reader = reader_of(robots=True)
    assert reader.read(f"{server.url}/a", 20.0).text
    with pytest.raises(WebFault, match="is paused"):
        reader.read(f"{server.url}/b", 20.0)
    assert server.paths() == ["/robots.txt", "/a"]


def test_a_host_is_asked_one_thing_at_a_time(server: WebServer) -> None:
    def slow(request: Request) -> Reply:
        server.closing.wait(0.01)
        return html(LONG)

    server.pages = {f"/{number}": slow for number in range(8)}
    reader = reader_of(robots=True)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: reader.read(f"{server.url}/{number}", 20.0).text, range(8)))
    assert found == [LONG.strip()] * 8 and server.most_at_once == 1


def test_robots_txt_is_fetched_by_one_of_those_who_want_it(server: WebServer) -> None:
    def slow(request: Request) -> Reply:
        server.closing.wait(0.1)
        return robots(b"User-agent: *\nDisallow: /3\n")

    server.pages = {f"/{number}": html(LONG) for number in range(6)} | {"/robots.txt": slow}
    pages, faults = reader_of(robots=True).read_all(
        [f"{server.url}/{number}" for number in range(6)], time.monotonic() + 20.0
    )
    assert sorted(pages) == [f"{server.url}/{number}" for number in (0, 1, 2, 4, 5)]
    assert len(faults) == 1 and "robots.txt" in faults[0]
    assert server.paths().count("/robots.txt") == 1


@pytest.mark.parametrize("count", [0, 1, 8, 30])
def test_few_threads_read_many_pages(server: WebServer, count: int) -> None:
    seen: list[int] = []

    def page(request: Request) -> Reply:
        seen.append(sum(one.name == "septet-web-page" for one in threading.enumerate()))
        return html(LONG)

    server.pages = {f"/{number}": page for number in range(count)}
    urls = [f"{server.url}/{number}" for number in range(count)]
    pages, faults = reader_of().read_all(urls, time.monotonic() + 20.0)
    assert sorted(pages) == sorted(urls) and faults == []
    assert max(seen, default=0) <= 8


def test_between_two_requests_there_is_a_pause(server: WebServer) -> None:
    server.pages = {"/a": html(LONG), "/b": html(LONG)}
    reader = reader_of(pause_s=30.0)
    assert reader.read(f"{server.url}/a", 20.0).text
    with pytest.raises(WebFault, match="is paused"):
        reader.read(f"{server.url}/b", 20.0)
    assert server.paths() == ["/a"]


def test_pages_that_hang_cost_their_time_and_no_more(server: WebServer) -> None:
    stalled = Reply(200, b"<p>dove</p>", {"content-type": "text/html"}, sending="stalled")
    server.found["searxng"] = results(f"{server.url}/a", f"{server.url}/b", f"{server.url}/c")
    server.pages = {"/a": html(LONG), "/b": stalled, "/c": stalled}
    corpus = corpus_of(server, scraper_timeout_ms=200)
    found = ask(corpus, deadline=deadline_of(3.0))
    assert len(texts(found)) == 3 and [note.code for note in found.notes] == ["web_page_unread"]
    # No thread is left behind by then.
    deadline = deadline_of(5.0)
    while any(one.name == "septet-web-page" for one in threading.enumerate()) and not deadline.passed:
        server.closing.wait(0.01)
    assert not [one for one in threading.enumerate() if one.name == "septet-web-page"]
