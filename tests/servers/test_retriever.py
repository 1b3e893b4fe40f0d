"""Tests of `integration/test_retriever.py` that start servers."""

import math

import pytest

from corpora_told import Held
from integration.test_retriever import ENTRIES, PROFILES, QUERY
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


@pytest.mark.parametrize("query", [QUERY, "token", "jobs in sqlite", "nothing of that kind", ""])
def test_the_parts_of_a_score_sum_to_it_and_ranks_are_those_in_the_lists(retriever, query):
    found = retriever.retrieve(query)
    places = {}
    for one in found.lists:
        for rank, item in enumerate(one.items, 1):
            places.setdefault(item.hit.id, set()).add(rank)
    for one in found:
        assert math.isclose(math.fsum(one.breakdown.values()), one.score, rel_tol=1e-12)
        assert one.breakdown.keys() == one.signals.keys()
        assert set(one.signals.values()) <= places[one.id]


def test_what_is_late_is_left_out_and_said(vault):
    slow = Held("slow")
    with vault.retriever(corpora={"slow": slow}, timeout_s=0.5) as retriever:
        found = retriever.retrieve(QUERY)
        assert ("deadline", "slow") in [(note.code, note.tier) for note in found.notes]
        assert "auth" in found.ids
        (wave, *_) = found.envelope.waves
        assert {one.corpus: one.state for one in wave.asked}["slow"] == "late"
    slow.gate.set()
