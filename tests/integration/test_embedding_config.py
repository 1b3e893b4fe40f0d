"""A vault with a configuration in place of an embedder: what cannot be understood raises, what is missing is a note."""

import pytest

from septet import EmbeddingConfigError, Vault
from septet.service.configuration import configuration_of
from septet.service.opening import opened


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


@pytest.mark.parametrize(
    "config",
    [
        {"model": "text-embedding-3-small", "apiKey": "sk-secret"},
        {"embedding": {"model": "voyage-3.5", "api_key_env": "OWN_KEY"}},
        {"baseUrl": "http://127.0.0.1:1/v1"},
    ],
)
def test_a_block_without_a_provider_is_named_where_searches_miss_it(tmp_path, config):
    with Vault(tmp_path / "v.db", embedder=config) as vault:
        vault.add(title="red apples")
        (note,) = vault.search("apples").notes
        assert note.code == "no_embedder" and "no provider" in note.cause and "secret" not in str(note)
        with pytest.raises(EmbeddingConfigError, match="add provider, such as openai"):
            vault.embed()
    # Who writes that there is none means it.
    with Vault(tmp_path / "v.db", embedder={"provider": "none", "model": "voyage-3.5"}) as vault:
        assert vault.search("apples").notes == ()


def test_a_file_that_is_such_a_block_alone_is_read_as_one(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text('model = "voyage-3.5"\napiKey = "k"\n')
    with Vault(tmp_path / "v.db", embedder=file) as vault:
        assert [note.code for note in vault.search("apples").notes] == ["no_embedder"]
    file.write_text('model = "voyage-3.5"\n[others]\nx = 1\n')
    with Vault(tmp_path / "v.db", embedder=file) as vault:
        assert vault.search("apples").notes == ()


def test_a_server_without_a_provider_says_so_in_its_searches(tmp_path):
    file = tmp_path / "own.json"
    file.write_text('{"tiers": {"agent": {"path": "a.db"}}, "embedding": {"model": "m", "apiKey": "k"}}')
    with opened(config=configuration_of(file)) as served:
        assert "no provider" in served.blocking.search("apples").notes[0].cause
