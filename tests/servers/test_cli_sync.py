"""Tests of `integration/test_cli_sync.py` that start servers."""

from __future__ import annotations

import json

import pytest

from commands import Commands
from embedding_server import EmbeddingServer, faults
from integration.test_cli_sync import chunks
from septet import Vault

pytest.importorskip("typer")
pytest.importorskip("rich")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    return Commands(tmp_path, monkeypatch)


@pytest.fixture
def notes(septet):
    folder = septet.home / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at 80 degrees.\n", encoding="utf-8")
    (folder / "deep" / "bread.md").write_text("# Bread\n\nLet the dough rest overnight.\n", encoding="utf-8")
    return folder


def test_chunks_are_embedded_where_an_embedder_is_configured(septet, notes):
    with EmbeddingServer() as server:
        block = {"provider": "openai", "model": "small", "dimensions": 8, "apiKey": "good-key", "baseUrl": server.url}
        (septet.home / "e.json").write_text(json.dumps(block))
        code, out, _ = septet("sync", "notes", "--embedding", "e.json", "--json")
        assert code == 0 and json.loads(out)["embedded"]["failed"] == 0
        with Vault(septet.home / "v.db") as vault:
            assert [space.entries for space in vault.stats().spaces] == [2]
        (notes / "new.md").write_text("# New\n\nOne more.\n")
        server.script(*[faults.status(401, "no", **{"x-should-retry": "false"})] * 20)
        code, _, err = septet("sync", "--embedding", "e.json")
        assert code == 4 and "note " in err
    assert len(chunks(septet.home)) == 3
