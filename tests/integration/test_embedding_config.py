"""A vault with a configuration in place of an embedder: what cannot be understood raises, what is missing is a note."""

import pytest

from septet import EmbeddingConfigError, Vault


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("config", [{"provider": "openai", "nope": 1}, "nonsense", "/missing/file.toml", len])
def test_what_cannot_be_understood_raises_and_leaves_no_open_file(tmp_path, config):
    with pytest.raises(EmbeddingConfigError):
        Vault(tmp_path / "v.db", embedder=config)
    with Vault(tmp_path / "v.db") as vault:
        vault.add(title="word")


@pytest.mark.parametrize("config", ["openai", "auto", {"embedding": {"provider": "voyage", "model": "voyage-3.5"}}])
def test_a_key_that_is_missing_is_a_note_and_full_text_answers(tmp_path, config):
    with Vault(tmp_path / "v.db", embedder=config) as vault:
        vault.add(title="red apples")
        found = vault.search("apples")
        assert len(found) == 1 and found.weights["vector"] == 0
        assert [n.code for n in found.notes] == ["no_embedder"] and "key" in found.notes[0].cause
        assert vault.embedding_status().notes[0].code == "no_embedder"
        with pytest.raises(EmbeddingConfigError, match="key"):
            vault.embed()


@pytest.mark.parametrize("config", ["none", {}, {"embedding": None}])
def test_no_provider_is_no_embedder_and_no_note(tmp_path, config):
    with Vault(tmp_path / "v.db", embedder=config) as vault:
        vault.add(title="red apples")
        assert vault.search("apples").notes == ()
