"""How far a vault says it is in step with its folders."""

import json
import shutil

import pytest

from integration.test_following import made, message, until
from processes.test_watching import silent, watcher_of
from septet import Vault


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes")


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
        yield vault


@pytest.mark.parametrize("share", [0, 1, 3, 10, 20])
@pytest.mark.parametrize("change", ["new", "changed", "gone"])
def test_the_status_names_every_file_that_drifted(tmp_path, share, change):
    folder = made(tmp_path / "notes", 20)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        drifted = [f"{name}.txt" for name in names[:share]] if change == "new" else names[:share]
        for name in drifted:
            if change == "gone":
                (folder / name).unlink()
            else:
                (folder / name).write_text("other words than before\n", encoding="utf-8")
        status = vault.sync_status()
        (root,) = status.roots
        seen = {"new": root.new, "changed": root.changed, "gone": root.gone}
        assert seen == {**dict.fromkeys(seen, ()), change: tuple(drifted)}
        assert root.drift == share
        assert status.in_step == (share == 0)
        vault.sync()
        assert vault.sync_status().in_step


def test_the_status_says_what_is_in_the_vault_and_what_is_left_out(tmp_path):
    folder = made(tmp_path / "notes", 3)
    (folder / "s.jsonl").write_text("".join(message(f"line {i}") for i in range(60)), encoding="utf-8")
    (folder / "link.md").symlink_to("note0.md")
    (folder / "binary.md").write_bytes(b"\0\1\2")
    now = [1_000_000_000.0]
    with Vault(tmp_path / "v.db", clock=lambda: now[0]) as vault:
        assert vault.sync_status().roots == ()
        vault.sync(folder)
        now[0] += 90
        (root,) = vault.sync_status().roots
        info = vault.sync_status().roots[0]
        assert (root.name, root.path, root.files, root.chunks) == (info.name, info.path, info.files, info.chunks)
        sizes = {"text": 0, "session": 0}
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                sizes["session" if path.suffix == ".jsonl" else "text"] += path.stat().st_size
        assert root.bytes == sizes
        assert {(one.path, one.reason) for one in root.skipped} == {("link.md", "symlink")}
        assert {one.path for one in root.problems} == {"binary.md"}
        assert (root.synced_at, root.age_s, root.problem) == (1_000_000_000.0, 90.0, None)
        json.dumps(vault.sync_status().to_dict())


def test_the_status_of_a_folder_that_is_not_there_says_so_and_drifts_nowhere(vault, notes):
    shutil.rmtree(notes)
    status = vault.sync_status()
    assert status.roots[0].missing
    assert not status.roots[0].drift
    assert not status.in_step
    assert status.roots[0].files == 4


def test_the_status_says_that_chunks_are_made_in_another_way_now(vault, notes):
    from septet import Chunking

    assert not vault.sync_status().roots[0].rebuilding
    vault.sync(notes, chunking=Chunking(tokens=50, overlap=0), timeout_s=0)
    assert vault.sync_status().roots[0].rebuilding
    vault.sync(notes)
    assert vault.sync_status().in_step


def test_the_status_counts_what_is_new_of_each_transcript(vault, notes):
    short, long = notes / "a.jsonl", notes / "b.jsonl"
    for path in (short, long):
        path.write_text(message("numbat"), encoding="utf-8")
    vault.sync()
    more = [message(f"line {i}") for i in range(20)]
    for path, count in ((short, 1), (long, 20)):
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(more[:count])
    (root,) = vault.sync_status().roots
    sizes = [len("".join(more[:count])) for count in (1, 20)]
    assert root.pending == (("a.jsonl", sizes[0], 1), ("b.jsonl", sizes[1], 20))
    assert (root.pending_bytes, root.pending_messages) == (sum(sizes), 21)
    assert root.to_dict()["pending"][0] == {"path": "a.jsonl", "bytes": sizes[0], "messages": 1}
    vault.sync()
    assert not vault.sync_status().roots[0].pending


def test_a_folder_that_is_empty_and_on_another_file_system_is_not_taken_for_emptied(tmp_path, notes):
    from septet.sqlite.tables import files

    away, reports = notes.with_name("away"), []
    with Vault(tmp_path / "v.db", sync_on_search=60.0) as vault:
        vault.sync(notes)
        notes.rename(away)
        notes.mkdir()
        with vault._store.bookkeeping() as write:
            files.set_device(write, 1, notes.stat().st_dev + 1)
        (root,) = vault.sync_status().roots
        assert "on another file system" in root.missing
        assert (root.files, root.drift) == (4, 0)
        assert not vault.sync_status().in_step
        found = vault.search("rivers")
        assert len(found) == 4
        assert [note.code for note in found.notes] == ["index_behind"]
        assert "on another file system" in found.notes[0].cause
        with watcher_of(vault, silent, on_sync=reports.append) as watcher:
            until(lambda: watcher.last_error is not None and "on another file system" in watcher.last_error)
            for path in away.iterdir():
                path.rename(notes / path.name)
            (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
            until(lambda: watcher.last_error is None)
        assert all(report.complete for report in reports)
        assert vault.search("numbat")
        assert vault.sync_status().in_step


@pytest.mark.parametrize(
    "change",
    [
        lambda vault, one: vault.update(one.id, description="said by nobody"),
        lambda vault, one: vault.update(one.id, merge_attrs={"seen": 1}),
        lambda vault, one: vault.update_many({"id": one.id}, severity="critical"),
        lambda vault, one: vault.update_many({"id": one.id}, merge_attrs={"seen": 1}),
        lambda vault, one: vault.rename("tags", {"old": "new"}),
        lambda vault, one: vault.add(id=one.id, title="Another", kind="chunk"),
        lambda vault, one: vault.delete(one.id),
        lambda vault, one: vault.delete(where={"path": "tagged.md"}),
    ],
)
@pytest.mark.parametrize("kept", [0, 8])
def test_a_chunk_changed_or_deleted_in_the_vault_is_named_until_its_file_is_read_again(tmp_path, change, kept):
    folder = made(tmp_path / "notes", 2)
    (folder / "tagged.md").write_text("---\ntags: [old]\n---\nThe heron waits.\n", encoding="utf-8")
    with Vault(tmp_path / "v.db", history=kept) as vault:
        vault.sync(folder)
        [one] = vault.entries({"path": "tagged.md"})
        change(vault, one)
        status = vault.sync_status()
        assert not status.in_step and status.roots[0].altered == ("tagged.md",) and not status.roots[0].drift
        assert status.to_dict()["roots"][0]["altered"] == ["tagged.md"]
        for _ in range(2):  # a sync that leaves it says so, each time
            report = vault.sync()
            assert [(left.path, left.taken) for left in report.skipped] == [("tagged.md", True)]
        vault.sync(force=True)
        assert vault.sync_status().in_step and not vault.sync().skipped
        assert [(e.tags, e.description) for e in vault.entries({"path": "tagged.md"})] == [(one.tags, one.description)]


def test_a_chunk_changed_in_the_vault_is_what_its_file_says_when_the_file_changes(tmp_path):
    folder = made(tmp_path / "notes", 1)
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder)
        for one in vault.entries(limit=None):
            vault.update(one.id, title="Said by nobody")
        (folder / "note0.md").write_text("The heron is gone.\n", encoding="utf-8")
        vault.sync()
        assert vault.sync_status().in_step
        assert "Said by nobody" not in {one.title for one in vault}
