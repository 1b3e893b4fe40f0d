"""What a watcher makes of events: few, many, none of its business, folders, and those that break off."""

import time
from pathlib import Path

import pytest

from integration.test_following import WORDS, made, paths_of, until
from processes.test_watching import Told, silent, watcher_of, write
from septet import Vault
from septet.files.watching import MOST_PATHS


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes")


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
        yield vault


def looks_of(watcher):
    """Count how often everything is compared from now on."""
    counted, look = [], watcher._catch_up.look

    def counting():
        counted.append(1)
        return look()

    watcher._catch_up.look = counting
    return counted


def settled(watcher, events):
    """Let a watcher look when it begins, and when events come."""
    until(lambda: watcher._took > 0)
    before = watcher._looked_at
    events.tell()
    until(lambda: watcher._looked_at > before)
    watcher._took = 0.0


def test_files_that_come_and_go_and_are_none_of_ours_are_no_reason_to_compare_everything(vault, notes):
    events = Told()
    with watcher_of(vault, events) as watcher:
        settled(watcher, events)
        looks = looks_of(watcher)
        events.tell(*(notes / name for name in ("v.db-wal", "4913", "note0.md~", "sub/.x.swp", "no/such/folder")))
        write(notes / "fresh.md", "numbat\n")
        events.tell(notes / "fresh.md")
        until(lambda: vault.search("numbat"))
        assert not looks
        (notes / "fresh.md").rename(notes / "other.md")
        events.tell(notes / "fresh.md", notes / "other.md")
        until(lambda: paths_of(vault.search("numbat")) == ["other.md"])
        assert len(looks) == 1


def test_a_storm_of_folders_is_compared_now_and_then_and_a_rename_meanwhile_keeps_its_chunks(vault, notes):
    events = Told()
    with watcher_of(vault, events) as watcher:
        settled(watcher, events)
        looks, ids = looks_of(watcher), vault.search(WORDS[0]).ids
        # A look that took a while was a moment ago.
        watcher._took, watcher._looked_at = 0.02, time.monotonic()
        for i in range(10):
            (notes / f"made{i}").mkdir()
            events.tell(notes / f"made{i}")
            time.sleep(0.005)
        (notes / "note0.md").rename(notes / "made9" / "moved.md")
        events.tell(notes / "note0.md", notes / "made9" / "moved.md")
        until(lambda: paths_of(vault.search(WORDS[0])) == ["made9/moved.md"])
        assert vault.search(WORDS[0]).ids == ids
        assert len(looks) < 10


@pytest.mark.parametrize("count", [1, 2, 60, MOST_PATHS + 50])
def test_any_number_of_events_is_dealt_with(vault, notes, count):
    events = Told()
    with watcher_of(vault, events) as watcher:
        until(lambda: watcher._watched)
        paths = [notes / f"many{i}.md" for i in range(count)]
        for path in paths:
            write(path, "numbat\n")
        events.tell(*paths)
        until(lambda: len(vault.search("numbat", limit=1_000)) == count)


@pytest.mark.parametrize("name", ["gone.md", ".git/index", "elsewhere", ".septetignore", "note0.md", "sub"])
def test_an_event_of_anything_does_no_harm(vault, notes, name):
    events = Told()
    reports = []
    with watcher_of(vault, events, on_sync=reports.append) as watcher:
        events.tell(notes / name, Path("/no/such/place"), notes)
        write(notes / "fresh.md", "numbat\n")
        events.tell(notes / "fresh.md")
        until(lambda: vault.search("numbat"))
        assert watcher.last_error is None
    assert all(report.complete for report in reports)


def test_events_that_break_off_are_asked_for_again_and_nothing_is_missed(vault, notes, monkeypatch):
    monkeypatch.setattr("septet.files.watching.RETURN_S", 0.02)
    begun = []

    def breaking(*paths, stop_event):
        begun.append(1)
        yield []
        write(notes / f"fresh{len(begun)}.md", f"numbat{len(begun)}\n")
        if len(begun) < 4:
            raise OSError("a name that is no UTF-8")
        stop_event.wait()

    with watcher_of(vault, breaking) as watcher:
        until(lambda: all(vault.search(f"numbat{i}") for i in (1, 2, 3)))
        assert watcher.last_error is None


def test_comparing_takes_a_small_part_of_the_time_however_short_the_interval_is(vault, notes, monkeypatch):
    with watcher_of(vault, silent, interval_s=0.01) as watcher:
        until(lambda: watcher._took > 0)
        for took in (0.0, 0.0001, 0.1, 10.0, 1e6):
            watcher._took = took
            assert watcher._pause() == min(max(0.01, 20 * took), 86_400.0)
