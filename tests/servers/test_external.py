"""Tests of `integration/test_external.py` that start servers."""

import pytest

from embedding_server import EmbeddingServer, faults
from integration.test_external import Other
from septet import StoreError, Vault
from septet.client import ExternalFirst


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add_many({"id": f"v{n}", "title": f"rotate crops {n}", "domain": "farm"} for n in range(12))
        yield made


def test_every_level_of_fallback_is_told(tmp_path):
    """The other memory; the first model; the second one; words alone; nothing."""
    other = Other()
    with EmbeddingServer() as one, EmbeddingServer() as two:
        second = {"provider": "ollama", "model": "second", "baseUrl": two.url}
        first = {"provider": "openai", "model": "first", "baseUrl": f"{one.url}/v1", "apiKey": "good-key"}
        vault = Vault(tmp_path / "v.db", embedder={**first, "fallback": [second]})
        with vault:
            vault.add_many({"id": f"v{n}", "title": f"rotate crops {n}"} for n in range(12))
            vault.embedding_status(wait_s=20)
            one.script(*[faults.QUOTA] * 1_000)
            vault.add(title="rotate more")
            vault.embedding_status(wait_s=20)
            memory = ExternalFirst(other, vault, name="qmd", rest_s=0)
            codes = []

            def search(query):
                found = memory.search(query)
                codes.append(([note.code for note in found.notes], found.degraded, bool(found)))

            search("keys")
            other.fault = OSError("connection refused")
            search("rotate crops 2")
            two.script(*[faults.status(402)] * 1_000)
            search("rotate crops 3")
    assert codes[0] == ([], False, True)
    assert codes[1] == (["external_failed", "embedding_fallback"], True, True)
    said, degraded, found = codes[2]
    assert said[:3] == ["external_failed", "embedding_refused", "embedding_refused"] and degraded and found
    with pytest.raises(StoreError, match="connection refused; the vault failed too"):
        memory.search("rotate")
