"""Chunks equal a slow twin's, cover the text, and keep their bounds, whatever the text."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from septet import EntryError, chunk_markdown
from septet._core import split_utf8
from twins import chunks as twin

VARIANTS = ("capped", "literal", "entries")
#: What decides about cuts: blanks, line ends of all kinds, marks of lists and headings, characters of every cost.
PIECES = st.one_of(
    st.sampled_from(
        ["\n", "\n\n", "\r\n", "\r", " ", "\t", "- ", "\n- ", "#", "\n# ", "\n###### ", "\n####### ", "#\n"]
    ),
    st.sampled_from(
        ["\0", "\ufeff", "\x85", "\u2028", "\u3000", "\n#\ufeff", "\n#\x85", "\n#\u3000", "\n#\r\n", "\ufffd"]
    ),
    st.text(alphabet="abc ", min_size=1, max_size=12),
    st.sampled_from(
        ["word " * 9, "x" * 31, "x" * 32, "x" * 33, "y" * 64, "z" * 100, "漢" * 8, "字" * 9, "😀" * 16, "😀" * 17]
    ),
    st.text(alphabet="漢字かなカナ한국㐀\u1100ﾊﾛ\u0305\u0323ˇ·𠀀𛀀🈁𝍠😀👩‍👩‍👧é\u0301กา", min_size=1, max_size=20),
    st.text(max_size=6),
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)
TOKENS = st.one_of(st.integers(1, 12), st.sampled_from([16, 25, 100]))
OVERLAPS = st.one_of(st.integers(0, 12), st.sampled_from([20, 50]))


def cut(text, tokens, overlap, variant):
    return chunk_markdown(text, tokens=tokens, overlap=overlap, variant=variant)


@given(TEXTS, TOKENS, OVERLAPS)
@example("", 1, 0)
@example("a" + "😀" * 40, 8, 2)
@example("\n" * 70, 8, 8)
def test_chunks_are_those_of_the_slow_twin(text, tokens, overlap):
    for variant in VARIANTS:
        assert cut(text, tokens, overlap, variant) == twin.chunks(text, tokens, overlap, variant)


@given(TEXTS, TOKENS, OVERLAPS, st.sampled_from(["capped", "entries"]))
def test_no_chunk_costs_more_than_the_budget_with_what_it_repeats(text, tokens, overlap, variant):
    assert all(twin.cost(chunk.text) <= max(32, 4 * tokens) for chunk in cut(text, tokens, overlap, variant))


@given(TEXTS, TOKENS, OVERLAPS, st.sampled_from(VARIANTS))
def test_chunks_cover_every_line_in_order(text, tokens, overlap, variant):
    found = cut(text, tokens, overlap, variant)
    lines = text.split("\n")
    assert (found[0].first_line, found[-1].last_line) == (1, len(lines))
    for before, after in pairwise(found):
        assert before.first_line <= after.first_line <= before.last_line + 1
        assert before.last_line <= after.last_line
    if "😀" not in text or variant != "literal":
        for number, line in enumerate(lines, 1):
            within = "\n".join(c.text for c in found if c.first_line <= number <= c.last_line)
            assert set(line) <= set(within)


@given(TEXTS, TOKENS, st.sampled_from(["capped", "entries"]))
def test_without_overlap_the_chunks_are_the_text_but_for_the_line_ends_between_them(text, tokens, variant):
    found = cut(text, tokens, 0, variant)
    assert re.sub("\n", "", "".join(chunk.text for chunk in found)) == re.sub("\n", "", text)


@given(TEXTS, st.integers(1, 40))
def test_pieces_of_bytes_are_the_text_and_no_larger_than_the_limit(text, most):
    text = text.encode("utf-8", "replace").decode()
    found = split_utf8(text, most)
    assert "".join(found) == text
    assert all(len(piece.encode()) <= most or len(piece) == 1 for piece in found)
    # Nothing that would have fitted is left to the next piece.
    assert all(len((a + b[0]).encode()) > most for a, b in pairwise(found))


@given(TEXTS, TOKENS, st.integers(1, 40), st.sampled_from(VARIANTS))
def test_a_limit_of_bytes_cuts_each_chunk_by_itself(text, tokens, most, variant):
    whole = cut(text, tokens, 2, variant)
    parts = chunk_markdown(text, tokens=tokens, overlap=2, variant=variant, max_bytes=most)
    expected = [(piece, c.first_line, c.last_line) for c in whole for piece in split_utf8(c.text, most)]
    assert [part[:3] for part in parts] == expected


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("unit", ["word ", "漢字", "😀", "\0", "a\r"])
def test_a_line_of_fifty_megabytes_is_cut_like_any_other(unit, variant):
    size = 50_000_000 // len(unit.encode())
    found = cut(unit * size, 400, 80, variant)
    small = cut(unit * (20_000 // len(unit)), 400, 80, variant)
    # The same until the end comes near.
    assert found[:3] == small[:3]
    assert {(chunk.first_line, chunk.last_line) for chunk in found} == {(1, 1)}
    assert sum(len(chunk.text) for chunk in found) >= size * len(unit)


def test_an_overlap_that_would_fill_the_memory_is_refused():
    text = "line\n" * 200_000
    assert len(cut(text, 20_000, 4_000, "literal")) == 16
    for variant in ("capped", "literal"):
        with pytest.raises(EntryError, match="wanted a smaller overlap"):
            cut(text, 20_000, 19_999, variant)
