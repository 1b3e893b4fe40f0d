"""Tests of `integration/test_embedding_chain_config.py` that start servers."""

import pytest

from chains import BY_HAND, codes, fill
from embedding_server import EmbeddingServer
from septet import Vault


@pytest.mark.parametrize("kind", ["refused", "no key"])
def test_no_key_address_or_header_of_the_first_reaches_the_second(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-first-one-0123456789")
    with EmbeddingServer(keys=("sk-another",)) as one, EmbeddingServer(keys=()) as two:
        first = {"provider": "openai", "model": "m1", "baseUrl": f"{one.url}/v1"}
        if kind == "no key":
            first["apiKeyEnv"] = "SEPTET_NO_SUCH_KEY"
        second = {"provider": "ollama", "model": "all-minilm", "baseUrl": two.url}
        config = {**first, "fallback": [second]}
        with Vault(tmp_path / "v.db", embedder=config, embedding_options=BY_HAND) as vault:
            fill(vault, 5)
            report = vault.embed()
            found = vault.search("title 4")
            said = f"{report} {found.notes} {vault.embedding_status()} {vault.embedding_status().models!r}"
            assert report.model == "ollama/all-minilm" and report.complete and "embedding_fallback" in codes(found)
        assert bool(one.requests) is (kind == "refused") and two.requests
        for request in two.requests:
            sent = f"{request.method} {request.path} {dict(request.headers)}".encode() + request.body
            for secret in (b"sk-of-the-first", b"authorization", one.url.encode(), one.url.rpartition(":")[2].encode()):
                assert secret not in sent.lower()
    assert "sk-of-the-first" not in said


@pytest.mark.parametrize("count", [1, 2, 4, 5, 20])
@pytest.mark.parametrize("provider", ["openai", "voyage", "gemini"])
def test_a_wrong_key_is_no_matter_of_the_texts(tmp_path, provider, count):
    # Gemini answers 400, as it does to a malformed text.
    with EmbeddingServer(keys=("another",)) as one, EmbeddingServer() as two:
        first = {"provider": provider, "model": "m", "baseUrl": f"{one.url}/v1", "apiKey": "wrong"}
        if provider == "gemini":
            first["baseUrl"] = f"{one.url}/v1beta"
        config = {**first, "fallback": [{"provider": "ollama", "model": "n", "baseUrl": two.url}]}
        with Vault(tmp_path / "v.db", embedder=config, embedding_options=BY_HAND) as vault:
            fill(vault, count)
            report = vault.embed()
            assert (report.model, report.embedded) == ("ollama/n", count) and "key" in report.notes[0].cause
        assert sum(b"title" in request.body for request in one.requests) == 1
