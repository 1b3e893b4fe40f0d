"""Whatever share of the entries a filter lets through, each leg finds the best of exactly those."""

import pytest

from septet import Vault

COUNT = 90
#: None, one, few, half, all but one, all.
SHARES = [0, 1, 3, COUNT // 2, COUNT - 1, COUNT]
PLACES = {
    "the first": lambda i, share: i < share,
    "the last": lambda i, share: i >= COUNT - share,
    # As even as a share allows.
    "spread": lambda i, share: (i * share) % COUNT < share,
}
RAW = {
    "name": "raw",
    "signals": {"words": {"col": "bm25"}, "cosine": {"col": "cosine"}},
    "weights": {"text": {"words": 1.0, "cosine": 0.0}, "hybrid": {"words": 0.25, "cosine": 0.75}},
}
LEGS = {
    "text": {"query": "kumquat plum"},
    "vector": {"query": "", "query_vector": [1.0, 0.0]},
    "both": {"query": "kumquat plum", "query_vector": [1.0, 0.0]},
}


def entry(i, *, with_vector=True):
    # Lengths and directions differ, so that no two have one score.
    words = ["kumquat", "plum"][: 1 + i % 2] + ["filler"] * (i * 7 % COUNT)
    vector = {"vector": [1.0, (i * 11 % COUNT) / 10]} if with_vector else {}
    return {"id": f"e{i:02d}", "title": " ".join(words), "attrs": {"n": i}, **vector}


@pytest.fixture(scope="module", params=["fts5", "postings", "after changes", "few vectors"])
def vault(request):
    with Vault(":memory:", clock=lambda: 1e9, profile=RAW) as made:
        made.add_many(entry(i, with_vector=request.param != "few vectors" or i % 3 == 0) for i in range(COUNT))
        if request.param != "fts5":
            made.optimize()
        if request.param == "after changes":
            made.search("kumquat", query_vector=[1.0, 0.0])
            for i in range(0, COUNT, 2):
                made.update(f"e{i:02d}", context="changed")
            made.add_many({**entry(i), "id": f"gone{i}"} for i in range(5))
            for i in range(5):
                made.delete(f"gone{i}")
        yield made


@pytest.mark.parametrize("leg", LEGS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("share", SHARES)
def test_of_any_share_the_best_come_back(vault, share, place, leg):
    passing = [i for i in range(COUNT) if PLACES[place](i, share)]
    assert len(passing) == share
    asked = LEGS[leg]
    everything = vault.search(**asked, limit=COUNT)
    wanted = [(hit.id, hit.score) for hit in everything if int(hit.id[1:]) in passing]
    where = {"attrs.n": {"$in": passing}}
    assert [(hit.id, hit.score) for hit in vault.search(**asked, where=where, limit=COUNT)] == wanted
    if leg != "both":
        # The first of many are the first of all, as one leg alone ranks.
        assert [(hit.id, hit.score) for hit in vault.search(**asked, where=where, limit=4)] == wanted[:4]
