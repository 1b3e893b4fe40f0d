"""Hooks of agents: each documented input is answered by the output that the program documents for it."""

import json

import pytest

from golden.loader import other_recording
from hooked import Hooked, transcript
from septet.hooks.calls import HookOptions
from septet.hooks.installing import install
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
    noted = [item.transcript for item in pending()]
    assert len(noted) == bool(case.get("keeps"))
    assert "transcript_path" not in case["input"] or noted in ([], [str(path)])
    assert hooked.failures() == []


@pytest.mark.parametrize("program", [name for name in PROGRAMS if "settings" in RECORDED[name]])
def test_the_settings_are_as_the_program_documents_them(program, tmp_path, monkeypatch):
    Hooked(tmp_path, monkeypatch)
    path, _ = install(HookOptions(program))
    settings = json.loads(path.read_text())
    (command,) = {handler["command"] for handler in handlers_of(settings)}
    assert f"hooks run {program}" in command
    assert json.loads(path.read_text().replace(json.dumps(command), '"<command>"')) == RECORDED[program]["settings"]


def handlers_of(settings):
    for groups in settings["hooks"].values():
        for group in groups:
            yield from group.get("hooks", [group])


def test_every_event_that_is_answered_is_recorded():
    for name, program in PROGRAMS.items():
        events = {case["input"]["hook_event_name"] for case in RECORDED[name]["cases"]}
        assert set(program.events) <= events
        assert RECORDED[name]["source"]
