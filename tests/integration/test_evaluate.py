"""Evaluation of vaults and federations, on small vaults whose answers are known and on Cranfield."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from septet import Evaluation, Federation, QueryError, Vault, evaluate

DATA = Path(os.environ.get("SEPTET_DATA") or Path(__file__).parents[3] / "shared") / "data" / "cranfield"
QUERIES = {"1": "ducks swim", "2": "geese", "3": "ravens", "4": "nothing of the kind"}
QRELS = {"1": {"a": 2, "c": 1}, "2": ["b"], "3": ["x"], "4": {"a": 0}}


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1e9) as made:
        made.add(id="a", title="ducks swim")
        made.add(id="b", title="geese fly")
        made.add(id="c", title="ducks fly")
        yield made


def test_an_evaluation_has_the_mean_and_the_value_of_every_query(vault):
    found = evaluate(vault, QUERIES, QRELS, ["P@5", "MRR"])
    assert found.per_query["1"] == {"P@5": 0.4, "MRR": 1.0}
    assert found.per_query["2"] == {"P@5": 0.2, "MRR": 1.0}
    assert found.per_query["3"] == {"P@5": 0.0, "MRR": 0.0}
    # Queries whose judgements have no relevant entry count as 0.
    assert found.per_query["4"] == {"P@5": 0.0, "MRR": 0.0}
    assert found["MRR"] == found.means["MRR"] == 0.5
    assert found.profile == "septet"


def test_relevant_ids_that_the_vault_does_not_hold_are_named(vault):
    found = evaluate(vault, QUERIES, QRELS)
    assert found.unknown == ("x",)
    assert "1 relevant ids are not in the vault, such as 'x'" in repr(found)


def test_queries_without_a_judgement_are_left_out_and_named(vault):
    found = evaluate(vault, {**QUERIES, "5": "ducks"}, QRELS, ["MRR"])
    assert found.unjudged == ("5",)
    assert found["MRR"] == 0.5


def test_a_measure_is_of_a_search_as_deep_as_its_rank(vault):
    for at in range(40):
        vault.add(id=f"d{at}", title=f"ducks number {at}")
    many = {"1": {f"d{at}": 1 for at in range(40)}}
    found = evaluate(vault, {"1": "number"}, many, ["R@10", "R@40", "R@100"])
    assert found["R@10"] == 10 / 40
    assert found["R@10"] < found["R@40"] <= found["R@100"] == 1.0
    assert evaluate(vault, {"1": "number"}, many, ["R@100"], limit=4)["R@100"] == 4 / 40


def test_parents_are_judged_when_results_are_grouped_by_parent(vault):
    for part in range(3):
        vault.add(id=f"part{part}", title=f"swans {part}", parent="book")
    found = evaluate(vault, {"1": "swans"}, {"1": ["book"]}, ["MRR", "P@1"], group_by="parent")
    assert found["MRR"] == found["P@1"] == 1.0


def test_vectors_come_by_query_or_in_the_order_of_the_queries():
    with Vault(":memory:") as vault:
        for at in range(3):
            vault.add(id=f"v{at}", title=f"entry {at}", vector=np.eye(3)[at])
        queries, qrels = {"x": "unlike", "y": "anything"}, {"x": ["v2"], "y": ["v0"]}
        by_id = evaluate(vault, queries, qrels, "P@1", query_vectors={"x": np.eye(3)[2], "y": np.eye(3)[0]})
        in_order = evaluate(vault, queries, qrels, "P@1", query_vectors=np.eye(3)[[2, 0]])
        assert by_id["P@1"] == in_order["P@1"] == 1.0
        with pytest.raises(QueryError, match="3 query_vectors for 2 queries"):
            evaluate(vault, queries, qrels, query_vectors=np.eye(3))
        with pytest.raises(QueryError, match="more than 1,000,000"):
            evaluate(vault, queries, qrels, query_vectors=range(2**62))


def test_a_federation_is_evaluated_as_a_vault_is(vault):
    with Vault(":memory:") as team:
        team.add(id="x", title="ravens croak")
        both = evaluate(Federation({"agent": vault, "team": team}), QUERIES, QRELS, ["MRR"])
    assert both.per_query["3"]["MRR"] == 1.0
    assert both.unknown == ()


def test_notes_of_searches_are_counted(vault):
    found = evaluate(vault, {"1": "ducks", "2": "?!"}, {"1": ["a"], "2": ["b"]})
    assert found.notes["no_terms"] == 1


@pytest.mark.parametrize("vault", [None, "notes.db", 3])
def test_what_cannot_be_searched_is_refused(vault):
    with pytest.raises(QueryError, match="wanted an open Vault or Federation"):
        evaluate(vault, QUERIES, QRELS)


def test_an_option_that_does_not_exist_is_refused_with_the_nearest_one(vault):
    with pytest.raises(TypeError, match="profile"):
        evaluate(vault, QUERIES, QRELS, profil="septet")


def test_an_evaluation_is_plain_data(vault):
    found = evaluate(vault, QUERIES, QRELS)
    assert json.loads(json.dumps(found.to_dict()))["means"] == dict(found.means)
    assert [id for id, _ in found.worst("MRR@10", 2)] == ["3", "4"]
    with pytest.raises(QueryError, match="was not measured"):
        found.worst("P@7")


# -- comparison ------------------------------------------------------------------------------------------------------


def of(values: dict[str, float], name: str = "one") -> Evaluation:
    mean = sum(values.values()) / len(values)
    return Evaluation(name, {"P@5": mean}, {id: {"P@5": value} for id, value in values.items()})


def test_a_comparison_counts_queries_and_says_how_sure_it_is():
    before = of({str(at): at % 5 / 5 for at in range(50)}, "old")
    after = of({str(at): min(1.0, at % 5 / 5 + 0.1 * (at % 3)) for at in range(50)}, "new")
    found = after.compare(before)["P@5"]
    assert found.difference == pytest.approx(found.after - found.before)
    assert found.low < found.difference < found.high
    assert found.low > 0 and found.significant and found.p < 0.001
    assert (found.wins, found.ties, found.losses) == (33, 17, 0)
    back = before.compare(after)["P@5"]
    assert (back.wins, back.losses, back.low) == (0, 33, pytest.approx(-found.high))
    assert "new with old over 50 queries" in repr(after.compare(before))
    json.dumps(after.compare(before).to_dict(), allow_nan=False)


def test_an_evaluation_is_as_good_as_itself():
    same = of({str(at): at / 10 for at in range(10)})
    found = same.compare(same)["P@5"]
    assert (found.difference, found.p, found.low, found.high, found.ties) == (0.0, 1.0, 0.0, 0.0, 10)
    assert not found.significant


def test_one_query_shows_nothing():
    found = of({"1": 1.0}).compare(of({"1": 0.0}))["P@5"]
    assert found.p == 1.0 and not found.significant
    json.dumps(of({"1": 1.0}).compare(of({"1": 0.0})).to_dict(), allow_nan=False)


def test_evaluations_of_other_queries_or_measures_are_not_compared():
    one = of({"1": 1.0})
    with pytest.raises(QueryError, match="different queries: '2'"):
        one.compare(of({"1": 1.0, "2": 0.5}))
    with pytest.raises(QueryError, match="share no measure"):
        one.compare(Evaluation("x", {"MAP": 1.0}, {"1": {"MAP": 1.0}}))
    with pytest.raises(QueryError, match="wanted an Evaluation"):
        one.compare({"P@5": 1.0})


# -- a real collection -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cranfield():
    if not (DATA / "corpus.jsonl.gz").is_file():
        pytest.skip(f"no Cranfield collection in {DATA}: name the folder above data/cranfield in SEPTET_DATA")
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        with gzip.open(DATA / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            docs = [json.loads(line) for line in lines]
        vault.add_many(
            {"id": d["id"], "title": (d.get("title") or "").strip() or "-", "description": d["text"]} for d in docs
        )
        yield vault


def test_values_on_cranfield_are_those_of_ir_measures_on_the_run_that_is_written(cranfield):
    ir_measures = pytest.importorskip("ir_measures")
    names = {"nDCG@10": "nDCG@10", "MRR@10": "RR@10", "P@5": "P@5", "MAP@10": "AP@10", "Success@1": "Success@1"}
    ours = evaluate(cranfield, DATA / "queries.jsonl.gz", DATA / "qrels.tsv", list(names))
    with gzip.open(DATA / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        queries = [json.loads(line) for line in lines]
    results = cranfield.search_many([query["text"] for query in queries], limit=10)
    run = "".join(found.to_trec(query["id"]) for query, found in zip(queries, results))
    with (DATA / "qrels.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    qrels = [ir_measures.Qrel(row["query-id"], row["corpus-id"], int(row["score"])) for row in rows]
    theirs = {name: ir_measures.parse_measure(named) for name, named in names.items()}
    means = ir_measures.calc_aggregate(list(theirs.values()), qrels, ir_measures.read_trec_run(run))
    assert len(ours.per_query) > 180
    assert ours.unknown == ()
    for name, measure in theirs.items():
        assert ours[name] == pytest.approx(means[measure], abs=1e-9), name


def test_the_default_profile_is_better_on_cranfield_than_the_documented_one(cranfield):
    found = [
        evaluate(cranfield, DATA / "queries.jsonl.gz", DATA / "qrels.tsv", "nDCG@10", profile=name)
        for name in ("septet", "seven-signals")
    ]
    change = found[0].compare(found[1])["nDCG@10"]
    assert change.low > 0 and change.p < 0.01 and change.wins > change.losses
