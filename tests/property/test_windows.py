"""Windows of a text, as Python sees them: characters and lines, and nothing lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import _core

texts = st.one_of(
    st.lists(
        st.sampled_from(["word ", "Ende. ", "漢字。", "line\n", "\n\n", "👩‍👩‍👧‍👦 ", "x" * 40, "é"]), max_size=200
    ).map("".join),
    st.text(max_size=400),
)


@given(texts, st.integers(1, 30))
def test_windows_cover_a_text_in_characters_and_name_its_lines(text, words):
    end = 0
    for start, after, first_line, last_line in _core.windows(text, words):
        assert start == end < after
        end = after
        own = text[start:after]
        if own.strip():
            assert first_line == 1 + text.count("\n", 0, start + len(own) - len(own.lstrip()))
            assert last_line == 1 + text.count("\n", 0, start + len(own.rstrip()))
    assert end == len(text)


@pytest.mark.parametrize("count", [0, 1, 50, 100, 101, 199, 1_000, 100_000])
def test_each_window_has_about_as_many_words_as_wanted(count):
    text = "word " * count
    sizes = [len(text[start:end].split()) for start, end, _, _ in _core.windows(text, 100)]
    assert sum(sizes) == count
    assert all(25 <= size <= 100 for size in sizes) or count <= 100


def test_a_megabyte_of_anything_is_cut():
    for text in ("a" * 1_000_000, "\n" * 1_000_000, " " * 1_000_000, "a\n" * 500_000, "。" * 333_000):
        found = _core.windows(text, 100)
        assert [start for start, *_ in found] == [0, *(end for _, end, *_ in found[:-1])]
        assert found[-1][1] == len(text)


def test_what_is_no_text_or_no_number_of_words_is_refused():
    with pytest.raises(ValueError, match="words is -1, expected at least 0"):
        _core.windows("text", -1)
    with pytest.raises(UnicodeEncodeError):
        _core.windows("a lone surrogate \ud800", 10)
