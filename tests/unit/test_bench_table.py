"""The table of `make bench` and the race behind it."""

import pytest


@pytest.fixture
def benches(monkeypatch, request):
    monkeypatch.syspath_prepend(str(request.config.rootpath / "benches"))
    import race
    import table

    return race, table


def test_a_ratio_is_in_our_favour_whatever_is_better(benches):
    _, table = benches
    assert table.faster("scan", 2.0, 8.0, "numpy", 3.0).ratio == 4.0
    assert table.at_most("search", 4.0, 2.0).ratio == 0.5
    assert table.at_least("load", 800.0, 400.0, "rows/s").ratio == 2.0


def test_a_bar_is_reached_missed_or_absent(benches):
    _, table = benches
    verdicts = [table.faster("scan", 1.0, 3.0, "numpy", bar).verdict for bar in (3.0, 3.1, None)]
    assert verdicts == ["reached", "NOT REACHED", ""]


def test_a_time_below_the_noise_reaches_its_limit(benches):
    _, table = benches
    assert table.at_most("extra time", -0.1, 1.0).verdict == "reached"


@pytest.mark.parametrize(
    ("value", "told"), [(1234.5, "1,234"), (43.21, "43.2"), (4.321, "4.32"), (0.01234, "0.0123"), (float("nan"), "")]
)
def test_a_number_has_three_digits_that_matter(benches, value, told):
    assert benches[1].number(value) == told


def test_the_report_counts_what_was_reached(benches):
    _, table = benches
    rows = [table.faster("scan", 1.0, 4.0, "numpy", 3.0), table.at_most("search", 3.0, 2.0), table.plain("tail", 5.0)]
    report = table.markdown(
        [("Vectors", "One core.", rows), ("A local model", "", [])], ("load 0.1", "load 0.2"), "whole sizes"
    )
    assert "bars reached: 1 of 2" in report
    assert "| search | 3.00 | 2.00 | ms | limit: at most | 0.667 | 1.00 | NOT REACHED |" in report
    assert "- before: load 0.1\n- after: load 0.2\n" in report
    assert "not measured" in report


def test_in_a_race_all_answer_the_same_question_each_begins_in_turn_and_every_answer_is_checked(benches):
    race, _ = benches
    asked, checked = [], []

    def answering(name, more):
        return race.Competitor(name, lambda q: asked.append((q, name)) or q + more)

    who = [answering("one", 1), answering("two", 2)]
    times = race.race(who, [10, 20], 3, warm=0, check=lambda q, name, answer: checked.append((q, name, answer)))
    assert {name: len(values) for name, values in times.items()} == {"one": 3, "two": 3}
    # The first round does not count, but is checked too. Each question comes twice; the second time the other begins.
    rounds = [(20, "one", "two"), (10, "one", "two"), (20, "two", "one"), (10, "two", "one")]
    assert asked == [(q, name) for q, *order in rounds for name in order]
    assert checked == [(q, name, q + more) for q, *_ in rounds for name, more in (("one", 1), ("two", 2))]
