"""Transcripts in a vault: read on from where they were, masked before anything sees them, gone when they are."""

import json

import pytest

from septet import Vault

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
