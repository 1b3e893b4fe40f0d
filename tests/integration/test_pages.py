"""Pages and totals: pages of one limit fit together, and a total is the number of all that match."""

import copy
import json
import pickle

import numpy as np
import pytest

from septet import Federation, QueryError, Vault
from septet.search import arranging, run

WORDS = ("harbour", "violin", "glacier", "bakery", "orchid")


def entries(count, seed=0, vectors=1.0):
    rng = np.random.default_rng(seed)
    for n in range(count):
        words = rng.choice(WORDS, size=rng.integers(1, 9))
        entry = {
            "id": f"e{n}",
            "title": f"{words[0]} number {n}",
            "description": " ".join(words),
            "domain": "odd" if n % 2 else "even",
            "tags": [str(words[-1])],
            "attrs": {"n": n},
        }
        if rng.random() < vectors:
            entry["vector"] = rng.normal(size=8)
        yield entry


@pytest.fixture(scope="module", params=[0.0, 0.5, 1.0], ids=["text", "half embedded", "embedded"])
def vault(request):
    with Vault(":memory:", clock=lambda: 1e9) as opened:
        opened.add_many(entries(400, vectors=request.param))
        opened.remember("the harbour and the violin were mentioned", topics=["harbour"])
        yield opened


def options_of(vault, **more):
    has_vectors = bool(vault.stats().spaces)
    return {"query_vector": np.arange(8.0) - 3, **more} if has_vectors else more


def paged(target, query, limit, **options):
    """All pages of a limit, and the ids of each."""
    found, offset = [], 0
    while page := target.search(query, limit=limit, offset=offset, **options).ids:
        found.append(page)
        offset += limit
    return found


@pytest.mark.parametrize("limit", [1, 7, 10, 60])
@pytest.mark.parametrize("profile", ["septet", "seven-signals"])
def test_pages_of_one_limit_neither_repeat_nor_leave_out(vault, limit, profile):
    options = options_of(vault, profile=profile, where={"attrs.n": {"$lt": 150}})
    found = paged(vault, "harbour violin", limit, **options)
    together = [i for page in found for i in page]
    assert len(set(together)) == len(together)
    everything = vault.search("harbour violin", limit=1_000, **options)
    assert set(together) == set(everything.ids)
    assert all(len(page) == limit for page in found[:-1])
    assert found[0] == vault.search("harbour violin", limit=limit, **options).ids


def test_a_place_is_the_same_whichever_offset_asks_for_it(vault):
    options = options_of(vault)
    sequence = [i for page in paged(vault, "glacier orchid", 5, **options) for i in page]
    for offset in (1, 3, 4, 5, 6, 19, 20, 21, 83, 200, len(sequence) - 1, len(sequence), 10**12):
        expected = sequence[offset : offset + 5]
        assert vault.search("glacier orchid", limit=5, offset=offset, **options).ids == expected


def test_within_a_stage_scores_fall(vault):
    for offset in (5, 10, 15):
        found = vault.search("bakery", limit=5, offset=offset, **options_of(vault))
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)
        assert found.offset == offset


@pytest.mark.parametrize("cut", [{"min_score": 0.4}, {"min_confidence": 0.006}, {"include_memories": True}])
def test_pages_fit_together_under_cuts_and_with_memories(vault, cut):
    options = options_of(vault, profile="seven-signals" if "include_memories" in cut else "septet", **cut)
    together = [i for page in paged(vault, "harbour violin", 6, **options) for i in page]
    assert len(set(together)) == len(together) > 0
    assert together[:6] == vault.search("harbour violin", limit=6, **options).ids
    if "include_memories" in cut:
        assert sum(hit.kind == "memory" for hit in vault.search("harbour", limit=1_000, **options)) == 1


def test_pages_of_groups_neither_repeat_nor_leave_out():
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        for n in range(30):
            text = "\n\n".join(f"Part {p} has a glacier " + "pad " * (20 + n) for p in range(6))
            vault.add(id=f"doc{n}", title=f"Document {n}", description=text, split=40)
        together = [i for page in paged(vault, "glacier", 4, group_by="parent") for i in page]
        parents = [i.split("#")[0] for i in together]
        assert sorted(parents) == sorted(f"doc{n}" for n in range(30))
        first = vault.search("glacier", limit=4, group_by="parent")
        assert first.ids == together[:4]
        assert first.total == len(vault.search("glacier", limit=1_000))


