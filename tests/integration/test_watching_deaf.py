"""A watcher where the system tells of nothing: too many folders, folders that may not be read, no package."""

import sys

import pytest

from processes.test_watching import SOON, Told, made, until, watcher_of, write
from septet import EntryError, Vault


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes")


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
        yield vault


@pytest.mark.parametrize("interval", [0.05, 3_600, None])
def test_events_that_cannot_be_had_are_an_error_and_everything_is_compared_instead(
    vault, notes, interval, monkeypatch, caplog
):
    def refused(*paths, stop_event):
        raise OSError(28, "no space left for watches")
        yield

    monkeypatch.setattr("septet.files.watching.POLL_S", 0.05)
    monkeypatch.setattr("septet.files.watching.RETRY_S", 0.05)
    with watcher_of(vault, refused, interval_s=interval) as watcher:
        until(lambda: watcher.last_error is not None)
        assert "no space left for watches" in watcher.last_error
        for i in range(3):
            write(notes / "fresh.md", f"numbat{i}\n")
            until(lambda i=i: vault.search(f"numbat{i}"))
    said = [record for record in caplog.records if "no file system events" in record.getMessage()]
    assert len(said) == 1


def test_events_that_can_be_had_again_are_used_again(vault, notes, monkeypatch):
    monkeypatch.setattr("septet.files.watching.RETRY_S", 0.02)
    events, refusals = Told(), [1, 2, 3]

    def at_last(*paths, stop_event):
        if refusals:
            raise OSError(28, f"refused {refusals.pop()}")
        yield []
        yield from events(*paths, stop_event=stop_event)

    with watcher_of(vault, at_last) as watcher:
        until(lambda: not refusals)
        until(lambda: watcher.last_error is None)
        write(notes / "fresh.md", "numbat\n")
        events.tell(notes / "fresh.md")
        until(lambda: vault.search("numbat"))


def test_a_folder_that_may_not_be_read_is_passed_over_and_only_then(vault, notes, monkeypatch):
    asked = []

    class Strict:
        """The package, for a user who may not read one of the folders."""

        @staticmethod
        def watch(*paths, stop_event, ignore_permission_denied, **_):
            asked.append(ignore_permission_denied)
            if not ignore_permission_denied:
                raise PermissionError(13, "Permission denied about private")
            yield set()
            yield {("modified", str(notes / "fresh.md"))}
            stop_event.wait()

    monkeypatch.setitem(sys.modules, "watchfiles", Strict)
    with vault.watch_files(interval_s=None, **SOON) as watcher:
        until(lambda: asked == [False, True])
        assert watcher.last_error is None


def test_without_the_package_the_cure_is_said(vault, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(EntryError, match=r"pip install 'septet\[watch\]'"):
        vault.watch_files()
