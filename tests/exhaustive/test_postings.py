"""Tests of `integration/test_postings.py` that take seconds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from integration.test_postings import NOW, assert_memory_equals_fts5, built, entry
from septet import Vault


@pytest.fixture
def vault() -> Iterator[Vault]:
    rng = random.Random(5)
    with Vault(":memory:", clock=lambda: NOW) as made:
        made.add_many(entry(rng, i) for i in range(300))
        yield made


def test_a_vault_can_be_closed_while_its_postings_are_built(tmp_path):
    rng = random.Random(3)
    vault = Vault(tmp_path / "v.db", clock=lambda: NOW)
    vault.add_many(entry(rng, i) for i in range(12_000))
    vault.search("alpha")
    vault.search("alpha")
    vault.close()
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as again:
        built(again)
        assert_memory_equals_fts5(again)
