"""What is cut off a ranking: limit, small-corpus guard, floor, token budget."""

import math

import pytest

from septet import Vault
from septet.ranking.cuts import guarded
from septet.ranking.profile import Cuts


def filled(count, **fields):
    vault = Vault(":memory:", clock=lambda: 1e9)
    vault.add_many({"id": f"e{i:03d}", "title": f"alpha {i}", **fields} for i in range(count))
    return vault


@pytest.mark.parametrize(
    ("matches", "limit", "fires"),
    [(20, None, False), (21, None, True), (49, None, True), (50, None, False), (5, None, False), (30, 10, False)],
)
def test_the_guard_fires_without_a_limit_under_fifty_matches_of_which_half_would_go(matches, limit, fires):
    assert guarded(Cuts(), limit=limit, matches=matches) is fires


@pytest.mark.parametrize(("count", "returned"), [(8, 8), (20, 10), (21, 21), (35, 35), (49, 49)])
def test_without_a_limit_a_small_vault_gives_everything_it_would_else_half_lose(count, returned):
    with filled(count) as vault:
        assert len(vault.search("alpha")) == returned


@pytest.mark.parametrize("count", [50, 51, 200])
def test_fifty_matches_or_more_are_cut_to_the_default_limit(count):
    with filled(count) as vault:
        assert len(vault.search("alpha")) == 10


@pytest.mark.parametrize("limit", [1, 10, 30, 49])
def test_an_explicit_limit_is_a_hard_cap(limit):
    with filled(49) as vault:
        assert len(vault.search("alpha", limit=limit)) == limit


def test_a_profile_may_turn_the_guard_off():
    with filled(30) as vault:
        assert len(vault.search("alpha", profile={"extends": "septet", "cuts": {"guard_below": 0}})) == 10


def test_the_guard_counts_what_the_filters_let_through():
    with filled(100) as vault:
        for i in range(25):
            vault.update(f"e{i:03d}", domain="small")
        assert len(vault.search("alpha", domain="small")) == 25


def test_a_floor_keeps_exactly_what_reaches_it():
    with filled(5) as vault:
        vault.add(id="critical", title="alpha", severity="critical")
        everything = vault.search("alpha", limit=10)
        best = everything[0].score
        assert vault.search("alpha", limit=10, min_score=best).ids == [h.id for h in everything if h.score == best]
        assert vault.search("alpha", limit=10, min_score=math.nextafter(best, 2)).ids == []
        assert vault.search("alpha", limit=10, min_score=0).ids == everything.ids
        assert vault.search("alpha", limit=10, min_score=-math.inf).ids == everything.ids


@pytest.mark.parametrize("budget", range(1, 160, 6))
def test_along_all_budgets_as_many_come_back_as_fit(budget):
    with filled(6, description="d" * 90) as vault:  # 97 characters and "[]": 25 tokens each
        assert len(vault.search("alpha", max_tokens=budget)) == min(budget // 25, 6)


@pytest.mark.parametrize("chars", [0, 1, 3, 4, 5, 40, 400])
@pytest.mark.parametrize("tags", [1, 2, 7])
def test_a_token_budget_counts_the_tags_of_every_entry(chars, tags):
    given = [f"{i}{'t' * chars}" for i in range(tags)]
    with filled(3, tags=given) as vault:
        # Seven characters of title, and the tags as they are stored: quoted, with commas, in brackets.
        cost = math.ceil((7 + 2 + sum(len(t) + 2 for t in given) + tags - 1) / 4)
        for fit in (1, 2, 3):
            assert len(vault.search("alpha", max_tokens=fit * cost)) == fit
            if fit * cost > 1:
                assert len(vault.search("alpha", max_tokens=fit * cost - 1)) == fit - 1


def test_a_budget_and_a_limit_both_hold():
    with filled(30) as vault:
        assert len(vault.search("alpha", limit=5, max_tokens=10**9)) == 5


def test_a_confident_answer_needs_few_results_when_a_budget_is_given():
    profile = {"extends": "septet", "cuts": {"confident_score": 0.1, "confident_limit": 2}}
    with filled(9) as vault:
        assert len(vault.search("alpha", profile=profile)) == 9
        assert len(vault.search("alpha", profile=profile, max_tokens=10_000)) == 2


def confident(score, keep):
    return {"extends": "septet", "cuts": {"confident_score": score, "confident_limit": keep}}


@pytest.mark.parametrize("keep", [1, 2, 8, 9, 50])
def test_a_confident_score_reached_exactly_keeps_only_so_many(keep):
    with filled(9) as vault:
        best = vault.search("alpha")[0].score
        for reached in (best, math.nextafter(best, -1), 0.0):
            assert len(vault.search("alpha", profile=confident(reached, keep), max_tokens=10_000)) == min(keep, 9)
        missed = confident(math.nextafter(best, 2), keep)
        assert len(vault.search("alpha", profile=missed, max_tokens=10_000)) == 9


def test_a_confident_answer_is_cut_by_its_budget_too():
    with filled(9, description="d" * 90) as vault:
        for budget, returned in [(1, 0), (49, 1), (50, 2), (74, 2), (75, 3), (10_000, 3)]:
            assert len(vault.search("alpha", profile=confident(0.0, 3), max_tokens=budget)) == returned


@pytest.mark.parametrize("below", [0, 1, 2, 21, 22, 30, 60, 61])
@pytest.mark.parametrize("default", [1, 10, 29, 30])
def test_the_guard_holds_along_the_whole_range_of_matches(below, default):
    cuts = Cuts(guard_below=below, limit=default)
    fires = [guarded(cuts, limit=None, matches=n) for n in range(100)]
    assert fires == [2 * default < n < below for n in range(100)]
    assert not any(guarded(cuts, limit=n, matches=n) for n in range(1, 100))


@pytest.mark.parametrize("limit", [2**31, 2**63, 10**30])
def test_a_limit_beyond_every_integer_is_no_limit(limit):
    with filled(60, vector=[1, 0]) as vault:
        assert len(vault.search("alpha", limit=limit)) == 60
        assert len(vault.search("zeta", limit=limit, query_vector=[0, 1])) == 60


def test_the_first_results_do_not_depend_on_how_many_are_asked_for():
    with filled(60) as vault:
        vault.add_many({"title": "alpha " * i, "severity": "warning"} for i in range(2, 8))
        long = vault.search("alpha", limit=40).ids
        assert vault.search("alpha", limit=15).ids == long[:15]
