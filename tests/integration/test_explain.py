"""Why an entry ranks where it does, or why it does not come back."""

import math
from contextlib import suppress

import pytest

from septet import EntryNotFound, QueryError, Vault

NOW = 1_700_000_000.0


@pytest.fixture(scope="module")
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        made.add_many({"id": f"e{i:02d}", "title": "alpha " * (60 - i), "vector": [1, i]} for i in range(60))
        made.add(id="other", title="omega", domain="security", tags=["t"])
        made.add(id="expired", title="alpha", valid_until=NOW - 1)
        made.add(id="future", title="alpha", valid_from=NOW + 1)
        made.add(id="hub", title="kappa")
        made.add(id="near", title="leaf")
        made.link("hub", "near")
        made.remember("alpha memory", id="memory")
        yield made


def test_a_hit_is_explained_with_the_numbers_of_the_search(vault):
    for options in ({}, {"query_vector": [1, 3]}, {"profile": "seven-signals", "boost_tags": ["t"]}):
        for place, hit in enumerate(vault.search("alpha", limit=3, **options), start=1):
            told = vault.explain("alpha", hit.id, limit=3, **options)
            assert (told.found, told.rank, told.score, told.tier) == (True, place, hit.score, "vault")
            assert (dict(told.breakdown), dict(told.signals)) == (dict(hit.breakdown), dict(hit.signals))
            assert math.fsum(told.breakdown.values()) == pytest.approx(told.score)
            assert all(told.filters.values()) and f"ranks {place}" in told.reason
            assert str(told) and told.to_dict()["rank"] == place


def test_an_entry_cut_by_the_limit_is_told_so_with_its_rank(vault):
    told = vault.explain("alpha", "e20", limit=10)
    assert (told.found, told.limit) == (False, 10)
    assert told.rank is not None and told.rank > 10
    assert "after the 10 that were returned" in told.reason


def test_an_entry_beyond_the_leg_is_told_its_rank_in_the_leg(vault):
    told = vault.explain("alpha", "e59", limit=5, profile={"extends": "septet", "cuts": {"minimum": 30}})
    assert (told.found, told.rank, told.score) == (False, None, None)
    (leg,) = told.legs
    assert (leg.leg, leg.matched, leg.taken) == ("text", True, 30)
    assert leg.rank > 30 and leg.of == 60
    assert f"rank {leg.rank} of 60" in told.reason and "first 30" in told.reason


def test_an_entry_that_matches_nothing_is_told_the_words(vault):
    told = vault.explain("alpha beta", "other")
    assert (told.found, told.legs[0].matched) == (False, False)
    assert "holds none of alpha, beta" in told.reason


@pytest.mark.parametrize(
    ("entry", "options", "failed"),
    [
        ("e00", {"domain": "security"}, "domain"),
        ("e00", {"where": {"tags": "t"}}, "where tags"),
        ("e00", {"kinds": ["chunk"]}, "kinds"),
        ("e00", {"where": {"severity": "critical"}}, "where severity"),
        ("expired", {}, "valid"),
        ("future", {}, "valid"),
        ("memory", {}, "kind"),
    ],
)
def test_an_entry_that_was_filtered_out_is_told_by_which_filter(vault, entry, options, failed):
    told = vault.explain("alpha", entry, **options)
    assert (told.found, told.rank, told.filters[failed]) == (False, None, False)
    assert f"filter {failed}" in told.reason


@pytest.mark.parametrize("entry", ["expired", "future"])
def test_expired_entries_come_back_when_asked_for(vault, entry):
    assert vault.explain("alpha", entry, include_expired=True, limit=50).rank is not None


def test_a_memory_that_came_back_passes_its_filters(vault):
    told = vault.explain("memory", "memory", include_memories=True)
    assert told.found and all(told.filters.values())


def test_floor_and_budget_are_named_as_the_reason(vault):
    assert "under min_score 0.99" in vault.explain("alpha", "e05", min_score=0.99, limit=10).reason
    assert "max_tokens 1" in vault.explain("alpha", "e05", max_tokens=1, limit=30).reason


def test_the_vector_leg_is_explained_too(vault):
    told = vault.explain("zeta", "e40", query_vector=[0, 1], limit=1)
    leg = told.legs[1]
    assert (leg.leg, leg.matched, leg.rank) == ("vector", True, 20)
    told = vault.explain("zeta", "other", query_vector=[0, 1])
    assert told.legs[1].detail == "no vector of model 'given'"


def test_a_neighbour_that_only_links_brought_in_is_explained(vault):
    told = vault.explain("kappa", "near")
    assert told.found and told.signals["graph_proximity"] == 0.5
    assert not told.legs[0].matched


def test_an_unknown_entry_and_an_unknown_option_are_errors(vault):
    with pytest.raises(EntryNotFound, match="no entry 'missing'"):
        vault.explain("alpha", "missing")
    with pytest.raises(TypeError, match="colour"):
        vault.explain("alpha", "e00", colour="red")
    with pytest.raises(QueryError, match="limit"):
        vault.explain("alpha", "e00", limit=0)


def test_the_vector_leg_alone_without_a_query_vector_is_an_error_or_a_note(vault):
    with suppress(QueryError):
        assert vault.search("alpha", legs="vector").notes


def test_each_leg_can_be_asked_alone(vault):
    text = vault.search("alpha", legs="text", query_vector=[0, 1], limit=5)
    assert all(h.signals["vector"] is None for h in text)
    vector = vault.search("omega", legs=["vector"], query_vector=[0, 1], limit=5)
    assert "other" not in vector.ids and vector.ids[0] == "e59"
    assert all(h.signals["semantic"] is None for h in vector)


@pytest.mark.parametrize(("limit", "candidates"), [(None, 30), (1, 30), (10, 30), (11, 33), (100, 300)])
def test_in_a_documented_profile_the_limit_decides_how_many_candidates_there_are_and_explain_says_so(
    vault, limit, candidates
):
    told = vault.explain("alpha", "e05", limit=limit, profile="seven-signals")
    assert (told.candidates, told.to_dict()["candidates"]) == (candidates, candidates)
    assert f"limit {limit or 10}: each leg takes {candidates} candidates" in str(told)


@pytest.mark.parametrize("limit", [None, 1, 10, 100])
def test_by_default_a_limit_only_cuts_and_explain_says_so(vault, limit):
    told = vault.explain("alpha", "e05", limit=limit)
    assert told.candidates == 200
    assert f"limit {limit or 10}: each leg takes 200 candidates" in str(told)


def test_what_is_beyond_the_candidates_of_a_limit_hears_how_many_there_are():
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        vault.add_many({"id": f"e{i:02d}", "title": "alpha " + "beta " * i} for i in range(60))
        profile = {"extends": "septet", "cuts": {"factor": 2, "minimum": 7}}
        told = vault.explain("alpha", "e20", limit=5, profile=profile)
        assert "only the first 10 become candidates (2 x limit, at least 7)" in told.reason
        assert vault.explain("alpha", "e20", limit=11, profile=profile).rank == 21


def test_a_larger_limit_may_change_the_order_as_the_documentation_says():
    profile = {"extends": "septet", "cuts": {"factor": 1, "minimum": 1, "guard_below": 0}}
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        vault.add(id="words", title="Note", description="alpha alpha", created_at=0)
        vault.add(id="facts", title="Other", description="alpha beta gamma", severity="critical")
        assert vault.search("alpha", limit=1, profile=profile).ids == ["words"]
        assert vault.search("alpha", limit=2, profile=profile).ids == ["facts", "words"]
