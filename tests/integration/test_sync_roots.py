"""Folders that are away, emptied, nested, renamed or brought from another vault; clocks and disks that are not well."""

import os

import pytest

from septet import EntryError, StoreError, Vault
from septet.sqlite.tables import files
from small_files import no_larger_than
from synced import chunks, fresh, ids, picture


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "birds").mkdir(parents=True)
    (folder / "herons.md").write_text("# Herons\n\nHerons stand in shallow water.\n", encoding="utf-8")
    (folder / "birds" / "owls.md").write_text("# Owls\n\nOwls hunt at night, unlike [[herons]].\n", encoding="utf-8")
    return folder


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.septet") as made:
        yield made


# -- roots that are away, emptied, nested, or the same ---------------------------------------------------------------


def test_a_folder_that_was_emptied_is_emptied_in_the_vault(vault, notes):
    vault.sync(notes)
    (notes / "herons.md").unlink()
    (notes / "birds" / "owls.md").unlink()
    (notes / "birds").rmdir()
    report = vault.sync()
    assert (report.files_removed, report.complete, len(vault)) == (2, True, 0)


def test_a_folder_on_which_nothing_is_mounted_any_more_erases_nothing_unless_forced(vault, notes):
    vault.sync(notes)
    before = ids(vault)
    # As after an unmount: the folder is there, empty, and on the file system of the folder above it.
    with vault._store.bookkeeping() as write:
        files.set_device(write, 1, notes.stat().st_dev + 1)
    owls = notes / "birds" / "owls.md"
    kept = {path: path.read_text(encoding="utf-8") for path in (notes / "herons.md", owls)}
    for path in kept:
        path.unlink()
    owls.parent.rmdir()
    for report in (vault.sync(), vault.sync(paths=[owls]), vault.sync(notes)):
        assert not report.complete and "on another file system than before" in report.problems[0]
        assert ids(vault) == before and "force=True" in vault.sync_status().roots[0].problem
    owls.parent.mkdir()
    for path, text in kept.items():
        path.write_text(text, encoding="utf-8")
    assert vault.sync().complete and ids(vault) == before
    for path in kept:
        path.unlink()
    owls.parent.rmdir()
    assert vault.sync(force=True).files_removed == 2


def test_a_root_inside_another_has_chunks_of_its_own_and_each_goes_with_its_root(vault, notes):
    vault.sync(notes)
    outer = ids(vault)
    report = vault.sync(notes / "birds")
    assert report.complete and report.files_added == 1
    assert sorted((e.source, e.span.path) for e in vault if e.title == "Owls") == [
        ("birds", "owls.md"),
        ("notes", "birds/owls.md"),
    ]
    (notes / "birds" / "owls.md").write_text("# Owls\n\nThey hoot.\n", encoding="utf-8")
    assert vault.sync(paths=[notes / "birds" / "owls.md"]).files_changed == 2
    assert vault.forget_root("birds") == 1
    assert picture(vault) == fresh(notes)
    assert {one[1] for one in ids(vault)} == {one[1] for one in outer}


def test_a_folder_under_another_name_is_the_same_root(vault, notes, tmp_path):
    (tmp_path / "alias").symlink_to(notes)
    vault.sync(notes)
    before = ids(vault)
    for path in (tmp_path / "alias", notes / "birds" / "..", f"{notes}/", os.path.relpath(notes)):
        assert vault.sync(path).roots == ("notes",)
    assert vault.sync(paths=[tmp_path / "alias" / "birds" / "owls.md"]).files_seen == 1
    assert ids(vault) == before and len(vault.sync_status().roots) == 1


