"""A vault in step with a folder: what stays, what moves, what goes, and what is reported."""

import os

import pytest

from septet import EntryError, ReadOnly, Vault
from synced import fresh, picture


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "herons.md").write_text("# Herons\n\nHerons stand in shallow water.\n", encoding="utf-8")
    (folder / "birds").mkdir()
    (folder / "birds" / "owls.md").write_text("# Owls\n\nOwls hunt at night, unlike [[herons]].\n", encoding="utf-8")
    return folder


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.septet") as made:
        yield made


def long_text(word, parts):
    """Sections that make a chunk each."""
    return "".join(f"# {word} {n}\n\n" + f"{word} number {n} says so. " * 60 + "\n\n" for n in parts)


def by_text(vault):
    return {entry.description: entry for entry in vault}


def spans(vault):
    return sorted((e.span.path, e.span.first_line, e.span.last_line, e.title, e.description) for e in vault)


def test_every_chunk_is_an_entry_with_its_file_and_lines(vault, notes):
    report = vault.sync(notes)
    assert (report.roots, report.files_seen, report.files_added, report.complete) == (("notes",), 2, 2, True)
    assert report.chunks_added == len(vault) == 2
    owl = vault.search("owls at night").hits[0]
    (entry,) = vault.load([owl.id])
    assert (entry.kind, entry.source, entry.span.path, entry.span.first_line) == ("chunk", "notes", "birds/owls.md", 1)
    assert entry.parent.startswith("file-") and len(entry.id) == 24
    assert entry.description.startswith("# Owls") and entry.title == "Owls"


