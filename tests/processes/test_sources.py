"""Tests of `integration/test_sources.py` that start processes."""

import pytest

from children import as_nobody, open_to_others
from integration.test_sources import made, paths_of, told
from processes.test_files import needs_root
from septet.files.roots import root_at
from septet.files.sources import file_at, scan


@needs_root
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_that_cannot_be_read_is_told_and_the_others_are_found(tmp_path, mode):
    open_to_others(tmp_path)
    made(tmp_path, "a/x.md", "b/y.md", "c/z.md")
    (tmp_path / "b").chmod(mode)

    def task():
        root = root_at(tmp_path)
        assert paths_of(root) == ["a/x.md", "c/z.md"]
        assert {path.split("/")[0] for path, reason in told(root) if reason == "unreadable"} == {"b"}
        assert file_at(root, "b/y.md") is None
        scan_of_it = scan(root_at(tmp_path / "b"))
        assert not scan_of_it.files
        assert not scan_of_it.missing

    assert as_nobody(task)


@needs_root
def test_a_folder_whose_rules_cannot_be_read_shows_nothing_that_they_may_hide(tmp_path):
    open_to_others(tmp_path)
    made(tmp_path, "a/x.md", "b/secret.md", "b/.gitignore")
    (tmp_path / "b" / ".gitignore").chmod(0)

    def task():
        root = root_at(tmp_path)
        assert paths_of(root) == ["a/x.md"]
        assert told(root) == {("b", "unreadable")}

    assert as_nobody(task)
