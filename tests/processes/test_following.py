"""Tests of `integration/test_following.py` that start processes."""

import os

import pytest

from integration.test_following import LONG, made
from septet import Vault


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes")


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.db", sync_on_search=LONG) as vault:
        vault.sync(notes)
        yield vault


def test_a_forked_child_looks_for_itself(vault, notes):
    assert vault.search("rivers")
    (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if len(vault.search("numbat")) == 1 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
