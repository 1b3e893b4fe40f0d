"""Answers without an end: they are cut off by their size and by the clock."""

import asyncio

import pytest

from embedding_server import EmbeddingServer, faults
from septet import EmbeddingUnavailable
from septet.embedding import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder, VoyageEmbedder
from septet.embedding.embedder import AnswerTooLarge

#: The floor of the bound, with what sockets and one decoded chunk may hold besides.
MOST_TAKEN = 64 * 2**20


@pytest.fixture
def server():
    with EmbeddingServer() as running:
        yield running


@pytest.fixture(params=[OpenAIEmbedder, VoyageEmbedder, GeminiEmbedder, OllamaEmbedder])
def embedder(request, server):
    one = request.param("any", base_url=server.url, environment={}, api_key="good-key")
    yield one
    one.close()


def test_an_endless_answer_is_cut_off_and_not_asked_for_again(embedder, server):
    server.script(faults.endless_body)
    with pytest.raises(AnswerTooLarge, match=rf"{embedder.provider} sent more than [\d,]+ bytes") as raised:
        embedder.embed(["a text"])
    assert raised.value.provider == embedder.provider and len(server.requests) == 1
    assert server.hung_up.wait(30) and server.taken_bytes < MOST_TAKEN


def test_an_endless_answer_is_cut_off_in_an_event_loop_too(embedder, server):
    async def ask():
        try:
            await embedder.aembed(["a text"])
        finally:
            await embedder.aclose()

    server.script(faults.endless_body)
    with pytest.raises(AnswerTooLarge, match=r"sent more than [\d,]+ bytes"):
        asyncio.run(ask())
    assert server.hung_up.wait(30) and server.taken_bytes < MOST_TAKEN


def test_reading_stops_when_the_time_is_over_however_the_body_trickles(embedder, server):
    server.script(faults.trickling_body)
    with pytest.raises(EmbeddingUnavailable, match="no answer within"):
        embedder.embed(["a text"], timeout_s=0.2)
    # The thread that reads has hung up too, and asks no second time.
    assert server.hung_up.wait(30) and len(server.requests) == 1
