"""Several vaults as tiers, and memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import NOW, recording, vault_of, where_of
from golden.reference import Corpus, search
from septet import Federation, Vault
from septet.sqlite.tables import fulltext

FTS = recording("fts")
CORPUS = recording("corpus")
TIERS = {"agent": 1.0, "project": 0.8, "team": 0.6, "shared": 0.6}
TAKEN = 10  # the recorded default for each source
ALL = frozenset({"unicode-terms", "all-punctuation-splits", "short-terms-last", "never-raw", "unicode-tokens"})


@pytest.fixture(scope="module")
def vaults(opened) -> dict[str, Vault]:
    return {name: opened.enter_context(vault_of(CORPUS[name])) for name in TIERS}


@pytest.fixture(scope="module")
def federation(vaults: Mapping[str, Vault]) -> Iterator[Federation]:
    with Federation(vaults, weights=TIERS, clock=lambda: NOW, profile="seven-signals") as made:
        yield made


def text_leg(vault: Vault, query: str, take: int = TAKEN) -> dict[str, float]:
    with vault._store.reading() as read:
        hits = fulltext.candidates(read, vault._plan(query, {}), take)
        ids = dict(read.sql.execute("SELECT row, id FROM entries").fetchall())
    return {ids[row]: score for row, score in zip(hits.rows, hits.scores)}


every_query = pytest.mark.parametrize("case", FTS["federated"], ids=lambda c: c["query"])


@every_query
def test_each_tier_finds_what_was_recorded_for_its_source(case, vaults):
    assert set(case["perSource"]) == set(TIERS)
    for name, results in case["perSource"].items():
        found = text_leg(vaults[name], case["query"])
        full = text_leg(vaults[name], case["query"], 1000)
        assert list(found.values()) == pytest.approx([row["score"] for row in results], rel=1e-9)
        assert {row["id"]: row["score"] for row in results} == pytest.approx(
            {row["id"]: full[row["id"]] for row in results}, rel=1e-9
        )


def merged(case: Mapping[str, Any], *, by_tier: bool) -> dict[str, tuple[str, float]]:
    """Return source and weighted score by id: of copies the highest tier's, or the one with the larger score."""
    best: dict[str, tuple[str, float]] = {}
    for source, weight in TIERS.items():
        for row in case["perSource"][source]:
            score = row["score"] * weight
            if row["id"] not in best or (not by_tier and score > best[row["id"]][1]):
                best[row["id"]] = (source, score)
    return best


@every_query
@differs("tiers-do-not-scale", "over-fetch-in-every-tier")
def test_a_federation_finds_what_was_recorded_and_all_that_each_tier_took_no_further(case, federation, vaults):
    by_score = merged(case, by_tier=False)
    recorded = {row["id"]: (row["source"], row["score"]) for row in case["results"]}
    assert {id: s for id, (s, _) in recorded.items()} == {id: s for id, (s, _) in by_score.items() if id in recorded}
    assert {id: x for id, (_, x) in recorded.items()} == pytest.approx({id: by_score[id][1] for id in recorded})
    assert len(recorded) == min(len(by_score), case["limit"] or 20)

    found = federation.search(case["query"], limit=100)
    everything = {id: name for name in reversed(TIERS) for id in text_leg(vaults[name], case["query"], 1000)}
    # A higher tier's copy stands in also when only a lower tier's one has the words.
    holders = {id: next(name for name in TIERS if id in vaults[name]) for id in everything}
    assert {hit.id: hit.tier for hit in found} == holders
    assert set(by_score) <= set(everything)
    assert {id: s for id, (s, _) in merged(case, by_tier=True).items()}.items() <= everything.items()
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


@every_query
@differs("words-counted-per-tier", "tiers-do-not-scale")
def test_scores_in_a_federation_are_those_of_each_tier_alone(case, federation):
    wanted: dict[tuple[str, str], float] = {}
    for name in TIERS:
        corpus = Corpus(CORPUS[name], NOW)
        rows = search(corpus, case["query"], {"limit": 100}, ALL).rows
        corpus.close()
        wanted.update({(name, row.id): row.score for row in rows})
    found = {(hit.tier, hit.id): hit.score for hit in federation.search(case["query"], limit=100)}
    matching = {key: score for key, score in found.items() if key in wanted}
    assert matching == pytest.approx({key: wanted[key] for key in matching}, abs=1e-9)
    # What is left stands in for a lower tier's copy that has the words.
    stand_ins = {id for _, id in found.keys() - matching.keys()}
    assert stand_ins <= {id for _, id in wanted}
    assert len(stand_ins) <= 1
    assert len(matching) == len(found) - len(stand_ins) > 0


