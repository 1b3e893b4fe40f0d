"""Servers that answer anything but vectors: they cost a bounded time and memory, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gzip
import socket
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from septet import EmbeddingError, EmbeddingOptions, Vault
from septet.embedding import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder, VoyageEmbedder, pipeline
from septet.net.client import IO

MADE = [OpenAIEmbedder, VoyageEmbedder, GeminiEmbedder, OllamaEmbedder]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
VECTOR = b'{"data":[{"index":0,"embedding":[3,4]}],"embeddings":[{"values":[3,4]}]}'


class Rude:
    """Reads a request and then does what it is told, a function of the connection and of an event that ends it."""

    def __init__(self, act):
        self._act = act
        self.ending = threading.Event()
        self.connections = 0
        self.gone = threading.Semaphore(0)

    def __enter__(self):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self._listening.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        with connection:
            try:
                connection.recv(65_536)
                self._act(connection, self.ending)
            except OSError:
                # The client hung up.
                pass
        self.gone.release()


def dripping(connection, ending, part, every_s=0.002):
    while not ending.wait(every_s):
        connection.sendall(part)


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def head_in_drops(connection, ending):
    connection.sendall(HEAD[:17])
    dripping(connection, ending, b"x", 0.05)


def early_hints(connection, ending):
    dripping(connection, ending, b"HTTP/1.1 100 Continue\r\n\r\n")


def many_headers(connection, ending):
    connection.sendall(HEAD)
    dripping(connection, ending, b"x-more: " + b"y" * 1_000 + b"\r\n", 0)


def body_in_drops(connection, ending):
    connection.sendall(HEAD + b"content-length: 1000000\r\n\r\n")
    dripping(connection, ending, b" ", 0.02)


def chunks_in_drops(connection, ending):
    connection.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
    dripping(connection, ending, chunk(b" "))


def silence(connection, ending):
    while connection.recv(65_536):
        pass


def bomb(layers):
    """Zeros, compressed a thousand times smaller, once or several times over."""
    body = b" " * 2**27
    for _ in range(layers):
        body = gzip.compress(body)
    encoding = ", ".join(["gzip"] * layers).encode()
    return HEAD + b"content-encoding: %s\r\ncontent-length: %d\r\n\r\n%s" % (encoding, len(body), body)


def whole(content):
    def act(connection, ending):
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        ending.wait(5)

    return act


def answer(body, *headers, length=None):
    extra = b"".join(header + b"\r\n" for header in headers)
    return whole(HEAD + extra + b"content-length: %d\r\n\r\n" % (len(body) if length is None else length) + body)


SLOW = {f.__name__: f for f in (head_in_drops, early_hints, body_in_drops, chunks_in_drops, silence)}
QUICK = {
    "many headers": many_headers,
    "a bomb": whole(bomb(1)),
    "a bomb in a bomb": whole(bomb(2)),
    "six layers": whole(bomb(6)),
    "an encoding that was not asked for": answer(b"x", b"content-encoding: br"),
    "zlib instead of gzip": answer(zlib.compress(VECTOR), b"content-encoding: gzip"),
    "half of gzip": answer(gzip.compress(VECTOR)[:20], b"content-encoding: gzip"),
    "text that is called gzip": answer(VECTOR, b"content-encoding: gzip"),
    "less than promised": answer(VECTOR, length=10**6),
    "a length below zero": answer(VECTOR, length=-5),
    "two lengths": answer(VECTOR, b"content-length: 5"),
    "a length of many digits": answer(VECTOR, length=10**200),
    "chunks of wrong sizes": whole(HEAD + b"transfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n{}\r\n0\r\n\r\n"),
    "deep lists": answer(b"[" * 200_000),
    "deep objects": answer(b'{"a":' * 200_000),
    "an integer of many digits": answer(b'{"data":[{"embedding":[1' + b"0" * 10_000 + b"]}]}"),
    "a message of many digits": whole(
        b"HTTP/1.1 400 X\r\ncontent-length: 10014\r\n\r\n" + b'{"message":1' + b"0" * 10_001 + b"}"
    ),
    "another encoding of text": answer(VECTOR.decode().encode("utf-16")),
    "a mark of byte order": answer(b"\xef\xbb\xbf" + VECTOR),
    "latin": answer(VECTOR.replace(b"data", b"d\xe4ta")),
    "no HTTP": whole(b"220 mail.example ESMTP\r\n"),
    "nothing": whole(b""),
    "zeros": whole(b"\0" * 10_000),
    "a redirect to itself": whole(b"HTTP/1.1 302 X\r\nlocation: /v1/embeddings\r\ncontent-length: 0\r\n\r\n"),
    "a redirect to nowhere": whole(b"HTTP/1.1 301 X\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n"),
    "a wait for ever": whole(b"HTTP/1.1 429 X\r\nretry-after: " + b"9" * 400 + b"\r\ncontent-length: 0\r\n\r\n"),
    "a wait until a year that is none": whole(
        b"HTTP/1.1 503 X\r\nretry-after: Mon, 99 Foo 99999 99:99:99 +9999\r\ncontent-length: 0\r\n\r\n"
    ),
}


def embedder_of(make, url, **fields):
    quick = IO(sleep=lambda seconds: None, asleep=lambda seconds: asyncio.sleep(0))
    return make("any", base_url=url, environment={}, api_key="good-key", outside=quick, **fields)


def hung_up(server):
    """Whether every connection that was made is closed again."""
    return all(server.gone.acquire(timeout=30) for _ in range(server.connections))


@pytest.mark.parametrize("what", QUICK)
@pytest.mark.parametrize("make", [OpenAIEmbedder, GeminiEmbedder])
def test_an_answer_that_is_none_is_an_error(make, what):
    with Rude(QUICK[what]) as server:
        embedder = embedder_of(make, server.url)
        with pytest.raises(EmbeddingError, match=embedder.provider) as raised:
            embedder.embed(["a text"])
        assert len(str(raised.value)) < 2_000
        embedder.close()
        server.ending.set()
        assert hung_up(server)


@pytest.mark.parametrize(("what", "make"), list(zip(SLOW, [*MADE, OpenAIEmbedder])))
def test_an_attempt_ends_in_time_however_slowly_the_answer_comes(make, what):
    with Rude(SLOW[what]) as server:
        embedder = embedder_of(make, server.url, attempt_timeout_s=0.15)
        with pytest.raises(EmbeddingError, match=r"gave no answer within 0\.15 s"):
            embedder.embed(["a text"])
        # Nobody told the server to end: the client closed its connections. A busy machine may not get as far as one.
        assert server.connections <= 2 and hung_up(server)
        embedder.close()


@pytest.mark.parametrize("what", SLOW)
def test_an_attempt_in_an_event_loop_ends_in_time_too(what):
    async def ask(embedder):
        try:
            await embedder.aembed(["a text"])
        finally:
            await embedder.aclose()

    with Rude(SLOW[what]) as server:
        embedder = embedder_of(OpenAIEmbedder, server.url, attempt_timeout_s=0.15)
        with pytest.raises(EmbeddingError, match=r"gave no answer within 0\.15 s"):
            asyncio.run(ask(embedder))
        assert server.connections <= 2 and hung_up(server)


def test_a_run_ends_with_the_first_batch_that_a_server_drips_for_too_long(monkeypatch, tmp_path):
    monkeypatch.setattr(pipeline, "MAX_LOST_S", 0.2)
    with Rude(body_in_drops) as server:
        embedder = embedder_of(OpenAIEmbedder, server.url, attempt_timeout_s=0.15)
        options = EmbeddingOptions(automatic=False, batch_texts=1)
        with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=options) as vault:
            vault.add_many({"id": f"e{i}", "title": f"word {i}"} for i in range(10))
            report = vault.embed()
        assert report.embedded == 0 and "gave_up" in {note.code for note in report.notes}
        assert server.connections <= 2 and hung_up(server)
        embedder.close()


def test_an_attempt_ends_in_time_though_the_server_takes_nothing():
    def deaf(connection, ending):
        ending.wait()

    with Rude(deaf) as server:
        embedder = embedder_of(OllamaEmbedder, server.url, attempt_timeout_s=0.15)
        with pytest.raises(EmbeddingError, match=r"no answer within"):
            embedder.embed(["long " * 5_000_000])
        embedder.close()


@LINUX
def test_a_hundred_calls_that_are_given_up_leave_no_thread_and_no_connection():
    def files():
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    before = threading.active_count()
    with Rude(head_in_drops) as server:
        embedder = embedder_of(OpenAIEmbedder, server.url)
        threads, opened = threading.active_count(), files()
        for _ in range(100):
            with pytest.raises(EmbeddingError, match="no answer within"):
                embedder.embed(["a text"], timeout_s=0.02)
        assert hung_up(server)
        for thread in threading.enumerate():
            if thread.name == "septet-worker":
                thread.join(30)
                assert not thread.is_alive()
        assert files() <= opened + 2
        embedder.close()
    assert threading.active_count() <= max(before, threads) + 2


def test_gzip_that_is_what_it_says_is_read():
    body = gzip.compress(b'{"data":[{"index":0,"embedding":[3,4]}]}')
    with Rude(answer(body, b"content-encoding: gzip")) as server:
        embedder = embedder_of(OpenAIEmbedder, server.url)
        assert embedder.embed(["a text"]).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
        embedder.close()


MEMORY = """
import sys
from pathlib import Path
from septet import EmbeddingError
from septet.embedding import OpenAIEmbedder
embedder = OpenAIEmbedder("any", base_url=sys.argv[1], environment={}, api_key="k")
try:
    embedder.embed(["a"])
