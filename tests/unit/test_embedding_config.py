"""The ``embedding`` block: where it comes from, what it may say, and that no key shows."""

from __future__ import annotations

import json
import pickle

import pytest

from septet import EmbeddingConfig, EmbeddingConfigError
from septet.embedding import embedder_from
from septet.embedding.config import config_of
from septet.embedding.providers.http import key_source

SECRET = "sk-very-secret-0123456789"
BLOCK = {
    "provider": "voyage",
    "model": "voyage-code-3",
    "apiKey": SECRET,
    "baseUrl": "https://proxy.example/v1",
    "batchSize": 64,
    "inputType": "document",
}


def test_nothing_is_embedded_unless_it_is_asked_for():
    assert config_of(None).provider == "none"
    assert config_of({}).provider == "none"
    assert embedder_from(None, environment={"OPENAI_API_KEY": SECRET}) is None
    assert embedder_from({"embedding": None}) is None
    assert embedder_from("none") is None


def test_the_documented_block_is_read_in_both_spellings():
    snake = {"provider": "voyage", "model": "voyage-code-3", "api_key": SECRET, "base_url": BLOCK["baseUrl"]}
    snake |= {"batch_size": 64, "input_type": "document"}
    assert config_of(BLOCK) == config_of(snake) == config_of({"embedding": BLOCK, "name": "my agent"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("agent.json", json.dumps({"name": "agent", "embedding": BLOCK})),
        ("agent.yaml", "name: agent\nembedding:\n" + "".join(f"  {k}: {json.dumps(v)}\n" for k, v in BLOCK.items())),
        ("agent.toml", "name = 'agent'\n[embedding]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in BLOCK.items())),
        ("block.yml", "".join(f"{k}: {json.dumps(v)}\n" for k, v in BLOCK.items())),
    ],
)
def test_the_block_is_read_from_a_file(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert config_of(path) == config_of(str(path)) == config_of(BLOCK)


@pytest.mark.parametrize("text", ["", "name: agent\n", "embedding:\n", "embedding:\n  provider: off\n"])
def test_a_file_without_the_block_embeds_nothing(text, tmp_path):
    path = tmp_path / "agent.yaml"
    path.write_text(text, encoding="utf-8")
    assert config_of(path).provider == "none"


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"provider": "opnai"}, "provider: Input should be 'none', 'auto', 'local', 'openai'"),
        ({"provider": "openai", "apikey": SECRET}, "no field apikey; its fields are apiKey, "),
        ({"provider": "openai", "batchSize": 0}, "batchSize: Input should be greater than or equal to 1"),
        ({"provider": "voyage", "inputType": "passage"}, "inputType: Input should be 'document' or 'query'"),
        ({"provider": "openai", "apiKey": f"{SECRET}\nx"}, "apiKey: a key must be printable ASCII"),
        ({"provider": "openai", "apiKey": f"{SECRET}ä"}, "apiKey: a key must be printable ASCII"),
        ({"provider": "openai", "apiKeys": [SECRET, 7]}, "apiKeys.1: a key must be a string"),
        ({"provider": "openai", "baseUrl": f"https://me:{SECRET}@host"}, "baseUrl: contains a name, a password"),
        ({"provider": "openai", "baseUrl": f"https://host/?key={SECRET}"}, "baseUrl: contains a name, a password"),
        ({"provider": "openai", "fallback": [{"provider": "auto"}]}, "fallback: each fallback must have a provider"),
        (["openai"], "the top"),
    ],
)
def test_what_does_not_fit_is_named_and_its_value_never_shown(block, said):
    with pytest.raises(EmbeddingConfigError) as raised:
        config_of({"embedding": block})
    assert said in str(raised.value)
    assert SECRET not in f"{raised.value} {raised.value!r} {raised.value.__cause__!r} {raised.value.__context__!r}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", f'{{"apiKey": "{SECRET}"', "a.json is not valid JSON at line 1"),
        ("a.yaml", f"x: 1\napiKey: [{SECRET}", "a.yaml is not valid YAML at line 2"),
        ("a.toml", f"apiKey = {SECRET}", "a.toml is not valid TOML"),
        ("a.ini", f"apiKey = {SECRET}", "a configuration file must end in"),
        ("a.json", "[1]", "must contain a mapping"),
    ],
)
def test_a_file_that_cannot_be_read_says_where_and_not_what(name, text, said, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(EmbeddingConfigError) as raised:
        config_of(path)
    assert said in str(raised.value)
    assert SECRET not in str(raised.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(EmbeddingConfigError, match=r"missing\.toml cannot be read"):
        config_of(tmp_path / "missing.toml")


def test_keys_show_in_no_repr_and_no_dump():
    config = config_of({**BLOCK, "apiKeys": [SECRET]})
    shown = f"{config!r} {config!s} {config.model_dump()} {config.model_dump_json()}"
    assert SECRET not in shown
    assert "voyage-code-3" in shown


def test_a_configuration_survives_pickling_so_that_workers_can_have_it():
    assert pickle.loads(pickle.dumps(config_of(BLOCK))) == config_of(BLOCK)


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"apiKey": "a", "apiKeys": ["b"]}, "apiKey"),
        ({"apiKeys": ["b"]}, "apiKeys"),
        ({}, "OPENAI_API_KEY"),
        ({"apiKeyEnv": "MY_KEY"}, "MY_KEY"),
        ({"apiKeyEnv": "NOT_SET"}, None),
    ],
)
def test_an_explicit_key_wins_over_the_pool_and_the_pool_over_the_environment(fields, source):
    environment = {"OPENAI_API_KEY": "c", "MY_KEY": "d"}
    config = config_of({"provider": "openai", **fields})
    assert key_source(config, environment) == source
    if source is None:
        with pytest.raises(EmbeddingConfigError, match="set NOT_SET or apiKey"):
            embedder_from(config, environment=environment)
        return
    ring = embedder_from(config, environment=environment).client.context.keys
    keys = {"apiKey": "a", "apiKeys": "b", "OPENAI_API_KEY": "c", "MY_KEY": "d"}
    assert len(ring) == 1
    assert ring.take().secret.get_secret_value() == keys[source]


def test_gemini_takes_googles_variable_too():
    assert key_source(EmbeddingConfig(provider="gemini"), {"GOOGLE_API_KEY": "g"}) == "GOOGLE_API_KEY"
    both = {"GOOGLE_API_KEY": "g", "GEMINI_API_KEY": "m"}
    assert key_source(config_of({"provider": "google"}), both) == "GEMINI_API_KEY"
    assert key_source(EmbeddingConfig(provider="gemini"), {"GOOGLE_API_KEY": "  "}) is None


def test_a_variable_that_holds_no_key_is_an_error_that_does_not_show_it():
    with pytest.raises(EmbeddingConfigError) as raised:
        embedder_from("openai", environment={"OPENAI_API_KEY": f"{SECRET}\u00e9"})
    assert "OPENAI_API_KEY" in str(raised.value)
    assert SECRET not in str(raised.value)


def test_a_key_is_only_sent_where_it_belongs():
    environment = {"OPENAI_API_KEY": SECRET}
    block = {"provider": "openai-compatible", "baseUrl": "http://127.0.0.1:8080", "model": "m"}
    assert len(embedder_from(block, environment=environment).client.context.keys) == 0
    assert len(embedder_from({"provider": "ollama", "model": "m"}, environment=environment).client.context.keys) == 0
