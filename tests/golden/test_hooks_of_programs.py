"""Hooks of agents: each documented input is answered by the output that the program documents for it."""

import pytest

from golden.loader import other_recording
from hooked import Hooked, transcript
from septet.hooks.keeping import pending
from septet.hooks.programs import PROGRAMS

RECORDED = {name: other_recording(f"hooks-{name}") for name in PROGRAMS}
CASES = [(name, case) for name, recorded in RECORDED.items() for case in recorded["cases"]]


def filled(value, path):
    """Put the path of a transcript into a recorded input."""
    if isinstance(value, dict):
        return {key: filled(inner, path) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, path) for inner in value]
    return path if value == "<transcript>" else value


def blanked(value):
    """Replace the text for the model, which is the same in no two calls."""
    if isinstance(value, dict):
        return {key: blanked(inner) for key, inner in value.items()}
    return "<text>" if isinstance(value, str) and "Ann reviews changes" in value else value


def name_of(case):
    return "-".join(str(case["input"][key]) for key in ("hook_event_name", "source") if key in case["input"])


@pytest.mark.parametrize("program, case", CASES, ids=[f"{name}-{name_of(case)}" for name, case in CASES])
def test_a_documented_input_gets_the_documented_output(program, case, tmp_path, monkeypatch):
    hooked = Hooked(tmp_path, monkeypatch)
    hooked.knows("Ann reviews changes of the payment service")
    turns = [("user", "Who reviews the payment service?", "2026-05-01T10:00:00Z")]
    path = transcript(hooked.transcript, turns)
    assert blanked(hooked.call(filled(case["input"], str(path)), program=program)) == case["output"]
    assert [item.transcript for item in pending()] == ([str(path)] if case.get("keeps") else [])
    assert hooked.failures() == []


def test_every_event_that_is_answered_is_recorded():
    for name, program in PROGRAMS.items():
        events = {case["input"]["hook_event_name"] for case in RECORDED[name]["cases"]}
        assert set(program.events) <= events
        assert RECORDED[name]["source"]
