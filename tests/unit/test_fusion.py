"""Fusion expressions: what each node makes of known and unknown values."""

import math

import numpy as np
import pytest

from expressions import Columns, evaluate, score
from septet import ProfileError
from septet.profiles import BUILTIN, resolve
from septet.ranking.fusion import Only, names
from septet.ranking.pool import EMPTY, Pool

NAN = math.nan


def parsed(expression):
    """An expression as a profile holds it."""
    return Only(only="entry", of=expression).of


def column(expression, kinds=("entry",) * 3, **values):
    arrays = {name: np.array(v, dtype=np.float64) for name, v in values.items()}
    return evaluate(parsed(expression), Columns(arrays, kinds)).tolist()


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12, equal_nan=True)


def pool(kinds=(), **columns):
    size = len(next(iter(columns.values())))
    kinds = kinds or ("entry",) * size
    facts = {"id": [f"e{i}" for i in range(size)], "kind": kinds, "severity": ["warning"] * size, "domain": [""] * size}
    return Pool(range(size), [0] * size, facts, {n: np.array(v, dtype=np.float64) for n, v in columns.items()})


def term(weight, name):
    return {"weight": weight, "of": {"col": name}}


def test_a_column_nobody_filled_is_unknown():
    same(column({"col": "a"}), [NAN] * 3)


def test_a_constant_is_the_same_for_everyone():
    same(column({"const": 0.5}), [0.5] * 3)


def test_only_hides_other_kinds():
    same(column({"only": "web", "of": {"const": 1}}, kinds=("web", "entry", "web")), [1, NAN, 1])


def test_scaling_divides_by_the_best_and_keeps_the_unknown():
    same(column({"scale": {"col": "a"}}, a=[4, NAN, 1]), [1, NAN, 0.25])
    same(column({"scale": {"col": "a"}, "shift": 1}, a=[1, -1, 0]), [1, 0, 0.5])


def test_a_part_of_a_sum_may_weigh_nothing_but_not_all_of_them():
    same(column({"sum": [term(1, "a"), term(0, "b")]}, a=[1, 2, 3], b=[9, 9, 9]), [1, 2, 3])
    with pytest.raises(ValueError, match="all weights of the sum are 0"):
        parsed({"sum": [term(0, "a"), term(0, "b")]})


def test_reciprocal_ranks_begin_at_61_unless_k_is_given():
    # Cormack, Clarke and Buettcher 2009: k = 60.
    same(column({"rrf": [term(1, "a")]}, a=[3, 1, 2]), [1 / 61, 1 / 63, 1 / 62])


def test_scaling_what_is_nowhere_positive_gives_zero():
    same(column({"scale": {"col": "a"}}, a=[-4, NAN, 0]), [0, NAN, 0])
    same(column({"scale": {"col": "a"}}, a=[NAN] * 3), [NAN] * 3)
    assert column({"scale": {"col": "a"}}, kinds=(), a=[]) == []


def test_a_sum_is_the_weighted_mean_and_unknown_parts_count_nothing():
    same(column({"sum": [term(3, "a"), term(1, "b")]}, a=[1, 0, NAN], b=[0, 1, 1]), [0.75, 0.25, 0.25])


def test_a_part_unknown_for_everyone_leaves_its_weight_to_the_others():
    same(column({"sum": [term(3, "a"), term(1, "b")]}, b=[0, 1, 0.5]), [0, 1, 0.5])
    same(column({"sum": [term(3, "a"), term(1, "b")], "missing": "zero"}, b=[0, 1, 0.5]), [0, 0.25, 0.125])


def test_a_sum_of_unknowns_is_unknown():
    same(column({"sum": [term(1, "a"), term(1, "b")]}), [NAN] * 3)


def test_reciprocal_ranks_start_where_the_profile_says():
    same(column({"rrf": [term(1, "a")], "k": 60}, a=[0.1, 0.9, NAN]), [1 / 62, 1 / 61, NAN])
    same(column({"rrf": [term(1, "a")], "k": 60, "first_rank": 0}, a=[0.1, 0.9, NAN]), [1 / 61, 1 / 60, NAN])
    same(column({"rrf": [term(1, "a"), term(2, "b")], "k": 1}, a=[3, 2, 1], b=[NAN, NAN, 5]), [1 / 2, 1 / 3, 1 / 4 + 1])


def test_expressions_nest():
    nested = {"scale": {"sum": [term(1, "a"), {"weight": 1, "of": {"scale": {"col": "b"}}}]}}
    same(column(nested, a=[1, 0, 0], b=[0, 10, 5]), [1, 1, 0.5])


