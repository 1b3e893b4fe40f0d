"""A sync says how many files it leaves out because of their ending, and which endings these are."""

import pytest

from septet import Vault

OTHERS = ["a.pdf", "b.PDF", "deep/c.pdf", "deep/board.canvas", "page.html", "Makefile", "notes.md~"]


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
    assert list(report.skipped_kinds.items()) == [("pdf", 3), ("canvas", 1), ("html", 1), ("other", 2)]
    (root,) = vault.sync_status().roots
    assert root.skipped_kinds == report.skipped_kinds == root.to_dict()["skipped_kinds"]
    assert vault.sync_status().in_step


def test_what_is_hidden_ignored_or_left_out_by_globs_is_not_counted(vault, notes):
    made(notes, ".hidden/x.pdf", ".y.pdf", "build/z.pdf", "deep/old/q.pdf")
    (notes / ".gitignore").write_text("build/\n*.canvas\n", encoding="utf-8")
    (notes / "deep" / ".septetignore").write_text("old/\n", encoding="utf-8")
    assert vault.sync(notes).skipped_kinds == {"pdf": 3, "html": 1, "other": 2}
    assert vault.sync(notes, exclude=["deep/", "Makefile"]).skipped_kinds == {"pdf": 2, "html": 1, "other": 1}
    assert vault.sync(notes, exclude=[], include=["*.md", "*.html"]).skipped_kinds == {"html": 1}


@pytest.mark.parametrize("extra", [["deep"], ["../notes"], ["deep/*.pdf"], ["deep", "deep/"]])
def test_a_file_in_two_places_counts_once(vault, notes, extra):
    assert vault.sync(notes, extra=extra).skipped_kinds["pdf"] == 3


def test_places_beside_the_folder_and_around_it_count_with_it(vault, notes, tmp_path):
    made(tmp_path / "more", "d.pdf")
    assert vault.sync(notes, extra=["../more"]).skipped_kinds["pdf"] == 4
    assert vault.sync(notes, extra=[".."]).skipped_kinds["pdf"] == 4


def test_several_folders_are_counted_together_and_single_paths_not_at_all(vault, notes, tmp_path):
    vault.sync(notes)
    vault.sync(made(tmp_path / "more", "x.md", "y.pdf", "z.epub"))
    assert vault.sync().skipped_kinds == {"pdf": 4, "canvas": 1, "epub": 1, "html": 1, "other": 2}
    assert vault.sync(paths=[notes / "a.md"]).skipped_kinds == {}
    assert vault.sync(notes, force=True).skipped_kinds["pdf"] == 3


def test_of_a_memory_what_lies_in_its_folder_is_counted(vault, tmp_path):
    folder = made(tmp_path / "work", "MEMORY.md", "README.md", "x.pdf", "memory/a.md", "memory/b.txt", "memory/c.pdf")
    assert vault.sync(folder, layout="memory").skipped_kinds == {"pdf": 1, "txt": 1}


def test_a_folder_that_is_read_in_another_way_counts_them_once(vault, notes):
    vault.sync(notes)
    report = vault.sync(notes, trust="untrusted")
    assert report.reindexed and report.skipped_kinds["pdf"] == 3