except EmbeddingError as error:
    status = Path("/proc/self/status").read_text().split()
    print(type(error).__name__, status[status.index("VmHWM:") + 1])
"""


@LINUX
@pytest.mark.parametrize("layers", [1, 2])
def test_a_bomb_takes_no_more_memory_than_the_largest_answer(layers):
    with Rude(whole(bomb(layers))) as server:
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, server.url], capture_output=True, text=True, check=True, timeout=100
        )
        server.ending.set()
    kind, most_kib = done.stdout.split()
    assert kind in ("AnswerTooLarge", "EmbeddingUnavailable")
    assert int(most_kib) < 200 * 2**10


@pytest.mark.parametrize("hours", [0.5, 1, 24, 1e300])
def test_a_key_rests_an_hour_at_most_whatever_a_provider_asks_for(hours):
    from pydantic import SecretStr

    from septet.net.keys import KeyRing

    now = [0.0]
    ring = KeyRing([SecretStr("one"), SecretStr("two")], lambda: now[0])
    first = ring.take()
    ring.failed(first, hours * 3600)
    assert ring.take() is not first
    now[0] = min(hours, 1) * 3600 + 1
    ring.failed(ring.take(), 10 * 3600)
    assert ring.take() is first


def test_components_of_a_vector_must_be_real_numbers():
    for wrong in ('["1","2"]', "[true,false]", "[1,null]", "[1,[2]]", '[{"a":1},2]', "[1e400,1]", "[1,-Infinity]"):
        body = b'{"data":[{"index":0,"embedding":%s}]}' % wrong.encode()
        with Rude(answer(body)) as server:
            embedder = embedder_of(OpenAIEmbedder, server.url)
            with pytest.raises(EmbeddingError, match=r"not numeric|NaN or infinity"):
                embedder.embed(["a text"])
            embedder.close()