def test_copies_and_several_tiers_were_recorded():
    cases = FTS["federated"]
    copies = [id for case in cases for id in merged(case, by_tier=True)]
    rows = sum(len(results) for case in cases for results in case["perSource"].values())
    assert rows > len(copies) > 20
    assert {row["source"] for case in cases for row in case["results"]} == set(TIERS)


@differs("higher-tier-wins")
def test_the_higher_tiers_copy_wins_against_a_better_match_in_a_lower_tier():
    case = recording("vectors")["federationDedupe"]
    assert case["merged"][0]["source"] == "team"
    assert case["teamOnly"][0]["score"] * TIERS["team"] > case["agentOnly"][0]["score"]
    filler = [{"id": f"f{i}", "title": f"Filler {i}", "description": "", "tags": []} for i in range(40)]
    own = {"id": "dup", "title": "Fruit", "description": "Mentions a kumquat among many other words", "tags": []}
    copy = {"id": "dup", "title": case["merged"][0]["title"], "description": "", "tags": []}
    with vault_of([own, *filler]) as agent, vault_of([copy, *filler]) as team:
        scores = [text_leg(vault, "kumquat")["dup"] for vault in (agent, team)]
        assert scores[1] * TIERS["team"] > scores[0]
        with Federation({"team": team, "agent": agent}, clock=lambda: NOW, profile="seven-signals") as both:
            (hit,) = both.search("kumquat")
    assert (hit.id, hit.tier, hit.title) == ("dup", "agent", "Fruit")


# -- memories --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def memories(opened) -> Vault:
    return opened.enter_context(vault_of(CORPUS["agent"], memories=CORPUS["memories"]))


def memories_found(vault: Vault, query: str, take: int = TAKEN, **options: Any) -> list[str]:
    with vault._store.reading() as read:
        rows = fulltext.recall_memories(read, vault._plan(query, options), take)
        ids = dict(read.sql.execute("SELECT row, id FROM entries").fetchall())
    return [ids[row] for row in rows]


#: What a search for the same terms adds to the recorded answer for the raw query, which wants all words at once.
MORE_MEMORIES = {"commit AND change": ["mem-001", "mem-005"], '"token validation"': [], "smoke test": []}


@pytest.mark.parametrize("case", FTS["memorySearch"], ids=lambda c: c["query"])
@differs("memories-by-the-same-terms")
def test_memories_are_the_recorded_ones_and_those_with_any_of_the_words(case, memories):
    found = memories_found(memories, case["query"])
    more = MORE_MEMORIES.get(case["query"], [])
    assert [id for id in found if id not in more] == case["ids"]
    assert sorted(found) == sorted([*case["ids"], *more])


@pytest.mark.parametrize("query", ["what did we do about deployment?", "smoke-test", "JWT, gateway"])
@differs("memories-by-the-same-terms")
def test_a_question_with_punctuation_finds_memories(query, memories):
    assert memories_found(memories, query)


@pytest.mark.parametrize("case", FTS["memoryFilters"], ids=lambda c: f"{c['options']}")
def test_filters_leave_the_recorded_memories(case, memories):
    options = dict(case["options"])
    limit = options.pop("limit", TAKEN)
    if "projectPath" in options:
        options["where"] = {"attrs.project_path": options.pop("projectPath")}
    options |= where_of(options)
    assert memories_found(memories, case["query"], limit, **options) == case["ids"]


@pytest.mark.parametrize("case", FTS["memorySearch"], ids=lambda c: c["query"])
def test_a_search_merges_memories_at_the_documented_score(case, memories):
    found = memories.search(case["query"], include_memories=True, limit=100)
    of_memories = [hit for hit in found if hit.kind == "memory"]
    assert [hit.id for hit in of_memories] == memories_found(memories, case["query"])
    assert {hit.score for hit in of_memories} == {0.5}
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(hit.kind != "memory" for hit in memories.search(case["query"], limit=100))
    assert "mem-004" not in found.ids
