"""The programs: the events at which each calls its hooks, and the form of the output that each documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from septet.system.records import NamedTuple

#: The work of a hook: ``start`` and ``prompt`` print what the vault knows, ``compact`` and ``end`` sync the transcript.
Work = Literal["start", "prompt", "compact", "end"]


class Program(NamedTuple):
    """A program whose hooks Septet answers.

    Attributes:
        events: the work by the name of the event, as the program documents it.
        output: makes the output of a hook from the name of its event and a text for the model.
    """

    events: Mapping[str, Work]
    output: Callable[[str, str], Mapping[str, Any]]


def _specific(event: str, text: str) -> Mapping[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _context(_event: str, text: str) -> Mapping[str, Any]:
    return {"additional_context": text}


def _text(_event: str, text: str) -> Mapping[str, Any]:
    """Return the output for the plugins of Septet itself, which hand the text on as their programs document it."""
    return {"text": text}


PROGRAMS: Mapping[str, Program] = {
    "claude-code": Program(
        {"SessionStart": "start", "UserPromptSubmit": "prompt", "PreCompact": "compact", "SessionEnd": "end"}, _specific
    ),
    "codex": Program(
        {"SessionStart": "start", "UserPromptSubmit": "prompt", "PreCompact": "compact", "Stop": "end"}, _specific
    ),
    "cursor": Program({"sessionStart": "start", "preCompact": "compact", "sessionEnd": "end"}, _context),
    "opencode": Program(
        {"chat.message": "prompt", "experimental.session.compacting": "compact", "session.idle": "end"}, _text
    ),
    "openclaw": Program(
        {
            "before_prompt_build": "prompt", "before_compaction": "compact",
            "before_reset": "end", "session_end": "end",
        },
        _text,
    ),
}  # fmt: skip
