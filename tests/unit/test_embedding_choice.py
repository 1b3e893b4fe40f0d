"""Which embedder a configuration gives: addresses, models, ``auto``, and those that stand in."""

from __future__ import annotations

import numpy as np
import pytest

from septet import CallableEmbedder, EmbeddingConfigError, EmbeddingRefused, EmbeddingUnavailable
from septet.embedding import FallbackEmbedder, embedder_from, space_name
from septet.embedding.embedder import Embedder
from septet.embedding.providers.formats import embeddings_url, models_url, ollama_url


def made(provider: str, environment: dict[str, str] | None = None, **fields):
    return embedder_from({"provider": provider, "apiKey": "k", **fields}, environment=environment or {})


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1/embeddings"),
        ("http://localhost:9/base//", "http://localhost:9/base/v1/embeddings"),
        ("https://proxy.example/v1", "https://proxy.example/v1/embeddings"),
        ("https://proxy.example/api/v3/", "https://proxy.example/api/v3/embeddings"),
        ("https://proxy.example/openai/embeddings", "https://proxy.example/openai/embeddings"),
    ],
)
def test_an_address_is_completed(base, url):
    assert embeddings_url(base) == url


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("127.0.0.1", "http://127.0.0.1:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("https://models.example/", "https://models.example"),
        ("http://localhost:11434/v1", "http://localhost:11434"),
        ("http://localhost:11434/api/", "http://localhost:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_ollama_is_found_as_its_own_variable_names_it(host, url):
    assert ollama_url(host) == url
    assert embedder_from({"provider": "ollama", "model": "m"}, environment={"OLLAMA_HOST": host}).format.url == url


def test_gemini_is_found_with_and_without_its_version():
    wanted = "https://g.example/v1beta/models/m:embedContent"
    assert models_url("https://g.example/", "m", "embedContent") == wanted
    assert models_url("https://g.example/v1beta", "m", "embedContent") == wanted


@pytest.mark.parametrize(
    ("provider", "fields", "space", "dimensions", "batch_size"),
    [
        ("openai", {}, "openai/text-embedding-3-small", 1536, 2048),
        ("openai", {"model": "openai/text-embedding-3-large"}, "openai/text-embedding-3-large", 3072, 2048),
        ("openai", {"model": "text-embedding-3-large", "dimensions": 256}, "openai/text-embedding-3-large", 256, 2048),
        ("openai", {"batchSize": 9000}, "openai/text-embedding-3-small", 1536, 2048),
        ("voyage", {}, "voyage/voyage-3.5", 1024, 128),
        ("voyage", {"model": "voyage/voyage-code-3", "batchSize": 1001}, "voyage/voyage-code-3", 1024, 1000),
        ("voyage", {"model": "voyage-4-large", "dimensions": 512}, "voyage/voyage-4-large", 512, 128),
        ("gemini", {}, "gemini/gemini-embedding-001", 3072, 100),
        (
            "gemini",
            {"model": "models/gemini-embedding-001", "dimensions": 768},
            "gemini/gemini-embedding-001",
            768,
            100,
        ),
        ("ollama", {"model": "all-minilm"}, "ollama/all-minilm", None, 64),
        ("ollama", {"model": "nomic", "documentPrefix": "doc: "}, "ollama/nomic after 'doc: '", None, 64),
        (
            "openai-compatible",
            {"model": "openai/some-model", "baseUrl": "https://router.example/v1"},
            "openai-compatible/openai/some-model",
            None,
            32,
        ),
    ],
)
def test_each_provider_has_its_defaults(provider, fields, space, dimensions, batch_size):
    one = made(provider, **fields)
    assert (space_name(one), one.dimensions, one.batch_size) == (space, dimensions, batch_size)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("voyage-4-lite", 1_000_000),
        ("voyage-3.5-lite", 1_000_000),
        ("voyage-4", 320_000),
        ("voyage-3.5", 320_000),
        ("voyage-4-large", 120_000),
        ("voyage-code-3", 120_000),
        ("a-model-of-tomorrow", 120_000),
    ],
)
def test_voyages_tokens_depend_on_the_model(model, tokens):
    limits = made("voyage", model=model).format.limits
    assert (limits.inputs, limits.tokens) == (1000, tokens)


