"""A root that is read in another way: made beside the chunks that answer, then put in their place at once."""

import json
import shutil
from collections import namedtuple

import pytest

from reindexed import (
    ENTRIES,
    LARGE,
    SMALL,
    Stopped,
    fill,
    fresh,
    leftovers,
    note,
    picture,
    sound,
    sync_until,
    write,
)
from septet import StoreError, Vault
from septet.files import reindexing
from septet.sqlite.tables import staged


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.septet") as made:
        yield made


@pytest.fixture
def each_file_alone(monkeypatch):
    monkeypatch.setattr(reindexing, "MOST_CHUNKS", 1)


@pytest.mark.parametrize("number", [0, 1, 3, 30])
def test_a_root_that_is_read_in_another_way_equals_one_that_was_read_so_from_the_start(vault, notes, number):
    fill(notes, number)
    vault.sync(notes)
    before = len(vault)
    report = vault.sync(notes, chunking=SMALL)
    assert report.reindexed == ("notes",) and report.complete
    assert (report.files_seen, report.files_staged, report.files_changed) == (number, number, number)
    assert report.chunks_added + report.chunks_kept + report.chunks_changed + report.chunks_moved == len(vault)
    assert len(vault) >= before and picture(vault) == fresh(notes, SMALL)
    assert leftovers(vault) == (0, 0) and sound(vault)
    again = vault.sync(notes)
    assert (again.reindexed, again.files_staged, again.bytes, again.count) == ((), 0, 0, 0)


def test_chunks_whose_text_stays_keep_their_id_links_and_feedback(vault, notes):
    write(notes, "short.md", "# Short\n\nA kingfisher dives.\n")
    write(notes, "long.md", note(1))
    vault.sync(notes)
    own = next(e for e in vault if e.span.path == "short.md")
    other = vault.add(title="Said by a user")
    vault.link(own.id, other, "cites")
    vault.feedback("kingfisher", own.id, "accepted")
    report = vault.sync(notes, chunking=SMALL)
    assert report.chunks_kept == 1
    assert vault.get(own.id) == own
    assert [(link.target, link.type) for link in vault.links(own.id)] == [(other, "cites")]
    with vault._store.reading() as read:
        assert read.sql.execute("SELECT entry_id FROM feedback").fetchall() == [(own.id,)]


@pytest.mark.parametrize("files", [1, 2, 7, 12])
def test_until_all_files_are_staged_the_old_chunks_answer_and_the_next_sync_goes_on(
    vault, notes, files, each_file_alone
):
    fill(notes, 12)
    vault.sync(notes)
    old, size = picture(vault), sum(path.stat().st_size for path in notes.iterdir())
    sync_until(vault, notes, files, chunking=SMALL)
    assert picture(vault) == old and sound(vault)
    report = vault.sync()
    assert report.files_staged == 12 - files
    assert report.bytes == size * (12 - files) // 12 or 0 < report.bytes < size or files == 12
    assert report.reindexed == ("notes",) and picture(vault) == fresh(notes, SMALL)


def test_a_sync_that_has_no_time_leaves_the_old_chunks_and_says_what_is_left(vault, notes):
    fill(notes, 12)
    vault.sync(notes)
    old = picture(vault)
    report = vault.sync(notes, chunking=SMALL, timeout_s=0)
    assert not report.complete and report.reindexed == () and picture(vault) == old
    assert vault.sync().reindexed == ("notes",) and picture(vault) == fresh(notes, SMALL)


def change(folder):
    """Edit, add, remove and rename a file."""
    write(folder, "note2.md", note(2, "flies away"))
    write(folder, "new.md", note(90))
    (folder / "note5.md").unlink()
    (folder / "note7.md").rename(folder / "renamed.md")


@pytest.mark.parametrize("files", [1, 6, 12])
def test_what_changes_on_the_disk_meanwhile_is_found_at_once_and_not_lost_by_the_switch(
    vault, notes, files, each_file_alone
):
    fill(notes, 12)
    vault.sync(notes)
    sync_until(vault, notes, files, chunking=SMALL)
    change(notes)
    report = vault.sync(paths=[notes / "note2.md", notes / "new.md"])
    assert report.complete and report.reindexed == ()
    assert "flies away" in vault.search("flies away").hits[0].entry.description
    assert any(hit.entry.span.path == "note11.md" for hit in vault.search("note 11", limit=50).hits)
    assert vault.sync().reindexed == ("notes",)
    assert picture(vault) == fresh(notes, SMALL)


