"""Transcripts in a vault: read on from where they were, masked before anything sees them, gone when they are."""

import json
import os
from types import SimpleNamespace

import pytest

from septet import Chunking, Vault
from septet.files.matching import DELTA_BYTES, DELTA_MESSAGES, is_due, pending_of
from synced import fresh, picture

TOKEN = "ghp_" + "Zq7x" * 9


def line(role, text):
    return json.dumps({"type": "message", "message": {"role": role, "content": text}}) + "\n"


def talk(first, last):
    return "".join(
        line("user" if n % 2 else "assistant", f"message {n}: " + f"the heron number {n} waits. " * 12)
        for n in range(first, last)
    )


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "agent"
    made.mkdir()
    (made / "s.jsonl").write_text(talk(0, 40), encoding="utf-8")
    return made


def content(vault):
    return [(e.span.path, e.span.first_line, e.span.last_line, e.title, e.description) for e in vault]


def anew(folder):
    with Vault(":memory:") as other:
        other.sync(folder)
        return sorted(content(other))


def test_messages_are_found_with_the_lines_of_their_transcript(tmp_path, folder):
    with Vault(tmp_path / "v.db") as vault:
        report = vault.sync(folder)
        assert report.files_added == 1 and report.complete and not report.skipped
        hit = vault.search("heron number 17", where={"type": "session"}).hits[0]
        (entry,) = vault.load([hit.id])
        assert entry.span.path == "s.jsonl" and entry.span.first_line <= 18 <= entry.span.last_line
        assert "User: message 17: " in entry.description


def test_what_is_appended_is_read_alone_and_earlier_chunks_stay(tmp_path, folder):
    path = folder / "s.jsonl"
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        before = {entry.id for entry in vault}
        for until in (41, 47, 80):
            size = path.stat().st_size
            path.write_text(talk(0, until), encoding="utf-8")
            new = path.stat().st_size - size
            report = vault.sync()
            assert (report.files_changed, report.bytes) == (1, new)
            assert len(before - {entry.id for entry in vault}) <= 1
            assert sorted(content(vault)) == anew(folder)


def test_a_transcript_that_is_cut_renamed_or_replaced_is_as_if_read_anew(tmp_path, folder):
    path = folder / "s.jsonl"
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        path.write_text(talk(0, 11), encoding="utf-8")
        vault.sync()
        assert sorted(content(vault)) == anew(folder)
        path.rename(folder / "t.jsonl")
        assert vault.sync().files_renamed == 1
        assert sorted(content(vault)) == anew(folder)
        (folder / "t.jsonl").unlink()
        (folder / "t.jsonl").write_text(talk(50, 90), encoding="utf-8")
        vault.sync()
        assert sorted(content(vault)) == anew(folder)
        (folder / "t.jsonl").unlink()
        vault.sync()
        assert len(vault) == 0 and not vault.search("heron").hits


def test_chunks_of_a_transcript_that_were_deleted_come_back_when_it_grows(tmp_path, folder):
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        vault.delete(vault.search("heron number 5").ids[0])
        with (folder / "s.jsonl").open("a", encoding="utf-8") as file:
            file.write(talk(40, 42))
        vault.sync()
        assert sorted(content(vault)) == anew(folder)


