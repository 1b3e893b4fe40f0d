"""The providers against a server that speaks their formats, over real connections."""

from __future__ import annotations

import asyncio
import os
import signal

import numpy as np
import openai
import pytest

from embedding_server import EmbeddingServer, faults, text_rows
from septet import EmbeddingConfigError, EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.embedding import GeminiEmbedder, OllamaEmbedder, OpenAICompatibleEmbedder, OpenAIEmbedder, VoyageEmbedder
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.rows import BadVector
from septet.net.client import IO

TEXTS = ["first text", "second text", "ein dritter, mit Ümlauten", "第四"]


class Calm:
    """An `IO` whose waits cost nothing and are remembered."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.outside = IO(sleep=self.waits.append, asleep=self._asleep, random=lambda: 0.5)

    async def _asleep(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.fixture
def calm():
    return Calm()


@pytest.fixture
def server():
    with EmbeddingServer() as running:
        yield running


def made(name: str, url: str, calm: Calm, **fields: object) -> HttpEmbedder:
    """Return the embedder of a provider, pointed at a server, asking for its eight dimensions as they come."""
    key = {"api_key": "good-key", **fields}
    where = {"base_url": url, "environment": {}, "outside": calm.outside}
    if name == "openai":
        return OpenAIEmbedder("small", **where, **key)
    if name == "openai-compatible":
        return OpenAICompatibleEmbedder("small", **where, **key)
    if name == "voyage":
        return VoyageEmbedder("voyage-test", **where, **key)
    if name == "gemini":
        return GeminiEmbedder("gemini-test", **where, **key)
    return OllamaEmbedder("all-minilm", **where, **key)


PROVIDERS = ["openai", "openai-compatible", "voyage", "gemini", "ollama"]
each_provider = pytest.mark.parametrize("name", PROVIDERS)


@pytest.fixture
def embedder(name, server, calm):
    one = made(name, server.url, calm)
    yield one
    one.close()


@each_provider
def test_each_provider_gives_one_unit_vector_for_each_text(embedder, server):
    rows = embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows == pytest.approx(text_rows(TEXTS), abs=1e-6)
    assert embedder.dimensions == 8
    assert len(server.requests) == 1


@each_provider
def test_each_provider_answers_in_an_event_loop_too(name, server, calm):
    async def ask():
        one = made(name, server.url, calm)
        first, second = await asyncio.gather(one.aembed(TEXTS[:2]), one.aembed(TEXTS[2:], "query"))
        await one.aclose()
        return np.concatenate([first, second])

    assert asyncio.run(ask()) == pytest.approx(text_rows(TEXTS), abs=1e-6)


@each_provider
def test_shorter_vectors_can_be_asked_for_and_have_unit_length(name, server, calm):
    one = made(name, server.url, calm, dimensions=3)
    rows = one.embed(TEXTS)
    one.close()
    wanted = text_rows(TEXTS)[:, :3]
    assert rows == pytest.approx(wanted / np.linalg.norm(wanted, axis=1, keepdims=True), abs=1e-6)


@each_provider
def test_each_provider_is_told_in_its_own_words_what_a_text_is_to_be(name, server, calm):
    prefixes = {"query_prefix": "query: ", "document_prefix": "passage: "}
    one = made(name, server.url, calm, **(prefixes if name in ("openai", "openai-compatible", "ollama") else {}))
    one.embed(["a text"])
    one.embed(["a text"], "query")
    one.close()
    told = [request.body.decode() for request in server.requests]
    words = {"voyage": ('"document"', '"query"'), "gemini": ("RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY")}
    for body, word in zip(told, words.get(name, ("passage: a text", "query: a text"))):
        assert word in body


def test_the_configured_kind_holds_only_where_none_is_named(server, calm):
    one = made("voyage", server.url, calm, input_type="query")
    for kind in (None, "document", "query"):
        one.embed(["a text"], kind)
    one.close()
    assert [request.json()["input_type"] for request in server.requests] == ["query", "document", "query"]


@each_provider
@pytest.mark.parametrize("fault", [faults.shuffled, faults.one_short, faults.uneven_vectors, faults.all_nan])
def test_rows_are_placed_by_index_and_wrong_answers_are_not_taken(name, fault, embedder, server):
    server.script(fault)
    if fault is faults.shuffled:
        rows = embedder.embed(TEXTS)
        by_index = name in ("openai", "openai-compatible", "voyage")
        assert rows == pytest.approx(text_rows(TEXTS if by_index else TEXTS[::-1]), abs=1e-6)
    else:
        with pytest.raises(EmbeddingUnavailable, match=name):
            embedder.embed(TEXTS)
    assert len(server.requests) == 1


@each_provider
def test_a_vector_with_nan_or_infinity_is_refused_and_named(name, embedder, server):
    server.script(faults.nan_and_infinity)
    with pytest.raises(BadVector, match=f"{name} sent NaN or infinity in the vector of text 2 of 4") as raised:
        embedder.embed(TEXTS)
    assert raised.value.provider == name and isinstance(raised.value, EmbeddingUnavailable)


@each_provider
def test_vectors_of_another_length_than_before_are_refused(embedder, server):
    embedder.embed(TEXTS)
    server.script(faults.shorter_vectors)
    with pytest.raises(EmbeddingRefused, match="sent vectors of 7 dimensions instead of 8"):
        embedder.embed(TEXTS)


@each_provider
@pytest.mark.parametrize(
    "fault",
    [
        faults.status(429),
        faults.status(500),
        faults.status(503),
        faults.cut_body,
        faults.half_json,
        faults.html,
        faults.no_answer,
    ],
    ids="429 500 503 cut half-json html no-answer".split(),
)
def test_what_passes_is_tried_three_times(name, fault, embedder, server, calm):
    server.script(fault, fault)
    assert embedder.embed(TEXTS) == pytest.approx(text_rows(TEXTS), abs=1e-6)
    assert calm.waits == [1.0, 2.0]
    server.script(fault, fault, fault)
    with pytest.raises(EmbeddingUnavailable, match="attempt 3 of 3") as raised:
        embedder.embed(TEXTS)
    assert raised.value.provider == name
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("name", "fault", "waits"),
    [
        ("openai", faults.status(429, retry_after="7"), [7.35]),
        ("openai", faults.status(429, retry_after="7", retry_after_ms="1500"), [1.575]),
        ("voyage", faults.status(503, retry_after="3"), [3.15]),
        ("gemini", faults.retry_info("27s"), [28.35]),
        ("gemini", faults.retry_info("0.5s"), [0.525]),
        ("ollama", faults.status(503), [1.0]),
    ],
)
def test_the_wait_is_what_the_provider_asks_for(name, fault, waits, server, calm):
    server.script(fault)
    one = made(name, server.url, calm)
    one.embed(TEXTS)
    one.close()
    assert calm.waits == pytest.approx(waits)


@each_provider
def test_a_wrong_key_is_final_and_stands_in_no_message(name, server, calm):
    if name == "ollama":
        server.script(faults.status(401, "unauthorized: secret-wrong-key"))
    one = made(name, server.url, calm, api_key="secret-wrong-key")
    with pytest.raises(EmbeddingRefused, match="check the key") as raised:
        one.embed(TEXTS)
    one.close()
    assert "secret-wrong-key" not in f"{raised.value} {raised.value!r} {one!r} {one.client!r}"
    assert raised.value.__context__ is None
    assert len(server.requests) == 1


def test_a_key_without_quota_is_followed_by_the_next_and_the_last_is_final(server, calm):
    server.keys = ("k1", "k2")
    one = made("openai", server.url, calm, api_key=None, api_keys=["k1", "k2"])
    server.script(faults.QUOTA)
    one.embed(TEXTS)
    assert [r.headers["authorization"] for r in server.requests] == ["Bearer k1", "Bearer k2"]
    server.script(faults.QUOTA, faults.QUOTA)
    with pytest.raises(EmbeddingRefused, match="no quota left"):
        one.embed(TEXTS)
    one.close()
    assert calm.waits == []


@each_provider
def test_a_slow_body_ends_with_the_time_that_is_set(embedder, server):
    server.script(faults.slow_body)
    with pytest.raises(EmbeddingUnavailable, match="no answer within"):
        embedder.embed(TEXTS, timeout_s=0.2)


def test_a_slow_body_ends_in_an_event_loop_too(server, calm):
    async def ask():
        one = made("openai", server.url, calm)
        try:
            await one.aembed(TEXTS, timeout_s=0.2)
        finally:
            await one.aclose()

    server.script(faults.slow_body)
    with pytest.raises(EmbeddingUnavailable, match=r"no answer within 0\.2 s"):
        asyncio.run(ask())


def test_an_attempt_that_takes_too_long_is_tried_again(server, calm):
    one = made("openai", server.url, calm, attempt_timeout_s=0.2)
    server.script(faults.slow_body)
    assert one.embed(TEXTS) == pytest.approx(text_rows(TEXTS), abs=1e-6)
    one.close()
    assert len(server.requests) == 2


@each_provider
def test_a_server_that_is_gone_is_unavailable_and_named_by_what_happened(name, calm):
    with EmbeddingServer() as gone:
        url = gone.url
    one = made(name, url, calm)
    with pytest.raises(EmbeddingUnavailable, match="cannot be reached"):
        one.embed(TEXTS)
    one.close()


@each_provider
def test_texts_that_are_too_long_for_the_model_are_embedded_in_pieces(name, calm):
    words = " ".join(f"word{n}" for n in range(40))
    with EmbeddingServer(context_words=12) as server:
        one = made(name, server.url, calm)
        rows = one.embed(["short", words, "brief"])
        one.close()
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
    assert rows[[0, 2]] == pytest.approx(text_rows(["short", "brief"]), abs=1e-6)
    sent = [r.body.decode() for r in server.requests]
    assert all(any(f"word{n}" in body for body in sent[3:]) for n in range(40) if n % 3)


def test_requests_with_too_many_tokens_are_halved(calm):
    texts = [f"text number {n} of many" for n in range(50)]
    with EmbeddingServer(request_words=100) as server:
        one = made("openai", server.url, calm)
        assert one.embed(texts) == pytest.approx(text_rows(texts), abs=1e-6)
        one.close()
    assert [len(r.json()["input"]) for r in server.requests] == [50, 25, 12, 13, 25, 12, 13]


def test_gemini_brings_no_more_than_a_hundred_texts_a_request(server, calm):
    texts = [f"text {n}" for n in range(250)]
    one = made("gemini", server.url, calm)
    assert one.embed(texts) == pytest.approx(text_rows(texts), abs=1e-6)
    one.close()
    assert [len(r.json()["requests"]) for r in server.requests] == [100, 100, 50]


def test_what_had_come_in_before_a_failure_comes_with_the_error(server, calm):
    texts = [f"text {n}" for n in range(10)]
    one = made("openai", server.url, calm, batch_size=4)
    server.script(faults.fine, faults.fine, faults.status(400, "no such model"))
    with pytest.raises(EmbeddingError, match="no such model") as raised:
        one.embed(texts)
    one.close()
    assert raised.value.rows == pytest.approx(text_rows(texts[:8]), abs=1e-6)


def test_redirects_are_not_followed_with_the_key(server, calm):
    server.script(faults.status(302, location="http://127.0.0.1:9/elsewhere"))
    one = made("openai", server.url, calm)
    with pytest.raises(EmbeddingRefused, match="redirects are not followed"):
        one.embed(TEXTS)
    one.close()


def test_ollama_says_which_model_is_missing(calm):
    with EmbeddingServer(models={"other"}) as server:
        one = made("ollama", server.url, calm)
        with pytest.raises(EmbeddingRefused, match="not found, try pulling it first"):
            one.embed(TEXTS)
        one.close()


def test_the_official_client_reads_the_server_as_septet_does(server, calm):
    with openai.OpenAI(api_key="good-key", base_url=f"{server.url}/v1", max_retries=0) as official:
        answer = official.embeddings.create(model="small", input=TEXTS)
        theirs = np.array([row.embedding for row in answer.data])
        short = official.embeddings.create(model="small", input=TEXTS, dimensions=3, encoding_format="float")
        with pytest.raises(openai.AuthenticationError):
            official.with_options(api_key="wrong").embeddings.create(model="small", input=TEXTS)
        server.script(faults.QUOTA)
        with pytest.raises(openai.RateLimitError) as limited:
            official.embeddings.create(model="small", input=TEXTS)
    assert limited.value.code == "insufficient_quota"
    one = made("openai", server.url, calm)
    assert theirs == pytest.approx(one.embed(TEXTS), abs=1e-6)
    one.close()
    assert server.requests[0].json()["encoding_format"] == "base64"
    shortened = OpenAIEmbedder("small", api_key="good-key", base_url=server.url, dimensions=3)
    assert np.array([row.embedding for row in short.data]) == pytest.approx(shortened.embed(TEXTS), abs=1e-6)
    shortened.close()


def test_closing_twice_is_fine_and_embedding_afterwards_connects_anew(server, calm):
    one = made("openai", server.url, calm)
    one.embed(TEXTS)
    one.close()
    one.close()
    assert len(one.embed(TEXTS)) == 4
    one.close()


def test_a_forked_child_asks_over_connections_of_its_own(server, calm):
    one = made("openai", server.url, calm)
    one.embed(TEXTS)
    child = os.fork()
    if not child:
        signal.alarm(20)
        code = 1
        try:
            code = len(one.embed(TEXTS)) - 4
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert len(one.embed(TEXTS)) == 4
    one.close()


def test_several_event_loops_may_use_one_embedder(server, calm):
    one = made("openai", server.url, calm)

    async def ask():
        rows = await one.aembed(TEXTS)
        await one.aclose()
        return rows

    assert asyncio.run(ask()) == pytest.approx(asyncio.run(ask()))


def test_a_proxy_of_the_environment_is_not_asked_for_a_server_on_this_machine(server, calm, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    one = made("ollama", server.url, calm)
    assert len(one.embed(TEXTS)) == 4
    one.close()


@pytest.mark.parametrize("proxy", ["socks5://me:secret@127.0.0.1:9", "gopher://me:secret@127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(server, calm, monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    one = made("openai", server.url, calm)
    with pytest.raises(EmbeddingConfigError, match="a proxy that httpx cannot use") as raised:
        one.embed(TEXTS)
    assert "secret" not in str(raised.value)
