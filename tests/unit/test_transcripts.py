"""Lines of transcripts in the shapes that agents write: what users and assistants said, not what programs did."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet.files.transcripts import hear, wrapped


def heard(record, **options):
    spoken = hear(json.dumps(record).encode(), **options)
    return spoken and (spoken.role, spoken.text)


def turn(role, content, **more):
    """A line as coding agents write it that keep the message under ``message``."""
    about = {"uuid": "1", "parentUuid": None, "sessionId": "s", "cwd": "/x", "timestamp": "2026-09-01T10:00:00.000Z"}
    return {"type": role, **about, "isSidechain": False, "message": {"role": role, "content": content}, **more}


def item(role, *texts, **payload):
    """A line as coding agents write it that keep the message under ``payload``."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    made = {"type": "message", "role": role, "content": content, **payload}
    return {"timestamp": "2026-09-01T10:00:00.000Z", "type": "response_item", "payload": made}


def text(said):
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"type": "message", "message": {"role": "user", "content": "a  heron\n"}}, ("user", "a heron")),
        (
            {"type": "message", "message": {"role": "assistant", "content": [text("a"), text("b")]}},
            ("assistant", "a b"),
        ),
        (turn("user", "a heron"), ("user", "a heron")),
        (turn("user", [text("a heron"), {"type": "image", "source": {"data": "xyz"}}]), ("user", "a heron")),
        (turn("assistant", [text("It stands.")]), ("assistant", "It stands.")),
        (item("user", "a heron"), ("user", "a heron")),
        (item("assistant", "It", "stands."), ("assistant", "It stands.")),
        ({**item("user", "a heron")["payload"], "timestamp": 1}, ("user", "a heron")),
    ],
)
def test_what_is_said_is_heard_in_every_shape(record, said):
    assert heard(record) == said


