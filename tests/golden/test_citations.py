"""Citations of results: the lines of a file in the recorded form, and when they are shown."""

from __future__ import annotations

import pytest

from golden.loader import other_recording
from septet import Entry, Span, Vault

GROUPS = other_recording("openclaw-citation")["groups"]

#: What of the recorded data has no counterpart, and why.
LEFT_OUT = {
    "auto": "Whether a chat is a direct one is known to the program that asks: it shows a hit's citation or does not.",
    "clamp": "A budget is counted over whole prompts by `to_prompt` and `max_tokens`, which say what they leave out; "
    "the recorded one cuts the snippets after it has found them, and lets the last one end anywhere.",
}


def name_of(case):
    return f"{case['path']}-{case['startLine']}-{case['endLine']}"


@pytest.mark.parametrize("case", GROUPS["format"], ids=name_of)
def test_a_citation_has_the_recorded_form(case):
    span = Span(case["path"], case["startLine"], case["endLine"])
    assert span.citation == case["citation"]
    assert Entry(id="a", title="A", span=span).citation == case["citation"]
    with Vault(":memory:") as vault:
        vault.add(id="a", title="duck", span=span)
        for mode in ("full", "scan"):
            (hit,) = vault.search("duck", mode=mode)
            assert hit.citation == hit.to_dict()["citation"] == case["citation"]


@pytest.mark.parametrize("case", GROUPS["decorate"], ids=lambda case: f"include-{case['include']}")
def test_the_citation_of_a_decorated_result_is_the_hits_own_and_its_snippet_stays_as_it_is(case):
    # Recorded as a line behind the snippet, which then is longer than it may be; here a field of its own.
    for wanted in case["out"]:
        text = wanted["snippet"].removesuffix(f"\n\nSource: {wanted.get('citation')}")
        span = Span(wanted["path"], wanted["startLine"], wanted["endLine"])
        with Vault(":memory:") as vault:
            vault.add(id="a", title="duck", description=text, span=span)
            (hit,) = vault.search("duck")
        assert hit.snippet == text
        assert hit.citation == span.citation
        assert hit.citation == wanted.get("citation", hit.citation)


def test_every_recorded_group_is_compared_or_left_out_by_name():
    assert set(GROUPS) == {"format", "decorate", *LEFT_OUT}