def test_files_that_change_while_others_are_staged_are_seen_in_the_same_sync(
    vault, notes, each_file_alone, monkeypatch
):
    from septet.files import syncing

    monkeypatch.setattr(syncing, "LOOK_S", 0.0)
    monkeypatch.setattr(syncing, "LOOK_SHARE", 0.0)
    fill(notes, 12)
    vault.sync(notes)
    seen = []

    def progress(done, total):
        if not seen:
            change(notes)
        seen.append((done, total))

    monkeypatch.setattr(reindexing, "ahead", lambda prepare, tasks, until: map(prepare, tasks[:3]))
    report = vault.sync(notes, chunking=SMALL, progress=progress)
    assert report.complete and report.reindexed == ("notes",)
    assert [one for one in seen if one[1] > 10][:3] == [(1, 12), (2, 12), (3, 12)] and len(seen) > 6
    assert picture(vault) == fresh(notes, SMALL)


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("last", [LARGE, ENTRIES, SMALL])
def test_options_that_change_again_before_the_switch_win(vault, notes, edited, last, each_file_alone):
    fill(notes, 12)
    vault.sync(notes, chunking=LARGE)
    sync_until(vault, notes, 5, chunking=SMALL)
    if edited:
        change(notes)
        vault.sync(paths=[notes / "note2.md"])
    assert vault.sync(notes, chunking=last).complete
    assert picture(vault) == fresh(notes, last) and leftovers(vault) == (0, 0)


def test_a_first_sync_that_ended_early_is_followed_by_one_with_other_options(vault, notes, monkeypatch):
    from septet.files import syncing

    monkeypatch.setattr(syncing, "MOST_CHUNKS", 1)
    fill(notes, 12)
    sync_until(vault, notes, 4, chunking=LARGE)
    assert 0 < vault.sync_status().roots[0].files < 12
    assert vault.sync(notes, chunking=SMALL).complete
    assert picture(vault) == fresh(notes, SMALL)


def test_force_reads_everything_again_beside_what_answers(vault, notes, each_file_alone):
    fill(notes, 12)
    vault.sync(notes)
    old = picture(vault)
    sync_until(vault, notes, 8, chunking=SMALL)
    vault.delete(next(iter(vault)).id)
    sync_until(vault, notes, 2, force=True)
    assert vault.sync().files_staged == 10 and picture(vault) == fresh(notes, SMALL)
    vault.delete(next(iter(vault)).id)
    assert vault.sync(notes, force=True).reindexed == () and picture(vault) == fresh(notes, SMALL)
    assert old != picture(vault)


def test_secrets_in_every_file_are_masked_by_a_switch(vault, notes):
    fill(notes, 3)
    write(notes, "key.md", "# Key\n\nThe key is sk-abcdefghijklmnopqrstuvwxyz0123456789.\n")
    vault.sync(notes, redact=True)
    report = vault.sync(notes, redact="all")
    assert report.reindexed == ("notes",) and sum(report.redacted.values()) == 1
    assert report.redacted_in == ("key.md",)
    assert (report.chunks_added, report.chunks_removed) == (1, 1)
    assert not any("sk-abc" in entry.description for entry in vault)


def test_a_new_folder_has_its_secrets_masked_and_an_old_one_stays_as_it_was(vault, notes):
    write(notes, "key.md", "# Key\n\nThe key is sk-abcdefghijklmnopqrstuvwxyz0123456789.\n")
    report = vault.sync(notes)
    assert (sum(report.redacted.values()), report.redacted_in) == (1, ("key.md",))
    assert not any("sk-abc" in entry.description for entry in vault)
    report = vault.sync(notes, redact=False)
    assert report.reindexed == ("notes",) and report.redacted_in == ()
    assert any("sk-abc" in entry.description for entry in vault)
    # As a version before wrote it down.
    with vault._store.bookkeeping() as write_:
        write_.sql.execute("UPDATE roots SET options = json_remove(options, '$.redact', '$.session_trust')")
    vault.sync(notes, force=True)
    assert any("sk-abc" in entry.description for entry in vault)


def test_nobody_vouches_for_what_transcripts_say_unless_it_is_said(vault, notes):
    line = {"type": "message", "message": {"role": "user", "content": "the lamp is blue"}}
    write(notes, "chat.jsonl", json.dumps(line) + "\n")
    write(notes, "note.md", "# Lamp\n\nIt is blue.\n")
    vault.sync(notes)
    assert {entry.title: entry.trust for entry in vault} == {"chat.jsonl": "unverified", "Lamp": "trusted"}
    vault.sync(notes, trust="trusted")
    assert {entry.trust for entry in vault} == {"trusted"}


def test_a_file_that_cannot_be_read_stays_and_is_read_when_it_can_be(vault, notes, monkeypatch):
    from septet.files import preparing

    fill(notes, 6)
    vault.sync(notes)
    read, shut = preparing.read_steadily, True
    monkeypatch.setattr(
        preparing, "read_steadily", lambda path: "unreadable" if shut and path.endswith("note3.md") else read(path)
    )
    report = vault.sync(notes, chunking=SMALL)
    assert report.reindexed == ("notes",) and [(s.path, s.reason) for s in report.skipped] == [
        ("note3.md", "unreadable")
    ]
    assert any(entry.span.path == "note3.md" for entry in vault)
    assert picture(vault) != fresh(notes, SMALL)
    shut = False
    assert vault.sync().files_changed == 1 and picture(vault) == fresh(notes, SMALL)


