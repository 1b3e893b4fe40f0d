"""Presented results stay within their bounds, whatever they hold, and no text leaves its passage."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieved import hit
from septet.errors import QueryError
from septet.retrieval.recall.presenting import LEAST_CHARS, MOST_CHARS, cut_at_sentence, formatted, present

texts = st.text(max_size=400) | st.text("ab. !?\n。é\u0301", max_size=400)
scores = st.lists(st.floats(0, 1), max_size=25).map(lambda found: sorted(found, reverse=True))


@st.composite
def results(draw):
    tiers = st.sampled_from(["knowledge", "messages", "team"])
    return [
        hit(f"h{at}", score, tier=draw(tiers), description=draw(texts.map(storable)))
        for at, score in enumerate(draw(scores))
    ]


def storable(text):
    return text.encode("utf-8", "ignore").decode().replace("\0", "")


@given(texts, st.integers(1, 500))
def test_a_cut_text_is_a_beginning_of_bounded_length(text, most):
    shown = cut_at_sentence(text, most)
    if len(text) <= most:
        assert shown == text
        return
    kept = shown.removesuffix("...") if not text.startswith(shown) else shown
    assert text.startswith(kept) and len(kept) <= most and len(shown) <= most + 3


@given(results(), st.integers(80, 20_000), st.floats(0, 1), st.integers(1, 30), st.integers(0, 5))
def test_what_is_shown_keeps_to_the_budget_the_floor_and_the_counts(hits, budget, floor, most, least):
    shown = present(hits, char_budget=budget, relevance_floor=floor, max_results=most, at_least=least)
    top = max((one.score for one in hits), default=0.0)
    fit = [one for at, one in enumerate(hits) if at < least or one.score >= floor * top or top == 0][:most]
    assert [one.hit for one in shown] == fit[: len(shown)]
    assert sum(one.chars for one in shown) <= budget
    assert all(LEAST_CHARS <= one.chars <= MOST_CHARS for one in shown)
    if len(shown) < len(fit):
        assert sum(one.chars for one in shown) + LEAST_CHARS > budget or len(shown) * LEAST_CHARS > budget - MOST_CHARS
    order = ["strong", "supporting", "peripheral"]
    assert [order.index(one.detail) for one in shown] == sorted(order.index(one.detail) for one in shown)
    for one in shown:
        ratio = one.hit.score / top if top else 1.0
        assert one.detail == ("strong" if ratio >= 0.6 else "supporting" if ratio >= 0.3 else "peripheral")
        assert (
            one.is_cut == (len(one.text) != len(one.hit.entry.description) or one.text.endswith("..."))
            or not one.is_cut
        )


@given(results())
def test_no_text_leaves_its_passage(hits):
    shown = present(hits)
    text = formatted(hits, boundary="0123456789abcdef")
    begin, end = "<passage-0123456789abcdef>", "</passage-0123456789abcdef>"
    passages = text.split(f"\n{begin}\n")[1:]
    assert len(passages) == len(shown)
    by_id = {one.hit.id: one for one in shown}
    for number, passage in enumerate(passages, 1):
        inner, ends, _ = passage.partition(end)
        assert ends
        first, *lines = inner.splitlines()
        told = json.loads(re.sub(r"^\[\d+\] ", "", first))
        assert first.startswith(f"[{number}] ") and told.get("cut", False) == by_id[told["id"]].is_cut
        assert all(line == "|" or line.startswith("| ") for line in lines)


def test_results_are_shown_under_headings_with_ids_to_fetch_more_by():
    hits = [
        hit("a", 1.0, tier="knowledge", description="One sentence. " * 200),
        hit("b", 0.4, description="short"),
        hit("c", 0.01, description="weak"),
        hit("d", 0.01, description="left out"),
    ]
    text = formatted(hits, boundary="0123456789abcdef")
    assert "Results: 4 found, 3 shown, scores from 1 to 0.01." in text
    places = [
        text.index(part)
        for part in ("Strong matches:", '"id": "a"', "Supporting:", '"id": "b"', "Peripheral:", '"id": "c"')
    ]
    assert places == sorted(places)
    assert '"cut": true' in text and text.count('"cut"') == 1
    assert "left out" not in text.split("</passage")[0] and '"id": "d"' not in text
    plain = formatted(hits, citations=False)
    assert "[1]" not in plain
    assert formatted([]) == "No passages were retrieved.\n"


def test_shares_are_those_of_the_corpora():
    hits = [hit("a", tier="own", description="x" * 3_000), hit("b", tier="web", description="y" * 3_000)]
    shown = present(hits, char_budget=1_000, shares={"own": 3, "web": 1})
    assert [one.chars for one in shown] == [750, 250]


def test_scores_that_say_nothing_leave_nothing_out():
    shown = present([hit("a", 0.0), hit("b", 0.0)], at_least=0, relevance_floor=1)
    assert [one.detail for one in shown] == ["strong", "strong"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"char_budget": 79}, "char_budget is 79"),
        ({"relevance_floor": 1.1}, "relevance_floor is 1.1"),
        ({"max_results": 0}, "max_results is 0"),
        ({"at_least": -1}, "at_least is -1"),
        ({"shares": {"notes": 0}}, "a share is 0"),
        ({"shares": 3}, "shares is 3"),
        ({"boundary": "x"}, "boundary is 'x'"),
        ({"citations": 1}, "citations is 1"),
    ],
)
def test_an_argument_out_of_range_is_an_error(more, said):
    with pytest.raises(QueryError, match=said):
        formatted([hit("a")], **more)
