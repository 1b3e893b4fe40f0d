"""Transcripts as text, secrets masked, and how much must be new before a session is read: as two versions recorded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet import Redactor
from septet.files.matching import SessionPending, is_due
from septet.files.transcripts import hear, lines_of

FIRST, LATEST = "2026.2.12", "2026.9.6"
TEXTS = other_recording("openclaw-session-text")["cases"]
SECRETS = other_recording("openclaw-redact")["cases"]
TRACES = other_recording("openclaw-session-delta")["cases"]


def transcript(case: dict[str, Any]) -> bytes:
    if "jsonl" in case:
        return str(case["jsonl"]).encode()
    # Of a long message only how it was built is recorded, and the text that came of it.
    assert case["jsonlBuild"].startswith("one message line: ")
    role, said = case[FIRST]["content"].split(": ", 1)
    message = {"type": "message", "message": {"role": role.lower(), "content": said}}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def heard(raw: bytes, *, literal: bool) -> tuple[str, list[int]]:
    """Return the text of a transcript and the line of the file that each of its lines comes from."""
    redactor = Redactor("literal")
    texts: list[str] = []
    at: list[int] = []
    recalled = False
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            spoken = hear(line, literal=literal)
        except ValueError:
            continue
        if spoken is None:
            continue
        recalled = spoken.recalled if spoken.role == "user" else recalled
        if not recalled:
            own, _ = lines_of(spoken, redactor, literal=literal)
            texts += own
            at += [number] * len(own)
    return "\n".join(texts), at


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case["name"])
def test_the_text_of_a_transcript_is_the_one_first_recorded(case):
    text, at = heard(transcript(case), literal=True)
    wanted = case[FIRST]
    assert text == wanted["content"]
    assert at == wanted["lineMap"]
    assert hashlib.sha256(f"{text}\n{','.join(map(str, at))}".encode()).hexdigest() == wanted["hash"]
    if "jsonl" in case:
        assert len(transcript(case)) == wanted["size"]


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case["name"])
def test_by_default_long_messages_are_wrapped_and_recalled_memories_left_out_as_recorded_last(case):
    text, at = heard(transcript(case), literal=False)
    assert text == case[LATEST]["content"]
    assert at == case[LATEST]["lineMap"]


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case["text"][:40])
def test_the_first_rules_mask_as_recorded(case):
    assert Redactor("literal").redact(case["text"]).text == case[FIRST]


def hidden(text: str) -> str:
    """Return a masked text with the same mask for every secret, whatever it shows of it."""
    return re.sub(r"\n…redacted…\n|\*\*\*\n+|[^\s…\"'=]{1,6}…[^\s…\"']{1,4}", "***", text)


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case["text"][:40])
@differs("masks-show-nothing")
def test_the_default_rules_find_what_was_found_last_and_show_nothing_of_it(case):
    found = Redactor().redact(case["text"])
    assert hidden(found.text) == hidden(case[LATEST])
    assert "…" not in found.text
    assert bool(found.counts) == (found.text != case["text"])


class SessionDelta:
    """Tracks the size of a session in memory, by the documented algorithm: call `seen` at each event."""

    def __init__(self, delta_bytes: int, delta_messages: int) -> None:
        self._thresholds = {"delta_bytes": delta_bytes, "delta_messages": delta_messages}
        self._size = 0
        self.pending = SessionPending(0, 0)

    def seen(self, size: int, lines: Callable[[int, int], int]) -> bool:
        """Record the size of the file, which is new from its start if it shrank; return True if it is due."""
        start, self._size = (self._size if size >= self._size else 0), size
        if size > start:
            most_bytes, most_messages = self._thresholds.values()
            new_bytes, messages = self.pending.bytes + size - start, self.pending.messages
            if most_messages > 0 and (most_bytes <= 0 or new_bytes < most_bytes):
                messages += lines(start, size)
            self.pending = SessionPending(new_bytes, messages)
        return is_due(self.pending, **self._thresholds)

    def taken(self) -> None:
        """Record that the file was synced."""
        self.pending = SessionPending(0, 0)


@pytest.mark.parametrize("case", TRACES, ids=lambda case: case["name"])
def test_what_is_new_in_a_session_starts_a_reading_as_recorded(case):
    """The file as bytes: the recorded steps append lines, cut it, or leave it."""
    delta = SessionDelta(case["thresholds"]["deltaBytes"], case["thresholds"]["deltaMessages"])
    content = b""
    for step in case["trace"]:
        appended = re.fullmatch(r"append (\d+) lines of (\d+) bytes", step["op"])
        if appended:
            lines, size = map(int, appended.groups())
            content += (b"x" * (size - 1) + b"\n") * lines
        content = content[: step["fileSize"]]
        assert len(content) == step["fileSize"], step["op"]
        due = delta.seen(len(content), lambda start, end: content[start:end].count(b"\n"))  # noqa: B023
        assert due == step["syncStarted"]
        assert delta.pending == (step["pendingBytes"], step["pendingMessages"])


def test_a_session_that_was_read_has_nothing_pending():
    delta = SessionDelta(100, 5)
    assert delta.seen(100, lambda start, end: 0)
    delta.taken()
    assert not delta.seen(100, lambda start, end: 0)
    assert not delta.seen(199, lambda start, end: 4)
    assert delta.seen(199 + 1, lambda start, end: 0)
