"""Tests of `integration/test_embedding_config.py` that start servers."""

import pytest

from septet import Vault


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_provider_that_cannot_be_reached_costs_a_vault_nothing_but_its_vectors(tmp_path):
    config = {"provider": "openai", "apiKey": "sk-secret", "baseUrl": "http://127.0.0.1:9/", "queryTimeoutS": 0.2}
    with Vault(tmp_path / "v.db", embedder=config) as vault:
        assert vault.embedding_status().model == "openai/text-embedding-3-small"
        vault.add(title="red apples")
        assert len(vault.search("apples")) == 1
        report = vault.embed()
        assert report.missing == 1 and "sk-secret" not in str(report)
