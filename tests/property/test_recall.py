"""Recall in one call against its kernels called one by one."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Vault, _core
from septet.sqlite.tier.read_view import open_read_view

NOW = 1_760_000_000.0
WORDS = "alpha beta gamma delta kiwi plum quince getUserName 東京タワー café".split()

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
vectors = st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4).filter(lambda v: any(abs(x) > 0.01 for x in v))
entries = st.fixed_dictionaries(
    {
        "title": texts,
        "description": texts,
        "domain": st.sampled_from("ab"),
        "vector": st.one_of(st.none(), vectors),
        "valid_until": st.sampled_from([None, NOW - 1, NOW, NOW + 1]),
        "created_at": st.just(1.0),
    }
)


def pool_of(snapshot, plan, take):
    """The candidates and columns of a plan, kernel by kernel."""
    weights = plan.profile.text.weights
    parts = [(snapshot.postings.entries, snapshot.postings.entry_rows, weights.array)]
    if plan.query.grams and snapshot.postings.gram_rows.rows:
        parts.append((snapshot.postings.grams, snapshot.postings.gram_rows, np.ones(1)))
    mask = snapshot.valid(plan.now) & snapshot.searchable
    if plan.domain is not None:
        mask = mask & (snapshot.columns["domain"] == snapshot.names.index(plan.domain))
    slots, scores, _ = _core.bm25_top_k(parts, plan.query.terms, take, mask, ties=snapshot.rows)
    near, rows = np.empty(0, dtype=np.int64), None
    if plan.vector is not None and snapshot.vectors:
        (rows,) = snapshot.vectors.values()
        found, _ = rows.codes.top_k(plan.vector.scan, rows.rows, take, mask[rows.slots])
        near = rows.slots[found]
    slots = _core.unite(slots, near)
    bm25 = np.nan_to_num(_core.bm25_at(parts, plan.query.terms, slots))
    assert bm25[: len(scores)].tolist() == scores.tolist()
    columns = {
        "bm25": bm25,
        "trigram": snapshot.postings.spelling.bm25(snapshot.postings.spelling_rows, plan.query.text, slots),
    }
    if rows is not None:
        columns["cosine"] = _core.cosine_at(plan.vector.exact, rows.rows, rows.at(slots))
    return snapshot.rows[slots].tolist(), columns


@heavy()
@given(
    st.lists(entries, min_size=1, max_size=40),
    st.lists(st.tuples(texts, st.one_of(st.none(), vectors)), min_size=1, max_size=6),
    st.one_of(st.none(), st.sampled_from("ab")),
    st.integers(1, 12),
)
def test_one_call_finds_and_fills_what_the_kernels_do_one_by_one(given_entries, queries, domain, limit):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many({"id": f"e{i}", **e} for i, e in enumerate(given_entries))
        vault.optimize()
        domain = domain if any(e["domain"] == domain for e in given_entries) else None
        options = {"limit": limit, "domain": domain}
        plans = [vault._plan(text, {**options, "query_vector": vector}) for text, vector in queries]
        with closing(open_read_view(vault._store, vault._tier.manager, *plans)) as view:
            if any(view.needs_fts5(plan) for plan in plans):
                return
            for plan, (pool, matches) in zip(plans, view.candidates(3)):
                rows, columns = pool_of(view.snapshot, plan, plan.candidates)
                assert pool.rows == rows
                assert matches <= plan.candidates
                for name, values in columns.items():
                    np.testing.assert_array_equal(pool.columns[name], values, err_msg=name)
                assert ("cosine" in pool.columns) == ("cosine" in columns)
                assert pool.tiers == [3] * len(rows)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_a_selection_lets_the_same_slots_through_in_both_legs(share):
    rng = np.random.default_rng(3)
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many(
            {"id": f"e{i}", "title": "alpha", "domain": "in" if i < 200 * share else "out", "vector": rng.random(4)}
            for i in range(200)
        )
        vault.optimize()
        for legs in ("text", "vector"):
            found = vault.search("alpha", query_vector=rng.random(4), legs=legs, domain="in", limit=500)
            assert set(found.ids) == {f"e{i}" for i in range(200) if i < 200 * share}