def test_openai_may_be_moved_by_its_own_variable():
    one = made("openai", {"OPENAI_BASE_URL": "https://eu.example/v1"})
    assert one.format.url == "https://eu.example/v1/embeddings"
    # Vectors as base64 are asked for at home only.
    assert not one.format.packed
    assert made("openai").format.packed


@pytest.mark.parametrize("base", ["ftp://host", "host:8080", "https://", "http://host:port/", "http://a host"])
@pytest.mark.parametrize("provider", ["openai", "voyage", "gemini", "openai-compatible"])
def test_an_address_that_is_none_is_an_error(provider, base):
    with pytest.raises(EmbeddingConfigError, match=f"baseUrl of {provider} must be an address"):
        made(provider, model="m", baseUrl=base)


def test_an_address_in_the_environment_may_hold_no_password_either():
    with pytest.raises(EmbeddingConfigError, match="the address of openai contains a name, a password") as raised:
        made("openai", {"OPENAI_BASE_URL": "https://me:secret@host"})
    assert "secret" not in str(raised.value)


def test_a_server_of_ones_own_needs_an_address_and_a_model():
    with pytest.raises(EmbeddingConfigError, match="set baseUrl and model"):
        made("openai-compatible", model="m")
    with pytest.raises(EmbeddingConfigError, match="set model, such as all-minilm"):
        made("ollama")


@pytest.mark.parametrize("fields", [{"model": "m"}, {"apiKey": "k"}, {"baseUrl": "http://h"}, {"dimensions": 8}])
def test_auto_takes_nothing_that_belongs_to_one_provider(fields):
    with pytest.raises(EmbeddingConfigError, match=r"provider auto cannot be combined with \w+"):
        embedder_from({"provider": "auto", **fields}, environment={})


def test_auto_keeps_what_holds_for_every_provider():
    one = embedder_from({"provider": "auto", "batchSize": 7}, environment={"VOYAGE_API_KEY": "v"})
    assert (one.provider, one.batch_size) == ("voyage", 7)


def test_auto_says_why_nothing_is_configured():
    with pytest.raises(EmbeddingConfigError) as raised:
        embedder_from({"provider": "auto", "modelPath": "/no/such/folder"}, environment={})
    for reason in ("/no/such/folder is neither a folder nor", "OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY"):
        assert reason in str(raised.value)


class Stub:
    """An embedder that answers, or raises what it is given."""

    provider = "stub"
    batch_size = 10

    def __init__(self, answer=None, *, model="m", dimensions=2):
        self.answer, self.model, self.dimensions = answer, model, dimensions
        self.timeouts: list[float | None] = []
        self.closed = 0

    def embed(self, texts, kind="document", *, timeout_s=None):
        self.timeouts.append(timeout_s)
        if isinstance(self.answer, Exception):
            raise self.answer
        return np.tile(np.float32([0.6, 0.8]), (len(texts), 1))

    def close(self):
        self.closed += 1


def test_the_next_one_answers_when_one_fails_and_the_failed_one_rests():
    time = [0.0]
    first, second = Stub(EmbeddingUnavailable("down")), Stub()
    chain = FallbackEmbedder([first, second], clock=lambda: time[0])
    assert chain.embed(["x"]).shape == (1, 2)
    chain.embed(["x"])
    assert (len(first.timeouts), len(second.timeouts)) == (1, 2)
    time[0] = 30.0
    first.answer = None
    chain.embed(["x"])
    assert (len(first.timeouts), len(second.timeouts)) == (2, 2)
    chain.close()
    assert (first.closed, second.closed) == (1, 1)


def test_those_that_stand_in_share_the_time():
    first, second = Stub(EmbeddingUnavailable("down")), Stub()
    FallbackEmbedder([first, second], clock=lambda: 0.0).embed(["x"], timeout_s=3.0)
    assert (first.timeouts, second.timeouts) == ([1.5], [3.0])


