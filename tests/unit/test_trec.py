"""Runs as ``trec_eval`` reads them."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from septet.errors import QueryError
from septet.model.trec import run_lines

SCORES = st.floats(-1e9, 1e9, allow_nan=False)


def test_a_line_has_six_columns_with_ranks_from_1():
    assert run_lines("q1", [("a", 0.5), ("b", 0.25)], "run") == "q1 Q0 a 1 0.5 run\nq1 Q0 b 2 0.25 run\n"
    assert run_lines("q1", [], "run") == ""


@given(st.lists(SCORES, max_size=60).map(lambda values: sorted(values, reverse=True)))
@example([1.0] * 1_000)
@example([0.0] * 10)
@example([1e-300, 5e-324, 0.0, -0.0, -5e-324])
@example([-1.0] * 3)
@example([0.1 + 0.2, 0.3, 0.3])
def test_scores_fall_strictly_even_as_the_float32_that_trec_eval_keeps(scores):
    lines = run_lines("q", [(f"d{at}", score) for at, score in enumerate(scores)], "t").splitlines()
    read = np.array([float(line.split()[4]) for line in lines], dtype=np.float32)
    assert (np.diff(read.astype(np.float64)) < 0).all()
    if len(set(np.array(scores, np.float32).tolist())) == len(scores):
        # Scores that differ as float32 are written as they are.
        assert read.tolist() == np.array(scores, np.float32).tolist()


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, max_value=2.0**100, min_value=-(2.0**100)))
def test_what_stands_below_a_score_is_the_next_float32(score):
    below = float(run_lines("q", [("a", score), ("b", score)], "t").split()[10])
    assert np.float32(below) == np.nextafter(np.float32(score), np.float32(-np.inf))


@pytest.mark.parametrize("name", ["", " ", "two words", "a\tb", "a\u2028b", "x\n", 3, None, "\ud800"])
def test_names_that_would_break_the_columns_are_refused(name):
    for arguments in ((name, [("a", 1.0)], "t"), ("q", [(name, 1.0)], "t"), ("q", [("a", 1.0)], name)):
        with pytest.raises(QueryError):
            run_lines(*arguments)
