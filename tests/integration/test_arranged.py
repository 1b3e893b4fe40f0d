"""Results unlike each other, and a reranker: the order changes, the scores do not, and failures are notes."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import Letters
from septet import Federation, QueryError, Vault
from septet.model.results import Reranking
from septet.ranking.cuts import diversified, relevance_of


def twin(relevance, likeness, most, diversity):
    """Maximal marginal relevance, as it is defined."""
    left, order = list(range(len(relevance))), []
    while left and len(order) < most:

        def value(place):
            near = max((likeness[done][place] for done in order), default=0.0)
            return (1.0 - diversity) * relevance[place] - diversity * near

        best = max(left, key=lambda place: (value(place), -place))
        order.append(best)
        left.remove(best)
    return order


@st.composite
def candidates(draw):
    size = draw(st.integers(0, 9))
    scores = sorted(draw(st.lists(st.integers(-2, 8), min_size=size, max_size=size)), reverse=True)
    parts = st.lists(st.integers(0, 4), min_size=size, max_size=size)
    likeness = np.array([[value / 4 for value in draw(parts)] for _ in range(size)]).reshape(size, size)
    return scores, np.maximum(likeness, likeness.T)


@given(made=candidates(), most=st.integers(0, 10), diversity=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_the_next_is_relevant_and_unlike_those_before(made, most, diversity):
    scores, likeness = made
    relevance = relevance_of(scores)
    order = diversified(relevance, lambda place: likeness[place], most, diversity)
    assert order == twin(relevance.tolist(), likeness, most, diversity)
    if diversity == 0.0:
        assert order == list(range(min(most, len(scores))))


@pytest.fixture(params=["vectors", "half", "words"])
def kind(request):
    """Which entries have a vector."""
    return request.param


@pytest.fixture
def vault(kind):
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        for number in range(6):
            vector = {"vectors": True, "half": number % 2, "words": False}[kind]
            made.add(
                id=f"pond{number}",
                title=f"ducks swim in the pond {number}",
                description="ducks and their pond",
                vector=[1, 0.01 * number, 0] if vector else None,
            )
        made.add(id="other", title="ducks fly over mountains", vector=None if kind == "words" else [0.5, 0.8, 0])
        yield made


def asked(kind):
    return {} if kind == "words" else {"query_vector": [1, 0, 0]}


def plain(hits):
    return {h.id: (h.score, dict(h.breakdown), h.confidence) for h in hits}


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_diversity_changes_the_order_and_no_score(vault, kind, limit):
    usual = vault.search("ducks swim pond", limit=7, **asked(kind))
    none = vault.search("ducks swim pond", limit=limit, diversity=0.0, **asked(kind))
    assert none.ids == vault.search("ducks swim pond", limit=limit, **asked(kind)).ids
    some = vault.search("ducks swim pond", limit=limit, diversity=0.7, **asked(kind))
    assert some.ids[0] == none.ids[0], "the best comes first"
    assert len(some) == limit
    assert {k: v for k, v in plain(usual).items() if k in some.ids} == plain(some)
    if limit > 1:
        assert some.ids[1] == "other"
    assert usual.ids[1] != "other"
    again = vault.search("ducks swim pond", limit=limit, diversity=0.7, **asked(kind))
    assert again.ids == some.ids
    said = "diversity_by_words" in [n.code for n in some.notes]
    assert said == (kind != "vectors")


def test_diversity_works_in_every_way_to_ask(vault, kind):
    plain_options = {"diversity": 0.7, "limit": 3}
    options = {**plain_options, **asked(kind)}
    single = vault.search("ducks swim pond", **options)
    vectors = None if kind == "words" else [[1, 0, 0]] * 2
    many = vault.search_many(["ducks swim pond"] * 2, query_vectors=vectors, **plain_options)
    assert [r.ids for r in many] == [single.ids] * 2
    assert vault.explain("ducks swim pond", "other", **options).found
    left_out = next(
        i for i in vault.search("ducks swim pond", **{**options, "diversity": None}).ids if i not in single.ids
    )
    why = vault.explain("ducks swim pond", left_out, **options)
    assert not why.found
    assert "diversity" in why.reason
    with Vault(":memory:") as second:
        second.add(id="far", title="ducks dive in the sea")
        with Federation({"agent": vault, "team": second}) as federation:
            found = federation.search("ducks swim pond", **{**options, "limit": 4})
            assert len(set(found.ids)) == 4
            assert {"other", "far"} <= set(found.ids)


def test_a_budget_and_light_results_keep_the_order(vault, kind):
    options = {"diversity": 0.7, "limit": 3, **asked(kind)}
    whole = vault.search("ducks swim pond", **options)
    assert vault.search("ducks swim pond", mode="scan", **options).ids == whole.ids
    one = vault.search("ducks swim pond", max_tokens=whole[0].entry.text_chars // 4 + 5, **options)
    assert one.ids == whole.ids[:1]


@pytest.mark.parametrize(
    "options",
    [
        {"diversity": -0.1},
        {"diversity": 1.1},
        {"diversity": "much"},
        {"diversity": float("nan")},
        {"diversity": 0.5, "offset": 1},
        {"diversity": 0.5, "group_by": "parent"},
        {"rerank": 3},
        {"rerank": Reranking(3)},
        {"rerank": Reranking(len, top=0)},
        {"rerank": Reranking(len, timeout_s=0)},
        {"rerank": len, "offset": 1},
    ],
)
def test_what_cannot_be_understood_is_refused(options):
    with Vault(":memory:") as vault, pytest.raises(QueryError):
        vault.search("ducks", **options)


@pytest.fixture
def ducks():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add_many([{"id": f"d{n}", "title": "ducks " * (n + 1), "attrs": {"rank": n}} for n in range(8)])
        yield made


def by_rank(query, hits):
    return [hit.entry.attrs["rank"] for hit in hits]


def test_a_reranker_orders_the_best(ducks):
    usual = ducks.search("ducks", limit=8)
    found = ducks.search("ducks", limit=3, rerank=by_rank)
    assert found.ids == ["d7", "d6", "d5"]
    assert [hit.raw["reranker"] for hit in found] == [7.0, 6.0, 5.0]
    assert {h.id: h.score for h in usual}.items() >= {h.id: h.score for h in found}.items()
    few = ducks.search("ducks", limit=8, rerank=Reranking(by_rank, top=3))
    first = sorted(usual.ids[:3], reverse=True)
    assert few.ids == [*first, *usual.ids[3:]]
    assert "reranker" not in few[3].raw
    assert ducks.search("ducks", limit=3, mode="scan", rerank=by_rank).ids == ["d7", "d6", "d5"]
    assert [r.ids for r in ducks.search_many(["ducks", "ducks"], limit=2, rerank=by_rank)] == [["d7", "d6"]] * 2
    assert ducks.search("geese", rerank=by_rank).ids == []
    why = ducks.explain("ducks", "d7", limit=1, rerank=by_rank)
    assert why.found


def test_a_reranker_may_read_the_vault(ducks):
    def reads(query, hits):
        return [ducks.get(hit.id).attrs["rank"] for hit in hits]

    assert ducks.search("ducks", limit=2, rerank=reads).ids == ["d7", "d6"]


def test_reranked_results_may_be_unlike_each_other(ducks):
    ducks.add(id="odd", title="ducks and mountains", attrs={"rank": 1})
    found = ducks.search("ducks", limit=2, rerank=by_rank, diversity=0.9)
    assert found.ids == ["d7", "odd"]


class Gone(Exception):
    def __str__(self):
        raise ValueError("an error that cannot be shown")


def raises(fault):
    def reranker(query, hits):
        raise fault

    return reranker


@pytest.mark.parametrize(
    "reranker",
    [
        lambda query, hits: [1.0],
        lambda query, hits: [float("nan")] * len(hits),
        lambda query, hits: [float("inf")] * len(hits),
        lambda query, hits: ["one"] * len(hits),
        lambda query, hits: None,
        lambda query, hits: 3,
        raises(KeyError("x")),
        raises(Gone()),
        raises(KeyboardInterrupt()),
        lambda query: [],
    ],
)
def test_a_reranker_that_fails_leaves_the_order(ducks, reranker):
    usual = ducks.search("ducks", limit=5)
    found = ducks.search("ducks", limit=5, rerank=reranker)
    assert found.ids == usual.ids
    assert [n.code for n in found.notes] == ["reranker_failed"]
    assert found.degraded
    assert all("reranker" not in hit.raw for hit in found)


@pytest.mark.parametrize(("own_s", "timeout_s"), [(0.05, None), (10, 0.2)])
def test_a_reranker_that_is_late_leaves_the_order(ducks, own_s, timeout_s):
    gate = threading.Event()

    def slow(query, hits):
        gate.wait(60)
        return [1.0] * len(hits)

    started = time.monotonic()
    found = ducks.search("ducks", limit=5, rerank=Reranking(slow, timeout_s=own_s), timeout_s=timeout_s)
    assert time.monotonic() - started < 30
    assert [n.code for n in found.notes] == ["reranker_failed"]
    assert found.ids == ducks.search("ducks", limit=5).ids
    gate.set()


@pytest.mark.parametrize("scored", [1, 3])
def test_what_a_late_reranker_has_scored_comes_first(ducks, scored):
    gate, usual = threading.Event(), ducks.search("ducks", limit=20)

    def slow(query, hits):
        yield from range(scored)
        gate.wait(60)
        yield from range(len(hits) - scored)

    results = ducks.search("ducks", limit=20, rerank=Reranking(slow, timeout_s=0.3))
    gate.set()
    assert results.ids == [*usual.ids[:scored][::-1], *usual.ids[scored:]]
    assert [n.code for n in results.notes] == ["reranker_late"] and results.degraded
    assert f"scored {scored} of" in results.notes[0].cause
    assert [hit.raw["reranker"] for hit in results if "reranker" in hit.raw] == list(range(scored))[::-1]


def test_a_late_reranker_is_not_asked_for_more(ducks):
    gate, taken = threading.Event(), []

    def slow(query, hits):
        for number in range(len(hits)):
            taken.append(number)
            yield 1.0
            gate.wait(60)

    ducks.search("ducks", limit=5, rerank=Reranking(slow, timeout_s=0.2))
    gate.set()
    for thread in threading.enumerate():
        if thread.name.startswith("septet-reranker"):
            thread.join(30)
    assert len(taken) <= 2


def test_numbers_of_numpy_are_scores(ducks):
    found = ducks.search("ducks", limit=1, rerank=lambda query, hits: np.array(by_rank(query, hits), np.float32))
    assert found.ids == ["d7"]


def test_embedded_entries_are_compared_by_the_vectors_of_the_search():
    with Vault(":memory:", embedder=Letters()) as vault:
        vault.add_many([{"id": f"p{n}", "title": "ducks swim"} for n in range(3)])
        vault.add(id="far", title="ducks over mountains")
        vault.embed()
        found = vault.search("ducks swim", limit=2, diversity=0.6)
        assert found.ids[1] == "far"
        assert found.notes == ()
