"""Laws that hold for every profile and every pool: sums, ranges, monotony, order."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from expressions import Columns, evaluate, score
from septet.profiles import BUILTIN
from septet.ranking.fusion import Col, Const, Only, Rrf, Scale, Sum, Term
from septet.ranking.pool import Pool
from septet.ranking.profile import COLUMNS

RANGES = dict.fromkeys(COLUMNS, (0.0, 1.0)) | {"bm25": (0.0, 40.0), "cosine": (-1.0, 1.0)}
#: A corpus column is known for all candidates or for none, but cosines may be missing for some.
PARTLY = {"cosine", "tfidf"}


@st.composite
def pools(draw, least=0):
    size = draw(st.integers(least, 6))
    columns = {}
    for name in sorted(COLUMNS):
        if draw(st.booleans()):
            value = st.floats(*RANGES[name])
            one = st.one_of(value, st.just(math.nan)) if name in PARTLY else value
            columns[name] = np.array(draw(st.lists(one, min_size=size, max_size=size)), dtype=np.float64)
    facts = {"id": [f"e{i}" for i in range(size)], "kind": ["entry"] * size, "severity": ["warning"] * size}
    return Pool(range(size), [0] * size, {**facts, "domain": ["general"] * size}, columns)


profiles = st.sampled_from(list(BUILTIN.values()))
#: Without a floor and the like, whose order test_score_changes.py compares.
unchanged = st.sampled_from([p for p in BUILTIN.values() if p.signal_names == tuple(p.signals)])
kinds_of_rows = st.sampled_from(["text", "hybrid"])


@given(pools(), profiles, kinds_of_rows)
def test_the_breakdown_sums_to_the_score(pool, profile, row):
    found = score(pool, profile, profile.weights[row])
    for i in range(len(pool)):
        parts, (raw,) = dict(zip(found.names, found.contributions[:, i].tolist())), found.raw([i])
        assert list(parts) == list(profile.signal_names)
        assert math.fsum(parts.values()) == pytest.approx(found.scores[i], abs=1e-12)
        for name in profile.signals:
            weight, value = found.named_weights()[name], raw[name]
            assert parts[name] == pytest.approx(0 if value is None else weight * value, abs=1e-12)


@given(pools(), kinds_of_rows)
def test_scores_of_the_default_profile_lie_between_zero_and_one(pool, row):
    profile = BUILTIN["septet"]
    found = score(pool, profile, profile.weights[row])
    assert np.all((found.scores >= 0) & (found.scores <= 1 + 1e-12))
    if np.any(found.weights > 0):
        assert math.fsum(found.weights) == pytest.approx(1)


@given(pools(least=1), st.sampled_from(["seven-signals", "six-signals"]), kinds_of_rows)
def test_scores_of_the_documented_profiles_stay_under_their_sum_of_weights(pool, name, row):
    profile = BUILTIN[name]
    found = score(pool, profile, profile.weights[row])
    # Only a cosine may be negative, and only with its own weight.
    least = -profile.weights[row]["vector"]
    assert np.all((found.scores >= least - 1e-12) & (found.scores <= math.fsum(profile.weights[row].values()) + 1e-12))


#: As documented, planned-retrieval gives what one leg finds more than what both find.
rising = st.sampled_from([p for p in BUILTIN.values() if p.name != "planned-retrieval"])


@given(pools(least=1), rising, kinds_of_rows, st.data())
def test_more_of_a_signal_never_lowers_a_score(pool, profile, row, data):
    assume(pool.columns)
    name = data.draw(st.sampled_from(sorted(pool.columns)))
    who = data.draw(st.integers(0, len(pool) - 1))
    column = pool.columns[name].copy()
    assume(not math.isnan(column[who]))
    before = score(pool, profile, profile.weights[row]).scores[who]
    column[who] = data.draw(st.floats(column[who], RANGES[name][1]))
    after = score(pool.with_columns({name: column}), profile, profile.weights[row]).scores[who]
    assert after >= before - 1e-12


def ranks_equals(profile, pool):
    """Whether a list whose ranks count has equals in it: which of them comes first is their order in the pool."""
    columns = Columns(pool.columns, ["entry"] * len(pool))
    for expression in profile.signals.values():
        for part in expression.rrf if isinstance(expression, Rrf) else ():
            values = evaluate(part.of, columns)
            # What is 0 or unknown is in no list.
            listed = values[~np.isnan(values) & (values != 0)]
            if len(np.unique(listed)) < len(listed):
                return True
    return False


@given(pools(least=1), profiles, kinds_of_rows, st.randoms(use_true_random=False))
def test_another_order_of_candidates_only_changes_the_order(pool, profile, row, random):
    assume(not ranks_equals(profile, pool))
    order = list(range(len(pool)))
    random.shuffle(order)
    before = score(pool, profile, profile.weights[row])
    after = score(pool.at(order), profile, profile.weights[row])
    np.testing.assert_allclose(after.scores, before.scores[order], rtol=1e-12)
    ranked = after.scores[after.order]
    assert np.all(ranked[:-1] >= ranked[1:])


@given(pools(least=1), unchanged, kinds_of_rows)
def test_the_order_is_by_score_and_then_by_place(pool, profile, row):
    found = score(pool, profile, profile.weights[row])
    wanted = sorted(range(len(pool)), key=lambda i: (-found.scores[i], i))
    assert found.order.tolist() == wanted


def slow(expression, columns, i):
    """One candidate's value, written down from the definition; None is unknown."""
    everyone = range(len(columns.kinds))
    if isinstance(expression, Col):
        value = columns.values[expression.col][i] if expression.col in columns.values else math.nan
        return None if math.isnan(value) else float(value)
    if isinstance(expression, Const):
        return expression.const
    if isinstance(expression, Only):
        return slow(expression.of, columns, i) if columns.kinds[i] == expression.only else None
    if isinstance(expression, Scale):
        values = [v for j in everyone if (v := slow(expression.scale, columns, j)) is not None]
        own = slow(expression.scale, columns, i)
        if own is None:
            return None
        top = max(values) + expression.shift
        return max(own + expression.shift, 0.0) / top if top > 0 else 0.0
    if isinstance(expression, Sum):
        known = [t for t in expression.sum if any(slow(t.of, columns, j) is not None for j in everyone)]
        if not known:
            return None
        counted = known if expression.missing == "share" else expression.sum
        total = math.fsum(t.weight for t in counted)
        parts = [t.weight / total * (slow(t.of, columns, i) or 0.0) for t in expression.sum if total and t in counted]
        return math.fsum(parts)
    shares = []
    for part in expression.rrf:
        values = {j: v for j in everyone if (v := slow(part.of, columns, j))}
        if i in values:
            before = sum(1 for j, v in values.items() if v > values[i] or (v == values[i] and j < i))
            shares.append(part.weight / (expression.k + expression.first_rank + before))
    return math.fsum(shares) if shares else None