def test_the_names_of_an_expression_are_the_columns_it_reads():
    nested = {"only": "web", "of": {"rrf": [term(1, "a"), {"weight": 1, "of": {"sum": [term(1, "b")]}}]}}
    assert names(parsed(nested)) == {"a", "b"}
    assert names(parsed({"const": 1})) == frozenset()


@pytest.mark.parametrize(
    "bad",
    [{}, {"col": 5}, {"col": "a", "extra": 1}, {"sum": []}, {"sum": [term(-1, "a")]}, {"rrf": [term(1, "a")], "k": -1}],
    ids=repr,
)
def test_an_expression_that_is_none_is_refused(bad):
    with pytest.raises(ProfileError, match="Only does not fit at of"):
        parsed(bad)


def test_the_default_relevance_is_the_measured_formula():
    found = score(
        pool(bm25=[8.0, 2.0], trigram=[0.5, 0.25], title=[0.0, 1.0], cosine=[0.2, 0.6]),
        BUILTIN["septet"],
        BUILTIN["septet"].weights["hybrid"],
    )
    words = 0.15 * np.array([1, 0.25]) + 0.045 * np.array([1, 0.5]) + (0.2 + 0.1) * np.array([0, 1])
    relevance = 0.35 * (0.78 * (np.array([0.2, 0.6]) + 1) / 1.6 + 0.22 * words / words.max())
    same(found.contributions[:2].sum(axis=0) * found.weights[1] ** -1 * 0.35 * 0.78, relevance)


def test_with_zero_for_the_missing_the_documented_weights_count_as_they_are():
    seven = BUILTIN["seven-signals"]
    found = score(pool(tfidf=[0.5, 0.1], severity=[1, NAN]), seven, seven.weights["text"])
    same(found.scores, [0.35 * 0.5 + 0.10, 0.035])
    assert found.named_weights() == pytest.approx(seven.weights["text"])


def test_with_sharing_the_weights_in_use_sum_to_one():
    septet = BUILTIN["septet"]
    found = score(pool(bm25=[1.0, 0.5], severity=[1, 0.4], decay=[1, 1]), septet, septet.weights["text"])
    assert math.fsum(found.weights) == pytest.approx(1)
    assert found.named_weights()["graph_proximity"] == 0
    # Severity tells 0.6 of them apart, and what both share, their age, nothing.
    assert found.scores[0] == pytest.approx((0.35 + 0.10 * 0.6) / 0.55)


def test_no_candidates_give_no_scores():
    for profile in BUILTIN.values():
        found = score(EMPTY, profile, profile.weights["text"])
        assert (found.scores.shape, found.order.shape) == ((0,), (0,))


def test_equal_scores_keep_the_order_of_the_pool():
    septet = resolve("septet")
    assert score(pool(bm25=[1.0] * 4), septet, septet.weights["text"]).order.tolist() == [0, 1, 2, 3]


def test_united_pools_keep_the_first_of_equal_ids_and_know_what_is_unknown():
    first, second = pool(bm25=[1.0, 2.0]), pool(cosine=[0.1, 0.2, 0.3])
    joined = Pool.united([first, second])
    assert joined.ids == ["e0", "e1", "e2"]
    same(joined.columns["bm25"], [1, 2, NAN])
    same(joined.columns["cosine"], [NAN, NAN, 0.3])
    assert len(Pool.united([])) == 0


def test_what_has_no_most_saturates():
    same(column({"saturate": {"col": "a"}}, a=[3, NAN, -2]), [0.75, NAN, 0])
    same(column({"saturate": {"col": "a"}}, a=[math.inf, 0, 1e308]), [1, 0, 1])


def test_found_says_what_is_above_0():
    same(column({"found": {"col": "a"}}, a=[0.1, NAN, 0]), [1, NAN, 0])


def test_a_line_keeps_the_unknown():
    same(column({"linear": {"col": "a"}, "times": 0.05, "plus": 0.75}, a=[5, NAN, 10]), [1, NAN, 1.25])
    same(column({"linear": {"col": "a"}}, a=[5, NAN, 10]), [5, NAN, 10])


def test_unless_leaves_out_where_another_is_known_and_not_0():
    same(column({"unless": {"col": "b"}, "of": {"col": "a"}}, a=[1, 2, 3], b=[NAN, 1, 0]), [1, NAN, 3])
    assert names(parsed({"unless": {"col": "b"}, "of": {"saturate": {"found": {"linear": {"col": "a"}}}}})) == {
        "a",
        "b",
    }
