"""Weights follow feedback by the documented rule, and say why they are what they are."""

import json
import math
from dataclasses import FrozenInstanceError

import pytest

from septet import EntryError, EntryNotFound, Vault
from septet.profiles import BUILTIN, resolve
from septet.ranking.score import weights_of

SEVEN = BUILTIN["seven-signals"]
ROWS = ("text", "hybrid")


def rows(accepted=0, modified=0, dismissed=0, failed=0):
    return {"accepted": accepted, "modified": modified, "dismissed": dismissed, "failed": failed}


@pytest.mark.parametrize("feedback", [{}, rows(accepted=29), rows(accepted=29, failed=500), rows(dismissed=10)])
@pytest.mark.parametrize("profile", list(BUILTIN))
@pytest.mark.parametrize("row", ["text", "hybrid"])
def test_fewer_than_thirty_counted_rows_change_nothing(profile, row, feedback):
    found = weights_of(BUILTIN[profile], row, feedback)
    assert found.values == BUILTIN[profile].weights[row]
    assert "of the 30" in found.cause


@pytest.mark.parametrize(
    ("feedback", "semantic"),
    [
        (rows(accepted=30), 0.35 + 0.15),
        (rows(dismissed=30), 0.35 - 0.15),
        (rows(modified=30), 0.35),
        (rows(accepted=15, dismissed=15), 0.35),
        (rows(accepted=20, modified=10, failed=99), 0.35 + (25 / 30 - 0.5) * 0.3),
    ],
)
def test_the_accept_rate_moves_the_semantic_weight_by_at_most_015(feedback, semantic):
    found = weights_of(SEVEN, "text", feedback)
    assert found.values["semantic"] == pytest.approx(semantic)
    assert math.fsum(found.values.values()) == pytest.approx(1)


@pytest.mark.parametrize(("feedback", "semantic"), [(rows(accepted=30), 0.35), (rows(dismissed=30), 0.05)])
def test_with_vectors_the_semantic_weight_moves_around_020_and_the_vector_stays(feedback, semantic):
    found = weights_of(SEVEN, "hybrid", feedback)
    assert found.values["semantic"] == pytest.approx(semantic)
    assert found.values["vector"] == 0.15
    assert math.fsum(found.values.values()) == pytest.approx(1)


@pytest.mark.parametrize("profile", list(BUILTIN))
@pytest.mark.parametrize("row", ["text", "hybrid"])
def test_all_other_signals_keep_their_proportions(profile, row):
    before, after = BUILTIN[profile].weights[row], weights_of(BUILTIN[profile], row, rows(accepted=40)).values
    moving = BUILTIN[profile].adaptive.text if row == "text" else BUILTIN[profile].adaptive.hybrid
    scale = {
        round(after[s] / before[s], 12)
        for s in before
        if before[s] and s not in moving and s not in BUILTIN[profile].adaptive.fixed
    }
    assert len(scale) == 1
    assert all(w >= 0 for w in after.values())


@pytest.mark.parametrize("accepted", range(0, 31, 5))
def test_more_acceptance_never_lowers_the_moving_weight(accepted):
    less = weights_of(SEVEN, "text", rows(accepted=accepted, dismissed=30)).values["semantic"]
    more = weights_of(SEVEN, "text", rows(accepted=accepted + 5, dismissed=30)).values["semantic"]
    assert more > less


def test_no_weight_becomes_negative_when_the_moving_ones_were_nearly_everything():
    profile = resolve(
        {
            "name": "two",
            "signals": {"a": {"col": "bm25"}, "b": {"col": "decay"}},
            "weights": {"text": {"a": 0.95, "b": 0.05}, "hybrid": {"a": 0.95, "b": 0.05}},
            "adaptive": {"text": ["a"], "hybrid": ["a"]},
        }
    )
    assert min(weights_of(profile, "text", rows(accepted=30)).values.values()) >= 0


