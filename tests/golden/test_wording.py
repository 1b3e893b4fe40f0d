"""Words that count: exact matches, the terms of a text, titles alike, and how even the ages of messages are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from retrieved import hit
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.recall.recalling import (
    STOP_WORDS,
    exact_matches,
    kept_words,
    recall_lists,
)
from septet.retrieval.recall.settings import settings_of
from twins.recorded import age_spread, title_overlap, top_terms

EXACT = other_recording("lore-exact-match")
SPREAD = other_recording("lore-temporal-cnorm")
TITLES = other_recording("lore-title-overlap")["cases"]
TERMS = other_recording("lore-top-terms")["cases"]


def recorded_words(text: str) -> list[str]:
    """Return the words that the recorded system keeps: runs of ASCII letters, digits and underscores."""
    words = re.sub(r"[^A-Za-z0-9_\s]", " ", text).split()
    return [word for word in words if len(word) > 1 and word.lower() not in STOP_WORDS]


@pytest.mark.parametrize("case", EXACT["cases"], ids=lambda case: case["query"])
@differs("unicode-terms")
def test_candidates_are_listed_by_the_words_that_they_hold_exactly(case: Mapping[str, Any]) -> None:
    items = [Item(one["id"], hit(one["id"], title=one["text"], tier="notes")) for one in EXACT["items"]]
    settings = settings_of({"sources": [], "lists": {"text": 0}})
    lists = recall_lists([RankedList("text", "notes", items)], settings, query=case["query"], now=0.0)
    found = [item.key for one in lists if one.name == "exact" for item in one.items]
    words = kept_words(case["query"])
    if words == recorded_words(case["query"]):
        assert found == case["order"]
    counts = {one["id"]: exact_matches(words, one["text"]) for one in EXACT["items"]}
    assert found == sorted((key for key in counts if counts[key]), key=lambda key: -counts[key])


@pytest.mark.parametrize("case", SPREAD["cases"], ids=lambda case: str(case["ages_ms"])[:40])
def test_ages_are_as_even_as_recorded(case: Mapping[str, Any]) -> None:
    now = SPREAD["now_ms"]
    stamps = [now - age for age in case["ages_ms"]]
    assert age_spread(stamps, now) == pytest.approx(case["c_norm"], abs=1e-12)
    # In any unit.
    assert age_spread([at / 1_000 for at in stamps], now / 1_000) == pytest.approx(case["c_norm"], abs=1e-6)


@pytest.mark.parametrize("case", TITLES, ids=lambda case: case["a"][:40])
def test_titles_are_as_alike_as_recorded(case: Mapping[str, Any]) -> None:
    for one, other in ((case["a"], case["b"]), (case["b"], case["a"])):
        found = title_overlap(one, other)
        assert found.coefficient == pytest.approx(case["coefficient"], abs=1e-12)
        assert (found.shared, found.is_duplicate) == (case["shared"], case["duplicate"])


@pytest.mark.parametrize("case", TERMS, ids=lambda case: case["text"][:40])
@differs("unicode-terms")
def test_terms_are_those_that_were_recorded(case: Mapping[str, Any]) -> None:
    text, limit = case["text"], case["limit"]
    if kept_words(text) == recorded_words(text):
        assert top_terms(text, limit) == case["terms"]
    slow = Counter(word.lower() for word in recorded_words(text))
    assert [word for word, _ in slow.most_common(limit)] == case["terms"]


@differs("unicode-terms")
def test_words_of_every_script_are_kept() -> None:
    assert kept_words("Übersetzung der größten Datei, 日本語, cafe\u0301 а") == [
        "Übersetzung", "der", "größten", "Datei", "日本語", "cafe\u0301",
    ]  # fmt: skip
    assert recorded_words("größe") == ["gr"]
