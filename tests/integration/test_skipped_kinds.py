"""A sync says how many files it leaves out because of their ending, and which endings these are."""

import pytest

from septet import Vault

OTHERS = ["a.epub", "b.EPUB", "deep/c.epub", "deep/board.canvas", "page.drawio", "Makefile", "notes.md~"]


def made(folder, *paths):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"# {path}\n", encoding="utf-8")
    return folder


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes", "a.md", "b.txt", "s.jsonl", *OTHERS)


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        yield made


def test_the_report_and_the_status_count_files_of_other_kinds(vault, notes):
    report = vault.sync(notes)
    assert report.files_added == 3 and not [one for one in report.skipped if not one.taken]
    assert list(report.skipped_kinds.items()) == [("epub", 3), ("canvas", 1), ("drawio", 1), ("other", 2)]
    (root,) = vault.sync_status().roots
    assert root.skipped_kinds == report.skipped_kinds == root.to_dict()["skipped_kinds"]
    assert vault.sync_status().in_step


def test_what_is_hidden_ignored_or_left_out_by_globs_is_not_counted(vault, notes):
    made(notes, ".hidden/x.epub", ".y.epub", "build/z.epub", "deep/old/q.epub")
    (notes / ".gitignore").write_text("build/\n*.canvas\n", encoding="utf-8")
    (notes / "deep" / ".septetignore").write_text("old/\n", encoding="utf-8")
    assert vault.sync(notes).skipped_kinds == {"epub": 3, "drawio": 1, "other": 2}
    assert vault.sync(notes, exclude=["deep/", "Makefile"]).skipped_kinds == {"epub": 2, "drawio": 1, "other": 1}
    assert vault.sync(notes, exclude=[], include=["*.md", "*.drawio"]).skipped_kinds == {"drawio": 1}


@pytest.mark.parametrize("extra", [["deep"], ["../notes"], ["deep/*.epub"], ["deep", "deep/"]])
def test_a_file_in_two_places_counts_once(vault, notes, extra):
    assert vault.sync(notes, extra=extra).skipped_kinds["epub"] == 3


def test_places_beside_the_folder_and_around_it_count_with_it(vault, notes, tmp_path):
    made(tmp_path / "more", "d.epub")
    assert vault.sync(notes, extra=["../more"]).skipped_kinds["epub"] == 4
    assert vault.sync(notes, extra=[".."]).skipped_kinds["epub"] == 4


def test_several_folders_are_counted_together_and_single_paths_not_at_all(vault, notes, tmp_path):
    vault.sync(notes)
    vault.sync(made(tmp_path / "more", "x.md", "y.epub", "z.mobi"))
    assert vault.sync().skipped_kinds == {"epub": 4, "canvas": 1, "drawio": 1, "mobi": 1, "other": 2}
    assert vault.sync(paths=[notes / "a.md"]).skipped_kinds == {}
    assert vault.sync(notes, force=True).skipped_kinds["epub"] == 3


def test_of_a_memory_what_lies_in_its_folder_is_counted(vault, tmp_path):
    folder = made(tmp_path / "work", "MEMORY.md", "README.md", "x.epub", "memory/a.md", "memory/b.txt", "memory/c.epub")
    assert vault.sync(folder, layout="memory").skipped_kinds == {"epub": 1, "txt": 1}


def test_a_folder_that_is_read_in_another_way_counts_them_once(vault, notes):
    vault.sync(notes)
    report = vault.sync(notes, trust="untrusted")
    assert report.reindexed and report.skipped_kinds["epub"] == 3