def profile_of(weights, *, text=("a",), **rule):
    rule |= {"text": list(text), "hybrid": list(text)}
    signals = {name: {"col": "bm25"} for name in weights}
    both = {"text": weights, "hybrid": weights}
    return resolve({"name": "made", "signals": signals, "weights": both, "adaptive": rule})


def moved(weights, accepted, dismissed, **rule):
    return dict(weights_of(profile_of(weights, **rule), "text", rows(accepted=accepted, dismissed=dismissed)).values)


#: Accepted of 40 rows: none, one, few, half, all but one, all.
SHARES = [0, 1, 4, 20, 36, 39, 40]


@pytest.mark.parametrize("accepted", SHARES)
@pytest.mark.parametrize("start", [0.0, 0.05, 0.1, 0.15, 0.5, 0.85, 0.9, 1.0])
def test_the_moving_weight_stays_between_nothing_and_everything(start, accepted):
    found = moved({"a": start, "b": 1 - start}, accepted, 40 - accepted)
    wanted = min(max(start + (accepted / 40 - 0.5) * 0.3, 0.0), 1.0) if start else 0.0
    assert found["a"] == pytest.approx(wanted, abs=1e-12)
    assert found["a"] >= 0


def test_a_moving_weight_smaller_than_what_it_loses_becomes_exactly_nothing():
    assert moved({"a": 0.1, "b": 0.6, "c": 0.3}, 0, 40) == pytest.approx({"a": 0.0, "b": 0.6 / 0.9, "c": 0.3 / 0.9})
    assert moved({"a": 0.1, "b": 0.6, "c": 0.3}, 0, 40)["a"] == 0.0


@pytest.mark.parametrize("accepted", SHARES)
def test_several_moving_signals_keep_their_proportion_and_share_what_they_gain(accepted):
    rule = {"text": ["a", "b"]}
    found = moved({"a": 0.3, "b": 0.1, "c": 0.45, "d": 0.15}, accepted, 40 - accepted, **rule)
    target = 0.4 + (accepted / 40 - 0.5) * 0.3
    wanted = {"a": 0.75 * target, "b": 0.25 * target, "c": 0.75 * (1 - target), "d": 0.25 * (1 - target)}
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("accepted", SHARES)
@pytest.mark.parametrize("fixed", [0.05, 0.2, 0.4, 0.5])
def test_a_fixed_signal_stays_and_the_moving_one_takes_no_more_than_it_leaves(fixed, accepted):
    found = moved({"a": 0.5, "b": fixed, "c": 0.5 - fixed}, accepted, 40 - accepted, fixed=["b"])
    assert found["b"] == fixed
    assert found["a"] == pytest.approx(min(0.5 + (accepted / 40 - 0.5) * 0.3, 1 - fixed))
    assert math.fsum(found.values()) == pytest.approx(1 if fixed < 0.5 else found["a"] + 0.5)


@pytest.mark.parametrize("accepted", SHARES)
@pytest.mark.parametrize("scale", [1.0000001, 1.5, 2.0, 10.0, 1e6])
def test_weights_on_a_larger_scale_move_like_those_that_sum_to_one(scale, accepted):
    weights = {"a": 0.5, "b": 0.125, "c": 0.375}
    larger = {name: weight * scale for name, weight in weights.items()}
    for rule in ({}, {"fixed": ["b"]}):
        small = moved(weights, accepted, 40 - accepted, **rule)
        assert moved(larger, accepted, 40 - accepted, **rule) == pytest.approx(small)
        assert math.fsum(small.values()) == pytest.approx(1)


@pytest.mark.parametrize("accepted", SHARES)
def test_weights_that_sum_to_less_than_one_are_not_scaled_up_before_they_move(accepted):
    found = moved({"a": 0.3, "b": 0.2, "c": 0.1}, accepted, 40 - accepted)
    target = 0.3 + (accepted / 40 - 0.5) * 0.3
    assert found == pytest.approx({"a": target, "b": (1 - target) * 2 / 3, "c": (1 - target) / 3})