def test_when_all_fail_every_reason_is_told():
    refused, down = EmbeddingRefused("wrong key"), EmbeddingUnavailable("down")
    with pytest.raises(EmbeddingUnavailable, match="wrong key; down"):
        FallbackEmbedder([Stub(refused), Stub(down)]).embed(["x"])
    with pytest.raises(EmbeddingRefused, match="wrong key; wrong key"):
        FallbackEmbedder([Stub(refused), Stub(refused)]).embed(["x"])


@pytest.mark.parametrize("other", [Stub(model="n"), Stub(dimensions=3)])
def test_only_the_same_space_may_stand_in(other):
    with pytest.raises(EmbeddingConfigError, match="different spaces, whose vectors cannot be compared"):
        FallbackEmbedder([Stub(), other])


def test_a_chain_is_configured_and_leaves_out_what_has_no_key():
    block = {
        "provider": "openai",
        "fallback": {
            "provider": "openai-compatible",
            "baseUrl": "https://p.example",
            "model": "text-embedding-3-small",
        },
    }
    chain = embedder_from(block, environment={"OPENAI_API_KEY": "k"})
    assert [one.provider for one in chain.embedders] == ["openai", "openai-compatible"]
    assert space_name(chain) == "openai/text-embedding-3-small"
    assert (chain.dimensions, chain.batch_size) == (1536, 32)
    left = embedder_from(block, environment={})
    assert [one.provider for one in left.embedders] == ["openai-compatible"]


def test_the_users_own_function_is_an_embedder():
    calls = []

    def function(texts):
        calls.append(texts)
        return [[3, 4]] * len(texts)

    one: Embedder = CallableEmbedder(function, model="mine", queries=lambda t: np.ones((len(t), 2)), batch_size=2)
    assert one.embed([]).shape == (0, 0)
    assert one.embed(["a", "b", "c"]) == pytest.approx(np.tile([0.6, 0.8], (3, 1)))
    assert one.embed(["a"], "query", timeout_s=5)[0] == pytest.approx([0.5**0.5] * 2)
    assert calls == [["a", "b"], ["c"]]
    assert (space_name(one), one.dimensions) == ("function/mine", 2)


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (lambda t: [[1, 2]], EmbeddingUnavailable, "sent 1 vectors instead of 2"),
        (lambda t: [[1], [1, 2]], EmbeddingUnavailable, "several lengths"),
        (lambda t: [["a"], ["b"]], EmbeddingUnavailable, "not numeric"),
        (lambda t: np.zeros((2, 3)), EmbeddingUnavailable, "function sent an all-zero vector for text 0 of 2"),
        (lambda t: [[1, 1], [np.nan, 1]], EmbeddingUnavailable, "function sent NaN or infinity .* text 1 of 2"),
        (lambda t: [[1, np.inf], [1, 1]], EmbeddingUnavailable, "text 0 of 2"),
        (lambda t: [[1, 1], [1, 1e39]], EmbeddingUnavailable, "text 1 of 2"),
        (lambda t: [[1, None], [1, 1]], EmbeddingUnavailable, "text 0 of 2"),
        (lambda t: np.ones((2, 3)), EmbeddingRefused, "3 dimensions instead of 2"),
        (lambda t: None, EmbeddingUnavailable, "no list of vectors"),
        (lambda t: 1 / 0, EmbeddingUnavailable, "raised ZeroDivisionError: division by zero"),
    ],
)
def test_what_the_function_returns_is_checked(answer, error, said):
    dimensions = 2 if error is EmbeddingRefused else None
    with pytest.raises(error, match=said):
        CallableEmbedder(answer, model="mine", dimensions=dimensions).embed(["a", "b"])


def test_the_first_texts_of_a_function_may_come_from_several_threads_at_once():
    def function(texts):
        if texts == ["first"]:
            # Another thread is faster, and learns the dimension while this one is still at it.
            assert embedder.embed(["other"]).shape == (1, 3)
        return [[1.0, 2.0, 2.0] for _ in texts]

    embedder = CallableEmbedder(function, model="m")
    assert embedder.embed(["first"]).shape == (1, 3)
    assert embedder.embed([]).shape == (0, 3)