def test_nothing_is_read_or_written_when_nothing_changed(vault, notes):
    vault.sync(notes)
    old = notes / "herons.md"
    for path in (old, notes / "birds" / "owls.md"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    vault.sync()
    generation = vault.stats().generation
    again = vault.sync()
    assert (again.files_unchanged, again.bytes, again.count) == (2, 0, 0)
    assert vault.stats().generation == generation


def test_a_touched_file_with_the_same_bytes_is_read_once_and_writes_no_chunk(vault, notes):
    vault.sync(notes)
    os.utime(notes / "herons.md", (1_000_000_000, 1_000_000_000))
    generation = vault.stats().generation
    report = vault.sync()
    assert report.bytes > 0 and report.count == 0 and report.files_unchanged == 2
    assert vault.stats().generation == generation


@pytest.mark.parametrize("parts", [[0], [1], [2, 3], [0, 1, 2, 3, 4, 5], []])
def test_chunks_whose_text_stays_keep_id_links_and_feedback(vault, notes, parts):
    path = notes / "long.md"
    path.write_text(long_text("loons", range(6)), encoding="utf-8")
    vault.sync(notes)
    before = by_text(vault)
    mine = vault.add(title="mine")
    for entry in before.values():
        vault.link(mine, entry.id)
    kept = [n for n in range(6) if n not in parts]
    path.write_text("An opening line.\n\n" + long_text("loons", kept), encoding="utf-8")
    vault.sync()
    after = by_text(vault)
    for text, entry in after.items():
        if text in before and entry.id != mine:
            assert entry.id == before[text].id
            assert any(link.source == mine for link in vault.links(entry.id))
            assert entry.updated_at == before[text].updated_at
    gone = {entry.id for text, entry in before.items() if text not in after}
    assert not any(entry_id in vault for entry_id in gone)
    with Vault(":memory:") as fresh:
        fresh.sync(notes)
        assert spans(fresh) == chunk_spans(vault)


def chunk_spans(vault):
    return sorted(
        (e.span.path, e.span.first_line, e.span.last_line, e.title, e.description) for e in vault if e.kind == "chunk"
    )


def test_a_renamed_file_keeps_its_id_and_those_of_its_chunks(vault, notes):
    vault.sync(notes)
    before = by_text(vault)
    (notes / "herons.md").rename(notes / "birds" / "grey herons.md")
    report = vault.sync()
    assert (report.files_renamed, report.files_added, report.files_removed) == (1, 0, 0)
    assert (report.chunks_added, report.chunks_moved, report.chunks_removed) == (0, 1, 0)
    for text, entry in by_text(vault).items():
        assert (entry.id, entry.parent) == (before[text].id, before[text].parent)
    assert "birds/grey herons.md" in {entry.span.path for entry in vault}


def test_a_new_file_at_the_path_of_a_renamed_one_is_another_file(vault, notes):
    vault.sync(notes)
    text = (notes / "herons.md").read_text(encoding="utf-8")
    (notes / "herons.md").rename(notes / "old.md")
    vault.sync()
    (notes / "herons.md").write_text(text, encoding="utf-8")
    vault.sync()
    found = [entry for entry in vault if entry.title == "Herons"]
    assert len({entry.id for entry in found}) == len({entry.parent for entry in found}) == 2
    assert {entry.span.path for entry in found} == {"herons.md", "old.md"}


def test_a_file_that_was_renamed_keeps_its_chunks_when_it_changes_as_its_old_name_comes_back(vault, notes):
    (notes / "a.md").write_text(long_text("Owl", range(6)), encoding="utf-8")
    vault.sync(notes)
    (notes / "a.md").rename(notes / "b.md")
    vault.sync()
    before = {e.id for e in vault if e.span.path == "b.md"}
    (notes / "a.md").write_text(long_text("Owl", range(3, 5)), encoding="utf-8")
    (notes / "b.md").write_text(long_text("Owl", range(7)), encoding="utf-8")
    report = vault.sync()
    # The last one goes on now.
    assert (report.files_added, report.files_changed, report.chunks_removed) == (1, 1, 1)
    assert len(before - {e.id for e in vault if e.span.path == "b.md"}) == 1
    assert picture(vault) == fresh(notes)


def test_a_chunk_that_becomes_what_its_file_says_again_is_between_its_neighbours(vault, notes):
    (notes / "a.md").write_text(long_text("Owl", range(4)), encoding="utf-8")
    vault.sync(notes)
    before = picture(vault)
    changed = next(e for e in vault if e.span.path == "a.md" and e.span.first_line > 1)
    vault.update(changed.id, description="Something else.")
    vault.sync(force=True)
    assert picture(vault) == before == fresh(notes)


def test_what_is_deleted_on_the_disk_is_erased(vault, notes):
    vault.sync(notes)
    (notes / "herons.md").unlink()
    report = vault.sync()
    assert (report.files_removed, report.chunks_removed, len(vault)) == (1, 1, 1)
    assert not [hit for hit in vault.search("herons shallow water").hits if "shallow" in (hit.snippet or "")]


def test_a_root_that_is_not_there_erases_nothing_until_it_is_forgotten(vault, notes):
    vault.sync(notes)
    notes.rename(notes.with_name("away"))
    report = vault.sync()
    assert not report.complete and "is not there" in report.problems[0]
    assert len(vault) == 2 and "is not there" in vault.sync_status().roots[0].problem
    notes.with_name("away").rename(notes)
    assert vault.sync().complete and vault.sync_status().roots[0].problem is None
    assert vault.forget_root("notes") == 2
    assert len(vault) == 0 and vault.sync_status().roots == ()
    with pytest.raises(EntryError, match="follows no root"):
        vault.forget_root("notes")


def mentions(vault):
    return sorted((e.title, vault.get(x.target).title) for e in vault for x in vault.links(e.id)
                  if x.source == e.id and x.type == "mentions")  # fmt: skip


def test_mentions_follow_what_comes_goes_and_is_renamed(vault, notes):
    vault.sync(notes)
    assert mentions(vault) == [("Owls", "Herons")]
    (notes / "herons.md").rename(notes / "waders.md")
    vault.sync()
    assert mentions(vault) == []
    (notes / "Herons.md").write_text("# New herons\n\nOf another kind.\n", encoding="utf-8")
    vault.sync()
    assert mentions(vault) == [("Owls", "New herons")]
    (notes / "Herons.md").write_text("# Newest herons\n\nOf another kind.\n", encoding="utf-8")
    vault.sync()
    assert mentions(vault) == [("Owls", "Newest herons")]


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_a_text_that_stays_has_no_link_to_what_it_does_not_mention_any_more(vault, notes, name):
    text = long_text("Owl", range(3)) + "# End\n\nSee [[herons]] there.\n"
    (notes / "a.md").write_text(text, encoding="utf-8")
    vault.sync(notes)
    assert any(link.type == "mentions" for e in vault if e.span.path == "a.md" for link in vault.links(e.id))
    (notes / "a.md").unlink()
    # Within code, or in a file without links, it is text alone.
    (notes / name).write_text(f"```\n{text}" if name == "a.md" else text, encoding="utf-8")
    vault.sync()
    assert picture(vault) == fresh(notes)


def test_a_user_s_link_between_chunks_is_never_replaced(vault, notes):
    path = notes / "long.md"
    path.write_text(long_text("loons", range(4)), encoding="utf-8")
    vault.sync(notes)
    chunks = sorted((e for e in vault if e.span.path == "long.md"), key=lambda e: e.span.first_line)
    vault.link(chunks[0].id, chunks[1].id, "refutes", note="mine")
    path.write_text(long_text("loons", range(4)) + "One more line.\n", encoding="utf-8")
    vault.sync()
    assert ("refutes", "mine") in {(x.type, x.note) for x in vault.links(chunks[0].id)}


def test_only_the_files_named_are_looked_at(vault, notes):
    vault.sync(notes)
    for name in ("herons.md", "birds/owls.md"):
        (notes / name).write_text("# Changed\n\nBoth files were changed.\n", encoding="utf-8")
    report = vault.sync(paths=[notes / "herons.md"])
    assert (report.files_seen, report.files_changed) == (1, 1)
    assert vault.sync().files_changed == 1
    (notes / "herons.md").unlink()
    assert vault.sync(paths=notes / "herons.md").files_removed == 1
    with pytest.raises(EntryError, match="in no folder that the vault follows"):
        vault.sync(paths=["/nowhere/at/all.md"])


def test_files_that_are_no_text_are_reported_and_fail_nothing(vault, notes):
    (notes / "binary.md").write_bytes(b"# Nothing\0\1\2")
    (notes / "latin.md").write_bytes("# Café\n\nA café with crème.\n".encode("latin-1"))
    (notes / "empty.md").write_bytes(b"")
    report = vault.sync(notes)
    reasons = {one.path: one.reason for one in report.skipped}
    assert reasons["binary.md"] == "binary" and reasons["latin.md"].startswith("not UTF-8 from byte 5")
    assert "�" in next(e.description for e in vault if e.span.path == "latin.md")
    for found in (report, vault.sync(), vault.sync(force=True)):
        assert {one.path: one.taken for one in found.skipped} == {"binary.md": False, "latin.md": True}
        assert ", 1 skipped, 1 with a remark in " in str(found)


@pytest.mark.parametrize("name", ["a b", "ä-ö", "a'b\"c", "日本", "a;b&c", "%41", "[x](y)", "a\\b", "#1", "-f", "🦉"])
def test_a_path_may_hold_odd_characters(vault, notes, name):
    path = notes / f"{name}.md"
    path.write_text(f"# Odd\n\nThe odd file {name}.\n", encoding="utf-8")
    vault.sync(notes)
    assert f"{name}.md" in {entry.span.path for entry in vault}
    path.unlink()
    assert vault.sync().files_removed == 1


def test_a_sync_that_runs_out_of_time_says_what_is_left_and_the_next_goes_on(vault, notes):
    for n in range(30):
        (notes / f"n{n}.md").write_text(f"# Note {n}\n\nText of note {n}.\n", encoding="utf-8")
    report = vault.sync(notes, timeout_s=0)
    assert not report.complete
    assert vault.sync().complete
    assert len({entry.span.path for entry in vault}) == 32


def test_a_vault_in_memory_syncs_too(notes):
    with Vault(":memory:") as vault:
        assert vault.sync(notes).files_added == 2
        assert vault.sync(force=True).files_changed == 2


def test_options_given_again_replace_those_remembered_and_others_stay(vault, notes):
    vault.sync(notes, exclude=["birds"], trust="unverified")
    assert {(e.span.path, e.trust) for e in vault} == {("herons.md", "unverified")}
    vault.sync(notes, exclude=[])
    assert {(e.span.path, e.trust) for e in vault} == {("herons.md", "unverified"), ("birds/owls.md", "unverified")}
    vault.sync(notes, trust="trusted")
    assert {entry.trust for entry in vault} == {"trusted"}


def test_what_cannot_be_done_is_an_error(tmp_path, vault, notes):
    with pytest.raises(EntryError, match="is not there"):
        vault.sync(tmp_path / "missing")
    with pytest.raises(EntryError, match="is an option of a root"):
        vault.sync(exclude=["x"])
    vault.sync(notes)
    other = tmp_path / "other" / "notes"
    other.mkdir(parents=True)
    with pytest.raises(EntryError, match="give this root another name="):
        vault.sync(other)
    assert vault.sync(other, name="others").roots == ("others",)
    with pytest.raises(EntryError, match="already followed"):
        vault.sync(notes, name="renamed")
    with Vault(vault.path, read_only=True) as reader, pytest.raises(ReadOnly):
        reader.sync()
