"""Servers that hang, all at once: a retrieval still answers within its deadline, and says what is missing."""

import threading
import time

import pytest

from embedding_server.faults import slow_body
from embedding_server.server import EmbeddingServer
from hanging import Hanging
from septet import Vault
from septet.retrieval import Policy

QUERY = "when tokens refresh"
#: The deadline, and how much later a busy machine may answer.
WITHIN_S, SLACK_S = 1.5, 10.0


@pytest.fixture
def servers():
    with Hanging() as web, Hanging() as chat, EmbeddingServer() as embedder:
        yield web, chat, embedder


@pytest.fixture
def vault(servers, tmp_path):
    embedder = servers[2]
    config = {"provider": "openai", "baseUrl": embedder.url, "apiKey": "good-key", "dimensions": 8}
    with Vault(tmp_path / "v.db", embedder=config) as made:
        made.add(title="Tokens refresh", description="five minutes before")
        made.add(title="Notes on refresh of tokens", kind="node")
        made.embed()
        # From here on it hangs, in the middle of each answer.
        embedder.script(*[slow_body] * 50)
        embedder.requests.clear()
        yield made


@pytest.mark.parametrize("profile", ["recall", "planned-retrieval", "septet"])
def test_a_retrieval_answers_while_everything_outside_hangs(vault, servers, profile):
    web, chat, embedder = servers
    config = {
        "profile": profile,
        "search": {"queryExpansion": True},
        "expansion": {"model": "m", "baseUrl": chat.url, "provider": "openai-compatible"},
    }
    policy = Policy(web_enabled=True, searxng_url=web.url, duckduckgo_fallback_enabled=False)
    with vault.retriever(config, policy=policy) as retriever:
        began = time.monotonic()
        found = retriever.retrieve(QUERY, timeout_s=WITHIN_S)
        assert time.monotonic() - began < WITHIN_S + SLACK_S
    assert found.ids
    assert "Tokens refresh" in [hit.title for hit in found]
    codes = {note.code for note in found.notes}
    assert "expansion_failed" in codes
    assert codes & {"deadline", "embedding_unavailable"}
    assert found.degraded
    assert chat.asked.is_set() and embedder.requests
    if profile != "recall":
        assert web.asked.is_set()
        assert "web_research" in {note.tier for note in found.notes}
    assert not [one for one in threading.enumerate() if not one.daemon and one.name.startswith("septet-corpus")]
