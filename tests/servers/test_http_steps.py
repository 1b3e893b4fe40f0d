"""A search over HTTP takes few steps on the thread of the event loop, which all requests share. Nothing is timed."""

import json
import threading
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

import septet
from septet import Vault
from serving import HOST, connected, serving

PACKAGE = str(Path(septet.__file__).parent)
#: Calls of Python functions of the package, and resumptions of its coroutines, as measured with Python 3.11.
MOST_CALLS = 39
REQUESTS = 10
ROUNDS = 5


class Loop:
    """A profile function that counts calls of the package on the thread of a server, but not its clock's."""

    def __init__(self):
        self.threads, self.calls = set(), Counter()

    def __call__(self, frame, event, arg):
        name = frame.f_code.co_name
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        if name == "serve_until_stopped":
            self.threads.add(threading.get_ident())
        elif threading.get_ident() in self.threads and name != "on_tick":
            self.calls[f"{Path(frame.f_code.co_filename).name}:{name}"] += 1


@pytest.fixture
def counted():
    """A vault that is served, with the counts of its loop."""
    loop, before = Loop(), threading.getprofile() if hasattr(threading, "getprofile") else None
    with Vault(":memory:") as vault:
        vault.add_many({"id": f"e{n}", "title": f"Ducks {n}", "description": "on ponds"} for n in range(50))
        threading.setprofile(loop)
        try:
            with serving(vault) as url:
                threading.setprofile(before)
                yield url, loop.calls
        finally:
            threading.setprofile(before)


def search(sock):
    body = json.dumps({"query": "ducks ponds", "limit": 10}).encode()
    sock.sendall(b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    response = b""
    while (end := response.find(b"\r\n\r\n")) < 0:
        response += sock.recv(1 << 18)
    size = end + 4 + int(response[:end].lower().partition(b"content-length:")[2].split()[0])
    while len(response) < size:
        response += sock.recv(1 << 18)
    return json.loads(response[end + 4 :])


def test_a_search_takes_at_most_so_many_calls_on_the_loop(counted):
    url, calls = counted
    with connected(url) as (sock,):
        for _ in range(3):
            assert len(search(sock)["hits"]) == 10
        rounds = []
        for _ in range(ROUNDS):
            calls.clear()
            for _ in range(REQUESTS):
                search(sock)
            rounds.append(dict(calls))
    # The end of an answer, or of another connection, may fall into a round that it does not belong to.
    on_the_loop = min(rounds, key=lambda counts: sum(counts.values()))
    total = sum(on_the_loop.values())
    assert 0 < total <= MOST_CALLS * REQUESTS, sorted(on_the_loop.items(), key=lambda pair: -pair[1])


def test_an_answer_is_made_on_the_thread_of_its_search(counted):
    url, calls = counted
    with connected(url) as (sock,):
        search(sock)
    elsewhere = {"exchange.py:encoded", "exchange.py:reply", "exchange.py:timing_headers", "served.py:_hide_paths_of"}
    assert calls and not elsewhere & calls.keys()
