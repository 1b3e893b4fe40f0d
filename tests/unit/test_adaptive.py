"""Weights follow feedback by the documented rule, and say why they are what they are."""

import math

import pytest

from septet import EntryError, EntryNotFound, Vault
from septet.profiles import BUILTIN, resolve
from septet.ranking.adaptive import weights_of

SEVEN = BUILTIN["seven-signals"]


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
        assert vault.reset_feedback() == 40
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