def transcript(folder, name, messages, *, more=""):
    lines = [
        json.dumps({"type": "message", "message": {"role": ("user", "assistant")[n % 2], "content": f"{said} {more}"}})
        for n, said in enumerate(messages)
    ]
    write(folder, name, "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("files", [1, 2, 4])
def test_transcripts_are_read_again_as_a_whole_and_go_on_from_there(vault, notes, files, each_file_alone):
    fill(notes, 2)
    said = [f"Message {n} about a heron, \x00 and naïve 鹭, {'which waits ' * 9}" for n in range(40)]
    for name in ("a.jsonl", "b.jsonl"):
        transcript(notes, name, said[:30])
    vault.sync(notes)
    sync_until(vault, notes, files, chunking=SMALL)
    transcript(notes, "a.jsonl", said[:36])
    assert vault.sync(paths=[notes / "a.jsonl"]).complete
    assert any("Message 35" in entry.description for entry in vault)
    transcript(notes, "a.jsonl", said)
    assert vault.sync().reindexed == ("notes",) and picture(vault) == fresh(notes, SMALL)
    transcript(notes, "b.jsonl", said)
    report = vault.sync(paths=[notes / "b.jsonl"])
    assert 0 < report.bytes < (notes / "b.jsonl").stat().st_size and picture(vault) == fresh(notes, SMALL)


@pytest.mark.parametrize("ways", [(SMALL, LARGE), (LARGE, SMALL, LARGE), (SMALL, ENTRIES, SMALL)])
def test_pieces_of_one_long_line_stay_linked_in_their_order(vault, notes, ways):
    words = " ".join(f"word{n}" for n in range(900))
    write(notes, "long.md", f"# Long\n\n{words} {words}\n")
    transcript(notes, "long.jsonl", [words, f"{words} {words}"])
    for way in ways:
        vault.sync(notes, chunking=way)
        assert picture(vault) == fresh(notes, way)


def test_a_vault_in_memory_is_read_in_another_way_too(notes):
    fill(notes, 5)
    with Vault(":memory:") as vault:
        vault.sync(notes)
        assert vault.sync(notes, chunking=SMALL).reindexed == ("notes",)
        assert picture(vault) == fresh(notes, SMALL) and leftovers(vault) == (0, 0)


# -- room, leftovers ---------------------------------------------------------------------------------------------------

Usage = namedtuple("Usage", "total used free")


def test_without_room_on_the_disk_nothing_begins_and_the_old_chunks_are_kept_in_step(vault, notes, monkeypatch):
    fill(notes, 12)
    vault.sync(notes)
    size = sum(path.stat().st_size for path in notes.iterdir())
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 10**12 - size, size))
    write(notes, "new.md", "# New\n\nAn avocet came.\n")
    with pytest.raises(StoreError, match=r"too little room: about .* MB are needed, .* MB are free"):
        vault.sync(notes, chunking=SMALL)
    assert vault.search("avocet").hits and leftovers(vault) == (0, 0)
    assert "too little room" in vault.sync_status().roots[0].problem
    assert {path for path, *_ in picture(vault)[0]} == {path for path, *_ in fresh(notes, LARGE)[0]}
    assert vault.sync(paths=[notes / "new.md"]).complete
    monkeypatch.undo()
    assert vault.sync().reindexed == ("notes",) and picture(vault) == fresh(notes, SMALL)
    assert vault.sync_status().roots[0].problem is None


def test_a_root_that_is_forgotten_leaves_nothing_staged(vault, notes, each_file_alone):
    fill(notes, 12)
    vault.sync(notes)
    sync_until(vault, notes, 5, chunking=SMALL)
    vault.forget_root("notes")
    assert leftovers(vault) == (0, 0)
    assert vault.sync(notes).reindexed == () and picture(vault) == fresh(notes, LARGE)


def test_what_a_switch_left_behind_is_removed_by_the_next_sync(vault, notes, monkeypatch):
    fill(notes, 12)
    vault.sync(notes)

    def stop(*given):
        raise Stopped

    clean = reindexing.clean
    monkeypatch.setattr(reindexing, "clean", lambda *given: stop() if switched(vault) else clean(*given))
    with pytest.raises(Stopped):
        vault.sync(notes, chunking=SMALL)
    assert picture(vault) == fresh(notes, SMALL) and leftovers(vault)[0] > 0
    monkeypatch.undo()
    assert vault.sync().reindexed == () and leftovers(vault) == (0, 0)


def switched(vault):
    with vault._store.reading() as read:
        return staged.any_of(read) and staged.target(read, 1) is None