weights = st.sampled_from([0.25, 0.5, 1.0, 3.0])
EXPRESSIONS = st.recursive(
    st.one_of(st.builds(Col, col=st.sampled_from(["bm25", "cosine", "tags"])), st.builds(Const, const=st.floats(0, 1))),
    lambda inner: st.one_of(
        st.builds(Only, only=st.sampled_from(["entry", "web"]), of=inner),
        st.builds(Scale, scale=inner, shift=st.sampled_from([0.0, 1.0])),
        st.builds(
            lambda terms, missing: Sum(sum=tuple(terms), missing=missing),
            st.lists(st.builds(Term, weight=weights, of=inner), min_size=1, max_size=3),
            st.sampled_from(["share", "zero"]),
        ),
        st.builds(
            lambda terms, k, first: Rrf(rrf=tuple(terms), k=k, first_rank=first),
            st.lists(st.builds(Term, weight=weights, of=inner), min_size=1, max_size=3),
            st.sampled_from([1.0, 60.0]),
            st.sampled_from([0, 1]),
        ),
    ),
    max_leaves=5,
)


@given(EXPRESSIONS, st.data())
def test_expressions_equal_their_slow_twins(expression, data):
    size = data.draw(st.integers(1, 4))
    cell = st.one_of(st.just(math.nan), st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 8.0]))
    values = {n: np.array(data.draw(st.lists(cell, min_size=size, max_size=size))) for n in ("bm25", "cosine")}
    kinds = data.draw(st.lists(st.sampled_from(["entry", "web"]), min_size=size, max_size=size))
    columns = Columns(values, kinds)
    wanted = [slow(expression, columns, i) for i in range(size)]
    found = evaluate(expression, columns)
    np.testing.assert_allclose(found, [math.nan if w is None else w for w in wanted], rtol=1e-9, atol=1e-12)
