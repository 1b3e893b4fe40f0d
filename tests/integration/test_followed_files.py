"""Which files a vault follows by itself: those of any name, outside the folder, and transcripts."""

import pytest

from integration.test_following import LONG, NEW, WORDS, made, message, paths_of, until
from integration.test_sources import agrees
from integration.test_sources import made as of_files
from processes.test_watching import silent, watcher_of
from septet import Vault
from septet.files.roots import root_at
from septet.files.sources import scan


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes")


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.db", sync_on_search=LONG) as vault:
        vault.sync(notes)
        yield vault


def test_files_outside_the_folder_are_followed_too_also_behind_a_link(tmp_path, vault, notes):
    outside = made(tmp_path / "real" / "out", 1)
    (tmp_path / "link").symlink_to("real")
    vault.sync(notes, extra=["../link/out"])
    ids = vault.search(WORDS[0]).ids
    for word in NEW[:3]:
        (outside / "note0.md").write_text(f"# Note 0\n\n{word}\n", encoding="utf-8")
        assert paths_of(vault.search(word)) == ["../link/out/note0.md"]
        assert vault.sync_status().in_step
    assert len(ids) == 2


def test_a_folder_that_was_moved_and_left_a_link_is_the_same_root_and_is_followed(tmp_path, vault, notes):
    ids = vault.search("rivers").ids
    moved = tmp_path / "disk" / "moved"
    moved.parent.mkdir()
    notes.rename(moved)
    notes.symlink_to(moved, target_is_directory=True)
    assert vault.search("rivers").ids == ids
    (moved / "note0.md").write_text(f"# Note 0\n\n{NEW[0]}\n", encoding="utf-8")
    assert paths_of(vault.search(NEW[0])) == ["note0.md"]
    assert vault.sync_status().in_step
    for path in (notes, moved):
        (moved / "note0.md").write_text(f"# Note 0\n\n{NEW[1]} {path.name}\n", encoding="utf-8")
        report = vault.sync(path)
        assert (report.complete, report.files_changed, report.skipped) == (True, 1, ())
        (moved / "note0.md").write_text(f"# Note 0\n\n{NEW[2]} {path.name}\n", encoding="utf-8")
        assert vault.sync(paths=[path / "note0.md"]).files_changed == 1
        assert len(vault.sync_status().roots) == 1
    with watcher_of(vault, silent, interval_s=0.05) as watcher:
        (moved / "late.md").write_text(f"{NEW[3]}\n", encoding="utf-8")
        until(lambda: vault.sync_status().roots[0].files == 5)
        assert watcher.last_error is None
    assert vault.forget_root(str(moved)) == 5


@pytest.mark.parametrize("name", [
    "new\nline.md", " blank .md", "-x.md", "q?*[].md", "a\\xe9.md", "\u202eevil.md", "e\u0301.md",
    "caf\udce9.md", "dir\udc80/x.md",
])  # fmt: skip
def test_a_file_of_any_name_is_followed(vault, notes, name):
    path = notes / name
    path.parent.mkdir(exist_ok=True)
    for word in NEW[:2]:
        path.write_text(f"{word}\n", encoding="utf-8")
        assert len(vault.search(word)) == 1
        assert vault.sync_status().in_step
    path.unlink()
    assert not vault.search(NEW[1])


@pytest.mark.parametrize("lines", [1, 30, 70])
def test_a_transcript_that_is_renamed_keeps_its_chunks_however_short_it_is(vault, notes, lines):
    log = notes / "s.jsonl"
    log.write_text("".join(message(f"numbat {i}") for i in range(lines)), encoding="utf-8")
    vault.sync()
    before = vault.search("numbat").ids
    assert before
    log.rename(notes / "s.jsonl.reset.2026")
    after = vault.search("numbat")
    assert after.ids == before
    assert set(paths_of(after)) == {"s.jsonl.reset.2026"}


def test_a_transcript_that_became_shorter_is_read_at_once(vault, notes):
    log = notes / "s.jsonl"
    log.write_text(message("numbat") + message("quokka"), encoding="utf-8")
    vault.sync()
    log.write_text(message("quokka"), encoding="utf-8")
    assert not vault.search("numbat")
    assert vault.search("quokka")


def test_short_news_of_a_transcript_waits_until_it_is_asked_for(vault, notes):
    log = notes / "s.jsonl"
    log.write_text(message("numbat"), encoding="utf-8")
    assert not vault.search("numbat")
    assert vault.sync_status().roots[0].pending == (("s.jsonl", log.stat().st_size, 1),)
    assert vault.sync_status().in_step
    with log.open("a", encoding="utf-8") as file:
        file.writelines(message(f"line {i}") for i in range(60))
    assert vault.search("numbat")
    assert not vault.sync_status().roots[0].pending


def test_files_behind_a_link_that_was_named_have_one_path_however_they_are_asked_for(tmp_path):
    ws = of_files(tmp_path / "ws", "a.md")
    of_files(tmp_path, "real/out/b.md", "real/out/deep/c.md")
    (tmp_path / "link").symlink_to("real")
    for given in (["../link/out"], [str(tmp_path / "link" / "out")], ["../link/out/b.md", "../link/out/deep/*.md"]):
        root = root_at(ws, paths=given)
        assert [file.path for file in scan(root).files] == ["a.md", "../link/out/b.md", "../link/out/deep/c.md"]
        agrees(root)
