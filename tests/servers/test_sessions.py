"""What hooks printed to sessions, as the owner of the served vault sees it; hostile files bring nothing."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from hooked import Hooked, transcript
from septet import Federation, Vault
from septet.hooks.keeping import sync_transcript
from septet.inputs.session_log import KEPT_S, MOST_BYTES, sessions_folder
from septet.service.sessions import MOST_VERSIONS
from serving import ask, serving

PAYMENTS = "Ann reviews changes of the payment service"


@pytest.fixture
def hooked(tmp_path, monkeypatch):
    return Hooked(tmp_path, monkeypatch)


def sessions_of(memory, **request):
    with serving(memory) as url:
        answer = ask.post(f"{url}v1/sessions", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def called(*versions, at=1_000.0, program="claude-code", vault=""):
    """Return the lines of a call."""
    return "\n".join([f"\tprinted {json.dumps([at, program, str(vault)])}", *versions, ""])


def record(name, text):
    """Write the record of a session."""
    path = Path(sessions_folder(), name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def names(answer):
    return [session["session"] for session in answer["sessions"]]


def test_each_session_has_its_calls_with_the_entries_as_they_are_now(hooked):
    hooked.knows(PAYMENTS, id="payments")
    hooked.knows("Bob owns the billing service", id="billing")
    hooked.knows("Dora deploys the search service", id="deploys")
    for question in ("who reviews the payment service", "who owns billing?", "who deploys the search service"):
        assert hooked.prompt(question, session="first")
    assert hooked.prompt("who reviews the payment service", session="second")
    with Vault(hooked.vault) as vault:
        vault.update("payments", description="since May")
        vault.forget("billing")
        vault.supersede("deploys", {"title": "Emil deploys the search service"})
        answer = sessions_of(vault)
    assert (answer["recorded"], answer["kept_days"], answer["next"]) == (True, 14, None)
    assert names(answer) == ["second", "first"]
    first = answer["sessions"][1]
    assert [call["program"] for call in first["calls"]] == ["claude-code"] * 3
    assert all(abs(time.time() - call["at"]) < 600 for call in first["calls"])
    printed = [entry for call in first["calls"] for entry in call["entries"]]
    assert [(entry["id"], entry["text"], entry["state"]) for entry in printed] == [
        ("payments", PAYMENTS, "changed"),
        ("billing", None, "gone"),
        ("deploys", "Dora deploys the search service", "expired"),
    ]
    assert answer["sessions"][1]["left_out"] == 0


def test_a_part_of_a_transcript_is_named_by_its_text(hooked):
    sync_transcript(str(hooked.vault), str(transcript(hooked.transcript)))
    assert hooked.prompt("what is the staging database called?", session="later")
    with Vault(hooked.vault) as vault:
        (session,) = sessions_of(vault)["sessions"]
    texts = [entry["text"] for call in session["calls"] for entry in call["entries"]]
    assert texts and all(text.startswith("User: The staging database is called hokusai") for text in texts)
    assert "abc123.jsonl" not in texts


def test_a_compaction_is_seen(hooked):
    hooked.knows(PAYMENTS)
    assert hooked.prompt("who reviews the payment service")
    hooked.call({"session_id": "s", "hook_event_name": "PreCompact", "transcript_path": "", "cwd": str(hooked.home)})
    with Vault(hooked.vault) as vault:
        (session,) = sessions_of(vault)["sessions"]
    assert len(session["compacted"]) == 1
    assert session["compacted"][0] >= session["calls"][0]["at"] - 0.001


def test_a_session_of_another_vault_is_not_shown(hooked, tmp_path):
    hooked.knows(PAYMENTS)
    assert hooked.prompt("who reviews the payment service", session="default")
    other = tmp_path / "other.db"
    shutil.copy(hooked.vault, other)
    assert hooked.prompt("who reviews the payment service", "--vault", str(other), session="other")
    assert hooked.prompt("who reviews the payment service", "--vault", str(other), session="default") is None
    with Vault(other) as vault:
        assert names(sessions_of(vault)) == ["other"]
        with Vault(hooked.vault) as default, Federation({"own": default, "team": vault}, {"own": 1.0}) as both:
            assert names(sessions_of(both)) == ["other", "default"]
    with Vault(":memory:") as vault:
        assert sessions_of(vault) == {"recorded": False, "kept_days": 14, "sessions": [], "next": None}


def test_an_entry_is_as_it_is_in_the_vault_that_was_read_whatever_other_tiers_have(hooked, tmp_path):
    hooked.knows(PAYMENTS, id="payments")
    assert hooked.prompt("who reviews the payment service")
    with Vault(hooked.vault) as own, Vault(tmp_path / "agent.db") as agent:
        agent.remember("Bob reviews changes of the billing service", id="payments")
        with Federation({"agent": agent, "own": own}, {"agent": 1.5}) as both:
            (session,) = sessions_of(both)["sessions"]
    assert [(entry["text"], entry["state"]) for entry in session["calls"][0]["entries"]] == [(PAYMENTS, "current")]


def test_a_link_to_the_vault_is_the_same_vault(hooked, tmp_path):
    hooked.knows(PAYMENTS)
    link = tmp_path / "link.db"
    try:
        link.symlink_to(hooked.vault)
    except OSError:
        pytest.skip("this user makes no links")
    assert hooked.prompt("who reviews the payment service", "--vault", str(link))
    with Vault(hooked.vault) as vault:
        assert names(sessions_of(vault)) == ["s"]


def test_pages_follow_each_other_without_gap_or_repeat(hooked):
    hooked.knows(PAYMENTS, id="payments")
    for number in range(25):
        path = record(f"s{number:02}", called("payments 1.000", vault=hooked.vault))
        # Some are of one time.
        at = round(time.time()) - 1_000 + number // 3
        os.utime(path, (at, at))
    with Vault(hooked.vault) as vault:
        pages, seen, after = [], [], None
        while after is not None or not pages:
            page = sessions_of(vault, limit=4, **({"after": after} if after else {}))
            pages.append(len(names(page)))
            seen += names(page)
            after = page["next"]
    assert seen == [f"s{number:02}" for number in reversed(range(25))]
    assert max(pages) == 4


def test_one_session_is_asked_for_by_its_id(hooked):
    hooked.knows(PAYMENTS)
    for session in ("a/b", "other", "7f9f9a2e-1b3c"):
        assert hooked.prompt("who reviews the payment service", session=session)
    with Vault(hooked.vault) as vault:
        assert names(sessions_of(vault, session="a/b")) == ["a_b"]
        assert names(sessions_of(vault, session="../other")) == []
        assert names(sessions_of(vault, session="rollout-2026-05-01-7f9f9a2e-1b3c")) == ["7f9f9a2e-1b3c"]
        assert names(sessions_of(vault, session="1b3c")) == []


def test_a_session_after_two_weeks_is_not_shown(hooked):
    hooked.knows(PAYMENTS, id="payments")
    path = record("old", called("payments 1.000", vault=hooked.vault))
    os.utime(path, (0, time.time() - KEPT_S - 60))
    with Vault(hooked.vault) as vault:
        assert names(sessions_of(vault)) == []


def test_a_long_session_is_cut_to_its_newest_entries_and_says_so(hooked):
    hooked.knows(PAYMENTS, id="payments")
    record("long", "".join(called("payments 1.000", "x 1.000", at=float(n), vault=hooked.vault) for n in range(150)))
    with Vault(hooked.vault) as vault:
        (session,) = sessions_of(vault)["sessions"]
    assert sum(len(call["entries"]) for call in session["calls"]) == MOST_VERSIONS
    assert (session["left_out"], session["calls"][-1]["at"]) == (100, 149.0)


HOSTILE = {
    "deep": "\tprinted " + "[" * 100_000,
    "no-list": '\tprinted {"at": 1}\npayments 1.000\n',
    "no-time": '\tprinted [NaN, "p", "VAULT"]\npayments 1.000\n\tprinted [true, "p", "VAULT"]\npayments 1.000\n',
    "far": '\tprinted [1e300, "p", "VAULT"]\npayments 1.000\n\tprinted [-1, "p", "VAULT"]\npayments 1.000\n',
    "long-program": f'\tprinted [1, "{"p" * 10_000}", "VAULT"]\npayments 1.000\n',
    "nul": '\tprinted [1, "p", "\\u0000"]\npayments 1.000\n',
    "surrogate": '\tprinted [1, "p", "\\ud800"]\npayments 1.000\n',
    "no-version": '\tprinted [1, "p", "VAULT"]\npayments\n 1.000\npayments inf\n"unclosed 1.000\n',
    "bytes": b"\xff\xfe\x00" * 1_000,
    "other-event": '\tprinted [1, "p", "VAULT"]\n\tunknown\npayments 1.000\n',
    "empty": "",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_malformed_record_is_shown(hooked, name):
    hooked.knows(PAYMENTS, id="payments")
    text = HOSTILE[name]
    record(name, text if isinstance(text, bytes) else text.replace("VAULT", str(hooked.vault)))
    record("good", called("payments 1.000", vault=hooked.vault))
    with Vault(hooked.vault) as vault:
        assert names(sessions_of(vault)) == ["good"]


def test_a_huge_record_is_read_at_its_end_alone(hooked):
    hooked.knows(PAYMENTS, id="payments")
    call = called("payments 1.000", vault=hooked.vault)
    record("huge", call + "x" * (2 * MOST_BYTES) + "\n" + call)
    with Vault(hooked.vault) as vault:
        (session,) = sessions_of(vault)["sessions"]
    assert len(session["calls"]) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_what_is_no_file_of_a_record_is_not_opened(hooked, tmp_path):
    hooked.knows(PAYMENTS, id="payments")
    outside = tmp_path / "outside"
    outside.write_text(called("payments 1.000", vault=hooked.vault))
    record("good", called("payments 1.000", vault=hooked.vault))
    folder = Path(sessions_folder())
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to(outside)
    (folder / "folder").mkdir()
    record("odd name", called("payments 1.000", vault=hooked.vault))
    with Vault(hooked.vault) as vault:
        assert names(sessions_of(vault)) == ["good"]


@pytest.mark.parametrize("after", ["", "x", "1", "1-../x", "9" * 40 + "-x"])
def test_a_malformed_page_is_refused(hooked, after):
    hooked.knows(PAYMENTS)
    with Vault(hooked.vault) as vault, serving(vault) as url:
        answer = ask.post(f"{url}v1/sessions", json={"after": after})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "query_error")


def test_no_path_of_this_machine_is_in_the_answer(hooked):
    hooked.knows(PAYMENTS)
    assert hooked.prompt("who reviews the payment service")
    with Vault(hooked.vault) as vault:
        assert str(hooked.home) not in json.dumps(sessions_of(vault))