def test_secrets_of_a_transcript_are_masked_unless_that_is_turned_off(tmp_path, folder):
    path = folder / "s.jsonl"
    path.write_text(line("user", f"take the token {TOKEN} and the heron"), encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault:
        report = vault.sync(folder)
        assert sum(report.redacted.values()) == 1
        (entry,) = list(vault)
        assert TOKEN not in entry.description and "the heron" in entry.description
        path.write_text(line("user", f"take the token {TOKEN} and the heron, again"), encoding="utf-8")
        assert not vault.sync(folder, redact=False).redacted
        assert TOKEN in next(iter(vault)).description
        # Turned on again, it is read again.
        vault.sync(folder, redact=True)
        assert TOKEN not in next(iter(vault)).description


@pytest.mark.parametrize(
    ("options", "masked"), [({}, {"md", "jsonl"}), ({"redact": True}, {"jsonl"}), ({"redact": False}, set())]
)
def test_a_new_folder_is_masked_in_all_files_unless_transcripts_alone_or_none_are_named(
    tmp_path, folder, options, masked
):
    (folder / "s.jsonl").write_text(line("user", f"take the token {TOKEN}"), encoding="utf-8")
    (folder / "a.md").write_text(f"# A\n\nThe token is {TOKEN}.\n", encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder, **options)
        hidden = {entry.span.path.rpartition(".")[2] for entry in vault if TOKEN not in entry.description}
    assert hidden == masked


def state_of(vault):
    with vault._store.reading() as read:
        return read.sql.execute("SELECT state FROM files").fetchone()[0]


@pytest.mark.parametrize("messages", [0, 1, 2, 25, 49, 50, 51, 100])
def test_new_messages_are_worth_a_reading_from_fifty_on(tmp_path, folder, messages):
    path = folder / "s.jsonl"
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        for state in (None, state_of(vault)):
            with path.open("a" if state else "w", encoding="utf-8") as file:
                file.writelines(line("user", f"m{n}") for n in range(messages))
            pending = pending_of(SimpleNamespace(path="s.jsonl", real=str(path)), state)
            assert pending.messages == messages
            assert is_due(pending) == (messages >= DELTA_MESSAGES)
            path.write_text(talk(0, 40), encoding="utf-8")


@pytest.mark.parametrize("size", [0, 1, 50_000, 99_999, 100_000, 100_001, 1_000_000])
def test_new_bytes_are_worth_a_reading_from_a_hundred_thousand_on(tmp_path, folder, size):
    path = folder / "s.jsonl"
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        with path.open("a", encoding="utf-8") as file:
            file.write("x" * size)
        pending = pending_of(SimpleNamespace(path="s.jsonl", real=path), state_of(vault))
        assert pending == (size, 0)
        assert is_due(pending) == (size >= DELTA_BYTES)
        # What was cut is new from its beginning.
        os.truncate(path, 60)
        assert pending_of(SimpleNamespace(path="s.jsonl", real=path), state_of(vault)) == (60, 0)


@pytest.mark.parametrize("grown", [False, True])
def test_a_transcript_that_is_set_aside_keeps_its_chunks_and_the_new_one_has_its_own(tmp_path, folder, grown):
    path = folder / "s.jsonl"
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        before = {entry.id for entry in vault}
        if grown:
            with path.open("a", encoding="utf-8") as file:
                file.write(talk(40, 60))
        path.rename(folder / "s.jsonl.reset.2026-09-01T10-00-00.000Z")
        path.write_text(talk(100, 130), encoding="utf-8")
        report = vault.sync()
        assert (report.files_renamed, report.files_added, report.files_removed) == (1, 1, 0)
        assert len(before - {entry.id for entry in vault}) <= grown
        assert sorted(content(vault)) == anew(folder)
        assert vault.sync().count == 0


def test_a_transcript_that_is_set_aside_keeps_the_links_between_its_chunks(tmp_path, folder):
    said = "".join(line("user", f"talk {n} about the river and the heron") for n in range(200))
    (folder / "c.jsonl").write_text(said, encoding="utf-8")
    with Vault(tmp_path / "v.septet") as vault:
        vault.sync(folder)
        (folder / "c.jsonl").rename(folder / "c.jsonl.reset.1")
        (folder / "c.jsonl").write_text(line("user", "begun anew"), encoding="utf-8")
        report = vault.sync()
        assert (report.files_renamed, report.chunks_removed) == (1, 0)
        assert picture(vault) == fresh(folder)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.97, 0.999])
