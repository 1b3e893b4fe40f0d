"""What is shown of results: which ones, how much of each, and where a text is cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from retrieved import hit
from septet.retrieval.recall.presenting import cut_at_sentence, formatted, present
from septet.retrieval.recall.settings import PresentSettings

FORMAT = other_recording("lore-format")
CUTS = other_recording("lore-truncate")["cases"]
LABELS = {"Strong Matches": "strong", "Supporting": "supporting", "Peripheral": "peripheral"}
#: What the recorded lines say beside the text, but for the digits of their ids: of knowledge, summaries, messages.
CORPORA = {"knowledge": 11, "distillations": 22, "messages": 11}


@pytest.mark.parametrize("case", FORMAT["cases"], ids=lambda case: f"{len(case['scores'])} of {case['scores'][1]:.3g}")
@differs("best-first-under-each-heading")
def test_results_have_the_recorded_room(case: Mapping[str, Any]) -> None:
    settings = PresentSettings.model_validate(FORMAT["config"])
    names = list(CORPORA)
    hits = [hit(str(at), score, tier=names[at % 3], description="x" * 3_000) for at, score in enumerate(case["scores"])]
    shown = present(
        hits,
        char_budget=settings.char_budget,
        relevance_floor=settings.relevance_floor,
        max_results=settings.max_results,
    )
    recorded = sorted((LABELS[line["tier"]], line["chars"]) for line in case["lines"])
    assert sorted((one.detail, one.chars + CORPORA[one.hit.tier] + len(one.hit.id)) for one in shown) == recorded
    assert [one.hit.id for one in shown] == [one.id for one in hits[: len(shown)]]
    assert [len(hits), len(shown)] == case["headline_counts"]
    assert [round(max(one.hit.score for one in shown), 3), round(shown[-1].hit.score, 3)] == case["score_range"]
    assert all(one.is_cut and one.text == "x" * one.chars + "..." for one in shown)
    head = f"Results: {len(hits)} found, {len(shown)} shown, scores from "
    assert head in formatted(hits)


@pytest.mark.parametrize("case", CUTS, ids=lambda case: case["text"][:30])
def test_a_text_is_cut_where_it_was_cut(case: Mapping[str, Any]) -> None:
    assert cut_at_sentence(case["text"], case["max"]) == case["out"]