@pytest.mark.parametrize("embedded", [False, True])
def test_the_first_groups_are_the_same_for_every_limit_and_pages_go_on(embedded, monkeypatch):
    rng = np.random.default_rng(4)
    words = "glacier violin harbour orchid bakery meadow".split()
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        for n in range(40):
            # The first documents have so many parts that the candidates of one search are parts of few.
            parts = 120 if n < 8 else 3
            items = [
                {"id": f"doc{n}-{p}", "title": f"Part {p}", "parent": f"doc{n}", "created_at": 1e9}
                | {"description": " ".join(rng.choice(words, 4)) + " glacier" * (4 if n < 8 else 1)}
                | ({"vector": rng.standard_normal(8) + (n < 8)} if embedded else {})
                for p in range(parts)
            ]
            vault.add_many([{"id": f"doc{n}", "title": f"Document {n}", "created_at": 1e9}, *items])
        options = {"query_vector": np.ones(8)} if embedded else {}
        options |= {"group_by": "parent"}
        whole = vault.search("glacier", limit=40, **options).ids
        assert len(whole) == 40
        taken = []
        ranked = run.ranked
        monkeypatch.setattr(
            run, "ranked", lambda search, at: taken.append(search.plan.candidates) or ranked(search, at)
        )
        for limit in (1, 5, 10, 24, 25, 26, 33):
            taken.append(0)
            assert vault.search("glacier", limit=limit, **options).ids == whole[:limit]
            if limit == 1:
                of_one = taken[:]
            # Places that a search decides are decided by as many candidates, however few are wanted.
            assert taken[-len(of_one) :] == of_one or limit > 25
        for start in range(0, 40, 10):
            assert vault.search("glacier", limit=10, offset=start, **options).ids == whole[start : start + 10]


def test_an_offset_without_a_limit_takes_pages_of_the_default(vault):
    options = options_of(vault)
    assert (
        vault.search("violin", offset=10, **options).ids == vault.search("violin", offset=10, limit=10, **options).ids
    )


def test_search_many_and_explain_take_an_offset(vault):
    options = options_of(vault)
    vector = options.pop("query_vector", None)
    many = vault.search_many(
        ["violin", "orchid"], query_vectors=None if vector is None else [vector, vector], limit=5, offset=5
    )
    single = [vault.search(query, limit=5, offset=5, **options_of(vault)) for query in ("violin", "orchid")]
    assert [found.ids for found in many] == [found.ids for found in single]
    shown = vault.explain("violin", single[0].ids[2], limit=5, offset=5, **options_of(vault))
    assert shown.found
    first = vault.search("violin", limit=5, **options_of(vault)).ids[0]
    before = vault.explain("violin", first, limit=5, offset=5, **options_of(vault))
    assert not before.found
    assert "on a page before" in before.reason


def test_pages_of_a_federation_neither_repeat_nor_leave_out():
    with Vault(":memory:", clock=lambda: 1e9) as high, Vault(":memory:", clock=lambda: 1e9) as low:
        high.add_many(entries(60, seed=1, vectors=0.5))
        low.add_many(entries(200, seed=2, vectors=0))
        both = Federation({"high": high, "low": low})
        together = [i for page in paged(both, "harbour glacier", 10) for i in page]
        assert len(set(together)) == len(together)
        assert set(together) == set(both.search("harbour glacier", limit=1_000).ids)
        total = both.search("harbour glacier").total
        assert total == high.search("harbour glacier").total + low.search("harbour glacier").total


@pytest.mark.parametrize("limit", [1, 10, 100])
@pytest.mark.parametrize("where", [None, {"domain": "odd"}, {"attrs.n": {"$lt": 3}}, {"domain": "none"}])
@pytest.mark.parametrize(
    "query", ["harbour", "harbour violin the", "nothing-of-this", "harbour-violin", "東京 harbour"]
)
def test_the_total_is_exact_whatever_the_limit(vault, limit, where, query):
    found = vault.search(query, limit=limit, where=where, **options_of(vault))
    every = vault.search(query, limit=1_000, where=where, legs="text")
    assert found.total == every.total == len(every)


