"""Tuning: weights are found where they matter, and refused where they do not."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pytest

from connections import until_end
from septet import Federation, QueryError, Vault, evaluate, tune
from septet.evaluation import feedback_judgements, undo_tuning
from septet.profiles import resolve

NOW = 1e9
EACH = 12


class Made(NamedTuple):
    vault: Vault
    queries: dict[str, str]
    qrels: dict[str, list[str]]


def made(seed: int, *, matters: bool, topics: int = 30) -> Made:
    """A vault in which the severity of an entry says whether it is relevant, or nothing does."""
    random = np.random.default_rng(seed)
    words = ["".join(random.choice(list("abcdefghijklmnopqrst"), 5)) for _ in range(200)]
    items: list[dict[str, Any]] = []
    queries, qrels = {}, {}
    for topic in range(topics):
        severities = random.permutation(["critical"] * 2 + ["warning"] * 3 + ["suggestion"] * (EACH - 5)).tolist()
        for at, severity in enumerate(severities):
            items.append(
                {
                    "id": f"{topic}-{at}",
                    "title": f"topic{topic} " * int(random.integers(1, 4)) + " ".join(random.choice(words, 4)),
                    "description": " ".join(random.choice(words, int(random.integers(3, 30)))),
                    "severity": severity,
                    "created_at": NOW - 86_400 * float(random.uniform(0, 900)),
                }
            )
        queries[str(topic)] = f"topic{topic}"
        relevant = [at for at, severity in enumerate(severities) if severity == "critical"]
        chosen = relevant if matters else random.choice(EACH, 2, replace=False).tolist()
        qrels[str(topic)] = [f"{topic}-{at}" for at in chosen]
    vault = until_end(Vault(":memory:", clock=lambda: NOW))
    vault.add_many(items)
    return Made(vault, queries, qrels)


@pytest.fixture(scope="module")
def mattering():
    found = made(0, matters=True)
    yield found
    found.vault.close()


def test_weights_that_matter_are_found_and_the_gain_is_real(mattering):
    vault, queries, qrels = mattering
    tuned = tune(vault, queries, qrels)
    assert tuned.accepted
    assert tuned.after["text"]["severity"] > 3 * tuned.before["text"]["severity"]
    assert sum(tuned.after["text"].values()) == pytest.approx(sum(tuned.before["text"].values()))
    assert tuned.gain.low > 0.1
    # What it promises is what searches give, with judgements it has not seen.
    other = made(1, matters=True)
    before = evaluate(other.vault, other.queries, other.qrels, "nDCG@10")
    after = evaluate(other.vault, other.queries, other.qrels, "nDCG@10", profile=tuned.profile)
    assert after.compare(before)["nDCG@10"].low > 0.1
    assert abs(after["nDCG@10"] - tuned.gain.after) < 0.1


def test_few_queries_are_refused(mattering):
    vault, queries, qrels = mattering
    few = {id: queries[id] for id in list(queries)[:5]}
    tuned = tune(vault, few, qrels)
    assert not tuned.accepted and tuned.gain is None and tuned.queries == 5
    assert "5 queries with a relevant entry are too few" in tuned.reason
    # Queries whose judgements have nothing relevant are not counted.
    nothing = {id: ids if at < 5 else {"x": 0} for at, (id, ids) in enumerate(qrels.items())}
    assert tune(vault, queries, nothing).queries == 5


def test_entries_that_nothing_tells_apart_are_refused():
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many({"id": f"{t}-{e}", "title": f"topic{t}", "created_at": NOW} for t in range(12) for e in range(5))
        tuned = tune(vault, {str(t): f"topic{t}" for t in range(12)}, {str(t): [f"{t}-1"] for t in range(12)})
    assert not tuned.accepted
    assert (tuned.gain.difference, tuned.gain.low, tuned.gain.high) == (0.0, 0.0, 0.0)
    assert tuned.after == tuned.before


def test_the_same_seed_gives_the_same_tuning(mattering):
    assert tune(*mattering, seed=3).to_dict() == tune(*mattering, seed=3).to_dict()


def test_weights_with_vectors_are_those_of_the_hybrid_row():
    random = np.random.default_rng(0)
    with Vault(":memory:", clock=lambda: NOW) as vault:
        queries, qrels, vectors = {}, {}, {}
        for topic in range(12):
            rows = random.normal(size=(8, 16))
            for at, row in enumerate(rows):
                vault.add(id=f"{topic}-{at}", title=f"topic{topic}", created_at=NOW, vector=row)
            queries[str(topic)], qrels[str(topic)], vectors[str(topic)] = f"topic{topic}", [f"{topic}-3"], rows[3]
        tuned = tune(vault, queries, qrels, query_vectors=vectors, profile="six-signals")
        assert list(tuned.after) == ["hybrid"]


def test_signals_of_facts_are_fitted_as_others_are():
    profile = {
        "name": "cited",
        "signals": {"words": {"scale": {"col": "bm25"}}, "cited": {"scale": {"col": "attrs.cited"}}},
        "weights": {"text": {"words": 1.0, "cited": 0.0}, "hybrid": {"words": 1.0, "cited": 0.0}},
    }
    with Vault(":memory:", clock=lambda: NOW) as vault:
        for topic in range(12):
            for at in range(6):
                vault.add(id=f"{topic}-{at}", title=f"topic{topic} " * (6 - at), attrs={"cited": at}, created_at=NOW)
        judged = [{"query": f"topic{topic}", "relevant": [f"{topic}-5"]} for topic in range(12)]
        tuned = tune(vault, judged, profile=profile, measure="MRR")
        assert tuned.accepted and tuned.after["text"]["cited"] > 0.1
        assert vault.search("topic3", profile=tuned.profile).ids[0] == "3-5"


def test_a_federation_is_tuned_as_a_vault_is(mattering):
    with Vault(":memory:", clock=lambda: NOW) as empty:
        both = Federation({"agent": empty, "team": mattering.vault})
        assert tune(both, mattering.queries, mattering.qrels).accepted


def test_feedback_is_taken_where_no_queries_are_given():
    found = made(2, matters=True, topics=20)
    with found.vault as vault:
        for id, query in found.queries.items():
            for entry in found.qrels[id]:
                vault.feedback(query, entry, "dismissed")
                vault.feedback(query, entry, "accepted")
            vault.feedback(query, f"{id}-0", "failed")
        judged = feedback_judgements(vault)
        assert judged[0] == {"id": "1", "query": "topic0", "relevant": dict.fromkeys(found.qrels["0"], 2)}
        tuned = tune(vault)
        assert tuned.accepted and tuned.queries == 20
        assert tune(vault, judged).to_dict() == tuned.to_dict()


def test_feedback_of_a_higher_tier_counts_before_that_of_a_lower_one():
    with Vault(":memory:") as agent, Vault(":memory:") as team:
        for vault, action in ((agent, "modified"), (team, "accepted")):
            vault.add(id="a", title="ducks")
            vault.feedback("ducks", "a", action)
        assert feedback_judgements(Federation({"team": team, "agent": agent}))[0]["relevant"] == {"a": 1}


# -- applying, and going back ----------------------------------------------------------------------------------------


def test_a_tuning_is_saved_as_a_profile_and_undone(mattering, tmp_path):
    vault, queries, qrels = mattering
    path = tmp_path / "mine.json"
    path.write_text('{"extends": "six-signals"}', encoding="utf-8")
    tuned = tune(vault, queries, qrels)
    tuned.save(path)
    assert resolve(path) == tuned.profile
    assert json.loads(path.read_text())["extends"] == "septet"
    assert vault.search("topic1", profile=path).ids == vault.search("topic1", profile=tuned.profile).ids
    undo_tuning(path)
    assert path.read_text() == '{"extends": "six-signals"}'
    with pytest.raises(QueryError, match="no earlier file"):
        undo_tuning(path)


def test_a_profile_of_ones_own_is_saved_whole(mattering, tmp_path):
    vault, queries, qrels = mattering
    own = {"extends": "septet", "name": "own", "facts": {"half_life_days": 30}}
    tuned = tune(vault, queries, qrels, profile=own)
    tuned.save(tmp_path / "own.json")
    assert tuned.profile.name == "own (tuned)"
    assert resolve(tmp_path / "own.json") == tuned.profile
    # The file of an earlier tuning is no state to go back to when there was none.
    (tmp_path / "own.json").unlink()
    (tmp_path / "own.json.before").write_text("{}")
    tuned.save(tmp_path / "own.json")
    assert not (tmp_path / "own.json.before").exists()


def test_a_refused_tuning_is_not_saved(mattering, tmp_path):
    vault, queries, qrels = mattering
    tuned = tune(vault, {"0": queries["0"]}, qrels)
    with pytest.raises(QueryError, match="nothing to save: 1 queries"):
        tuned.save(tmp_path / "mine.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(QueryError, match=r"ends in \.json"):
        tuned.save(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"measure": ["MAP", "MRR"]}, "one measure"),
        ({"measure": "F1"}, "unknown measure"),
        ({"group_by": "parent"}, "no group_by"),
        ({"folds": 1}, "folds is 1"),
        ({"folds": 2.5}, "folds is 2.5"),
        ({"seed": -1}, "seed is -1"),
        ({"profile": "none"}, "unknown profile"),
    ],
)
def test_what_cannot_be_tuned_is_refused(mattering, options, said):
    with pytest.raises(QueryError, match=said):
        tune(*mattering, **options)
