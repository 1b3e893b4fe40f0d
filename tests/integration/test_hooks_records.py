"""The record of a session: what hooks printed in it, when, for which program and from which vault."""

import io
import json
import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from commands import Commands
from hooked import Hooked
from septet import Vault
from septet.hooks import running, state
from septet.inputs.session_log import KEPT_S, MOST_BYTES, call_line, calls_of, sessions_folder
from septet.service.sessions import MOST_READ


@pytest.fixture
def hooked(tmp_path, monkeypatch):
    return Hooked(tmp_path, monkeypatch)


def records():
    """Return the files of the records."""
    return sorted(Path(sessions_folder()).iterdir())


def test_the_record_of_a_session_has_each_call_with_time_program_vault_and_versions(hooked):
    hooked.knows("Ann reviews changes of the payment service", "Bob owns the billing service")
    for question in ("who reviews the payment service", "who owns billing?"):
        assert hooked.prompt(question)
    (calls,) = [list(calls_of(path.read_text().splitlines())) for path in records()]
    assert [(call.program, call.vault, len(call.versions)) for call in calls] == [
        ("claude-code", str(hooked.vault), 1)
    ] * 2
    with Vault(hooked.vault) as vault:
        assert [(entry.id, round(entry.updated_at, 3)) for entry in vault.entries(order_by=("title", "asc"))] == [
            call.versions[0] for call in calls
        ]
    assert 0 <= calls[1].at - calls[0].at < 600 > time.time() - calls[1].at >= -0.001


def test_what_could_not_be_printed_is_on_no_record_and_is_printed_next_time(hooked, monkeypatch):
    hooked.knows("Ann reviews changes of the payment service")
    there, here = os.pipe()
    os.close(there)
    fields = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "who reviews the payment service"}
    with monkeypatch.context() as patch, os.fdopen(here, "w") as gone:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(fields).encode())))
        patch.setattr("sys.stdout", gone)
        assert running.run(["claude-code"]) == 0
        with suppress(OSError):
            gone.close()
    assert "Error" in hooked.failures()[0]
    assert hooked.prompt("who reviews the payment service")


def test_a_lost_context_keeps_the_record_for_its_owner(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    start = {"session_id": "s", "hook_event_name": "SessionStart", "cwd": "/data/other"}
    for source in ("compact", "clear"):
        assert hooked.prompt("who reviews the payment service")
        hooked.call(start | {"source": source})
    assert hooked.prompt("who reviews the payment service")
    (record,) = records()
    assert len(list(calls_of(record.read_text().splitlines()))) == 3


def test_the_command_prints_what_sessions_were_told(hooked, tmp_path, monkeypatch):
    hooked.knows("Ann reviews changes of the payment service", "Bob owns the billing service")
    for question in ("who reviews the payment service", "who owns billing?"):
        assert hooked.prompt(question, session="first")
    with Vault(hooked.vault) as vault:
        vault.forget(where={"title": {"$contains": "Bob"}})
    septet = Commands(tmp_path, monkeypatch)
    own = ("--vault", str(hooked.vault))
    code, out, _ = septet("hooks", "sessions", *own)
    lines = [line.strip() for line in out.splitlines()]
    assert (code, lines[0], lines[2]) == (0, "first  claude-code", "Ann reviews changes of the payment service")
    assert lines[4].startswith("bob-owns-the-billing") and lines[4].endswith("(gone)")
    _, out, _ = septet("hooks", "sessions", "--json", *own)
    assert [session["session"] for session in json.loads(out)["sessions"]] == ["first"]
    with Vault(hooked.home / "other.db"):
        pass
    assert septet("hooks", "sessions", "--vault", str(hooked.home / "other.db"))[:2] == (1, "")


def test_the_command_finds_a_session_behind_many_of_other_vaults(hooked, tmp_path, monkeypatch):
    hooked.knows("Ann reviews changes of the payment service", id="payments")
    assert hooked.prompt("who reviews the payment service", session="own")
    os.utime(records()[0], (0, time.time() - 600))
    for n in range(MOST_READ + 1):
        Path(sessions_folder(), f"other-{n}").write_text(f"{call_line(1.0, 'codex', '/other.db')}\npayments 1.000\n")
    septet = Commands(tmp_path, monkeypatch)
    code, out, _ = septet("hooks", "sessions", "--vault", str(hooked.vault))
    assert (code, out.splitlines()[0]) == (0, "own  claude-code")


def test_a_record_of_an_earlier_release_still_counts(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    assert hooked.prompt("who reviews the payment service")
    (record,) = records()
    lines = [line for line in record.read_text().splitlines() if not line.startswith("\t")]
    record.write_text("".join(f"{line}\n" for line in lines))
    assert hooked.prompt("who reviews the payment service") is None
    assert list(calls_of(lines)) == []


def test_a_record_that_grew_is_halved_when_a_context_begins(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    assert hooked.prompt("who reviews the payment service")
    (record,) = records()
    with record.open("a") as file:
        file.write(f"{'x' * 99} 1.000\n" * (MOST_BYTES // 90))
    hooked.call({"session_id": "s", "hook_event_name": "SessionStart", "source": "clear", "cwd": "/data/other"})
    assert MOST_BYTES // 3 < record.stat().st_size < MOST_BYTES
    assert hooked.prompt("who reviews the payment service")


def test_a_session_after_two_weeks_is_forgotten(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    assert hooked.prompt("who reviews the payment service")
    (record,) = records()
    os.utime(record, (0, time.time() - KEPT_S - 60))
    hooked.call({"session_id": "t", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/data/other"})
    assert records() == []


def test_what_is_no_record_keeps_no_old_one(hooked):
    hooked.knows("Ann reviews changes of the payment service")
    assert hooked.prompt("who reviews the payment service")
    old = time.time() - KEPT_S - 60
    os.utime(records()[0], (0, old))
    for n in range(9):
        folder = Path(sessions_folder(), f"folder-{n}")
        folder.mkdir()
        os.utime(folder, (0, old))
    hooked.call({"session_id": "t", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/data/other"})
    assert not any(path.is_file() for path in records())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_in_the_place_of_a_record_is_not_waited_for(hooked):
    Path(sessions_folder()).mkdir(parents=True)
    os.mkfifo(Path(sessions_folder(), "s"))
    assert state.known_ids("s") == set()
    hooked.knows("Ann reviews changes of the payment service")
    assert hooked.prompt("who reviews the payment service")


def test_a_huge_record_costs_a_hook_the_reading_of_its_end(hooked):
    path = Path(sessions_folder(), "s")
    path.parent.mkdir(parents=True)
    path.write_text("first 1.000\n" + "a 1.000\nb 1.000\n" * MOST_BYTES)
    assert state.known_ids("s") == {"a 1.000", "b 1.000"}


@pytest.mark.parametrize("id", ['"quoted"', "a\u2028b", "ü 日本", "two words"])
def test_an_entry_of_any_id_is_recorded_and_printed_once(hooked, id):
    hooked.knows("Ann reviews changes of the payment service", id=id)
    assert hooked.prompt("who reviews the payment service")
    assert hooked.prompt("and who reviews the payment service then?") is None
    (record,) = records()
    (call,) = calls_of(record.read_text(encoding="utf-8").splitlines())
    assert [known for known, _ in call.versions] == [id]
