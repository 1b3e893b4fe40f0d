"""Results unlike each other: maximal marginal relevance over words, as recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.ranking.cuts import diversified, likeness_of_words, ranged, word_set

RECORDED = other_recording("openclaw-mmr")
MID, NEWEST = RECORDED["versions"]
#: Runs of what the newest version takes for a word.
RECORDED_WORDS = re.compile("[a-z0-9_]+|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def has_other_letters(*texts: str) -> bool:
    """Whether a text has letters or digits that the recorded tokens end at."""
    return any(c.isalnum() for text in texts for c in RECORDED_WORDS.sub("", text.lower()))


def order_of(case: Mapping[str, Any]) -> list[str]:
    items = sorted(case["items"], key=lambda one: -one["score"])
    words = [word_set(one["content"]) for one in items]
    diversity = 1.0 - min(1.0, max(0.0, case["lambda"]))
    relevance = ranged([one["score"] for one in items])
    places = diversified(relevance, lambda at: likeness_of_words(words, at), len(items), diversity)
    return [items[at]["id"] for at in places]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: f"{case['name']}-{case['lambda']}")
@differs("letters-make-words")
def test_the_order_is_the_recorded_one(case: Mapping[str, Any]) -> None:
    if has_other_letters(*(one["content"] for one in case["items"])):
        # What is alike by its words stands apart, whatever is made of the letters.
        assert sorted(order_of(case)) == sorted(case[NEWEST])
        assert order_of(case)[:1] == case[NEWEST][:1]
    else:
        assert order_of(case) == case[NEWEST]


@pytest.mark.parametrize("case", RECORDED["jaccard"], ids=lambda case: f"{case['a']}-{case['b']}")
@differs("letters-make-words")
def test_texts_are_as_alike_as_recorded(case: Mapping[str, Any]) -> None:
    words = [word_set(case[name]) for name in "ab"]
    (likeness,) = likeness_of_words(words, 0)[1:]
    if has_other_letters(case["a"], case["b"]):
        assert all(word.isalnum() for text in words for word in text)
        return
    assert likeness == pytest.approx(case[NEWEST]["textSimilarity"], abs=1e-12)
    for name, found in zip(("a", "b"), words):
        assert found == frozenset(case[NEWEST][f"tokens{name.upper()}"] or [case[name]])
    # The version before knew ASCII alone, and took all that has no words for the same.
    if case["a"].isascii() and case["b"].isascii() and likeness > 0:
        assert likeness == pytest.approx(case[MID]["jaccard"], abs=1e-12)


def test_words_with_accents_and_of_other_scripts_are_whole() -> None:
    assert word_set("Thanh toán, ĐƯỜNG привет") == {"thanh", "toán", "đường", "привет"}
    assert likeness_of_words([word_set("thanh toán"), word_set("thanh toan")], 0)[1] == pytest.approx(1 / 3)
    assert likeness_of_words([word_set("привет мир"), word_set("другой текст")], 0)[1] == 0.0


def test_every_recorded_section_is_compared() -> None:
    assert set(RECORDED) == {"what", "versions", "runtime", "cases", "jaccard"}
