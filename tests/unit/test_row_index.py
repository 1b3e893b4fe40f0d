"""The index from rows to slots says what a dict would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet.sqlite.snapshot import snapshot
from septet.sqlite.snapshot.snapshot import RowIndex

ROWS = st.integers(1, 40)
#: A change: rows that go or are written, and rows that are written.
CHANGES = st.lists(st.tuples(st.sets(ROWS), st.sets(ROWS)), max_size=12)


def numbers(values: object) -> np.ndarray:
    return np.array(list(values), dtype=np.int64)


def held(index: RowIndex, twin: dict[int, int]) -> bool:
    asked = numbers([*range(45), 7, 7])
    return index.find(asked).tolist() == [twin.get(row, -1) for row in asked.tolist()]


@given(rows=st.lists(ROWS, unique=True), dead=st.sets(ROWS), changes=CHANGES, few=st.sampled_from([0, 3, 1_000]))
def test_after_any_changes_it_says_what_a_dict_says(rows, dead, changes, few):
    twin = {row: slot for slot, row in enumerate(rows) if row not in dead}
    index = RowIndex.of(numbers(rows), np.array([row not in dead for row in rows], dtype=bool))
    assert held(index, twin)
    slots = len(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot, "MOST_LATE", few)
        for touched, written in changes:
            before, twin_before = index, dict(twin)
            fresh = {row: slots + i for i, row in enumerate(sorted(written))}
            slots += len(fresh)
            changed = sorted(touched | written)
            index = index.moved(numbers(changed), numbers(fresh.get(row, -1) for row in changed))
            twin = {row: slot for row, slot in (twin | fresh).items() if row in fresh or row not in touched}
            assert held(index, twin)
            assert held(before, twin_before), "an index that was handed out does not change"


def test_many_changes_are_folded_into_the_arrays(monkeypatch):
    monkeypatch.setattr(snapshot, "MOST_LATE", 2)
    index = RowIndex.of(np.arange(10, 20), np.ones(10, dtype=bool))
    few = index.moved(numbers([11, 30]), numbers([-1, 10]))
    assert few.rows is index.rows, "few changes lie beside"
    many = few.moved(numbers([12, 13, 14]), numbers([-1, -1, 11]))
    assert len(many.late_rows) == 0
    assert many.rows.tolist() == [10, 14, 15, 16, 17, 18, 19, 30]
    assert many.slots.tolist() == [0, 11, 5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize("few", [0, 1_000], ids=["folded in", "beside"])
def test_the_last_row_written_again_and_again_has_its_latest_slot(monkeypatch, few):
    monkeypatch.setattr(snapshot, "MOST_LATE", few)
    index = RowIndex.of(numbers([1, 2, 3]), np.ones(3, dtype=bool))
    for slot in range(3, 9):
        index = index.moved(numbers([3]), numbers([slot]))
        assert index.find(numbers([1, 2, 3, 4])).tolist() == [0, 1, slot, -1]
        rows = [*index.rows.tolist(), *index.late_rows.tolist()]
        assert len(rows) <= 4, "one place in the arrays, and one beside them"


def test_an_empty_index_knows_no_row():
    assert RowIndex.of(numbers([]), np.zeros(0, dtype=bool)).find(numbers([1, 2])).tolist() == [-1, -1]


@pytest.mark.parametrize("times", [1, 2, 3, 10])
@pytest.mark.parametrize("rows", [1, 2, 10])
def test_the_row_that_changed_last_may_change_again(rows, times):
    index = RowIndex.of(np.arange(rows), np.ones(rows, dtype=bool))
    for change in range(times):
        index = index.moved(numbers([rows - 1]), numbers([100 + change]))
        assert index.find(numbers([rows - 1])).tolist() == [100 + change]
        assert len(index.late_rows) == 1, "a row is in the list of changes once"
    assert index.find(numbers(range(rows - 1))).tolist() == list(range(rows - 1))


@pytest.mark.parametrize("first", range(12))
@pytest.mark.parametrize("late", [[], [4], [4, 5, 6], [0, 5, 9], list(range(10))], ids=str)
def test_changes_that_begin_before_at_or_behind_the_last_change_count(first, late):
    twin = {row: row for row in range(10)} | {row: 50 + row for row in late}
    index = RowIndex.of(np.arange(10), np.ones(10, dtype=bool)).moved(numbers(late), numbers(50 + r for r in late))
    for count in (1, 2, 5):
        changed = range(first, first + count)
        after = index.moved(numbers(changed), numbers(100 + r for r in changed))
        assert held(after, twin | {r: 100 + r for r in changed})
        assert sorted(set(after.late_rows.tolist())) == after.late_rows.tolist()


@pytest.mark.parametrize("share", [0, 1, 3, 10, 19, 20])
def test_any_share_of_rows_may_be_gone(share):
    index = RowIndex.of(np.arange(20), np.arange(20) >= share)
    assert index.find(np.arange(-1, 21)).tolist() == [-1] * (share + 1) + list(range(share, 20)) + [-1]
    again = RowIndex.of(np.arange(20), np.ones(20, dtype=bool)).moved(np.arange(share), np.full(share, -1))
    assert again.find(np.arange(-1, 21)).tolist() == [-1] * (share + 1) + list(range(share, 20)) + [-1]


def test_changes_are_folded_in_when_they_are_more_than_few_and_more_than_a_64th():
    small = RowIndex.of(np.arange(2_000), np.ones(2_000, dtype=bool))
    large = RowIndex.of(np.arange(640_000), np.ones(640_000, dtype=bool))
    for index, most in ((small, 1_024), (large, 10_000)):
        kept = index.moved(np.arange(most), np.full(most, -1))
        assert len(kept.late_rows) == most
        assert kept.rows is index.rows
        folded = index.moved(np.arange(most + 1), np.full(most + 1, -1))
        assert len(folded.late_rows) == 0
        assert len(folded.rows) == len(index.rows) - most - 1


def test_rows_may_come_in_any_order_when_an_index_is_made():
    index = RowIndex.of(numbers([5, 3, 9, 3]), np.array([True, False, True, True]))
    assert index.find(numbers([3, 5, 9, 4])).tolist() == [3, 0, 2, -1]
    assert index.rows.tolist() == [3, 5, 9]
