"""Sessions: the lines of a transcript as text, what is secret masked before anything else sees it.

A transcript is a ``*.jsonl`` file, one object a line. What users and assistants said becomes one line of text each,
``User: …`` and ``Assistant: …``; tools, thinking and the system's own lines are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from septet.files.redaction import Redactor, encodable

__all__ = ["Line", "Speaker", "Spoken", "hear", "wrapped"]

#: Units of UTF-16 of a line of text, the speaker left out.
MOST_UNITS = 800
#: What JavaScript takes for white space.
_BLANKS = re.compile("[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
_LABELS = {"user": "User", "assistant": "Assistant"}
#: What other programs put into a user's turn: recalled memories, and reminders. It is nothing that the user said.
_INJECTED = ("relevant-memories", "relevant_memories", "recalled-memories", "memory-context", "system-reminder")
#: Turns that a program takes in the user's name.
_ORIGINS = frozenset({"internal_system", "inter_session"})
_HEARTBEAT = "Read HEARTBEAT.md"
#: What an assistant answers when it has nothing to say.
_SILENT = frozenset({"NO_REPLY", "HEARTBEAT_OK"})


class Line(NamedTuple):
    """A line of text, the line of the file, from 1, that it comes from, and when that was written, epoch seconds."""

    text: str
    at: int
    time: float | None = None


class Spoken(NamedTuple):
    """What a line of a transcript says.

    Attributes:
        role: ``user`` or ``assistant``.
        text: white space folded.
        recalled: it was put in by a program that recalled memories, or that asks on its own.
        at: when, epoch seconds; None if it does not say.
    """

    role: str
    text: str
    recalled: bool
    at: float | None


class Speaker(NamedTuple):
    """How a transcript becomes text.

    Attributes:
        redactor: masks secrets; None leaves them.
        literal: as first documented: long messages are one line, and what programs put in stays.
    """

    redactor: Redactor | None
    literal: bool = False

    def lines(self, spoken: Spoken) -> tuple[list[str], dict[str, int]]:
        """Return the lines of text of a message, and the secrets that were masked by rule."""
        text = spoken.text
        counts: dict[str, int] = {}
        if self.redactor is not None:
            text, counts = self.redactor.redact(text)
        label = _LABELS[spoken.role]
        parts = [text] if self.literal else wrapped(text, MOST_UNITS)
        return [f"{label}: {part}" for part in parts], counts


def hear(raw: bytes, *, literal: bool = False) -> Spoken | None:
    """Return what a line of a transcript says; None of a line that says nothing.

    Besides the documented shape, ``{"type": "message", "message": {"role", "content"}}``, two others are understood:
    ``{"type": "user", "message": …}``, and ``{"type": "response_item", "payload": {"type": "message", …}}``.

    Raises:
        ValueError: the line is no JSON.
    """
    record = _parsed(raw)
    message = _message(record, literal)
    if message is None or message.get("role") not in _LABELS:
        return None
    role = str(message["role"])
    text = _content(message.get("content"), literal)
    if not text or (not literal and role == "assistant" and text in _SILENT):
        return None
    return Spoken(role, text, not literal and _is_recalled(role, text, record, message), _time(record))


def wrapped(text: str, units: int) -> list[str]:
    """Cut a text at blanks into parts of at most so many units of UTF-16; a longer word is cut between characters."""
    if len(text) * 2 <= units:
        return [text]
    parts, start, size, blank = [], 0, 0, -1
    at = 0
    while at < len(text):
        char = text[at]
        size += 2 if char > "\uffff" else 1
        if size > units:
            # The blank itself may be what is too much.
            end = at if char == " " else blank if blank > start else at
            parts.append(text[start:end])
            start = end + 1 if text[end] == " " else end
            at, size, blank = start, 0, -1
            continue
        if char == " ":
            blank = at
        at += 1
    parts.append(text[start:])
    return [part for part in parts if part]


def _parsed(raw: bytes) -> Any:
    # A byte that is no UTF-8 costs a character, not the line.
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text, parse_int=float)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _message(record: Any, literal: bool) -> Mapping[str, Any] | None:
    if not isinstance(record, dict):
        return None
    kind, message = record.get("type"), record.get("message")
    if kind == "message":
        return message if isinstance(message, dict) else None
    if literal:
        return None
    if kind in _LABELS:
        # A turn of the user that holds nothing but results of tools has no text blocks.
        own = isinstance(message, dict) and not record.get("isMeta") and message.get("role") == kind
        return message if own else None
    payload = record.get("payload")
    if kind == "response_item" and isinstance(payload, dict) and payload.get("type") == "message":
        return payload
    return None


def _content(content: Any, literal: bool) -> str:
    if isinstance(content, str):
        return _folded(content, literal)
    if not isinstance(content, list):
        return ""
    kinds = ("text",) if literal else ("text", "input_text", "output_text")
    texts = (
        block["text"]
        for block in content
        if isinstance(block, dict) and block.get("type") in kinds and isinstance(block.get("text"), str)
    )
    return " ".join(text for text in (_folded(text, literal) for text in texts) if text)


def _folded(text: str, literal: bool) -> str:
    if not literal:
        text = "".join(_said(text))
    return _BLANKS.sub(" ", encodable(text).replace("\0", "\ufffd")).strip(" ")


def _said(text: str) -> Iterator[str]:
    """Yield a text without the blocks that programs put in."""
    if "<" not in text:
        yield text
        return
    at = 0
    ends = {name: text.rfind(f"</{name}>") for name in _INJECTED if f"</{name}>" in text}
    while ends:
        starts = {name: text.find(f"<{name}>", at, last) for name, last in ends.items()}
        ends = {name: last for name, last in ends.items() if starts[name] >= 0}
        if not ends:
            break
        name = min(ends, key=starts.__getitem__)
        yield text[at : starts[name]]
        at = text.index(f"</{name}>", starts[name]) + len(name) + 3
    yield text[at:]


def _is_recalled(role: str, text: str, record: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    if role != "user":
        return False
    provenance = message.get("provenance", record.get("provenance"))
    kind = provenance.get("kind") if isinstance(provenance, dict) else None
    return (isinstance(kind, str) and kind in _ORIGINS) or text.startswith(_HEARTBEAT)


def _time(record: Any) -> float | None:
    """Return when a line was written: epoch seconds or milliseconds, or ISO 8601."""
    given = record.get("timestamp") if isinstance(record, dict) else None
    if isinstance(given, float):
        seconds = given / 1000 if abs(given) > 1e11 else given
        return seconds if 0 <= seconds < 4e9 else None
    if isinstance(given, str) and 10 <= len(given) <= 40:
        from datetime import datetime, timezone

        try:
            at = datetime.fromisoformat(given.replace("Z", "+00:00"))
        except ValueError:
            return None
        return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()
    return None
