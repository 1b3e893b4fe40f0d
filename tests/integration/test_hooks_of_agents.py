"""Hooks of agents: what the vault knows at a prompt, nothing where nothing fits, and failures that stop no agent."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from hooked import SECRET, Hooked, transcript
from septet import Vault
from septet.hooks import keeping, state
from septet.hooks.answering import vault_of
from septet.hooks.calls import HookOptions
from septet.inputs.session_log import sessions_folder
from septet.service.places import default_vault


@pytest.fixture
def hooked(tmp_path, monkeypatch):
    return Hooked(tmp_path, monkeypatch)


def test_a_prompt_is_answered_by_what_the_vault_knows_fenced_as_data(hooked):
    hooked.knows("Ann reviews changes of the payment service", "The office has a new coffee machine")
    text = hooked.prompt("Please change the payment service, and ask who reviews it.")
    assert "| Ann reviews changes of the payment service" in text
    assert "never instructions" in text
    assert "coffee" not in text


@pytest.mark.parametrize(
    "prompt",
    ["yes", "go on", "ok, do it", "1", "y", "", "  \n", "?!", "weiter bitte", "да", "continue", "thanks, next one"],
)
def test_a_prompt_without_a_topic_gets_nothing(hooked, prompt):
    hooked.knows("yes, go on, ok, do it, continue: words that users say", "1", "the next one")
    assert hooked.prompt(prompt) is None
    assert hooked.failures() == []


def test_a_prompt_that_nothing_fits_gets_nothing(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    assert hooked.prompt("Which wine goes with mushrooms?") is None


def test_what_was_printed_in_a_session_is_not_printed_in_it_again(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    assert hooked.prompt("who reviews the payment service")
    assert hooked.prompt("and who reviews the payment service if Ann is away?") is None
    assert hooked.prompt("who reviews the payment service", session="another")
    hooked.knows("Ann reviews changes of the payment service", topics=["review"])
    assert hooked.prompt("who reviews the payment service"), "it changed"


def test_what_is_far_below_an_entry_that_was_printed_does_not_take_its_place(hooked):
    hooked.knows("Ann reviews changes of the payment service", "Payment of the coffee is monthly")
    assert "coffee" not in hooked.prompt("who reviews changes of the payment service")
    assert hooked.prompt("who reviews changes of the payment service") is None


def test_a_name_in_a_prompt_brings_its_entry(hooked):
    hooked.knows("Storage of orders is on the third machine", topics=["alias:vega"])
    assert "| Storage of orders" in hooked.prompt("restart Vega, please")


def test_a_start_forgets_what_was_printed_unless_the_session_is_resumed(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    start = {"session_id": "s", "hook_event_name": "SessionStart", "cwd": "/data/other"}
    assert hooked.prompt("who reviews the payment service")
    hooked.call(start | {"source": "resume"})
    assert hooked.prompt("who reviews the payment service") is None
    hooked.call(start | {"source": "compact"})
    assert hooked.prompt("who reviews the payment service")


def test_a_start_prints_standing_entries_and_what_is_known_of_the_project(hooked):
    hooked.knows("Run the linter before a commit", topics=["always"])
    hooked.knows("The payment service has three replicas", "Something always happens")
    fields = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/data/payment_service"}
    text = hooked.call(fields)["hookSpecificOutput"]["additionalContext"]
    assert "linter" in text and "replicas" in text and "happens" not in text


def test_a_compacted_session_gets_what_its_last_messages_are_about(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    turns = [
        ("user", "Who reviews the payment service?", "2026-05-01T10:00:00Z"),
        ("user", "yes", "2026-05-01T10:01:00Z"),
    ]
    path = transcript(hooked.transcript, turns)
    fields = {"session_id": "s", "hook_event_name": "SessionStart", "source": "compact", "transcript_path": str(path)}
    assert "Ann" in hooked.call(fields)["hookSpecificOutput"]["additionalContext"]


def test_untrusted_entries_are_not_printed(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    with Vault(hooked.vault) as vault:
        for number in range(40):
            title = f"Reviews of the payment service {number} are disabled"
            vault.add(title=title, trust="untrusted", tags=["always"])
    text = hooked.prompt("who reviews the payment service")
    assert "Ann" in text and "disabled" not in text


def test_the_text_keeps_its_budget(hooked):
    hooked.knows(*(f"Payment service fact {n}: {'detail ' * 40}" for n in range(8)))
    assert len(hooked.prompt("payment service", "--max-tokens", "200")) <= 800
    assert len(hooked.prompt("payment service", "--max-tokens=400", session="t")) <= 1_600


def test_the_least_confidence_is_an_option(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    question = "who reviews the payment of a dentist in the summer holidays of last year"
    assert hooked.prompt(question, "--min-confidence", "1") is None
    assert hooked.prompt(question, "--min-confidence", "0")


def test_a_long_prompt_is_searched_by_its_beginning_and_its_end(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    filler = "lorem ipsum " * 900_000
    assert "Ann" in hooked.prompt(f"{filler}\nWho reviews the payment service?", "--min-confidence", "0")
    assert hooked.failures() == []


def test_a_transcript_is_kept_masked_unverified_with_roles_and_times(hooked):
    path = transcript(hooked.transcript)
    fields = {"session_id": "s", "hook_event_name": "SessionEnd", "transcript_path": str(path), "reason": "other"}
    assert hooked.call(fields, "--wait") is None
    assert list(keeping.pending()) == []
    with Vault(hooked.vault) as vault:
        asked, noted = sorted(vault.entries(limit=9), key=lambda turn: turn.created_at)
        for turn in (asked, noted):
            assert (turn.type, turn.trust, turn.source) == ("session", "unverified", "claude/projects/app")
            assert SECRET not in turn.description
        assert (asked.attrs["role"], noted.attrs["role"]) == ("user", "assistant")
        assert asked.description.startswith("User: The staging database") and "Assistant: Noted" in noted.description
    assert "hokusai" in hooked.prompt("What is the staging database called?")


def test_only_the_transcript_of_the_session_is_read(hooked):
    transcript(hooked.transcript.with_name("older.jsonl"))
    path = transcript(hooked.transcript)
    hooked.call({"hook_event_name": "PreCompact", "transcript_path": str(path)}, "--wait")
    with Vault(hooked.vault) as vault:
        assert {entry.title for entry in vault.entries(limit=9)} == {"abc123.jsonl"}


def test_a_session_gets_of_its_own_conversation_only_what_was_compacted(hooked):
    path = transcript(hooked.transcript)
    same = {"session_id": "s", "transcript_path": str(path), "cwd": str(hooked.home)}
    asks = same | {"hook_event_name": "UserPromptSubmit", "prompt": "What is the staging database called?"}
    hooked.call(same | {"hook_event_name": "SessionEnd"}, "--wait")
    assert hooked.call(asks) is None
    assert hooked.call(asks | {"transcript_path": str(path.with_name("other.jsonl")), "session_id": "t"})
    hooked.call(same | {"hook_event_name": "PreCompact"}, "--wait")
    assert hooked.call(asks)
    hooked.call(same | {"hook_event_name": "SessionStart", "source": "compact"})
    turns = [("user", "The staging database is called hiroshige now", "2096-05-01T10:00:00Z")]
    transcript(path, turns)
    hooked.call(same | {"hook_event_name": "SessionEnd"}, "--wait")
    assert hooked.call(asks) is None
    hooked.call(same | {"hook_event_name": "SessionStart", "source": "clear"})
    assert hooked.call(asks) is None


def test_an_entry_that_had_no_room_is_printed_at_the_next_prompt(hooked):
    hooked.knows(*(f"Payment service fact {n}: {'detail ' * 40}" for n in range(3)))
    texts = [hooked.prompt("payment service", "--max-tokens", "180") for _ in range(4)]
    assert [text is not None for text in texts] == [True, True, True, False]


def test_a_folder_that_the_user_follows_keeps_its_options(hooked):
    path = transcript(hooked.transcript)
    hooked.knows("something")
    with Vault(hooked.vault) as vault:
        vault.sync(path.parent, name="talks", redact=False, trust="trusted")
    transcript(path, [("user", "The second database is called hiroshige", "2026-05-02T10:00:00Z")])
    hooked.call({"hook_event_name": "PreCompact", "transcript_path": str(path)}, "--wait")
    assert hooked.failures() == []
    with Vault(hooked.vault) as vault:
        (chunk,) = vault.entries({"kind": "chunk"}, limit=9)
        assert (chunk.source, chunk.trust) == ("talks", "trusted") and "hiroshige" in chunk.description


def test_a_transcript_that_cannot_be_synced_is_tried_again_and_given_up_at_last(hooked):
    path = transcript(hooked.transcript)
    hooked.vault.parent.mkdir(parents=True)
    hooked.vault.write_bytes(b"no vault at all" * 999)
    assert keeping.add_pending("claude-code", str(path), str(hooked.vault))
    for attempt in range(1, keeping.MOST_ATTEMPTS + 1):
        assert keeping.sync_pending() == 1
        assert len(hooked.failures()) == attempt
    assert list(keeping.pending()) == []


def test_a_transcript_of_unknown_lines_is_taken_without_a_word_and_shown_by_the_status(hooked):
    hooked.transcript.parent.mkdir(parents=True)
    hooked.transcript.write_text('{"who": "user", "what": "hello"}\n')
    hooked.call({"hook_event_name": "SessionEnd", "transcript_path": str(hooked.transcript)}, "--wait")
    assert hooked.failures() == [] and list(keeping.pending()) == []
    with Vault(hooked.vault) as vault:
        (root,) = vault.sync_status().roots
        assert "known kind of message" in str(root.problems)


def test_a_folder_in_the_place_of_a_transcript_is_left_out(hooked):
    hooked.transcript.mkdir(parents=True)
    hooked.call({"hook_event_name": "SessionEnd", "transcript_path": str(hooked.transcript)}, "--wait")
    assert list(keeping.pending()) == [] and hooked.failures() == []
    with Vault(hooked.vault) as vault:
        assert vault.count() == 0


def test_a_transcript_named_again_during_its_sync_stays_noted(hooked, monkeypatch):
    path = transcript(hooked.transcript)
    keeping.add_pending("claude-code", str(path), str(hooked.vault))
    monkeypatch.setattr(keeping, "sync_transcript", lambda vault, name: keeping.add_pending("claude-code", name, vault))
    assert keeping.sync_pending() == 0
    assert [item.transcript for item in keeping.pending()] == [str(path)]


def test_events_that_keep_and_starts_after_a_kill_sync_in_a_process_of_their_own(hooked):
    path = transcript(hooked.transcript)
    hooked.call({"hook_event_name": "SessionEnd", "transcript_path": str(path)}, "--no-helper")
    assert hooked.apart == [("hooks", "sync")]
    hooked.call({"hook_event_name": "SessionStart", "source": "startup"}, "--no-helper")
    assert hooked.apart == [("hooks", "sync")] * 2
    keeping.sync_pending()
    hooked.call({"hook_event_name": "SessionStart", "source": "startup"}, "--no-helper")
    assert hooked.apart == [("hooks", "sync")] * 2


def test_a_start_that_fails_syncs_all_the_same(hooked):
    path = transcript(hooked.transcript)
    hooked.call({"hook_event_name": "SessionEnd", "transcript_path": str(path)}, "--no-helper")
    hooked.vault.touch()
    assert hooked.call({"hook_event_name": "SessionStart", "source": "startup"}, "--no-helper") is None
    assert hooked.apart == [("hooks", "sync")] * 2 and "NotAVault" in hooked.failures()[0]
    assert keeping.sync_pending() == 0
    assert hooked.prompt("What is the staging database called?")


@pytest.mark.parametrize("odd", ["\ud800", "\0", "\u202e", "\x1b[31m", '"AND', "tag:x -who (", "\ufeff"], ids=ascii)
def test_a_prompt_of_odd_characters_is_answered(hooked, odd):
    hooked.knows("Ann reviews changes of the payment service")
    assert hooked.prompt(f"{odd} who reviews the payment service {odd}")
    assert hooked.failures() == []


def test_ids_and_paths_of_odd_characters_are_no_failure(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    for session in ("../../etc", "\ud800", "a\0b", "x" * 5_000):
        assert hooked.prompt("who reviews the payment service", session=session)
        assert hooked.prompt("who reviews the payment service", session=session) is None
    assert {path.parent for path in Path(sessions_folder()).iterdir()} == {Path(sessions_folder())}
    start = {"hook_event_name": "SessionStart", "session_id": "t", "source": "resume"}
    for path in ("\0", "\ud800", "/nowhere", str(hooked.home)):
        assert hooked.call(start | {"transcript_path": path, "cwd": path}) is None
    assert hooked.failures() == []


@pytest.mark.skipif(os.name != "posix", reason="a folder that is in use cannot be deleted there")
def test_a_working_folder_that_was_deleted_costs_no_answer(hooked, tmp_path, monkeypatch):
    hooked.knows("Ann reviews changes of the payment service")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert hooked.prompt("who reviews the payment service")
    assert hooked.failures() == []


WRONG_INPUTS = {
    "empty": b"",
    "no JSON": b"\xff\xfe garbage {",
    "a list": b"[1, 2]",
    "no event": b'{"prompt": "x"}',
    "deep": b"[" * 100_000,
    "an event of another kind": b'{"hook_event_name": 7}',
}


@pytest.mark.parametrize("raw", WRONG_INPUTS.values(), ids=WRONG_INPUTS)
def test_a_wrong_input_is_logged_and_answered_by_nothing(hooked, raw):
    assert hooked.call(raw) is None
    (line,) = hooked.failures()
    assert line.startswith("claude-code: QueryError: the input")


@pytest.mark.parametrize("options", [["--vault", "postgresql://host/x"], ["--bogus"], ["--max-tokens", "x"]], ids=str)
def test_a_wrong_option_is_logged_and_answered_by_nothing(hooked, options):
    assert hooked.prompt("who reviews the payment service", *options) is None
    assert len(hooked.failures()) == 1


def test_an_unknown_event_gets_nothing_and_is_no_failure(hooked):
    assert hooked.call({"hook_event_name": "PreToolUse", "tool_name": "Bash"}) is None
    assert hooked.failures() == []


def test_the_default_vault_is_that_of_the_other_commands(hooked):
    assert vault_of(HookOptions("codex"), "/anywhere") == str(default_vault()) == str(hooked.vault)


def test_a_missing_vault_gets_nothing_and_is_not_made(hooked):
    assert hooked.prompt("who reviews the payment service") is None
    assert hooked.failures() == [] and not hooked.vault.exists()


def test_a_broken_vault_is_logged(hooked):
    hooked.vault.parent.mkdir(parents=True)
    hooked.vault.write_bytes(b"no vault at all" * 999)
    assert hooked.prompt("who reviews the payment service") is None
    assert "NotAVault" in hooked.failures()[0]


def test_a_vault_that_another_process_writes_is_read(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    with sqlite3.connect(hooked.vault, isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert hooked.prompt("who reviews the payment service")
        writer.execute("ROLLBACK")
    writer.close()


def test_a_home_that_cannot_be_written_costs_the_log_and_no_answer(hooked, monkeypatch):
    hooked.knows("Ann reviews changes of the payment service")
    (hooked.vault.parent / "hooks").write_text("a file in the way")
    assert hooked.prompt("who reviews the payment service")
    assert hooked.call(b"garbage") is None
    assert hooked.call({"hook_event_name": "SessionEnd", "transcript_path": str(hooked.transcript)}) is None
    assert hooked.failures() == []


@pytest.mark.parametrize("path", ["relative.jsonl", "/data/no.txt", "/data/nul\0.jsonl"])
def test_a_path_that_is_no_transcript_is_logged(hooked, path):
    assert hooked.call({"hook_event_name": "SessionEnd", "transcript_path": path}) is None
    assert "is no transcript" in hooked.failures()[0]


def test_the_log_is_bounded_and_keeps_its_newest_lines(hooked):
    for n in range(600):
        state.log_failure("claude-code", f"failure {n} {'x' * 400}")
    lines = Path(state.log_path()).read_text().splitlines()
    assert Path(state.log_path()).stat().st_size <= state.MOST_LOG_BYTES
    assert "failure 599 " in lines[-1] and len(lines) > 50
    assert all(len(line) < 400 for line in lines)


def test_the_log_has_no_line_of_an_input(hooked):
    hooked.call(b'{"prompt": "a secret of the user", "hook_event_name"')
    hooked.call(json.dumps({"prompt": "a secret of the user"}).encode())
    assert len(hooked.failures()) == 2 and "secret" not in Path(state.log_path()).read_text()
