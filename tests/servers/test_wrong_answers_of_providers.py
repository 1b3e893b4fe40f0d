"""Whatever a provider of vectors, a chat model or a search service answers: a result, or an error of Septet."""

from __future__ import annotations

import base64
import os
import random
import time
import traceback
from contextlib import closing

import numpy as np
import pytest

from embedding_server import ROUTES, EmbeddingServer, Reply
from embedding_server.batches import Batches
from embedding_server.chat import chat
from job_world import KINDS, World
from septet import SeptetError
from septet.embedding import GeminiEmbedder, OllamaEmbedder, OpenAICompatibleEmbedder, OpenAIEmbedder, VoyageEmbedder
from septet.net.client import IO
from septet.retrieval.corpora.web import WebCorpus, WebOptions
from septet.retrieval.corpus import CorpusRequest
from septet.retrieval.expansion.chat import ChatExpander
from septet.retrieval.planning.policy import Policy
from web_server import WebServer, results
from wrong_answers import wrong_body

KEY = "q7GmZx-41vKpTt9LbWs2-aXe8"
COUNT = 6_000 if os.environ.get("SEPTET_STRESS_S") else 600
EMBEDDERS = {
    "openai": OpenAIEmbedder,
    "openai-compatible": OpenAICompatibleEmbedder,
    "voyage": VoyageEmbedder,
    "gemini": GeminiEmbedder,
    "ollama": OllamaEmbedder,
}
OUTSIDE = IO(sleep=lambda seconds: None, random=lambda: 0.5)


class Lies:
    """Changes most answers of a server."""

    def __init__(self, server):
        self._answer, server.answer = server.answer, self.answer
        self.chance, self.told, self.calls = random.Random(0), [], 0

    def begin(self, seed):
        self.chance, self.told = random.Random(seed), []

    def answer(self, request):
        right = self._answer(request)
        if self.chance.random() < 0.25:
            return right
        # A server repeats what it was sent.
        knows = any(KEY in value for value in request.headers.values())
        how, status, body = wrong_body(right.payload()[1], self.chance, KEY if knows else "of nobody")
        self.told.append(f"{request.path}: {how}")
        kind = {"content-type": "application/json"} if self.chance.random() < 0.9 else {}
        return Reply(int(status.split()[0]), body, kind)


def fault_of(call, lies):
    """Return what is wrong with the end of a call; None where it is a result or an error of Septet."""
    began = time.monotonic()
    try:
        said = call()
    except SeptetError as error:
        said, seen = "", error
        while seen is not None:
            said += f"{seen!r} {seen} {seen.args}"
            seen = seen.__cause__ or seen.__context__
        if not str(error).strip() or len(str(error)) > 3_000 or not str(error).isprintable():
            return f"{type(error).__name__} has the message {str(error)[:100]!a}"
    except Exception as error:  # noqa: BLE001 - this is what the test is about
        at = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:100]!a} at {at.filename[-40:]}:{at.lineno}: {lies.told}"
    if any(form in said for form in (KEY, KEY[::-1], base64.b64encode(KEY.encode()).decode())):
        return f"the key is said: {said[:300]!a}: {lies.told}"
    if (took := time.monotonic() - began) > 10:
        return f"took {took:.1f} s: {lies.told}"
    return None


def tried(call, lies, name, count):
    faults = []
    for number in range(count):
        lies.begin(f"{name} {number}")
        if fault := fault_of(call, lies):
            faults.append(f"{name} #{number} {fault}")
    assert not faults, "\n".join([f"{len(faults)} of {count}", *faults[:30]])


@pytest.mark.parametrize("name", EMBEDDERS)
def test_an_embedder_returns_unit_vectors_or_raises_an_error_of_septet(name):
    with EmbeddingServer(keys=(KEY,)) as server:
        lies = Lies(server)
        with closing(
            EMBEDDERS[name]("small", base_url=server.url, environment={}, outside=OUTSIDE, api_key=KEY)
        ) as embedder:

            def call():
                # As one that has seen no answer.
                embedder._dimensions = None
                rows = embedder.embed(["first text", "second text"])
                assert rows.shape[0] == 2 and np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
                return ""

            tried(call, lies, name, COUNT // 5)


def test_a_chat_model_writes_phrasings_or_ends_in_an_error_of_septet():
    with EmbeddingServer(keys=(KEY,), routes=[*ROUTES, chat(lambda user: '["other words"]')]) as server:
        lies = Lies(server)
        with closing(ChatExpander("small", base_url=f"{server.url}/v1", api_key=KEY, outside=OUTSIDE)) as expander:
            tried(lambda: "".join(map(str, expander("rotate keys"))) and "", lies, "chat", COUNT // 5)


def test_search_services_give_hits_or_notes():
    with WebServer() as server:
        server.keys = (KEY,)
        for name in ("searxng", "duckduckgo", "tavily"):
            server.found[name] = results("https://a.example/1", "https://b.example/2")
        policy = Policy(
            web_enabled=True, searxng_url=server.url, web_pause_ms=0, tavily_enabled=True, web_read_pages=False
        ).with_secrets(lambda name: KEY)
        lies = Lies(server)

        def call():
            with closing(
                WebCorpus(
                    policy, options=WebOptions(duckduckgo_url=f"{server.url}/ddg", tavily_url=f"{server.url}/tavily")
                )
            ) as corpus:
                found = corpus.search(CorpusRequest("how do doves fly", 5))
            return "\n".join(map(str, found.notes))

        tried(call, lies, "web", COUNT // 10)


@pytest.mark.parametrize("name", KINDS)
def test_batch_jobs_end_in_vectors_or_notes(name, tmp_path):
    batches = Batches()
    with EmbeddingServer(keys=(KEY,), routes=[*ROUTES, *batches.routes]) as server:
        world = World(tmp_path, server, batches)
        lies = Lies(server)

        def call():
            # Texts that were never embedded.
            lies.calls += 1
            embedder = world.embedder(name, api_key=KEY)
            with world.vault(embedder=embedder) as vault:
                vault.delete(where={"kind": "entry"})
                vault.add_many({"id": f"e{at}", "title": f"title {at} of {lies.calls}"} for at in range(4))
                report = vault.embed(batch=True)
            return "\n".join(map(str, report.notes))

        tried(call, lies, name, COUNT // 20)
        world.close()