def test_a_transcript_that_is_cut_and_grows_again_is_as_if_read_anew(tmp_path, folder, share):
    path = folder / "s.jsonl"
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        os.truncate(path, int(path.stat().st_size * share))
        vault.sync()
        assert sorted(content(vault)) == anew(folder)
        with path.open("a", encoding="utf-8") as file:
            file.write(talk(200, 240))
        vault.sync()
        assert sorted(content(vault)) == anew(folder)


def test_a_line_that_is_half_written_is_read_when_it_is_whole(tmp_path, folder):
    path = folder / "s.jsonl"
    last = line("user", "the loon dives 😀 at dawn").encode()
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        whole = path.read_bytes()
        for end in range(0, len(last) - 1, 7):
            path.write_bytes(whole + last[:end])
            report = vault.sync()
            assert not report.skipped and "loon" not in str([entry.description for entry in vault])
        path.write_bytes(whole + last + line("user", "and an owl").encode()[:20])
        vault.sync()
        assert [e for e in vault if "User: the loon dives 😀 at dawn" in e.description]
        assert not [e for e in vault if "owl" in e.description]
        assert sorted(content(vault)) == anew(folder)


def test_what_is_taken_out_of_the_middle_of_a_transcript_is_gone_from_the_vault(tmp_path, folder):
    path = folder / "s.jsonl"
    text = path.read_text(encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        before = {entry.id for entry in vault}
        path.write_text(text.replace("message 20: the heron", "message 20: XXX XXXXX"), encoding="utf-8")
        os.utime(path, (2e9, 2e9))
        assert vault.sync().files_changed == 1
        assert sorted(content(vault)) == anew(folder)
        assert len(before & {entry.id for entry in vault}) >= len(before) - 2


def test_a_deleted_transcript_is_gone_from_every_index_and_from_every_byte(tmp_path, folder):
    secret = "zqxjkvbrunnenkresse"
    (folder / "t.jsonl").write_text("".join(line("user", f"{secret} number {n} " * 9) for n in range(300)))
    (folder / "note.md").write_text(f"# Note\n\n{secret} of the note, see [[other]].\n", encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault:
        mine = vault.add(title="mine")
        vault.sync(folder)
        found = vault.search(secret, limit=50).ids
        for one in found:
            vault.link(mine, one)
            vault.feedback("herons", one, "accepted")
        for path in (folder / "t.jsonl", folder / "note.md"):
            path.unlink()
        vault.sync()
        assert not vault.search(secret).hits and not vault.links(mine)
        assert not any(one in vault for one in found) and not any(vault.history(one) for one in found)
        assert sorted(content_of_chunks(vault)) == anew(folder)
        with vault._store.reading() as read:
            assert read.sql.execute("SELECT count(*) FROM mentions").fetchone()[0] == 0
            assert read.sql.execute("SELECT count(*) FROM files").fetchone()[0] == 1
        vault.purge()
        vault.optimize()
    left = [path for path in tmp_path.rglob("v.db*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert left == []


def content_of_chunks(vault):
    return content([entry for entry in vault if entry.kind == "chunk"])


@pytest.mark.parametrize("changed", [[0], [2], [0, 1, 3], [5], range(6)])
def test_a_message_of_many_chunks_stays_whole_and_in_order_however_often_it_is_read(tmp_path, folder, changed):
    path = folder / "s.jsonl"
    parts = [f"part {n} of a long message " + "abcdefg " * 195 for n in range(6)]
    path.write_text(line("user", "".join(parts)), encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault, Vault(":memory:") as other:
        vault.sync(folder)
        for n in changed:
            parts[n] = parts[n].replace("part", "Part")
        path.write_text(line("user", "".join(parts)), encoding="utf-8")
        vault.sync(force=True)
        for n in range(3):
            with path.open("a", encoding="utf-8") as file:
                file.write(line("assistant", f"answer {n} " * 90))
            vault.sync()
            assert sorted(content(vault)) == anew(folder)
        other.sync(folder)
        assert picture(vault) == picture(other)


@pytest.mark.parametrize(
    "line",
    [
        {"role": "user", "content": "guava"},
        {"messages": [{"role": "user", "content": "papaya"}]},
        {"sender": "human", "text": "lychee"},
        [{"type": "message", "message": {"role": "user", "content": "durian"}}],
    ],
)
def test_a_file_of_which_no_line_is_understood_is_named(line, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "chat.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (notes / "empty.jsonl").write_text("", encoding="utf-8")
    with Vault(":memory:") as vault:
        for report in (vault.sync(notes), vault.sync(notes, force=True)):
            (named,) = report.skipped
            assert (named.path, named.taken) == ("chat.jsonl", True) and "no chunk" in named.reason


def test_jobs_that_were_due_and_notices_in_the_users_name_are_not_indexed(tmp_path, folder):
    said = ["System: the word is a person's", "What does [cron: 5] mean?", "[cron] is a word", "System: [ is a bracket"]
    put_in = ["[cron:7f3e daily report] Write the report.", "System: [2026-05-12 09:00:00 UTC] Node connected.",
              "  [cron:backup] now\nand more"]  # fmt: skip
    (folder / "s.jsonl").write_text("".join(line("user", one) for one in [*said, *put_in]), encoding="utf-8")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        [one] = vault
        assert one.description.splitlines() == [f"User: {text}" for text in said]


def roles(vault):
    return [(e.attrs.get("role"), e.span.first_line, e.span.last_line) for e in vault]


def test_a_chunk_of_one_speaker_has_its_role(tmp_path):
    lines = [("user", "When does it run?"), ("assistant", "At nine."), ("assistant", "On Mondays."), ("user", "Good.")]
    (tmp_path / "t.jsonl").write_text("".join(line(*turn) for turn in lines), encoding="utf-8")
    with Vault(":memory:") as mixed, Vault(":memory:") as turns:
        mixed.sync(tmp_path)
        turns.sync(tmp_path, chunking=Chunking(variant="entries"))
        assert roles(mixed) == [(None, 1, 4)]
        assert roles(turns) == [("user", 1, 1), ("assistant", 2, 3), ("user", 4, 4)]
        hits = turns.search("when does it run on Mondays", profile="conversation")
        assert {hit.entry.attrs["role"]: hit.signals["role"] for hit in hits} == {"user": 1.0, "assistant": 0.4}


@pytest.mark.parametrize("tokens", [20, 100, 400])
def test_turns_read_bit_by_bit_are_those_of_one_read(tmp_path, tokens):
    path, chunking = tmp_path / "a" / "t.jsonl", Chunking(tokens=tokens, overlap=tokens // 5, variant="entries")
    path.parent.mkdir()
    lines = talk(0, 30).splitlines(keepends=True)
    with Vault(":memory:") as vault, Vault(":memory:") as other:
        for until in (3, 4, 11, 30):
            path.write_text("".join(lines[:until]), encoding="utf-8")
            vault.sync(path.parent, chunking=chunking)
        other.sync(path.parent, chunking=chunking)
        assert content(vault) == content(other) and roles(vault) == roles(other)
        assert {role for role, *_ in roles(vault)} == {"user", "assistant"}
        for entry in vault:
            assert (entry.span.first_line % 2 == 0) == (entry.attrs["role"] == "user")


def test_a_turn_of_a_transcript_may_be_an_instruction(tmp_path):
    turns = [("user", "Always give dates as year, month and day."), ("assistant", "Always, with the date.")]
    (tmp_path / "t.jsonl").write_text("".join(line(*turn) for turn in turns), encoding="utf-8")
    with Vault(":memory:") as vault:
        vault.sync(tmp_path, chunking=Chunking(variant="entries"))
        hits = vault.search("could you give me the date of the lease", profile="conversation")
        assert {hit.entry.attrs["role"]: hit.signals["instruction"] for hit in hits} == {"user": 1, "assistant": 0}
