"""What `explain` says brings a missing entry back does so: each remedy is done, and finds the entry at its rank."""

import random

import pytest

from doubles import Letters
from septet import Federation, Vault
from septet.types import Remedy

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


@pytest.fixture
def vault():
    with Vault(":memory:") as vault:
        some = random.Random(7)
        vault.add_many(
            {
                "id": f"e{n}",
                "title": f"entry number{n}",
                "description": " ".join(some.choices(WORDS, k=12)),
                "domain": "even" if n % 2 == 0 else "odd",
                "tags": ["third"] if n % 3 == 0 else [],
                "attrs": {"n": n},
            }
            for n in range(300)
        )
        yield vault


def done(vault, query, missing, **options):
    """Return the remedy of a miss, after it was done as it says."""
    told = vault.explain(query, missing, **options)
    assert not told.found and missing not in vault.search(query, **options).ids
    remedy = told.remedy
    assert isinstance(remedy, Remedy)
    assert told.to_dict()["remedy"] == remedy.to_dict() and remedy.text in str(told)
    changed = {"query": query, **options, **remedy.changes}
    found = vault.search(changed.pop("query"), **changed)
    assert found.ids.index(missing) + 1 + changed.get("offset", 0) == remedy.rank
    return remedy


def a_miss(vault, query, place=35, **options):
    """Return what a longer list has at a place."""
    return vault.search(query, limit=40, **options).ids[place]


def test_what_ranks_too_low_comes_back_with_a_higher_limit(vault):
    remedy = done(vault, "alpha beta", a_miss(vault, "alpha beta"), limit=9)
    assert set(remedy.changes) == {"limit"} and remedy.changes["limit"] >= remedy.rank
    assert "with one change: raise limit to" in remedy.text


def test_what_is_filtered_comes_back_without_the_filters_that_it_fails_and_with_the_others(vault):
    best = next(hit.id for hit in vault.search("alpha beta", domain="odd") if "third" not in hit.tags)
    assert done(vault, "alpha beta", best, domain="even").changes == {"domain": None}
    where = {"tags": "third", "attrs.n": {"$gte": 0}}
    assert done(vault, "alpha beta", best, where=where).changes == {"where": {"attrs.n": {"$gte": 0}}}
    assert "leave 'tags' out of where" in vault.explain("alpha beta", best, where=where).remedy.text
    remedy = done(vault, "alpha beta", best, domain="even", where={"$and": [{"tags": "third"}]})
    assert remedy.changes == {"domain": None, "where": None} and "with 2 changes" in remedy.text
    assert done(vault, "alpha beta", best, words={"must": "nowhere"}).changes == {"words": None}
    assert done(vault, "alpha beta", best, words={"phrase": "beta nowhere alpha"}).changes == {"words": None}
    remedy = done(vault, "alpha beta -number", best, words={"must_not": f"number{best[1:]}", "prefix": "alph"})
    assert remedy.changes == {"words": {"prefix": "alph"}} and "leave out must_not" in remedy.text


def test_signs_of_a_web_query_are_filters_that_plain_text_has_not(vault):
    best = vault.search("alpha beta", domain="odd").ids[0]
    remedy = done(vault, "alpha beta domain:even", best, syntax="web")
    assert remedy.changes["syntax"] == "plain"


def test_a_floor_is_lowered_no_further_than_needed(vault):
    second = vault.search("alpha beta").hits[1]
    remedy = done(vault, "alpha beta", second.id, min_score=0.999999)
    assert set(remedy.changes) == {"min_score"} and 0 <= second.score - remedy.changes["min_score"] < 1e-4
    remedy = done(vault, "alpha beta", second.id, min_confidence=1.0)
    assert set(remedy.changes) == {"min_confidence"}


def test_a_word_of_the_title_is_told_where_the_query_holds_none(vault):
    vault.add(id="far", title="The Zeppelin hangar", description="nothing else")
    remedy = done(vault, "alpha beta", "far")
    assert remedy.changes == {"query": "alpha beta Zeppelin"} or remedy.changes["query"].startswith("alpha beta ")
    assert "to the query" in remedy.text
    assert done(vault, "", "far", limit=5).changes["query"] in ("Zeppelin", "hangar")


def test_expired_entries_memories_pages_and_budgets(vault):
    vault.add(id="old", title="omega point", valid_from=1.0, valid_until=2.0)
    assert done(vault, "omega", "old").changes == {"include_expired": True}
    memory = vault.remember("omega is remembered")
    assert done(vault, "omega", memory).changes == {"include_memories": True}
    assert done(vault, "alpha", vault.search("alpha").ids[0], limit=5, offset=5).changes == {"offset": 0}
    best = vault.search("alpha").ids[4]
    assert done(vault, "alpha", best, max_tokens=2).changes == {"max_tokens": None}


def test_several_steps_are_taken_where_one_is_not_enough(vault):
    missing = a_miss(vault, "alpha beta", 14, domain="odd")
    assert set(done(vault, "alpha beta", missing, limit=9, domain="even").changes) == {"domain", "limit"}


def test_what_is_found_needs_no_remedy_and_what_nothing_brings_back_has_none(vault):
    found = vault.search("alpha").ids[0]
    assert vault.explain("alpha", found).remedy is None
    vault.add(id="long", title="a long one", description="alpha. " * 4_000, split=500)
    told = vault.explain("alpha", "long")
    assert not told.found and told.remedy is None and told.to_dict()["remedy"] is None
    calls = []

    def reranker(query, hits):
        calls.append(query)
        return [0.0] * len(hits)

    assert vault.explain("alpha", a_miss(vault, "alpha"), rerank=reranker, limit=1).remedy is None
    assert len(calls) == 1


def test_a_federation_tells_them_too(vault):
    with Vault(":memory:") as other:
        other.add(id="elsewhere", title="alpha of another tier", domain="far")
        both = Federation({"agent": vault, "team": other})
        remedy = done(both, "alpha", "elsewhere", domain="odd")
        assert remedy.changes["domain"] is None
        both.close()


def test_a_remedy_is_looked_for_without_embedding_the_query_again():
    embedder = Letters()
    with Vault(":memory:", embedder=embedder) as vault:
        vault.add_many({"id": f"v{n}", "title": f"thing {n}", "domain": "a"} for n in range(60))
        vault.embed()
        assert vault.explain("thing", "v7", domain="b").remedy.changes.keys() >= {"domain"}
        assert embedder.sent("query") == ["thing"]
