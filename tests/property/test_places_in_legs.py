"""The place of an entry in a leg, counted from memory or by FTS5, is its place in the list of all matches."""

import random
from itertools import pairwise

import pytest

from septet import Vault
from septet.sqlite.tier.read_view import ReadView

NOW = 1.7e9
WORDS = "alpha beta gamma authenticate auth getUserName user_name tokens 日本語検索 検索 café the".split()
PROFILES = {
    "septet": "septet",
    "documented": "seven-signals",
    "a cascade": "recall",
    "all words first": "markdown-memory",
    "other constants": {"extends": "septet", "text": {"k1": 0.9, "b": 0.4}},
    "without tags": {"extends": "seven-signals", "text": {"weights": {"tags": 0.0}}},
}


@pytest.fixture(scope="module")
def vault():
    draw = random.Random(7)

    def text(most):
        return " ".join(draw.choices(WORDS, k=draw.randint(1, most)))

    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many(
            {
                "id": f"e{number}", "title": text(4), "description": text(9), "tags": [text(1)], "created_at": 1.0,
                "domain": "ab"[number % 2], "valid_until": NOW + (-1 if number % 11 == 0 else 1),
                "vector": [draw.gauss(0, 1) for _ in range(4)],
            }
            for number in range(90)
        )  # fmt: skip
        vault.add_many({"id": f"m{number}", "kind": "memory", "title": text(5)} for number in range(9))
        for number in range(0, 20, 3):
            vault.delete(f"e{number}")
        vault.optimize()
        yield vault


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("options", [{}, {"domain": "a"}, {"include_memories": True}])
def test_the_places_of_all_matches_are_each_number_once(vault, monkeypatch, profile, options):
    options = {"profile": PROFILES[profile], "limit": 5, **options}
    entries = [f"e{number}" for number in range(1, 90, 4) if number >= 20 or number % 3]
    for query in ("beta getUserName", "検索 auth the"):
        places = {}
        for way in ("memory", "FTS5"):
            if way == "FTS5":
                monkeypatch.setattr(ReadView, "needs_fts5", lambda _, plan: plan.asks_text)
            legs = {entry: explained(vault, query, entry, options) for entry in entries}
            places[way] = {entry: (leg.rank, leg.of, leg.taken) for entry, leg in legs.items()}
            best = sorted((leg for leg in legs.values() if leg.rank), key=lambda leg: leg.rank)
            assert len({leg.rank for leg in best}) == len(best) and all(1 <= leg.rank <= leg.of for leg in best)
            if profile != "all words first":
                assert all(a.value >= b.value or a.value == pytest.approx(b.value) for a, b in pairwise(best))
            monkeypatch.undo()
        if profile != "other constants" and not options.get("include_memories"):
            assert places["memory"] == places["FTS5"]


def explained(vault, query, entry, options):
    return next(leg for leg in vault.explain(query, entry, **options).legs if leg.leg == "text")


def test_the_place_among_vectors_is_that_of_a_sorted_list(vault):
    query = [0.3, -1.0, 0.2, 0.5]
    legs = []
    for entry in vault.entries(limit=200):
        if entry.kind != "memory":
            (leg,) = vault.explain("", entry.id, query_vector=query, legs="vector", limit=1).legs
            legs.append(leg)
    ranked = sorted((leg for leg in legs if leg.rank), key=lambda leg: leg.rank)
    assert [leg.rank for leg in ranked] == list(range(1, ranked[0].of + 1))
    assert all(a.value >= b.value for a, b in pairwise(ranked))
