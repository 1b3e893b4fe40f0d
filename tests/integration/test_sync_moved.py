"""Files that are moved while the folders are read: one look may see them twice, or not at all."""

import os
import shutil

import pytest

from septet import Vault
from septet.files import sources
from synced import fresh, picture


class Mover:
    """Calls functions before and after the folders of a root are read; each look reads two."""

    def __init__(self, monkeypatch):
        own, self.read = sources._Search.look, 0
        self._before, self._after = {}, {}

        def look(search, place):
            self.read += 1
            self._before.pop(self.read, int)()
            count = own(search, place)
            self._after.pop(self.read, int)()
            return count

        monkeypatch.setattr(sources._Search, "look", look)

    def before(self, number, move):
        self._before[self.read + number] = move

    def after(self, number, move):
        self._after[self.read + number] = move

    @property
    def done(self):
        return not self._before and not self._after


@pytest.fixture
def mover(monkeypatch):
    return Mover(monkeypatch)


@pytest.fixture
def notes(tmp_path):
    for folder in ("notes", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "still.md").write_text(f"# Still in {folder}\n", encoding="utf-8")
    (tmp_path / "notes" / "birds").mkdir()
    for name in ("herons", "owls"):
        text = f"# Of {name}\n\nAll about {name}.\n"
        (tmp_path / "notes" / "birds" / f"{name}.md").write_text(text, encoding="utf-8")
    for file in tmp_path.rglob("*.md"):
        # Otherwise each sync reads them, as they may change in the same tick of the clock.
        os.utime(file, (1.7e9, 1.7e9))
    return tmp_path / "notes"


@pytest.fixture
def vault(tmp_path, notes):
    with Vault(tmp_path / "v.septet", sync_on_search=True) as made:
        made.sync(notes, extra=["../other"])
        yield made


def in_sync(vault):
    return vault.sync()


def in_a_search(vault):
    """Look and sync as a search does that looks first."""
    assert not vault.search("herons").notes


def texts(vault):
    return {e.id: e.description for e in vault}


WAYS = pytest.mark.parametrize("bring", [in_sync, in_a_search])


@WAYS
@pytest.mark.parametrize("name", ["birds/owls.md", "birds"])
@pytest.mark.parametrize("back", [False, True], ids=["seen twice", "not seen"])
def test_what_is_moved_between_two_folders_during_a_look_keeps_its_ids(vault, notes, mover, bring, name, back):
    first, second = notes / name, notes.parent / "other" / name.rpartition("/")[2]
    if back:
        first.rename(second)
        vault.sync()
        first, second = second, first
    known = texts(vault)
    mover.after(1, lambda: first.rename(second))
    bring(vault)
    assert texts(vault) == known
    bring(vault)
    assert texts(vault) == known
    assert mover.done
    assert picture(vault) == fresh(notes, extra=["../other"])


def test_what_is_seen_twice_by_every_look_of_a_sync_is_left_to_the_next_one(vault, notes, mover):
    here, there = notes / "birds" / "owls.md", notes.parent / "other" / "owls.md"
    known = texts(vault)
    mover.after(1, lambda: here.rename(there))
    mover.before(3, lambda: there.rename(here))
    mover.after(3, lambda: here.rename(there))
    report = vault.sync()
    assert (report.complete, report.files_left, report.files_added) == (False, 1, 0)
    assert texts(vault) == known and mover.done
    again = vault.sync()
    assert again.complete and (again.files_renamed, again.files_added, again.files_removed) == (1, 0, 0)
    assert texts(vault) == known
    assert picture(vault) == fresh(notes, extra=["../other"])


def test_what_is_seen_twice_by_every_look_of_a_search_is_left_to_the_next_one(vault, notes, mover):
    here, there = notes / "birds" / "owls.md", notes.parent / "other" / "owls.md"
    known = texts(vault)
    mover.after(1, lambda: here.rename(there))
    mover.before(3, lambda: there.rename(here))
    mover.after(3, lambda: here.rename(there))
    in_a_search(vault)
    assert texts(vault) == known and mover.done
    in_a_search(vault)
    assert texts(vault) == known
    assert picture(vault) == fresh(notes, extra=["../other"])


def test_a_copy_that_kept_the_time_of_its_original_is_a_file_of_its_own(vault, notes, mover):
    known = texts(vault)
    shutil.copy2(notes / "birds" / "owls.md", notes / "copy.md")
    report = vault.sync()
    assert (report.complete, report.files_added, report.files_renamed) == (True, 1, 0)
    assert mover.read == 2
    assert known.items() <= texts(vault).items()