@pytest.mark.parametrize(
    "record",
    [
        None, 42, "text", [], {}, {"type": "message"}, {"type": "message", "message": "a heron"},
        {"type": "message", "message": {"role": "system", "content": "a heron"}},
        {"type": "message", "message": {"role": "toolResult", "content": "a heron"}},
        {"type": "message", "message": {"role": "user", "content": {"text": "a heron"}}},
        {"type": "message", "message": {"role": ["user"], "content": "a heron"}},
        {"type": "message", "role": "user", "content": "a heron"},
        {"type": "message", "role": "user", "content": [{"type": "text", "text": "a heron"}]},
        {"type": "message", "message": {"role": "assistant", "content": "NO_REPLY"}},
        {"type": "message", "message": {"role": "assistant", "content": " HEARTBEAT_OK "}},
        {"type": "summary", "summary": "a heron", "leafUuid": "1"},
        {"type": "system", "subtype": "compact_boundary", "content": "a heron"},
        {"type": "file-history-snapshot", "messageId": "1", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "content": "a heron"},
        {"type": "attachment", "attachment": {"type": "text", "text": "a heron"}},
        turn("user", [{"type": "tool_result", "tool_use_id": "1", "content": "a heron"}]),
        turn("user", [{"type": "tool_result", "tool_use_id": "1", "content": [text("a heron")]}]),
        turn("assistant", [{"type": "tool_use", "name": "Read", "input": {"text": "a heron"}}]),
        turn("assistant", [{"type": "thinking", "thinking": "a heron", "signature": "x"}]),
        turn("user", "a heron", isMeta=True),
        turn("user", "a heron", isSidechain=True),
        turn("assistant", [text("a heron")], isSidechain=True),
        turn("user", "a heron", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        turn("user", "This session is being continued from a previous conversation that ran out of context: a heron"),
        turn("assistant", [text("API Error: 529")], isApiErrorMessage=True),
        turn("user", "<command-name>/clear</command-name>\n<command-message>clear</command-message>"),
        turn("user", "<local-command-stdout>a heron</local-command-stdout>"),
        turn("user", "<task-notification>a heron</task-notification>"),
        turn("user", [text("[Request interrupted by user for tool use]")]),
        turn("user", "<system-reminder>a heron</system-reminder>"),
        {**turn("user", "a heron"), "message": {"role": "assistant", "content": "a heron"}},
        item("developer", "a heron"), item("system", "a heron"),
        item("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        item("user", "<user_instructions>a heron</user_instructions>"),
        item("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\na heron\n</INSTRUCTIONS>"),
        item("user", "<turn_aborted>a heron</turn_aborted>"),
        item("user", "<project_instructions>a heron</project_instructions>"),
        item("user", "<installed_plugins>a heron</installed_plugins> <worker_notification>x</worker_notification>"),
        item("assistant", "a heron", type="reasoning"),
        item("user", "a heron", type="function_call_output"),
        {"type": "session_meta", "payload": {"id": "1", "instructions": "a heron"}},
        {"type": "turn_context", "payload": {"type": "message", "role": "user", "content": "a heron"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "a heron"}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "a heron"}},
        {"type": "compacted", "payload": {"message": "a heron", "replacement_history": [item("user", "a heron")]}},
        {"type": "response_item", "payload": "a heron"},
        {"type": "session", "id": "1"}, {"type": "custom", "data": {"role": "user", "content": "a heron"}},
    ],
)  # fmt: skip
def test_what_programs_write_is_not_heard(record):
    assert heard(record) is None


@pytest.mark.parametrize("make", [lambda said: turn("user", said), lambda said: item("user", said)])
def test_what_a_user_says_beside_what_programs_put_in_is_heard(make):
    said = (
        "<environment_context>x</environment_context> Where does <b>the heron</b> <ide_selection>y</ide_selection>nest?"
    )
    assert heard(make(said)) == ("user", "Where does <b>the heron</b> nest?")
    # What only looks so stays.
    for odd in ("<environment_context> not closed", "</ide_selection> before <ide_selection>", "a < b > c"):
        assert heard(make(odd)) == ("user", odd)


def test_in_the_documented_shape_only_what_is_documented_is_left_out():
    said = "<environment_context>x</environment_context> <relevant-memories>y</relevant-memories>z"
    record = {"type": "message", "message": {"role": "user", "content": said}}
    assert heard(record) == ("user", "<environment_context>x</environment_context> z")
    assert heard(record, literal=True) == ("user", said)


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2026-09-01T10:00:00.000Z", 1788256800.0), ("2026-09-01T12:00:00+02:00", 1788256800.0),
        (1788256800, 1788256800.0), (1788256800000, 1788256800.0), ("yesterday", None), (-5, None), (1e30, None),
        ("", None), (None, None), ([], None), (True, None), ("9" * 39, None),
    ],
)  # fmt: skip
def test_a_line_says_when_it_was_written(stamp, at):
    record = {"type": "message", "timestamp": stamp, "message": {"role": "user", "content": "a heron"}}
    assert hear(json.dumps(record).encode()).at == at


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf%s\r\n", b"  %s  ", b"%s\r"])
def test_marks_and_blanks_around_a_line_do_not_count(raw):
    spoken = hear(raw % b'{"type": "message", "message": {"role": "user", "content": "a heron"}}')
    assert spoken.text == "a heron"


def cut_slowly(said, units):
    parts, rest = [], said
    while sum(2 if char > "\uffff" else 1 for char in rest) > units:
        size = end = 0
        while size + (2 if rest[end] > "\uffff" else 1) <= units:
            size += 2 if rest[end] > "\uffff" else 1
            end += 1
        blank = rest.rfind(" ", 1, end + 1)
        end = end if blank < 0 else blank
        parts.append(rest[:end])
        rest = rest[end + 1 :] if rest[end] == " " else rest[end:]
    return [part for part in (*parts, rest) if part]


@given(said=st.text("ab  é語😀", max_size=60), units=st.integers(2, 12))
def test_long_messages_are_cut_at_blanks_whatever_their_script(said, units):
    assert wrapped(said, units) == (cut_slowly(said, units) or [said])


#: What a line may hold, and much that it may not.
VALUES = st.recursive(
    st.sampled_from(
        [None, True, 0, -1.5, 1e300, "", "user", "message", "assistant", "text", "<system-reminder>", "\ud800"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "text", "message", "payload", "provenance", "kind", "timestamp"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(
    kind=st.sampled_from(["message", "user", "assistant", "response_item"]) | VALUES, rest=VALUES, literal=st.booleans()
)
def test_a_line_of_any_content_is_heard_or_not_and_never_fails(kind, rest, literal):
    for record in (
        rest,
        {"type": kind, "message": rest},
        {"type": kind, "payload": rest},
        {"type": kind, "content": rest},
    ):
        spoken = hear(json.dumps(record).encode(), literal=literal)
        assert spoken is None or (spoken.role in ("user", "assistant") and spoken.text == spoken.text.strip() != "")