def test_a_tilde_and_blanks_around_a_name_mean_the_same_wherever_a_root_is_named(vault, notes, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for _ in range(2):
        assert vault.sync("~/notes", name=" birds ").roots == ("birds",)
    assert vault.sync(paths=["~/notes/birds/owls.md"]).files_seen == 1
    assert vault.forget_root("~/notes") == 2


@pytest.mark.parametrize("options", [{"redact": 1}, {"redact": 1.0}, {"redact": 0}, {"trust": []}, {"layout": ()}])
def test_options_of_another_type_are_refused_by_name_and_none_is_kept(vault, notes, options):
    vault.sync(notes)
    before = vault.sync_status().roots[0].options
    with pytest.raises(EntryError, match=f"^{next(iter(options))} is .*: wanted"):
        vault.sync(notes, **options)
    assert vault.sync_status().roots[0].options == before


@pytest.mark.parametrize(
    "renamed", [("herons.md", "Herons.md"), ("birds", "Birds"), ("birds/owls.md", "birds/OWLS.md")]
)
def test_a_name_of_which_only_the_case_changes_is_a_rename(vault, notes, renamed):
    vault.sync(notes)
    before = {one[0] for one in ids(vault)}
    (notes / renamed[0]).rename(notes / renamed[1])
    report = vault.sync()
    assert (report.files_renamed, report.chunks_added, report.chunks_removed) == (1, 0, 0)
    assert {one[0] for one in ids(vault)} == before
    assert picture(vault) == fresh(notes)


def test_a_folder_that_is_renamed_keeps_every_chunk(vault, notes):
    for n in range(40):
        (notes / "birds" / f"n{n}.md").write_text(f"# Note {n % 5}\n\nSome are equal.\n", encoding="utf-8")
    vault.sync(notes)
    before = {e.id: (e.parent, e.span.path.rpartition("/")[2]) for e in vault}
    (notes / "birds").rename(notes / "archive")
    report = vault.sync()
    assert (report.files_renamed, report.files_added, report.files_removed) == (41, 0, 0)
    assert {e.id: (e.parent, e.span.path.rpartition("/")[2]) for e in vault} == before
    assert picture(vault) == fresh(notes)


# -- what size and time do not show ----------------------------------------------------------------------------------


def test_a_change_that_keeps_size_and_time_is_found_when_it_is_forced(vault, notes):
    path = notes / "herons.md"
    text = path.read_text(encoding="utf-8")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    vault.sync(notes)
    path.write_text(text.replace("shallow", "SHALLOW"), encoding="utf-8")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert vault.sync().count == 0
    assert vault.sync(force=True).files_changed >= 1
    assert picture(vault) == fresh(notes)


def test_a_change_in_the_moment_of_a_sync_is_found_by_the_next_whatever_its_size_and_time(vault, notes):
    path = notes / "herons.md"
    for n in range(30):
        path.write_text(f"# Herons\n\nNumber {n:02}.\n", encoding="utf-8")
        seen = path.stat()
        vault.sync(notes)
        path.write_text(f"# Herons\n\nNUMBER {n:02}.\n", encoding="utf-8")
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        vault.sync()
        assert f"NUMBER {n:02}" in next(e.description for e in vault if e.span.path == "herons.md")


def test_a_clock_that_is_set_back_or_stands_still_hides_no_change(tmp_path, notes):
    now = [2_000_000_000.0]
    path = notes / "herons.md"
    with Vault(tmp_path / "c.db", clock=lambda: now[0]) as vault:
        for n, (clock, mtime) in enumerate(
            [(2e9, 1e9), (1e9, 9e8), (1.0, 8e8), (1.0, 8e8 - 1), (3e9, 2e9), (0.0, 0.0)]
        ):
            now[0] = clock
            path.write_text(f"# Herons\n\nText {n}.\n", encoding="utf-8")
            os.utime(path, (mtime, mtime))
            assert vault.sync(notes).complete
            assert picture(vault) == fresh(notes)


# -- another vault ---------------------------------------------------------------------------------------------------


def test_chunks_go_to_another_vault_whole_and_a_sync_there_makes_no_doubles(vault, notes, tmp_path):
    (notes / "waders.md").write_text(
        "# Waders\n\nSee [[herons]].\n\n# Snipes\n\n" + "They drum. " * 300, encoding="utf-8"
    )
    vault.sync(notes)
    (notes / "waders.md").rename(notes / "birds" / "waders.md")
    vault.sync()
    vault.export(tmp_path / "out.jsonl")
    with Vault(tmp_path / "w.db") as other:
        other.import_(tmp_path / "out.jsonl")
        assert ids(other) == ids(vault) and picture(other) == picture(vault)
        mine = other.add(title="mine")
        for one in ids(vault):
            other.link(mine, one[0])
        report = other.sync(notes)
        assert (report.complete, report.chunks_added, report.chunks_removed) == (True, 0, 0)
        assert chunks(other) == ids(vault)
        assert len(other.links(mine)) == len(vault)
        (notes / "herons.md").write_text("# Herons\n\nAnother text.\n", encoding="utf-8")
        other.sync()
        vault.sync()
        assert chunks(other) == ids(vault)
        other.delete(mine)
        assert picture(other) == fresh(notes)


def test_imported_chunks_of_files_that_are_not_on_this_disk_stay(vault, notes, tmp_path):
    vault.sync(notes)
    vault.export(tmp_path / "out.jsonl")
    owls = next(one for one in ids(vault) if one[2].path == "birds/owls.md")
    (notes / "birds" / "owls.md").unlink()
    with Vault(tmp_path / "w.db") as other:
        other.import_(tmp_path / "out.jsonl")
        other.sync(notes)
        assert owls in ids(other) and len(other) == 2
        (notes / "herons.md").unlink()
        other.sync()
        assert ids(other) == [owls]


# -- disks that are full, processes that end -------------------------------------------------------------------------


@pytest.mark.parametrize("pages", [0, 3, 20, 60])
def test_a_full_disk_ends_a_sync_with_an_error_and_the_next_one_goes_on(vault, notes, pages):
    mine = vault.add(title="mine")
    vault.sync(notes)
    for n in range(120):
        (notes / f"n{n}.md").write_text(f"# Note {n}\n\n" + f"The heron of note {n}. " * 60, encoding="utf-8")
    writer = vault._store._writer
    used = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {used + pages}")
    with pytest.raises(StoreError, match="the disk is full"):
        vault.sync()
    with Vault(vault.path) as other:
        assert mine in other and {"herons.md", "birds/owls.md"} <= {e.span.path for e in other if e.span}
    writer.execute("PRAGMA max_page_count = 1000000000")
    report = vault.sync()
    assert report.complete and report.took_s < 5
    vault.delete(mine)
    assert picture(vault) == fresh(notes)


@pytest.mark.parametrize("room", [0, 20_000, 100_000, 300_000])
def test_a_limit_on_the_size_of_files_ends_a_sync_with_an_error_that_names_it(vault, notes, room):
    vault.sync(notes)
    for n in range(120):
        (notes / f"n{n}.md").write_text(f"# Note {n}\n\n" + f"The heron of note {n}. " * 60, encoding="utf-8")
    largest = max(path.stat().st_size for path in notes.parent.glob("v.septet*") if path.is_file())
    with no_larger_than(largest + room), pytest.raises(StoreError, match="file size limit"):
        vault.sync()
    assert {"herons.md", "birds/owls.md"} <= {entry.span.path for entry in vault}
    assert vault.sync(timeout_s=5).complete
    assert picture(vault) == fresh(notes)


def test_what_is_neither_a_folder_nor_a_regular_file_is_not_followed(vault, notes, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for odd in ("/dev/null", tmp_path / "pipe"):
        with pytest.raises(EntryError, match="name a folder, or a regular file"):
            vault.sync(odd)
    with pytest.raises(EntryError, match="it is empty"):
        vault.sync("")
    assert vault.sync_status().roots == () and len(vault) == 0
    # A file that is followed and became one of these keeps what is stored.
    herons = notes / "herons.md"
    vault.sync(herons)
    herons.unlink()
    os.mkfifo(herons)
    with pytest.raises(EntryError, match="name a folder, or a regular file"):
        vault.sync(herons)
    assert len(vault) == 1
