"""Tests of `integration/test_retriever.py` that start processes."""

import os

import pytest

from corpora_told import LONG_S
from integration.test_retriever import ENTRIES, PROFILES
from septet import Vault


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        for number, entry in enumerate(ENTRIES):
            made.add(**entry, created_at=100 + number, updated_at=100 + number)
        yield made


@pytest.fixture(params=PROFILES)
def retriever(request, vault):
    with vault.retriever(request.param) as made:
        yield made


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_retrieves_with_the_retriever_of_its_parent(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="ducks swim")
        with vault.retriever(timeout_s=LONG_S) as retriever:
            assert retriever.retrieve("ducks").ids == ["a"]
            child = os.fork()
            if child == 0:
                # Whatever happens, the child ends here.
                try:
                    os._exit(0 if retriever.retrieve("ducks").ids == ["a"] else 1)
                finally:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert retriever.retrieve("ducks").ids == ["a"]
