"""When a context is flushed before it is compacted: the recorded decisions, thresholds and settings."""

from __future__ import annotations

import math

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet import QueryError
from septet.files import flush_limits, should_flush

FIRST = other_recording("openclaw-flush-decision")
NEWEST = other_recording("openclaw-flush-decision-newest")


def tokens(value):
    return math.nan if value == "NaN" else value


@pytest.mark.parametrize("case", FIRST["cases"], ids=str)
def test_a_context_is_flushed_as_recorded(case):
    entry = case["entry"]
    assert case["run"] is should_flush(
        tokens(entry.get("totalTokens")),
        case["contextWindowTokens"],
        reserve=case["reserveTokensFloor"],
        soft=case["softThresholdTokens"],
        capped=False,
        compactions=entry.get("compactionCount", 0),
        flushed_at=entry.get("memoryFlushCompactionCount"),
    )


@pytest.mark.parametrize("case", FIRST["settings"], ids=str)
@differs("a-wrong-setting-raises")
def test_a_setting_is_taken_as_recorded_or_raises(case):
    given, recorded = case["memoryFlush"] or {}, case["result"]
    if given.get("enabled") is False:
        # Whoever wants no flush does not ask.
        assert recorded is None
        return
    names = {"softThresholdTokens": "soft", "reserveTokensFloor": "reserve"}
    options = {names[name]: value for name, value in given.items() if name in names}
    if any(not isinstance(value, (int, float)) or value < 0 for value in options.values()):
        with pytest.raises(QueryError, match="wanted a number"):
            flush_limits(200_000, **options)
        return
    found = flush_limits(200_000, **options, capped=False)
    assert (found.reserve, found.soft) == (recorded["reserveTokensFloor"], recorded["softThresholdTokens"])


@pytest.mark.parametrize("case", NEWEST["cases"], ids=str)
def test_the_corrected_rule_decides_as_recorded(case):
    entry = case["entry"]
    window = next(t["contextWindowTokens"] for t in NEWEST["thresholds"] if t["threshold"] == case["threshold"])
    count, fresh = case["tokenCount"], True
    if count is None:
        count, fresh = entry.get("totalTokens"), entry.get("totalTokensFresh") is True
    state = {
        "compactions": entry.get("compactionCount", 0),
        "flushed_at": (entry.get("memoryFlush") or {}).get("compactionCount"),
    }
    assert case["run"] is should_flush(
        tokens(count), window, fresh=fresh, transcript_bytes=case.get("transcriptBytes"), **state
    )
    # A full context is refused for one reason alone: it has been flushed.
    assert case["alreadyFlushed"] is not should_flush(10 * window, window, **state)


@pytest.mark.parametrize("case", NEWEST["thresholds"], ids=lambda case: str(case["contextWindowTokens"]))
def test_what_is_held_back_of_a_window_is_as_recorded(case):
    recorded = (case["effectiveReserve"], case["effectiveSoft"], case["threshold"])
    assert flush_limits(case["contextWindowTokens"]) == recorded
