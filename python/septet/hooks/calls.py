"""The call of a hook: its command line and the JSON that the program writes to its standard input."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from septet.errors import QueryError
from septet.hooks.programs import PROGRAMS, Program, Work
from septet.system.records import NamedTuple

#: Maximum bytes of the input that are read: a larger one is refused.
MOST_INPUT = 64 * 2**20
#: Default and least budget of a text for the model, in tokens.
TOKENS, LEAST_TOKENS = 800, 100
#: At this confidence an answer is as likely as not.
CONFIDENCE = 0.5
#: The vault of commands that name none.
VAULT_VARIABLE = "SEPTET_VAULT"


class HookOptions(NamedTuple):
    """The options of ``septet hooks run``.

    Attributes:
        program: a key of `PROGRAMS`.
        vault: the file of the vault; None for the default.
        max_tokens: budget of a text for the model.
        min_confidence: least confidence of a hit, 0 to 1.
        waits: sync in this process, before it ends.
        helper: use the resident helper.
    """

    program: str
    vault: str | None = None
    max_tokens: int = TOKENS
    min_confidence: float = CONFIDENCE
    waits: bool = False
    helper: bool = True


class HookCall(NamedTuple):
    """The fields of an input that Septet uses; empty texts for missing ones.

    Attributes:
        event: the name of the event, as the program writes it.
        work: the work at this event; None if there is none.
        session: the id of the session.
        transcript: the path of its transcript.
        prompt: the text of the user.
        folder: the working directory of the session.
        source: the reason of a start: ``startup``, ``resume``, ``clear``, ``compact``.
        first: True for the first prompt of a session, of a program without a start that the model hears of.
        messages: the whole conversation, of a program without a transcript: objects with role, text and timestamp.
    """

    event: str
    work: Work | None
    session: str
    transcript: str
    prompt: str
    folder: str
    source: str
    first: bool
    messages: list[Any]


class HookOutput(NamedTuple):
    """The output of a hook, and what is on record of it once the program has it.

    Attributes:
        text: what is printed; empty for nothing.
        session: the id of the session.
        lines: lines of the record of the session (`septet.inputs.session_log`).
    """

    text: bytes = b""
    session: str = ""
    lines: Sequence[str] = ()


def options_of(words: Sequence[str], environment: Mapping[str, str]) -> HookOptions:
    """Return the options of a command line after ``septet hooks run``.

    Read without the parser of the other commands, whose import takes as long as an answer may.

    Raises:
        QueryError: an option or the program is unknown, or a value is malformed.
    """
    program = ""
    values: dict[str, Any] = {"vault": environment.get(VAULT_VARIABLE) or None}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if name in ("--vault", "--max-tokens", "--min-confidence"):
            value = value if has_value else next(rest, "")
            if name == "--vault":
                values["vault"] = value
            elif name == "--max-tokens":
                values["max_tokens"] = _number(int, name, value, LEAST_TOKENS, 100_000)
            else:
                values["min_confidence"] = _number(float, name, value, 0, 1)
        elif word in ("--wait", "--no-helper"):
            values["waits" if word == "--wait" else "helper"] = word == "--wait"
        elif word in PROGRAMS and not program:
            program = word
        else:
            raise QueryError(f"septet hooks run: {word!r} is no program or option; programs: {', '.join(PROGRAMS)}")
    if not program:
        raise QueryError(f"septet hooks run: no program is named; programs: {', '.join(PROGRAMS)}")
    return HookOptions(program, **values)


def _number(kind: type[float], name: str, text: str, least: float, most: float) -> Any:
    try:
        number = kind(text)
    except ValueError:
        number = kind(-1)
    if not least <= number <= most:
        raise QueryError(f"{name} is {text!r}: wanted a number from {least} to {most}")
    return number


def call_of(raw: bytes, program: Program) -> HookCall:
    """Return the call of an input.

    Raises:
        QueryError: the input is too large, is not JSON, or is no object with an event.
    """
    if len(raw) > MOST_INPUT:
        raise QueryError(f"the input has more than {MOST_INPUT // 2**20} MB")
    try:
        fields = json.loads(raw.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        raise QueryError(f"the input ({len(raw)} bytes) is not JSON") from None
    event = fields.get("hook_event_name") if isinstance(fields, dict) else None
    if not isinstance(event, str):
        raise QueryError("the input has no hook_event_name")
    names = ("session_id", "transcript_path", "prompt", "cwd", "source")
    session, transcript, prompt, folder, source = (_text(fields.get(name)) for name in names)
    session = session or _text(fields.get("conversation_id"))
    roots = fields.get("workspace_roots")
    if not folder and isinstance(roots, list) and roots:
        folder = _text(roots[0])
    messages = fields.get("messages") if isinstance(fields.get("messages"), list) else []
    first = fields.get("first") is True
    if transcript.startswith("~"):
        transcript = os.path.expanduser(transcript)
    work = program.events.get(event)
    return HookCall(event, work, session, transcript, prompt, folder, source, first, messages or [])


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
