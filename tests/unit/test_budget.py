"""The token budget of a search: what fits is returned, what does not is left out and noted."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import Federation, Vault
from septet.ranking.cuts import budgeted
from septet.ranking.profile import Cuts

PROFILES = ["septet", "seven-signals", "six-signals"]


def ladder(*chars):
    """Entries that rank in the order given; each has so many more characters that no search looks at."""
    vault = Vault(":memory:", clock=lambda: 1e9)
    severities = ["critical", "warning", "suggestion"]
    for i, n in enumerate(chars):
        vault.add(
            id=f"e{i}", title="alpha", attrs={"why": "d" * n}, severity=severities[min(i, 2)], created_at=1e9 - i * 3e7
        )
    return vault


def cost(hit):
    return math.ceil((hit.entry.text_chars + len(json.dumps(list(hit.tags)))) / 4)


def scan_cost(hit):
    light = hit.to_dict()
    names = ("id", "title", "kind", "type", "domain", "severity", "source", "trust", "snippet", "tier")
    texts = [light[name] or "" for name in names]
    return math.ceil((sum(map(len, texts)) + len(json.dumps(light["tags"], separators=(",", ":")))) / 4)


def slow(costs, scores, max_tokens, *, skips, confident, enough):
    """The budget as it is described, result by result."""
    kept, rest = [], list(range(len(costs)))
    if not skips:
        if rest and confident is not None and scores[0] >= confident:
            rest = rest[:enough]
        n = max(1, next((n for n in range(len(rest)) if sum(costs[: n + 1]) > max_tokens), len(rest))) if rest else 0
        return rest[:n], rest[n:]
    left_out = []
    for at in rest:
        if kept and confident is not None and scores[kept[0]] >= confident and len(kept) >= enough:
            return kept, left_out
        (kept if sum(costs[i] for i in [*kept, at]) <= max_tokens else left_out).append(at)
    return kept, left_out


@given(
    st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), max_size=12),
    st.integers(1, 200),
    st.booleans(),
    st.none() | st.floats(0, 1),
    st.integers(1, 5),
)
def test_the_budget_equals_its_description(results, max_tokens, skips, confident, enough):
    costs, scores = [c for c, _ in results], sorted((s for _, s in results), reverse=True)
    cuts = Cuts(budget="skip" if skips else "stop", confident_score=confident, confident_limit=enough)
    wanted = slow(costs, scores, max_tokens, skips=skips, confident=confident, enough=enough)
    assert budgeted(cuts, costs, scores, max_tokens) == wanted
    kept, _ = wanted
    if skips:
        assert sum(costs[at] for at in kept) <= max_tokens


@pytest.mark.parametrize("sizes", [(72_000, 40), (40, 72_000), (40, 72_000, 40), (72_000, 72_000, 0), (72_000,)])
def test_a_budget_is_never_exceeded_and_what_fits_behind_a_large_result_comes_back(sizes):
    with ladder(*sizes) as vault:
        everything = vault.search("alpha")
        assert [cost(hit) > 500 for hit in everything] == [n > 2_000 for n in sizes]
        found = vault.search("alpha", max_tokens=500)
        assert found.ids == [hit.id for hit in everything if cost(hit) <= 500]
        assert sum(map(cost, found)) <= 500
        (note,) = found.notes
        out = [cost(hit) for hit in everything if hit.id not in found.ids]
        assert note.code == "over_budget"
        assert f"{len(out)} of the best {len(sizes)} results" in note.cause
        assert f"take {sum(out)} more" in note.cause
        assert not found.degraded


def test_a_budget_that_has_room_for_all_or_is_not_there_says_nothing():
    with ladder(40, 40, 40) as vault:
        assert not vault.search("alpha", max_tokens=1_000).notes
        assert not vault.search("alpha").notes
        assert not vault.search("beta", max_tokens=1).notes


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("sizes", [(400, 40, 40), (40, 400, 40), (40, 40, 400), (400, 400, 400)])
def test_the_documented_profiles_stop_at_the_first_that_does_not_fit_but_keep_one(profile, sizes):
    with ladder(*sizes) as vault:
        everything = vault.search("alpha", profile=profile)
        costs = [cost(hit) for hit in everything]
        for budget in range(1, sum(costs) + 3, 3):
            found = vault.search("alpha", profile=profile, max_tokens=budget)
            kept, left_out = slow(
                costs, [h.score for h in everything], budget, skips=profile == "septet", confident=None, enough=3
            )
            assert found.ids == [everything[at].id for at in kept]
            over = bool(left_out) or sum(costs[at] for at in kept) > budget
            assert [note.code for note in found.notes] == ["over_budget"] * over


def test_a_first_result_that_a_documented_profile_keeps_over_the_budget_is_noted():
    with ladder(400) as vault:
        (note,) = vault.search("alpha", profile="seven-signals", max_tokens=50).notes
        assert "the first result alone takes 102" in note.cause


@pytest.mark.parametrize("searched", ["vault", "federation"])
@pytest.mark.parametrize("text", ["d" * 4_000, "ß漢" * 2_000])
def test_scan_pays_for_light_results_and_not_for_whole_entries(searched, text):
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        vault.add_many(
            {"id": f"e{i}", "title": f"alpha {i}", "description": text[i:], "tags": ["t"] * i} for i in range(9)
        )
        vault.remember("alpha", text)
        with Federation({"agent": vault}) as federation:
            asked = {"vault": vault, "federation": federation}[searched]
            everything = asked.search("alpha", mode="scan", include_memories=True)
            assert len(everything) == 10
            costs = [scan_cost(hit) for hit in everything]
            assert max(costs) < 200
            for budget in range(1, sum(costs) + 50, 37):
                found = asked.search("alpha", mode="scan", include_memories=True, max_tokens=budget)
                kept, _ = slow(costs, [0] * 10, budget, skips=True, confident=None, enough=3)
                assert found.ids == [everything[at].id for at in kept]
                assert sum(map(scan_cost, found)) <= budget
            assert not asked.search("alpha", max_tokens=500, include_memories=True)


def test_search_many_cuts_each_query_by_its_own_budget():
    with ladder(40, 4_000, 40, 400) as vault:
        alone = [vault.search("alpha", max_tokens=n) for n in (20, 60, 200, 2_000)]
        for one, budget in zip(alone, (20, 60, 200, 2_000)):
            (both, _) = vault.search_many(["alpha", "alpha d"], max_tokens=budget)
            assert (both.ids, both.notes) == (one.ids, one.notes)


def test_explain_says_what_the_budget_left_out():
    with ladder(40, 4_000, 40) as vault:
        for at, (found, said) in enumerate(
            [(True, "most of it"), (False, "it takes 1002 of max_tokens 60"), (True, "")]
        ):
            told = vault.explain("alpha", f"e{at}", max_tokens=60)
            assert (told.found, told.rank) == (found, at + 1)
            assert said in told.reason
            assert [note.code for note in told.notes] == ["over_budget"]
