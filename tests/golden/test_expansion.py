"""Other phrasings of a query: the recorded parser's answers, and where Septet's own differ, by rule."""

from __future__ import annotations

import json
import re
import threading
from contextlib import closing

import httpx
import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.net.client import IO
from septet.retrieval.expansion.chat import ChatExpander, phrasings_in
from septet.retrieval.expansion.expanding import TIMEOUT_S, Expanding, variants_of

RECORDED = other_recording("lore-expansion")
QUERY = "abc"
#: No text at all is none of any length.
REPLIES = [case["llm_text"] or "" for case in RECORDED["cases"] if "llm_text" in case]
SILENT = [case for case in RECORDED["cases"] if case.get("llm_never_answers")]
#: Replies that were not recorded, one for each way in which a reply can differ.
MORE = (
    '```\n["x"]\n```',
    '~~~json\n["x", "y"]\n~~~',
    'Sure! Here they are:\n```json\n["x", "y"]\n```\nAsk me for more.',
    '<think>["no"]</think>["x"]',
    '{"queries": ["x", "y"]}',
    '[["x"], "y"]',
    '[1, "x", null, {"a": 2}, "y"]',
    '["a", "A", " a ", "ABC", "b", "c", "d"]',
    '["  two\\n words "]',
    '["", "  ", "\\t"]',
    "[1, 2]",
    "see [1]: [2]",
    '["%s", "x"]' % ("long " * 300),
    '["x", "y"',
    "{}",
    "null",
)


def recorded_for(reply):
    case = next(case for case in RECORDED["cases"] if (case.get("llm_text") or "") == reply and "llm_text" in case)
    return [QUERY if query == "same as query" else query for query in case["queries"]]


def documented(reply):
    """What the document says: the reply, without a fence that says json, is an array; its first three texts."""
    bare = re.sub(r"\s*```$", "", re.sub(r"^```json\s*", "", reply.strip(), flags=re.IGNORECASE))
    try:
        values = json.loads(bare)
    except ValueError:
        return [QUERY]
    kept = [v for v in values if isinstance(v, str) and v.strip()] if isinstance(values, list) else []
    return [QUERY, *kept[:3]]


def first_array(reply):
    """The first part of a reply that is an array with a text, found by trying every part."""
    said = reply.rpartition("</think>")[2]
    for start in range(len(said)):
        for end in range(start + 1, len(said) + 1):
            if said[start] == "[" and said[end - 1] == "]":
                try:
                    values = json.loads(said[start:end])
                except ValueError:
                    continue
                if kept := [v for v in values if isinstance(v, str) and v.strip()]:
                    return kept
                break
    return []


def different(reply):
    """The document with every difference."""
    kept = [QUERY]
    for phrasing in (" ".join(value.split()) for value in first_array(reply)):
        if len(phrasing) <= 1_000 and phrasing.casefold() not in [one.casefold() for one in kept]:
            kept.append(phrasing)
    return kept[:4]


def ours(reply):
    return list(variants_of(QUERY, phrasings_in(reply) or []))


@pytest.mark.parametrize("reply", REPLIES)
def test_the_twin_answers_as_recorded(reply):
    assert documented(reply) == recorded_for(reply)


@pytest.mark.parametrize("reply", [*REPLIES, *MORE])
@differs("phrasings-anywhere-in-a-reply", "phrasings-trimmed", "phrasings-once", "phrasings-are-short")
def test_phrasings_are_the_recorded_ones_but_for_the_differences(reply):
    assert ours(reply) == different(reply)


@pytest.mark.parametrize("reply", [*REPLIES, *MORE])
def test_what_the_document_takes_as_it_is_is_taken_as_it_is(reply):
    found = documented(reply)
    plain = [" ".join(one.split()) for one in found]
    if len(found) > 1 and found == plain and len({one.casefold() for one in found}) == len(found):
        assert ours(reply)[: len(found)] == found or any(len(one) > 1_000 for one in found)


@pytest.mark.parametrize("provider", ["openai", "openai-compatible", "openrouter", "ollama"])
def test_a_model_is_asked_as_recorded(provider):
    sent = []

    def answer(request):
        sent.append(json.loads(request.content))
        return httpx.Response(200, json={"choices": [{"message": {"content": "[]"}}]})

    with closing(
        ChatExpander(
            "m",
            provider=provider,
            base_url="http://model",
            api_key="k",
            outside=IO(transport=httpx.MockTransport(answer)),
        )
    ) as expander:
        assert expander(QUERY) == []
    options, said = RECORDED["call_options"], sent[0]["messages"][1]
    assert said == {"role": "user", "content": RECORDED["user_message_for_query_abc"]}
    limit = sent[0].get("max_tokens", sent[0].get("max_completion_tokens"))
    assert (sent[0]["temperature"], limit) == (options["temperature"], options["maxTokens"])
    assert options["thinking"] is False and (sent[0].get("reasoning_effort") == "none") == (provider == "ollama")


@pytest.mark.parametrize("case", SILENT, ids=str)
def test_a_model_that_never_answers_leaves_the_query_alone(case):
    assert case["waited_ms_about"] == 1_000 * TIMEOUT_S
    never = threading.Event()
    expansion = Expanding(lambda query: [str(never.wait(30))], timeout_s=0.05).begin(QUERY).result()
    never.set()
    assert [{QUERY: "same as query"}[one] for one in expansion.variants] == case["queries"]
    assert expansion.notes[0].code == "expansion_failed"
