"""A buffer that only grows: views once handed out never change, and adding costs little."""

from itertools import pairwise

import numpy as np
import pytest

from septet.model.arrays import AppendBuffer


def rows(first, count, width=None):
    shape = (count,) if width is None else (count, width)
    return np.arange(first, first + count * (width or 1), dtype=np.int64).reshape(shape)


@pytest.mark.parametrize("width", [None, 1, 3])
@pytest.mark.parametrize("sizes", [[], [0], [1], [1, 1, 1], [63, 1, 1], [64, 1], [65, 200], [5, 0, 300, 0, 2], [1_000]])
def test_what_is_appended_is_there_in_order(sizes, width):
    buffer, twin = AppendBuffer(np.int64, width), rows(0, 0, width)
    for size in sizes:
        added = rows(int(twin.size), size, width)
        buffer.append(added)
        twin = np.concatenate([twin, added])
        assert len(buffer) == len(twin)
        assert np.array_equal(buffer.view(), twin)
    assert buffer.view().dtype == np.int64
    assert buffer.view().shape == twin.shape


def test_views_keep_their_length_and_content_and_cannot_be_written():
    buffer, views = AppendBuffer(np.int64), []
    for i in range(300):
        views.append(buffer.view())
        buffer.append(np.array([i]))
    assert [v.tolist() for v in views] == [list(range(i)) for i in range(300)]
    with pytest.raises(ValueError, match="read-only"):
        views[5][0] = 1


def places(buffer, count, size=1):
    """How often the rows move to another place while ``count`` lots of them are added."""
    found = []
    for i in range(count):
        buffer.append(np.full(size, i))
        found.append(buffer.view().__array_interface__["data"][0])
    return 1 + sum(a != b for a, b in pairwise(found))


def test_rows_are_rarely_copied():
    # 64 rows at first, then half as many again each time: 64, 96, 144, … 2,461.
    assert places(AppendBuffer(np.int64), 64) == 1
    assert places(AppendBuffer(np.int64), 65) == 2
    assert places(AppendBuffer(np.int64), 96) == 2
    assert places(AppendBuffer(np.int64), 97) == 3
    assert places(AppendBuffer(np.int64), 2_000) == 10
    # More than half as many again in one go: just as many as are needed.
    assert places(AppendBuffer(np.int64), 3, size=1_000) == 3


@pytest.mark.parametrize("width", [None, 2])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_rows_of_a_file_are_taken_as_they_are_until_one_is_added(count, width):
    given = rows(0, count, width)
    given.flags.writeable = False
    buffer = AppendBuffer.of(given)
    assert len(buffer) == count
    assert count == 0 or np.shares_memory(buffer.view(), given)
    buffer.append(rows(0, 0, width))
    assert count == 0 or np.shares_memory(buffer.view(), given)
    buffer.append(rows(7, 2, width))
    assert np.array_equal(buffer.view(), np.concatenate([given, rows(7, 2, width)]))
    assert np.array_equal(given, rows(0, count, width))