@pytest.mark.parametrize("postings", ["in memory", "not in memory"])
def test_the_total_is_the_same_where_fts5_counts(postings, tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db", clock=lambda: 1e9) as vault:
        vault.add_many(entries(300, vectors=0))
        vault.delete("e7")
        vault.update("e8", title="東京 getHarbourMaster")
        vault.remember("harbour in a memory")
        if postings == "in memory":
            vault.optimize()
        else:
            monkeypatch.setattr("septet.sqlite.snapshot.manager.SnapshotManager.schedule", lambda *_: None)
        for query in ("harbour", "東京", "violin harbour master", "get-harbour"):
            for memories in (False, True):
                for profile in ("septet", "seven-signals"):
                    found = vault.search(query, limit=3, include_memories=memories, profile=profile)
                    assert found.total == len(
                        vault.search(query, limit=1_000, include_memories=memories, profile=profile)
                    )


def test_there_is_no_total_of_vectors_alone():
    with Vault(":memory:") as vault:
        vault.add_many(entries(20))
        vector = np.ones(8)
        assert vault.search("harbour", query_vector=vector, legs="vector").total is None
        assert vault.search("?", query_vector=vector).total is None
        assert vault.search("?").total == vault.search("absent").total == 0
        assert vault.search("harbour", query_vector=vector).total == vault.search("harbour").total > 0


def test_pages_and_totals_survive_copies_and_are_in_the_dict(vault):
    found = vault.search("harbour", limit=3, offset=3, **options_of(vault))
    assert (found.offset, len(found)) == (3, 3)
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["offset"], told["total"]) == (3, found.total)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert (other.offset, other.total, other.ids) == (3, found.total, found.ids)


@pytest.mark.parametrize("bad", [-1, 1.5, "3", None, True])
def test_an_offset_that_is_none_is_refused(vault, bad):
    with pytest.raises(QueryError, match="offset"):
        vault.search("violin", offset=bad)


def test_a_stage_is_searched_once_for_each_growth(vault, monkeypatch):
    seen = []
    turned_to = arranging.turned_to
    monkeypatch.setattr(arranging, "turned_to", lambda page, *ranking: seen.append(page) or turned_to(page, *ranking))
    vault.search("violin harbour glacier", limit=10, offset=170, **options_of(vault))
    assert [(len(page.decided), page.first, page.last) for page in seen] == [(0, 0, 100), (100, 170, 180)]
    seen.clear()
    vault.search("violin harbour glacier", limit=10, offset=170, profile="seven-signals", **options_of(vault))
    stages = [(len(page.decided), page.first, page.last) for page in seen]
    assert stages == [(0, 0, 10), (10, 10, 40), (40, 170, 180)]


@pytest.mark.parametrize("query", ["violin", "violin harbour glacier", "harbour glacier"])
def test_the_first_results_are_the_same_for_every_limit_and_pages_go_on(vault, query):
    whole = vault.search(query, limit=250, **options_of(vault)).ids
    for limit in (1, 2, 7, 10, 50, 99, 100, 101, 150, 200):
        assert vault.search(query, limit=limit, **options_of(vault)).ids == whole[:limit]
    for start in range(0, 120, 30):
        assert vault.search(query, limit=30, offset=start, **options_of(vault)).ids == whole[start : start + 30]


def of_one_word(count=300):
    rng = np.random.default_rng(3)
    vault = Vault(":memory:")
    vault.add_many({"id": f"e{n}", "title": f"violin {n}", "vector": rng.standard_normal(8)} for n in range(count))
    return vault


@pytest.mark.parametrize(
    ("vector", "options", "taken"),
    [
        (None, {}, (200, 0)),
        (np.ones(8), {}, (100, 100)),
        (np.ones(8), {"legs": ["vector"]}, (None, 200)),
        (np.ones(8), {"legs": ["text"]}, (200, None)),
        (np.ones(8), {"profile": "seven-signals"}, (30, 30)),
    ],
)
def test_words_and_vectors_share_the_candidates_of_a_profile_that_fixes_them(vector, options, taken):
    with of_one_word() as vault:
        told = vault.explain("violin", "e7", query_vector=vector, **options)
        found = {leg.leg: leg.taken for leg in told.legs if leg.of}
        assert found == {leg: count for leg, count in zip(("text", "vector"), taken) if count}
        assert told.candidates == max(taken[0] or 0, taken[1] or 0)


def test_a_query_without_a_vector_takes_as_many_candidates_beside_others_as_alone():
    with of_one_word() as vault:
        vectors = [np.ones(8), None, np.ones(8), None]
        for limit in (10, 100, 150):
            many = vault.search_many(["violin", "violin", "?!", "?!"], query_vectors=vectors, limit=limit)
            for one, query, vector in zip(many, ("violin", "violin", "?!", "?!"), vectors):
                assert one.ids == vault.search(query, query_vector=vector, limit=limit).ids
