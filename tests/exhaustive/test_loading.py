"""Tests of `integration/test_loading.py` that take seconds."""

import pytest

from septet import Vault


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as made:
        yield made


LARGE = "x " * (4 << 20)


@pytest.mark.parametrize("fields", [{"description": LARGE}, {"attrs": {"why": LARGE}}], ids=["text", "attrs"])
def test_a_transaction_ends_when_its_entries_are_large(vault, fields):
    told = []
    vault.add_many(({"title": f"word {i}", **fields} for i in range(5)), progress=lambda done, _: told.append(done))
    assert told == [4, 5]
