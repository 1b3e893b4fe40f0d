"""A watcher keeps a vault in step, whether or not the system tells it of changes."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

from consoles import CONSOLE, interrupt
from integration.test_following import LONG, WORDS, made, message, paths_of, until
from septet import Closed, EntryError, Vault
from septet.files.watching import FolderWatcher

SOON = {"debounce_s": 0.02, "session_debounce_s": 0.02}


def silent(*paths, stop_event):
    """Events of a system that tells of nothing."""
    stop_event.wait()
    yield from ()


class Told:
    """Events that a test tells by hand."""

    def __init__(self):
        self.waiting, self.ready = [], threading.Event()

    def tell(self, *paths):
        self.waiting.append([("modified", str(path)) for path in paths])
        self.ready.set()

    def __call__(self, *paths, stop_event):
        while not stop_event.is_set():
            if self.ready.wait(0.01):
                self.ready.clear()
                while self.waiting:
                    yield self.waiting.pop(0)


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes")


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
        yield vault


def watcher_of(vault, events, **options):
    """A watcher that hears of changes from elsewhere than the system."""
    options = {"interval_s": None, "on_sync": None, **SOON, **options}
    return FolderWatcher(vault._store, vault.sync, events=events, **options)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_files_that_are_written_moved_and_deleted_are_followed(vault, notes):
    pytest.importorskip("watchfiles")
    # A move is one where both its halves are told within a debounce, which a busy machine must manage too.
    with vault.watch_files(interval_s=None, debounce_s=0.7, session_debounce_s=0.02) as watcher:
        write(notes / "fresh.md", "numbat\n")
        until(lambda: vault.search("numbat"))
        ids = vault.search("numbat").ids
        (notes / "fresh.md").rename(notes / "sub" / "moved.md")
        until(lambda: paths_of(vault.search("numbat")) == ["sub/moved.md"])
        assert vault.search("numbat").ids == ids
        write(notes / "deep" / "er" / "x.md", "quokka\n")
        until(lambda: vault.search("quokka"))
        shutil.rmtree(notes / "deep")
        until(lambda: not vault.search("quokka"))
        (notes / "sub").rename(notes / "other")
        until(lambda: paths_of(vault.search("numbat")) == ["other/moved.md"])
        assert vault.sync_status().watching
        assert watcher.last_error is None
    assert not vault.sync_status().watching


def test_a_change_that_nobody_told_of_is_found_by_the_next_look(vault, notes):
    with watcher_of(vault, silent, interval_s=0.05):
        for i in range(3):
            write(notes / f"fresh{i}.md", f"numbat{i}\n")
            until(lambda i=i: vault.search(f"numbat{i}"))
            (notes / f"fresh{i}.md").unlink()
            until(lambda i=i: not vault.search(f"numbat{i}"))


def test_what_changed_before_it_began_is_found_at_once(vault, notes):
    write(notes / "fresh.md", "numbat\n")
    with watcher_of(vault, silent):
        until(lambda: vault.search("numbat"))


def test_rules_that_change_are_followed(vault, notes):
    events = Told()
    with watcher_of(vault, events):
        write(notes / ".septetignore", "note0.md\n")
        events.tell(notes / ".septetignore")
        until(lambda: not vault.search(WORDS[0]))
        (notes / ".septetignore").unlink()
        events.tell(notes / ".septetignore")
        until(lambda: vault.search(WORDS[0]))


def test_a_folder_that_goes_away_and_comes_back_is_followed_again(vault, notes):
    pytest.importorskip("watchfiles")
    with vault.watch_files(interval_s=0.05, **SOON) as watcher:
        away = notes.with_name("away")
        notes.rename(away)
        until(lambda: watcher.last_error is not None and "is not there" in watcher.last_error)
        assert len(vault.search("rivers")) == 4
        write(away / "fresh.md", "numbat\n")
        away.rename(notes)
        until(lambda: vault.search("numbat"))
        until(lambda: watcher.last_error is None)
        write(notes / "later.md", "quokka\n")
        until(lambda: vault.search("quokka"))


def test_a_transcript_is_read_when_enough_of_it_is_new(vault, notes):
    events = Told()
    log = notes / "s.jsonl"
    with watcher_of(vault, events) as watcher:
        write(log, message("numbat"))
        write(notes / "fresh.md", "quokka\n")
        events.tell(log, notes / "fresh.md")
        until(lambda: vault.search("quokka"))
        with log.open("a", encoding="utf-8") as file:
            file.writelines(message(f"line {i}") for i in range(30))
        syncs = watcher.syncs
        events.tell(log)
        write(notes / "fresh.md", "potoroo\n")
        events.tell(notes / "fresh.md")
        until(lambda: vault.search("potoroo"))
        assert not vault.search("numbat")
        with log.open("a", encoding="utf-8") as file:
            file.writelines(message(f"line {i}") for i in range(30))
        events.tell(log)
        until(lambda: vault.search("numbat"))
        assert watcher.syncs > syncs


def test_a_folder_that_is_removed_and_made_again_is_followed_again(vault, notes):
    pytest.importorskip("watchfiles")
    with vault.watch_files(interval_s=None, **SOON) as watcher:
        write(notes / "first.md", "wombat\n")
        until(lambda: vault.search("wombat"))
        for i in range(3):
            # At once, so that the new folder may have the number of the old one.
            shutil.rmtree(notes)
            notes.mkdir()
            write(notes / "fresh.md", f"numbat{i}\n")
            until(lambda i=i: vault.search(f"numbat{i}"))
            assert not vault.search("wombat")
            write(notes / "later.md", f"quokka{i}\n")
            until(lambda i=i: vault.search(f"quokka{i}"))
        # It looked while the folder was away, and looks again.
        until(lambda: watcher.last_error is None)


def test_a_forked_child_has_no_watcher_and_its_parent_keeps_it(vault, notes):
    with watcher_of(vault, silent, interval_s=0.01) as watcher:
        vault._watchers = (watcher,)
        for _ in range(5):
            child = os.fork()
            if not child:
                code = 1
                try:
                    closed = watcher.closed and watcher.wait() and not vault.sync_status().watching
                    watcher.close()
                    vault.close()
                    code = 0 if closed else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not watcher.closed
        assert vault.sync_status().watching
        write(notes / "fresh.md", "numbat\n")
        until(lambda: vault.search("numbat"))


def test_closing_does_not_wait_for_another_process_that_syncs(tmp_path, notes):
    from septet.files.turns import Lease

    with Vault(tmp_path / "v.db") as other:
        other.sync(notes)
        other_lease = Lease(other._store)
        assert other_lease.take(lambda: False)
        vault = Vault(tmp_path / "v.db")
        write(notes / "fresh.md", "numbat\n")
        reports = []
        watcher = watcher_of(vault, silent, on_sync=reports.append)
        vault._watchers = (watcher,)
        until(lambda: vault._has_synced)
        vault.close()
        assert not any(thread.is_alive() for thread in watcher._threads)
        assert [report.complete for report in reports] in ([], [False])
        other_lease.release()


def test_a_function_that_raises_is_an_error_and_watching_goes_on(vault, notes):
    def angry(report):
        raise RuntimeError("no thanks")

    with watcher_of(vault, silent, interval_s=0.05, on_sync=angry) as watcher:
        write(notes / "fresh.md", "numbat\n")
        until(lambda: vault.search("numbat"))
        until(lambda: watcher.last_error is None)
        write(notes / "more.md", "quokka\n")
        until(lambda: vault.search("quokka"))


def test_reports_are_told(vault, notes):
    reports = []
    with watcher_of(vault, silent, interval_s=0.05, on_sync=reports.append):
        write(notes / "fresh.md", "numbat\n")
        until(lambda: sum(report.files_added for report in reports) == 1)


def test_it_ends_with_the_vault_and_with_itself(tmp_path, notes):
    vault = Vault(tmp_path / "v.db")
    vault.sync(notes)
    watchers = [watcher_of(vault, silent, interval_s=0.01) for _ in range(3)]
    watchers[0].close()
    watchers[0].close()
    assert watchers[0].closed
    assert watchers[0].wait(0)
    assert not watchers[1].wait(0)
    vault.close()
    for watcher in watchers:
        until(lambda watcher=watcher: not any(thread.is_alive() for thread in watcher._threads))
    pytest.importorskip("watchfiles")
    with pytest.raises(Closed):
        vault.watch_files()
    with Vault(tmp_path / "v.db") as again:
        watcher = again.watch_files()
    assert watcher.closed
    assert not any(thread.is_alive() for thread in watcher._threads)


def test_folders_that_are_added_while_it_watches_are_watched(vault, tmp_path):
    pytest.importorskip("watchfiles")
    with vault.watch_files(interval_s=None, **SOON):
        for i in range(3):
            vault.sync(made(tmp_path / f"more{i}"))
            write(tmp_path / f"more{i}" / "fresh.md", f"numbat{i}\n")
            until(lambda i=i: vault.search(f"numbat{i}"))
            write(tmp_path / f"more{i}" / "later.md", f"quokka{i}\n")
            until(lambda i=i: vault.search(f"quokka{i}"))


@pytest.mark.parametrize("options", [
    {"debounce_s": -1}, {"debounce_s": "x"}, {"session_debounce_s": float("nan")}, {"interval_s": 0},
    {"interval_s": 1e9}, {"on_sync": 3}, {"on_sync": "print"},
])  # fmt: skip
def test_arguments_out_of_range_are_refused(vault, options):
    pytest.importorskip("watchfiles")
    with pytest.raises(EntryError, match=next(iter(options))):
        vault.watch_files(**options)


@pytest.mark.parametrize("deaf", [False, True])
def test_the_command_prints_a_line_a_sync_and_ends_at_ctrl_c(tmp_path, notes, deaf):
    pytest.importorskip("watchfiles")
    pytest.importorskip("typer")
    environment = {**os.environ, "SEPTET_VAULT": str(tmp_path / "v.db"), "PYTHONUNBUFFERED": "1"}
    if deaf:
        # The package polls, and never comes to it.
        environment |= {"WATCHFILES_FORCE_POLLING": "true", "WATCHFILES_POLL_DELAY_MS": "100000000"}
    options = ["--debounce", "0.05", "--interval", "0.2" if deaf else "3600"]
    command = [sys.executable, "-m", "septet", "watch", str(notes), *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen(command, env=environment, text=True, **pipes, **CONSOLE)
    try:
        assert "4 added" in child.stdout.readline()
        assert str(notes) in child.stderr.readline()
        time.sleep(0.2)
        write(notes / "fresh.md", "numbat\n")
        line = child.stdout.readline()
        assert "notes: " in line
        assert "1 added" in line
        interrupt(child)
        _, err = child.communicate(timeout=LONG)
        assert child.returncode == 0, err
        assert "Traceback" not in err
    finally:
        child.kill()
        child.wait()
    with Vault(tmp_path / "v.db") as vault:
        assert vault.search("numbat")


@pytest.mark.parametrize("there", [False, True])
def test_the_command_without_a_folder_to_follow_says_what_to_do(tmp_path, there):
    pytest.importorskip("typer")
    if there:
        Vault(tmp_path / "v.db").close()
    command = [sys.executable, "-m", "septet", "watch", "--vault", str(tmp_path / "v.db")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode not in (0, 1)
    assert ("`septet watch DIR`" if there else "there is no vault") in done.stderr
    assert (tmp_path / "v.db").exists() == there


def test_the_command_says_how_far_a_vault_is_in_step(tmp_path, vault, notes):
    pytest.importorskip("typer")
    write(notes / "fresh.md", "numbat\n")
    (notes / "note0.md").unlink()

    def status(*arguments):
        command = [sys.executable, "-m", "septet", "status", "--vault", vault.path, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    said = status()
    assert "notes: " in said
    assert "1 new: fresh.md" in said
    assert "1 gone: note0.md" in said
    data = json.loads(status("--json"))
    assert (data["in_step"], data["roots"][0]["new"], data["roots"][0]["gone"]) == (False, ["fresh.md"], ["note0.md"])
    vault.sync()
    assert "up to date" in status()
