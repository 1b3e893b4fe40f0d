"""Tests of `integration/test_changing.py` that take seconds."""

import pytest

from septet import EntryError, Vault


@pytest.fixture
def vault():
    with Vault(":memory:") as opened:
        opened.add_many({"id": f"e{number}", "title": f"word number{number}"} for number in range(20))
        yield opened


def test_attrs_that_are_too_large_once_merged_leave_every_entry_as_it_was(vault):
    before = {entry.id: entry for entry in vault}
    with pytest.raises(EntryError, match="50,000,000"):
        vault.update_many({"id": "e7"}, merge_attrs={"a": "x" * 25_000_000, "b": "y" * 25_000_000})
    assert {entry.id: entry for entry in vault} == before
