"""Measures of rankings: by hand, and against the field's own tool."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from septet.errors import QueryError
from septet.evaluation.measures import MEASURES, measures_of

JUDGED = {"a": 2, "b": 1, "c": 1, "n": 0, "spam": -1}


def value(name, ids, grades=JUDGED):
    return measures_of([name])[0].of(ids, grades)


@pytest.mark.parametrize(
    ("name", "ids", "wanted"),
    [
        ("P@5", ["a", "x", "b"], 2 / 5),
        ("P@1", ["x", "a"], 0.0),
        ("R@2", ["a", "x", "b"], 1 / 3),
        ("R@3", ["a", "x", "b"], 2 / 3),
        ("MRR", ["x", "n", "b"], 1 / 3),
        ("MRR@2", ["x", "n", "b"], 0.0),
        ("MAP", ["x", "a", "b"], (1 / 2 + 2 / 3) / 3),
        ("MAP@2", ["x", "a", "b"], (1 / 2) / 3),
        ("Success@1", ["n"], 0.0),
        ("Success@2", ["n", "c"], 1.0),
        ("nDCG@1", ["b"], 1 / 2),
        ("nDCG@10", ["a", "b", "c"], 1.0),
        ("nDCG@10", ["spam"], 0.0),
        ("Bpref", ["x", "spam", "a", "n", "b", "c"], 1 / 3),
        ("Bpref", ["x", "a", "y", "b"], 2 / 3),
        ("Bpref@2", ["x", "a", "y", "b"], 1 / 3),
    ],
)
def test_a_measure_is_what_its_definition_says(name, ids, wanted):
    assert value(name, ids) == pytest.approx(wanted)


@pytest.mark.parametrize("name", MEASURES)
def test_nothing_found_and_nothing_relevant_count_as_nothing(name):
    assert value(name, []) == 0
    assert value(name, ["a", "b"], {}) == 0
    assert value(name, ["a"], {"a": 0}) == 0


def test_names_are_taken_in_any_case_and_under_both_of_their_names():
    same = [("NDCG@5", "ndcg@5"), ("AP", "MAP"), ("RR@3", "mrr@3"), ("Recall@2", "R@2"), ("precision@2", "P@2")]
    for one, other in same:
        assert value(one, ["x", "a", "b"]) == value(other, ["x", "a", "b"])
    assert [m.name for m in measures_of(["MAP", "P@5", "MAP"])] == ["MAP", "P@5"]
    assert [m.name for m in measures_of("P@5")] == ["P@5"]


@pytest.mark.parametrize("name", ["P", "R", "Success", "nDCG@0", "nDCG@10001", "F1@3", "nDCG@", "@3", "", 3, None])
def test_an_unknown_measure_is_refused_with_what_is_known(name):
    with pytest.raises(QueryError, match=r"measure .* (available: |requires a rank|wanted 1 to)"):
        measures_of([name])


@pytest.mark.parametrize("names", [[], (), 5, None, {"P@5": 1}])
def test_what_names_no_measure_is_refused(names):
    with pytest.raises(QueryError, match="measures"):
        measures_of(names)


def test_grades_between_whole_numbers_are_gains_and_above_0_relevant():
    grades = {"a": 1, "b": 0.5, "c": 0.0}
    assert value("nDCG@1", ["b"], grades) == pytest.approx(0.5)
    assert value("R@2", ["c", "b"], grades) == pytest.approx(0.5)


@pytest.fixture(scope="module")
def ir_measures():
    return pytest.importorskip("ir_measures")


NAMES = st.integers(0, 30).map("d{}".format)


@given(
    ranked=st.dictionaries(st.sampled_from(["1", "2", "3"]), st.lists(NAMES, max_size=25, unique=True)),
    grades=st.dictionaries(
        st.sampled_from(["1", "2", "3"]), st.dictionaries(NAMES, st.integers(-1, 3), min_size=1), min_size=1
    ),
)
@example(ranked={}, grades={"1": {"d1": 0}})
@example(ranked={"1": ["d1"]}, grades={"1": {"d1": 1}})
def test_every_value_is_that_of_ir_measures(ir_measures, ranked, grades):
    theirs = {
        "nDCG@10": "nDCG@10",
        "nDCG": "nDCG@1000",
        "MAP": "AP",
        "MAP@5": "AP@5",
        "MRR": "RR",
        "MRR@10": "RR@10",
        "P@5": "P@5",
        "R@3": "R@3",
        "Success@1": "Success@1",
        "Bpref": "Bpref",
    }
    qrels = [ir_measures.Qrel(q, id, grade) for q, own in grades.items() for id, grade in own.items()]
    run = [ir_measures.ScoredDoc(q, id, -float(at)) for q, ids in ranked.items() for at, id in enumerate(ids)]
    for ours, name in theirs.items():
        measure, theirs_ = measures_of([ours])[0], ir_measures.parse_measure(name)
        found = {m.query_id: m.value for m in ir_measures.iter_calc([theirs_], qrels, run)}
        for query, own in grades.items():
            assert measure.of(ranked.get(query, []), own) == pytest.approx(found.get(query, 0.0)), (ours, query)
