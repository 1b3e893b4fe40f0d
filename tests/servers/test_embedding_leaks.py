"""To whom texts go: to the providers that were named and to nobody else, whatever happens, whatever keys are there."""

import json
import random
import socket
from urllib.parse import urlsplit

import pytest

from chains import fill
from embedding_server import EmbeddingServer, faults
from embedding_server.parts import Reply
from secrets_planted import planted
from septet import EmbeddingOptions, Vault

BY_HAND = EmbeddingOptions(automatic=False, rest_s=0)
PROVIDERS = {
    "openai": ("m", "/v1"),
    "openai-compatible": ("m", "/v1"),
    "voyage": ("m", "/v1"),
    "gemini": ("m", "/v1beta"),
    "ollama": ("all-minilm", ""),
}
SECRETS = "openai github slack bearer_header environment json_field".split()


@pytest.fixture
def contacted(monkeypatch):
    """The addresses that this process connects to, and the names that it looks up."""
    found = set()
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def watched(self, address):
        found.add(tuple(address[:2]) if isinstance(address, tuple) else address)
        return connect(self, address)

    def watched_names(host, *others, **more):
        if host not in ("127.0.0.1", b"127.0.0.1"):
            found.add(host)
        return look_up(host, *others, **more)

    monkeypatch.setattr(socket.socket, "connect", watched)
    monkeypatch.setattr(socket, "getaddrinfo", watched_names)
    return found


@pytest.fixture
def bystander(monkeypatch):
    """A provider that takes every key, which nobody has named; keys of all providers, and its address, lie about."""
    with EmbeddingServer() as server:
        for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY"):
            monkeypatch.setenv(name, "good-key")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


def address(server):
    parts = urlsplit(server.url)
    return parts.hostname, parts.port


def at(server, provider, **others):
    model, path = PROVIDERS[provider]
    return {"provider": provider, "model": model, "baseUrl": server.url + path, "apiKey": "good-key", **others}


def elsewhere(server):
    """Send whoever asks to another server."""
    return lambda provider, answer: Reply(307, {}, {"location": f"{server.url}/v1/embeddings"})


def sent(server):
    return b"".join(request.body for request in server.requests)


def used(path, config):
    """Embed ten entries and search for one."""
    with Vault(path, embedder=config, embedding_options=BY_HAND) as vault:
        fill(vault, 10)
        vault.embed()
        found = vault.search("title 7")
        assert "e7" in found.ids
        return vault.embedding_status().spaces, found


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", ["none", "401", "403", "404", "402", "307", "no vectors"])
def test_without_a_fallback_nothing_is_sent_to_another_host(tmp_path, contacted, bystander, provider, fault):
    with EmbeddingServer() as named:
        meets = {
            "none": faults.fine,
            "307": elsewhere(bystander),
            "no vectors": faults.status(413, "too long"),
        }.get(fault) or faults.status(int(fault))
        named.script(*[meets] * 100)
        _, found = used(tmp_path / "v.db", at(named, provider))
        assert contacted == {address(named)} and bystander.requests == []
        assert b"title 7" in sent(named)
        assert (fault == "none") is (not found.notes)


def test_nothing_is_sent_to_another_host_while_the_named_one_is_not_there(tmp_path, contacted, bystander):
    with EmbeddingServer() as named:
        gone, config = address(named), at(named, "openai", queryTimeoutS=0.2)
    _, found = used(tmp_path / "v.db", config)
    assert contacted == {gone} and bystander.requests == []
    assert [note.code for note in found.notes] == ["no_vectors"]


def test_the_first_provider_that_is_configured_is_the_only_one_that_is_asked(tmp_path, contacted, bystander):
    # The address of OpenAI is the bystander's by OPENAI_BASE_URL; keys of Gemini and Voyage are there too.
    bystander.script(*[faults.status(401)] * 100)
    _, found = used(tmp_path / "v.db", "auto")
    assert contacted == {address(bystander)} and found.notes


@pytest.mark.parametrize("texts", ["all", "missing"])
def test_with_a_fallback_texts_go_to_it_and_to_nobody_else(tmp_path, contacted, bystander, texts):
    options = EmbeddingOptions(automatic=False, rest_s=60, batch_texts=2, fallback_texts=texts)
    with EmbeddingServer() as one, EmbeddingServer() as two:
        one.script(faults.fine, faults.fine, *[faults.QUOTA] * 100)
        config = at(one, "voyage", fallback=[at(two, "ollama")])
        with Vault(tmp_path / "v.db", embedder=config, embedding_options=options) as vault:
            fill(vault, 10)
            report = vault.embed()
            assert report.model == "ollama/all-minilm" and report.missing == 0
        assert contacted == {address(one), address(two)} and bystander.requests == []
        got = [f"title {n}".encode() in sent(two) for n in range(10)]
        assert got.count(True) == (10 if texts == "all" else 6)


@pytest.mark.parametrize("share", [0, 1, 3, 1_000])
def test_what_was_masked_is_masked_for_every_provider_of_the_chain(tmp_path, bystander, share):
    draw = random.Random(share)
    folder = tmp_path / "agent"
    folder.mkdir()
    secrets = []
    with (folder / "s.jsonl").open("w", encoding="utf-8") as lines:
        for n in range(40):
            text, secret = planted(SECRETS[n % len(SECRETS)], draw)
            secrets.append(secret)
            content = f"message {n}: {text} and the heron waits {'there ' * 40}"
            lines.write(json.dumps({"type": "message", "message": {"role": "user", "content": content}}) + "\n")
    options = EmbeddingOptions(automatic=False, rest_s=60, batch_texts=1)
    with EmbeddingServer() as one, EmbeddingServer() as two:
        one.script(*[faults.fine] * share, *[faults.QUOTA] * (100 if share < 1_000 else 0))
        config = at(one, "openai", fallback=[at(two, "gemini")])
        with Vault(tmp_path / "v.db", embedder=config, embedding_options=options) as vault:
            report = vault.sync(folder)
            assert sum(report.redacted.values()) >= len(secrets)
            assert vault.embed().missing == 0
            chunks = len(vault)
        whole = sent(one) + sent(two)
        assert whole.count(b"heron") >= chunks > 3
        assert (b"heron" in sent(two)) is (share < chunks)
        for secret in secrets:
            assert secret.encode() not in whole
    assert bystander.requests == []