def test_a_weight_of_nothing_stays_nothing_and_the_cause_tells_what_moved():
    assert moved({"a": 0.0, "b": 1.0}, 40, 0)["a"] == 0.0
    told = weights_of(profile_of({"a": 0.5, "b": 0.3, "c": 0.2}, text=["a", "b"]), "text", rows(accepted=30, failed=9))
    assert told.cause == "accept rate 1.00 over 30 feedback rows moved a and b by +0.150"
    less = weights_of(profile_of({"a": 0.1, "b": 0.9}), "text", rows(accepted=10, dismissed=30))
    assert less.cause == "accept rate 0.25 over 40 feedback rows moved a by -0.075"


@pytest.mark.parametrize(("row", "moves", "stays"), [("text", "a", "b"), ("hybrid", "b", "a")])
def test_each_row_of_weights_moves_its_own_signal(row, moves, stays):
    weights = {"a": 0.25, "b": 0.25, "c": 0.5}
    signals = {name: {"col": "bm25"} for name in weights}
    rule = {"text": ["a"], "hybrid": ["b"], "fixed": ["a"] if row == "hybrid" else ["b"]}
    profile = resolve({"name": "made", "signals": signals, "weights": dict.fromkeys(ROWS, weights), "adaptive": rule})
    found = weights_of(profile, row, rows(accepted=40)).values
    assert found == pytest.approx({moves: 0.4, stays: 0.25, "c": 0.35})


@pytest.mark.parametrize("counted", [0, 1, 29, 30, 31, 100])
@pytest.mark.parametrize("least", [1, 30, 31])
def test_weights_move_from_exactly_so_many_rows_on(least, counted):
    found = weights_of(profile_of({"a": 0.5, "b": 0.5}, min_rows=least), "text", rows(accepted=counted))
    assert (found.values["a"] != 0.5) == (counted >= least)
    assert found.counted == counted
    assert found.accept_rate == (1.0 if counted else None)


def test_weights_tell_everything_as_json():
    found = weights_of(SEVEN, "hybrid", rows(accepted=30))
    assert json.loads(json.dumps(found.to_dict())) == {
        "profile": "seven-signals",
        "row": "hybrid",
        "values": dict(found.values),
        "cause": "accept rate 1.00 over 30 feedback rows moved semantic by +0.150",
        "counted": 30,
        "accept_rate": 1.0,
    }


def test_weights_that_were_given_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        weights_of(SEVEN, "text", {}).row = "hybrid"


@pytest.mark.parametrize("row", ["text", "hybrid"])
def test_a_profile_without_a_rule_and_without_that_signal_keeps_its_weights(row):
    weights = {"only": 1.0}
    profile = resolve(
        {"name": "one", "signals": {"only": {"col": "bm25"}}, "weights": {"text": weights, "hybrid": weights}}
    )
    assert weights_of(profile, row, rows(accepted=30)).values == weights


def test_a_vault_counts_feedback_and_forgets_it_on_request():
    with Vault(":memory:") as vault:
        vault.add(id="a", title="alpha")
        for action in ("accepted", "modified", "dismissed", "failed"):
            for _ in range(10):
                vault.feedback("alpha", "a", action)
        weights = vault.weights(profile="seven-signals")
        assert (weights.counted, weights.accept_rate, weights.row) == (30, 0.5, "text")
        assert vault.search("alpha", profile="seven-signals").weights == pytest.approx(weights.values)
        assert vault.weights(vectors=True).row == "hybrid"
        assert vault.purge(feedback=True) == 40
        assert vault.weights(profile="seven-signals").values == SEVEN.weights["text"]
        assert "0 of the 30" in vault.weights().cause


def test_feedback_that_cannot_be_stored_is_refused():
    with Vault(":memory:") as vault:
        vault.add(id="a", title="alpha")
        with pytest.raises(EntryError, match="action is 'liked'"):
            vault.feedback("alpha", "a", "liked")
        with pytest.raises(EntryError, match="query is int"):
            vault.feedback(5, "a", "accepted")
        with pytest.raises(EntryNotFound, match="no entry 'b'"):
            vault.feedback("alpha", "b", "accepted")
        assert vault.stats().feedback == {}
