"""How much a server takes on: sizes, times, numbers, clients that leave, and its end."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Thread
from urllib.parse import urlsplit

import httpx
import pytest

pytest.importorskip("uvicorn")

from septet import Vault
from septet.server import running
from serving import ask, raw, serving, until

POST = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
QUERY = b'{"query":"cookies"}'


class Gated(Vault):
    """A vault whose searches begin, and wait for a gate."""

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.begun, self.gate, self.asked = Event(), Event(), []

    def search(self, query, **options):
        self.asked.append((query, options))
        self.begun.set()
        assert self.gate.wait(60)
        return super().search(query, **options)


@pytest.fixture
def vault(tmp_path):
    with Gated(tmp_path / "v.db") as vault:
        vault.add(id="a", title="Rotate session cookies")
        yield vault
        vault.gate.set()


@pytest.fixture
def open_vault(vault):
    vault.gate.set()
    return vault


def code_of(said):
    return (
        json.loads(said.partition(b"\r\n\r\n")[2])["error"]["code"]
        if isinstance(said, bytes)
        else said.json()["error"]["code"]
    )


@contextmanager
def searching(url, query="cookies"):
    """Search on a connection of its own; give the socket, which has the answer later."""
    at = urlsplit(url)
    body = json.dumps({"query": query}).encode()
    with socket.create_connection((at.hostname, at.port), 60) as sock:
        sock.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        yield sock


def answer_of(sock):
    return b"".join(iter(lambda: sock.recv(65_536), b""))


def test_a_body_that_is_too_large_is_refused_before_it_is_read(open_vault):
    with serving(open_vault, max_body=1_000) as url:
        said = raw(url, POST + b"Content-Length: 10000000\r\n\r\n")
        assert (said.split()[1], code_of(said)) == (b"413", "too_large")
        chunks = b"".join(b"190\r\n" + b"x" * 400 + b"\r\n" for _ in range(3))
        said = raw(url, POST + b"Transfer-Encoding: chunked\r\n\r\n", chunks)
        assert (said.split()[1], code_of(said)) == (b"413", "too_large")
        assert ask.post(f"{url}v1/search", json={"query": "x" * 900}).status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(open_vault):
    with serving(open_vault, body_s=0.2) as url:
        for part in (b"", QUERY[:5]):
            said = raw(url, POST + b"Content-Length: 19\r\n\r\n" + part)
            assert (said.split()[1], code_of(said)) == (b"408", "too_slow")


def test_a_head_that_does_not_come_is_not_waited_for(open_vault, monkeypatch):
    monkeypatch.setattr(running, "HEAD_S", 0.2)
    monkeypatch.setattr(running, "KEEP_S", 0.2)
    with serving(open_vault) as url:
        assert raw(url, b"") == b""
        assert raw(url, b"GET /v1/stats HTTP/1.1\r\nHost: loc") == b""
        # Also not behind a request that is over.
        said = raw(url, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /v1/stats HTTP/1.1\r\n")
        assert said.endswith(b'{"status":"ok"}')


@pytest.mark.parametrize(
    "request_head",
    [
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n{}",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1e3\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"X: " + b"y" * 200_000 + b"\r\n\r\n",
    ],
    ids=["no number", "negative chunk", "huge chunk", "negative", "float", "two lengths", "packed", "long head"],
)
def test_requests_that_are_framed_wrong_harm_nobody(open_vault, request_head):
    with serving(open_vault, body_s=0.2) as url:
        try:
            said = raw(url, POST + request_head)
        except ConnectionError:
            # Refused in the middle of what was sent.
            said = b""
        assert said == b"" or said.split()[1] in (b"400", b"408", b"415", b"422", b"431", b"501")
        assert ask.post(f"{url}v1/search", json={"query": "cookies"}).status_code == 200


def test_a_request_cannot_be_smuggled_behind_two_lengths(open_vault):
    with serving(open_vault) as url:
        inner = b"DELETE /v1/entries/a HTTP/1.1\r\nHost: localhost\r\n\r\n"
        both = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (5 + len(inner))
        said = raw(url, POST + both + inner)
        assert said.count(b"HTTP/1.1 ") <= 1
        # Nor where the client wants the connection to stay: what stands behind is no request.
        said = raw(url, POST.replace(b"Connection: close\r\n", b"") + both + inner)
        assert (said.split()[1], said.count(b"HTTP/1.1 ")) == (b"400", 1)
        assert "a" in open_vault


def test_a_packed_body_is_refused(open_vault):
    with serving(open_vault) as url:
        answer = ask.post(f"{url}v1/search", content=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
        assert (answer.status_code, code_of(answer)) == (415, "unsupported_encoding")


@pytest.mark.parametrize(
    "body",
    [
        '{"query": "x", "limit": 1%s}' % ("0" * 5_000),
        "[" * 100_000,
        '{"query": "\\ud800"}',
        '{"query": "x", "min_score": NaN}',
        '{"query": "x", "min_score": 1e999}',
        "\ufeff{}",
        '{"query": "\x00"}',
        '{"query": "\ud800"}',
        "",
    ],
    ids=["huge", "deep", "half", "nan", "infinite", "bom", "nul", "no utf-8", "empty"],
)
def test_odd_json_is_answered_with_json(open_vault, body):
    with serving(open_vault) as url:
        answer = ask.post(f"{url}v1/search", content=body.encode("utf-8", "surrogatepass"))
        assert answer.status_code in (200, 422)
        json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_what_json_has_not_is_replaced_in_answers(open_vault):
    open_vault.add(id="odd", title="odd", attrs={"huge": 10**400, "tiny": -(2**70)})
    with serving(open_vault) as url:
        answer = ask.get(f"{url}v1/entries/odd")
        assert answer.json()["attrs"] == {"huge": 10**400, "tiny": -(2**70)}


def test_what_takes_too_long_is_ended_with_its_code(vault):
    with serving(vault, deadline_s=0.2) as url:
        answer = ask.post(f"{url}v1/search", json={"query": "cookies"})
        assert (answer.status_code, code_of(answer)) == (504, "deadline")
        vault.gate.set()
        assert ask.post(f"{url}v1/search", json={"query": "cookies"}).status_code == 200


def test_a_search_is_given_no_more_time_than_its_request(open_vault):
    with serving(open_vault, deadline_s=7.0) as url:
        for asked, given in [(None, None), (3.0, 3.0), (9_999.0, 7.0)]:
            ask.post(f"{url}v1/search", json={"query": "cookies", "timeout_s": asked})
            assert open_vault.asked[-1][1]["timeout_s"] == given


def test_beyond_what_may_wait_requests_are_sent_away(vault):
    with serving(vault, most_requests=2) as url, searching(url) as first, searching(url) as second:
        until(lambda: url.app.running == 2)
        answer = ask.get(f"{url}v1/stats")
        assert (answer.status_code, code_of(answer), answer.headers["retry-after"]) == (503, "overloaded", "1")
        assert ask.get(f"{url}healthz").status_code == 200
        vault.gate.set()
        assert [answer_of(one).split()[1] for one in (first, second)] == [b"200", b"200"]
        assert ask.get(f"{url}v1/stats").status_code == 200


def test_what_a_client_that_went_had_asked_is_not_begun(vault):
    with serving(vault, max_workers=1) as url, searching(url, "first") as first:
        assert vault.begun.wait(20)
        with searching(url, "second"):
            until(lambda: url.app.running == 2)
        until(lambda: url.app.running == 1)
        vault.gate.set()
        assert answer_of(first).split()[1] == b"200"
        assert [query for query, _ in vault.asked] == ["first"]


def test_fifty_clients_at_a_time_get_the_same_answer(open_vault):
    wanted = open_vault.search("cookies").ids
    # A pool that closes idle connections may close one that another thread reads from.
    kept = httpx.Limits(max_connections=50, max_keepalive_connections=50)
    with serving(open_vault) as url, ThreadPoolExecutor(50) as clients, httpx.Client(limits=kept, timeout=60) as client:
        answers = list(clients.map(lambda _: client.post(f"{url}v1/search", json={"query": "cookies"}), range(200)))
    assert {answer.status_code for answer in answers} == {200}
    assert {tuple(hit["id"] for hit in answer.json()["hits"]) for answer in answers} == {tuple(wanted)}


def test_clients_that_leave_in_the_middle_of_anything_harm_nobody(open_vault):
    at_once = [b"", POST, POST + b"Content-Length: 19\r\n\r\n", POST + b"Content-Length: 19\r\n\r\n" + QUERY]
    bulk = b"POST /v1/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n"
    export = b"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(open_vault) as url:
        at = urlsplit(url)
        for piece in [*at_once, bulk, bulk + b'{"title":"x"}\n', export] * 3:
            with socket.create_connection((at.hostname, at.port), 20) as sock:
                sock.sendall(piece)
        until(lambda: url.app.running == 0)
        assert ask.get(f"{url}readyz").json()["status"] == "ok"


def test_requests_in_a_row_on_one_connection_are_answered_in_a_row(open_vault):
    with serving(open_vault) as url:
        one = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 19\r\n\r\n" + QUERY
        said = raw(url, one + one + POST + b"Content-Length: 19\r\n\r\n" + QUERY)
        assert said.count(b"HTTP/1.1 200 OK") == 3


def test_it_stops_when_what_runs_is_done_and_says_so_meanwhile(vault):
    with serving(vault) as url, searching(url) as runs:
        until(lambda: url.app.running == 1)
        url.server.stop()
        until(lambda: url.app.stopping)
        assert ask.get(f"{url}readyz").json() == {"status": "stopping", "notes": []}
        answer = ask.get(f"{url}v1/stats")
        assert (answer.status_code, code_of(answer), answer.headers["retry-after"]) == (503, "stopping", "1")
        assert ask.get(f"{url}healthz").status_code == 200
        vault.gate.set()
        assert answer_of(runs).split()[1] == b"200"


def test_what_runs_for_too_long_does_not_keep_it_from_stopping(vault):
    stopped = Event()

    def serve():
        with serving(vault, grace_s=0.1) as url, searching(url):
            assert vault.begun.wait(20)
        stopped.set()

    thread = Thread(target=serve)
    thread.start()
    assert stopped.wait(40)
    thread.join()


def test_a_vault_that_is_replaced_while_it_is_served_is_told_to_who_looks_after_it(open_vault, tmp_path):
    with serving(open_vault) as url:
        assert ask.get(f"{url}readyz").status_code == 200
        with Vault(tmp_path / "other.db") as other:
            other.add(id="b", title="Another file")
        (tmp_path / "other.db").replace(tmp_path / "v.db")
        url.app._health._until = 0.0
        answer = ask.get(f"{url}readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "failed", "notes": ["vault_replaced"]})
        found = ask.post(f"{url}v1/search", json={"query": "cookies"}).json()
        assert [hit["id"] for hit in found["hits"]] == ["a"]
        assert [note["code"] for note in found["notes"]] == ["vault_replaced"]
        written = ask.post(f"{url}v1/entries", json={"title": "x"})
        assert (written.status_code, code_of(written)) == (500, "vault_replaced")
