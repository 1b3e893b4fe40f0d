"""A vault that looks at the disk by itself: before searches, when it is opened; and how far it says it is behind."""

import json
import shutil
import threading
import time
from pathlib import Path

import pytest

from septet import AsyncVault, EntryError, Federation, ReadOnly, StoreError, Vault

LONG = 60.0
#: Words that have little in common.
WORDS = "abacus blizzard chutney dynamo eggplant fjord gazebo hydrangea igloo juniper kumquat lozenge".split()

NEW = (
    "accordion bobsled cashew dulcimer espresso flamingo gondola hammock iguana jigsaw kayak lantern mimosa ox".split()
)


def made(folder: Path, count: int = 4) -> Path:
    for i in range(count):
        path = folder / ("sub" if i % 2 else "") / f"note{i}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {i}\n\n{WORDS[i % len(WORDS)]} text about rivers\n", encoding="utf-8")
    folder.mkdir(exist_ok=True)
    return folder


def until(done, *, seconds=LONG):
    """Wait for something that another thread or process does; a test that waits in vain fails by its own assertion."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    assert done()


def paths_of(results):
    return [hit.entry.span.path for hit in results]


def message(text):
    return json.dumps({"type": "message", "message": {"role": "user", "content": text}}) + "\n"


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes")


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.db", sync_on_search=LONG) as vault:
        vault.sync(notes)
        yield vault


def codes(results):
    return [note.code for note in results.notes]


@pytest.mark.parametrize("times", [1, 2, 7])
def test_a_search_finds_what_was_written_just_before_it(vault, notes, times):
    for i in range(times):
        first, second = NEW[2 * i], NEW[2 * i + 1]
        (notes / "note0.md").write_text(f"# Note 0\n\n{first} was here\n", encoding="utf-8")
        (notes / f"new{i}.md").write_text(f"{second}\n", encoding="utf-8")
        assert paths_of(vault.search(first)) == ["note0.md"]
        assert paths_of(vault.search(second)) == [f"new{i}.md"]
    (notes / "note0.md").unlink()
    found = vault.search(first)
    assert not found
    assert "index_behind" not in codes(found)


@pytest.mark.parametrize("count", [0, 1, 64, 65, 200])
def test_any_number_of_changes_is_brought_in(vault, notes, count):
    for i in range(count):
        (notes / f"many{i}.md").write_text(f"capybara number{i}\n", encoding="utf-8")
    vault.search("rivers")
    assert vault.sync_status().in_step
    assert len(vault.search("capybara", limit=300)) == count


def test_a_file_that_is_renamed_keeps_its_chunks(vault, notes):
    before = vault.search(WORDS[0]).ids
    (notes / "note0.md").rename(notes / "sub" / "other.md")
    after = vault.search(WORDS[0])
    assert after.ids == before
    assert paths_of(after) == ["sub/other.md"]


@pytest.mark.parametrize("ask", ["search", "search_many", "recall", "explain"])
def test_every_way_to_search_looks_first(vault, notes, ask):
    (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
    if ask == "search_many":
        vault.search_many(["numbat", "rivers"])
    elif ask == "explain":
        vault.explain("numbat", vault.search("rivers").ids[0])
    else:
        getattr(vault, ask)("numbat")
    assert vault.sync_status().in_step


def test_what_is_not_done_in_time_is_said_and_goes_on(tmp_path, notes):
    with Vault(tmp_path / "v.db", sync_on_search=0) as vault:
        vault.sync(notes)
        (notes / "late.md").write_text("numbat\n", encoding="utf-8")
        first = vault.search("numbat")
        assert codes(first) == ["index_behind"]
        assert "last complete sync was" in first.notes[0].cause
        until(lambda: vault.search("numbat"))
        until(lambda: vault.sync_status().in_step)


def test_a_search_does_not_wait_for_a_sync_that_runs(tmp_path, notes):
    entered, go = threading.Event(), threading.Event()

    def hold(done, total):
        entered.set()
        go.wait(LONG)

    with Vault(tmp_path / "v.db", sync_on_search=0.05) as vault:
        vault.sync(notes)
        thread = threading.Thread(target=lambda: vault.sync(notes, force=True, progress=hold))
        thread.start()
        entered.wait(LONG)
        try:
            (notes / "late.md").write_text("numbat\n", encoding="utf-8")
            found = vault.search("rivers")
            assert len(found) == 4
            assert codes(found) == ["index_behind"]
            assert vault.sync_status().running
        finally:
            go.set()
            thread.join()
        until(lambda: vault.search("numbat"))
        assert not vault.sync_status().running


def test_the_time_limit_of_a_search_bounds_the_look_too(tmp_path, notes):
    with Vault(tmp_path / "v.db", sync_on_search=LONG) as vault:
        vault.sync(notes)
        taken = threading.Event()
        go = threading.Event()

        def hold(done, total):
            taken.set()
            go.wait(LONG)

        thread = threading.Thread(target=lambda: vault.sync(notes, force=True, progress=hold))
        thread.start()
        taken.wait(LONG)
        try:
            (notes / "late.md").write_text("numbat\n", encoding="utf-8")
            assert "index_behind" in codes(vault.search("rivers", timeout_s=0.5))
        finally:
            go.set()
            thread.join()


def test_nothing_is_synced_where_nothing_changed_not_even_what_cannot_be_read(tmp_path, notes):
    told = []
    with Vault(tmp_path / "v.db", sync_on_search=LONG, on_write=told.append) as vault:
        vault.sync(notes)
        (notes / "binary.md").write_bytes(b"\0\1\2" * 100)
        (notes / "fine.md").write_text("numbat\n", encoding="utf-8")
        assert vault.search("numbat")
        syncs = len(told)
        assert syncs > 1
        for _ in range(5):
            assert vault.search("numbat")
        assert len(told) == syncs


def test_a_folder_that_is_not_there_is_said_and_its_files_answer(vault, notes):
    shutil.move(notes, notes.with_name("away"))
    found = vault.search("rivers")
    assert len(found) == 4
    assert codes(found) == ["index_behind"]
    assert "is not there" in found.notes[0].cause
    shutil.move(notes.with_name("away"), notes)
    (notes / "more.md").write_text("rivers and lakes\n", encoding="utf-8")
    again = vault.search("rivers")
    assert len(again) == 5
    assert not codes(again)


def test_chunks_that_are_made_in_another_way_now_are_made_anew_by_itself(vault, notes):
    from septet import Chunking

    assert vault.search("rivers")
    vault.sync(notes, chunking=Chunking(tokens=50, overlap=0), timeout_s=0)
    assert vault.sync_status().roots[0].rebuilding
    assert not codes(vault.search("rivers"))
    assert not vault.sync_status().roots[0].rebuilding


def test_without_a_thread_a_search_answers_and_says_that_nobody_looked(vault, notes, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        found = vault.search("rivers")
    assert len(found) == 4
    assert codes(found) == ["index_behind"]
    assert "can't start new thread" in found.notes[0].cause
    (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
    assert vault.search("numbat")


def test_closing_a_vault_ends_a_sync_between_two_files_and_the_next_one_need_not_wait(tmp_path, monkeypatch):
    folder, entered = made(tmp_path / "many", 30), threading.Event()
    vault = Vault(tmp_path / "v.db")
    reports = []

    def slowly(done, total):
        entered.set()
        time.sleep(0.05)

    # Each file in a transaction of its own.
    monkeypatch.setattr("septet.files.syncing.MOST_CHUNKS", 1)
    thread = threading.Thread(target=lambda: reports.append(vault.sync(folder, progress=slowly)))
    thread.start()
    entered.wait(LONG)
    vault.close()
    thread.join()
    (report,) = reports
    assert not report.complete
    assert 0 < report.files_left < 30
    with Vault(tmp_path / "v.db") as again:
        assert not again.sync_status().running
        assert again.sync().complete
        assert again.sync_status().roots[0].files == 30


def test_a_hook_that_searches_when_it_is_told_of_what_came_in_waits_for_nothing(tmp_path, notes):
    found = []
    with Vault(
        tmp_path / "v.db", sync_on_search=LONG, on_write=lambda event: found.append(vault.search("numbat"))
    ) as vault:
        vault.sync(notes)
        (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
        assert vault.search("numbat")
    assert len(found[-1]) == 1


def test_a_vault_without_folders_searches_as_ever(tmp_path):
    with Vault(tmp_path / "v.db", sync_on_search=True, sync_on_open=True) as vault:
        vault.add(title="numbat")
        found = vault.search("numbat")
        assert len(found) == 1
        assert not codes(found)
        assert vault.sync_status().roots == ()


def test_a_vault_in_memory_follows_too(notes):
    with Vault(":memory:", sync_on_search=LONG) as vault:
        vault.sync(notes)
        (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
        assert vault.search("numbat")


def test_several_threads_share_a_look(vault, notes):
    (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
    found = []
    threads = [threading.Thread(target=lambda: found.append(len(vault.search("numbat")))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8


def test_opening_a_vault_may_begin_a_sync(tmp_path, notes):
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
    (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
    with Vault(tmp_path / "v.db", sync_on_open=True) as vault:
        until(lambda: vault.search("numbat"))


def test_a_vault_may_be_closed_while_it_looks(tmp_path):
    folder = made(tmp_path / "many", 300)
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(made(tmp_path / "few", 0))
        vault.sync(folder, include="note1.md")
        vault.sync(folder, include="*.md", timeout_s=0)
    for _ in range(3):
        Vault(tmp_path / "v.db", sync_on_open=True).close()
    with Vault(tmp_path / "v.db") as vault:
        vault.sync()
        assert vault.sync_status().in_step
        assert vault.sync_status().roots[1].files == 300


def test_the_vaults_of_a_federation_look_too_and_notes_name_them(tmp_path):
    first, second = made(tmp_path / "a"), made(tmp_path / "b")
    with Vault(tmp_path / "a.db", sync_on_search=LONG) as one, Vault(tmp_path / "b.db", sync_on_search=LONG) as two:
        one.sync(first)
        two.sync(second)
        both = Federation({"agent": one, "team": two})
        for folder in (first, second):
            (folder / "fresh.md").write_text(f"numbat {folder.name}\n", encoding="utf-8")
        assert len(both.search("numbat")) == 2
        assert both.tier("team").sync_status().in_step
        shutil.rmtree(second)
        assert [(note.code, note.tier) for note in both.search("numbat").notes] == [("index_behind", "team")]
        assert not codes(both.search("numbat", tiers="agent"))
        both.close()


@pytest.mark.parametrize("value", ["yes", -1, float("nan"), float("inf"), 1e9, None, [], 10**400])
def test_a_budget_that_is_none_is_refused(tmp_path, value):
    with pytest.raises(StoreError, match="sync_on_search"):
        Vault(tmp_path / "v.db", sync_on_search=value)


def test_a_vault_that_is_only_read_cannot_follow(tmp_path):
    Vault(tmp_path / "v.db").close()
    for options in ({"sync_on_search": True}, {"sync_on_search": 0.0}, {"sync_on_open": True}):
        with pytest.raises(ReadOnly):
            Vault(tmp_path / "v.db", read_only=True, **options)
    with Vault(tmp_path / "v.db", read_only=True) as vault:
        assert vault.sync_status().in_step
        with pytest.raises(ReadOnly):
            vault.watch_files()


async def _asked(path):
    async with AsyncVault(path, sync_on_search=LONG) as vault:
        found = await vault.search("numbat")
        return len(found), (await vault.sync_status()).in_step


def test_an_async_vault_follows_too(tmp_path, notes):
    import asyncio

    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
    (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
    assert asyncio.run(_asked(tmp_path / "v.db")) == (1, True)


def test_a_root_that_is_forgotten_meanwhile_does_no_harm(vault, notes):
    assert vault.search("rivers")
    vault.forget_root("notes")
    (notes / "fresh.md").write_text("numbat\n", encoding="utf-8")
    found = vault.search("numbat")
    assert not found
    assert "index_behind" not in codes(found)
    with pytest.raises(EntryError):
        vault.sync(paths=[notes / "fresh.md"])
