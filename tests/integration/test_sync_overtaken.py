"""Syncs that are held up while others change what they stand on: how a root is read, and which folder it is."""

import os
import threading

import pytest

from septet import Chunking, Vault
from septet.files import syncing, tracking
from synced import fresh, picture

KEY = "ghp_" + "Zq7x" * 9
TEXT = f"the key is {KEY}\n\n{'and herons wait. ' * 20}"


def fill(folder, numbers, text=TEXT):
    folder.mkdir(exist_ok=True)
    for n in numbers:
        (folder / f"n{n}.md").write_text(f"# Note {n}\n\n{text}\n", encoding="utf-8")
        os.utime(folder / f"n{n}.md", (1_000_000_000, 1_000_000_000))


class Held:
    """A sync on a thread, held up in a ``with`` block between reading the disk and writing what it read."""

    def __init__(self, monkeypatch, sync):
        self.at, self.on, self.reports = threading.Event(), threading.Event(), []
        self.thread = threading.Thread(target=lambda: self.reports.append(sync()))
        plans = syncing.Run._plans

        def held(run, batch):
            made = plans(run, batch)
            if threading.current_thread() is self.thread:
                self.at.set()
                assert self.on.wait(20)
            return made

        monkeypatch.setattr(syncing.Run, "_plans", held)

    def __enter__(self):
        self.thread.start()
        assert self.at.wait(20)
        return self

    def __exit__(self, *fault):
        self.on.set()
        self.thread.join(20)


def lose_lease(vault):
    """As when a process does nothing for longer than others wait."""
    with vault._store.bookkeeping() as write:
        write.sql.execute("DELETE FROM claims")


def test_a_root_that_is_forgotten_while_it_is_synced_leaves_nothing_in_another_that_has_its_number(
    tmp_path, monkeypatch
):
    for name in ("one", "two"):
        fill(tmp_path / name, range(9), f"said in {name} only")
    with Vault(tmp_path / "v.db") as first, Vault(tmp_path / "v.db") as second:
        with Held(monkeypatch, lambda: first.sync(tmp_path / "one")) as held:
            second.forget_root("one")
            assert second.sync(tmp_path / "two", timeout_s=0).problems
        assert not held.reports[0].complete
        assert second.sync_status().roots[0].synced_at is None and not list(second)
        second.sync()
        assert picture(second) == fresh(tmp_path / "two")


@pytest.mark.parametrize("options", [{"redact": "all"}, {"chunking": Chunking(tokens=20, overlap=0)}])
def test_a_sync_that_was_overtaken_brings_nothing_in_as_it_was_read_before(tmp_path, monkeypatch, options):
    folder, away = tmp_path / "notes", tmp_path / "away.md"
    fill(folder, range(4))
    with Vault(tmp_path / "v.db") as first, Vault(tmp_path / "v.db") as second:
        first.sync(folder, redact=False)
        fill(folder, range(4, 9))
        with Held(monkeypatch, first.sync) as held:
            lose_lease(first)
            # What the second one does not see, nothing that it stores stands in the way of.
            (folder / "n8.md").rename(away)
            assert second.sync(folder, **options).reindexed == ("notes",)
            away.rename(folder / "n8.md")
        assert not held.reports[0].complete
        assert second.sync().complete
        assert picture(second) == fresh(folder, **{"redact": False, **options})


def test_a_folder_that_was_redacted_gets_no_unmasked_chunks_by_a_sync_or_a_switch_that_began_before(
    tmp_path, monkeypatch
):
    folder = tmp_path / "notes"
    fill(folder, range(4))
    with Vault(tmp_path / "v.db") as first, Vault(tmp_path / "v.db") as second:
        first.sync(folder, redact=False)
        fill(folder, range(4, 9))
        with Held(monkeypatch, lambda: first.sync(folder, chunking=Chunking(tokens=20, overlap=0))) as held:
            lose_lease(first)
            assert second.redact().roots == ("notes",)
        assert not held.reports[0].complete
        assert not any(KEY in e.description for e in second)
        assert second.sync().complete and not any(KEY in e.description for e in second)


def test_a_redaction_that_waits_for_a_first_sync_has_all_that_it_brought_masked_from_then_on(tmp_path, monkeypatch):
    folder = tmp_path / "notes"
    fill(folder, range(9))
    with Vault(tmp_path / "v.db") as vault:
        reports = []
        redaction = threading.Thread(target=lambda: reports.append(vault.redact()))
        with Held(monkeypatch, lambda: vault.sync(folder, redact=False)):
            redaction.start()
            redaction.join(0.2)
        redaction.join(20)
        assert (reports[0].files, reports[0].roots) == (9, ("notes",))
        fill(folder, range(10), f"{TEXT}more")
        vault.sync()
        assert len(vault) >= 10 and not any(KEY in e.description for e in vault)


def test_options_that_others_set_at_the_same_moment_stay(tmp_path, monkeypatch):
    fill(tmp_path / "notes", range(3))
    made = tracking.options_of
    with Vault(tmp_path / "v.db") as vault, Vault(tmp_path / "v.db") as other:
        vault.sync(tmp_path / "notes", redact=False)

        def late(*given):
            monkeypatch.undo()
            options = made(*given)
            other.redact()
            return options

        monkeypatch.setattr(tracking, "options_of", late)
        vault.sync(tmp_path / "notes", chunking=Chunking(tokens=20, overlap=0))
        [root] = vault.sync_status().roots
        assert root.options["redact"] == "all" and root.options["chunking"]["tokens"] == 20
        assert not any(KEY in e.description for e in vault)
