"""Tests of `property/test_embedding_secrets.py` that start servers."""

from __future__ import annotations

import json
import logging
import traceback

import pytest

from embedding_server import ROUTES, EmbeddingServer
from embedding_server.batches import Batches, Outcome
from job_world import World, fill
from property.test_embedding_secrets import ECHOES, seen
from septet import EmbeddingError
from septet.embedding import OpenAIEmbedder
from septet.net.client import IO


@pytest.mark.parametrize("how", ["as it is", "first half", "base64", "percent"])
def test_the_logs_of_the_http_libraries_hold_no_key(how, caplog):
    key = "sk-proj-T0pS3cretT0pS3cretT0pS3cret"

    def echoing(provider, answer):
        found = answer()
        found.headers["x-echo"] = ECHOES[how](key)
        return found

    with EmbeddingServer(keys=(key,)) as server, caplog.at_level(logging.DEBUG):
        server.script(echoing)
        embedder = OpenAIEmbedder("m", api_key=key, base_url=server.url, environment={})
        assert len(embedder.embed(["a text"])) == 1
        embedder.close()
    assert "x-echo" in caplog.text and "[key]" in caplog.text
    assert not seen(caplog.text, key)


@pytest.mark.parametrize("how", ["as it is", "the middle", "by blanks", "base64", "percent", "JSON", "HTML"])
def test_what_is_said_of_a_batch_job_holds_no_key(tmp_path, how):
    key = "sk-proj-T0pS3cretT0pS3cretT0pS3cret"
    batches = Batches()
    with EmbeddingServer(keys=(key,), routes=[*ROUTES, *batches.routes]) as server:
        world = World(tmp_path, server, batches)
        batches.outcomes.append(Outcome(fails=lambda text: f"wrong key {ECHOES[how](key)}"))
        with world.vault(embedder=world.embedder(api_key=key)) as vault:
            fill(vault, 3)
            report = vault.embed(batch=True)
            assert [note.code for note in report.notes] == ["job_failed"]
            assert not seen(str(report) + json.dumps(report.to_dict()), key)
            assert not seen(repr(vault.stats()) + repr(vault.embedding_status()), key)
        world.close()


@pytest.mark.parametrize("proxy", ["http://user:T0pS3cretT0pS3cret@127.0.0.1:9", "ftp://user:T0pS3cretT0pS3cret@host"])
def test_the_password_of_a_proxy_is_not_told(monkeypatch, caplog, proxy):
    monkeypatch.setenv("HTTP_PROXY", proxy)
    quick = IO(sleep=lambda seconds: None)
    embedder = OpenAIEmbedder("m", api_key="k" * 20, base_url="http://provider.invalid", environment={}, outside=quick)
    with caplog.at_level(logging.DEBUG), pytest.raises(EmbeddingError) as raised:
        embedder.embed(["a text"])
    frames = traceback.TracebackException.from_exception(raised.value, capture_locals=True)
    told = str(raised.value) + repr(raised.value) + caplog.text + "".join(frames.stack[1:].__str__())
    assert not seen(told, "T0pS3cretT0pS3cret")
