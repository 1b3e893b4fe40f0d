"""Tests of `integration/test_retriever_expanding.py` that start servers."""

import pytest

from embedding_server import EmbeddingServer, faults
from embedding_server.chat import chat
from integration.test_retriever_expanding import CONFIG, LONG_S, PROFILES, found
from septet import Vault


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add(id="e1", title="Renew credentials", description="Once a quarter.")
        made.add(id="e2", title="Rotate crops", description="Once a year.")
        made.add(id="e3", title="Geese", description="They fly.")
        yield made


@pytest.fixture
def server():
    with EmbeddingServer(routes=[chat(lambda user: '["renew credentials", "Rotate Keys"]')], keys=()) as made:
        yield made


def test_a_chat_model_of_the_configuration_is_asked_once_for_a_query(vault, server):
    config = {"profile": "recall", **CONFIG, "expansion": {"model": "small", "baseUrl": server.url, "timeoutS": 20}}
    with vault.retriever(config) as retriever:
        for _ in range(3):
            assert "e1" in found(retriever.retrieve("rotate keys", timeout_s=2 * LONG_S))
    assert len(server.requests) == 1


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("fault", [faults.slow_body, faults.no_answer, faults.html, faults.status(500)])
def test_a_server_that_fails_leaves_what_the_query_finds_and_a_note(vault, server, profile, fault):
    server.script(fault)
    expansion = {"model": "small", "baseUrl": server.url, "timeoutS": 0.5}
    config = {"profile": profile, "expansion": expansion, **(CONFIG if profile == "recall" else {})}
    with vault.retriever(config) as retriever:
        first, second = (retriever.retrieve(query, timeout_s=LONG_S) for query in ("rotate crops", "rotate keys"))
    for retrieval in (first, second):
        assert "e2" in found(retrieval) and "expansion_failed" in [note.code for note in retrieval.notes]
    assert len(server.requests) == 1
