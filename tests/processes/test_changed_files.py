"""Files that are cut, overwritten or removed while they are mapped: no signal, no wrong answer, a note or an error."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from campaigns import searcher
from campaigns.vandal import HARMS, harm
from septet import StoreError, Vault, VectorIndex, _core
from septet.sqlite.tables import conditions

NOW = searcher.NOW
#: Shares of a file that are left of it.
SHARES = [0.0, 0.001, 0.1, 0.5, 0.9, 0.999]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    searcher.make(folder)
    return folder


@pytest.fixture(scope="module")
def wanted(made):
    return searcher.right_answers(made)


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "own")
    return tmp_path / "own"


def arrays(folder):
    (file,) = (folder / "v.db.septet").glob("*.arrays")
    return file


def opened(folder, **options):
    return Vault(folder / "v.db", clock=lambda: NOW, **options)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("kind", searcher.KINDS)
def test_a_sidecar_cut_while_it_is_searched_gives_the_same_answers_and_a_note(folder, wanted, kind, share):
    file = arrays(folder)
    with opened(folder) as vault:
        assert searcher.ask(vault, kind, 0)[0] == wanted[f"{kind} 0"]
        assert vault._tier.manager.restored
        os.truncate(file, int(file.stat().st_size * share))
        for at in range(1, 5):
            found, notes = searcher.ask(vault, kind, at)
            assert found == wanted[f"{kind} {at}"]
            assert "sidecar_damaged" in notes
        assert not file.exists()


@pytest.mark.parametrize("how", HARMS)
def test_whatever_is_done_to_a_sidecar_the_answers_stay(folder, wanted, how):
    file = arrays(folder)
    with opened(folder) as vault:
        searcher.ask(vault, "hybrid", 0)
        harm(file, how, random.Random(4))
        for at, kind in enumerate(searcher.KINDS * 2):
            found, notes = searcher.ask(vault, kind, at)
            assert found == wanted[f"{kind} {at}"]
            # A file that only lost its name is as good as before.
            assert ("sidecar_damaged" in notes) == (how != "removed")


def test_a_sidecar_overwritten_before_it_is_opened_is_verified_first(folder, wanted):
    file = arrays(folder)
    whole = file.read_bytes()
    column = _core.ArrayFile(file).column("entries.postings").tobytes()
    at = whole.index(column) + len(column) // 2
    with file.open("r+b") as harmed:
        harmed.seek(at)
        harmed.write(bytes(byte ^ 1 for byte in whole[at : at + 200]))
    with opened(folder) as vault:
        found, notes = searcher.ask(vault, "text", 0)
        assert (found, "sidecar_damaged" in notes) == (wanted["text 0"], True)


def test_a_copy_with_other_times_is_as_good(folder, wanted):
    os.utime(arrays(folder), (5, 5))
    assert not _core.ArrayFile(arrays(folder)).is_sealed
    with opened(folder) as vault:
        found, notes = searcher.ask(vault, "hybrid", 0)
        assert (found, "sidecar_damaged" in notes) == (wanted["hybrid 0"], False)
        assert vault._tier.manager.restored


def test_without_maps_a_cut_file_is_not_noticed(folder, wanted):
    with opened(folder, mapped=False) as vault:
        assert searcher.ask(vault, "text", 0)[0] == wanted["text 0"]
        os.truncate(arrays(folder), 100)
        for at in range(4):
            found, notes = searcher.ask(vault, "hybrid", at)
            assert (found, "sidecar_damaged" in notes) == (wanted[f"hybrid {at}"], False)
        assert vault._tier.manager.restored


def test_files_on_a_file_system_of_other_machines_are_read(folder, wanted, monkeypatch):
    monkeypatch.setattr("septet.system.filesystem.is_local", lambda path: False)
    with opened(folder) as vault:
        assert searcher.ask(vault, "text", 0)[0] == wanted["text 0"]
        os.truncate(arrays(folder), 100)
        found, notes = searcher.ask(vault, "hybrid", 1)
        assert (found, "sidecar_damaged" in notes) == (wanted["hybrid 1"], False)


def test_a_sidecar_cut_while_it_is_copied_into_the_next_one_is_not_copied(folder, wanted):
    file = arrays(folder)
    with opened(folder) as vault:
        searcher.ask(vault, "hybrid", 0)
        vault.add(id="new", title="word1")
        vault._tier.manager.sidecar.step = lambda name: (
            name == "entries" and file.exists() and os.truncate(file, 70_000)
        )
        vault.optimize()
        vault.delete("new")
    with opened(folder) as vault:
        for kind in searcher.KINDS:
            found, notes = searcher.ask(vault, kind, 0)
            assert (found, "sidecar_damaged" in notes) == (wanted[f"{kind} 0"], False)
        assert vault._tier.manager.restored


@pytest.mark.parametrize("suffix", ["", ".codes"])
@pytest.mark.parametrize("share", SHARES)
def test_an_index_cut_while_it_is_searched_is_an_error_that_says_so(folder, wanted, suffix, share):
    path = folder / "rows.npy"
    index = VectorIndex.open(path)
    assert searcher.nearest(index, 0) == wanted["index 0"]
    file = Path(f"{path}{suffix}")
    os.truncate(file, int(file.stat().st_size * share))
    for call in (lambda: searcher.nearest(index, 1), lambda: index.save(folder / "other.npy")):
        with pytest.raises(StoreError, match="cut or overwritten"):
            call()
    assert not list(folder.glob(".other*"))


def test_an_index_that_was_read_does_not_notice(folder, wanted):
    index = VectorIndex.open(folder / "rows.npy", mapped=False)
    for name in ("rows.npy", "rows.npy.codes"):
        os.truncate(folder / name, 0)
    assert searcher.nearest(index, 3) == wanted["index 3"]


def ran(script, *arguments, options=()):
    command = [sys.executable, *options, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


CUT = """
import faulthandler, os, sys, threading
import numpy as np
from septet import StoreError, VectorIndex
path, how = sys.argv[1:]
if how == "before":
    faulthandler.enable()
index = VectorIndex.open(path)
if how == "after":
    faulthandler.enable()
if how == "again":
    faulthandler.enable()
    other = VectorIndex.open(path)
os.truncate(path, 5_000)
def search():
    try:
        index.search(np.ones(96), 5)
    except StoreError:
        os.write(1, b"refused ")
if how == "thread":
    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
elif how == "fork":
    child = os.fork()
    search()
    if child:
        assert os.waitpid(child, 0)[1] == 0
else:
    search()
"""


@pytest.mark.parametrize("how", ["plain", "before", "after", "again", "thread", "fork"])
def test_a_cut_map_is_mended_in_threads_and_children_and_beside_other_handlers(folder, how):
    done = ran(CUT, folder / "rows.npy", how)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["refused"] * (2 if how == "fork" else 1)


@pytest.mark.parametrize("share", SHARES)
def test_the_bytes_of_a_file_of_another_format_are_zeros_where_it_was_cut(tmp_path, share):
    path, size = tmp_path / "ones", 3 * 2**20
    path.write_bytes(b"\1" * size)
    file = _core.FileBytes(path)
    view = file.view()
    left = int(size * share)
    os.truncate(path, left)
    assert (view[:left] == 1).all()
    assert not view[-(-left // 4096) * 4096 :].any()
    with pytest.raises(_core.Damaged, match="cut or overwritten"):
        file.check()


GENUINE = """
import faulthandler, mmap, os, signal, sys
from septet import VectorIndex
path, how, fault = sys.argv[1:]
if how in ("before", "both"):
    faulthandler.enable()
index = VectorIndex.open(path)
if how in ("after", "both"):
    faulthandler.disable()
    faulthandler.enable()
if how == "both":
    other = VectorIndex.open(path)
if fault == "fault":
    with open(path + ".own", "wb+") as file:
        file.write(bytes(100_000))
        file.flush()
        own = mmap.mmap(file.fileno(), 0)
        file.truncate(10)
        own[50_000]
elif fault == "raised":
    signal.raise_signal(signal.SIGBUS)
else:
    os.kill(os.getpid(), signal.SIGBUS)
"""


@pytest.mark.parametrize("fault", ["fault", "raised", "sent"])
@pytest.mark.parametrize("how", ["plain", "before", "after", "both"])
def test_a_fault_of_others_still_ends_the_process(folder, how, fault):
    done = ran(GENUINE, folder / "rows.npy", how, fault)
    assert done.returncode == -signal.SIGBUS, done.stderr
    assert ("Bus error" in done.stderr) == (how != "plain")


def test_more_maps_than_are_guarded_are_read_instead(folder):
    index = VectorIndex(4)
    index.add(np.eye(4).repeat(20_000, axis=0))
    index.save(folder / "many.npy")
    all_of_them = [VectorIndex.open(folder / "many.npy") for _ in range(700)]
    os.truncate(folder / "many.npy", 0)
    outcomes = set()
    for one in all_of_them[:3] + all_of_them[-3:]:
        try:
            outcomes.add(one.search(np.ones(4), 1)[0].tolist()[0])
        except StoreError:
            outcomes.add("refused")
    assert outcomes == {0, "refused"}


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("use", ["search", "optimize"])
def test_a_file_that_was_as_good_as_a_new_one_is_given_up_as_well(folder, wanted, use, share):
    with opened(folder, profile="seven-signals") as vault:
        searcher.ask(vault, "hybrid", 0)
        # Nothing is written: what there is, is good.
        vault.optimize()
        os.truncate(arrays(folder), int(arrays(folder).stat().st_size * share))
        if use == "optimize":
            vault.add(id="more", title="one more", vector=np.ones(searcher.DIMENSIONS))
            assert vault.optimize().path is not None
            assert vault.delete("more") == 1
        for at, kind in enumerate(searcher.KINDS):
            assert searcher.ask(vault, kind, at)[0] == wanted[f"{kind} {at}"]


def test_an_entry_is_not_explained_by_a_sidecar_that_another_thread_let_go_meanwhile(folder, wanted, monkeypatch):
    file, overwritten = arrays(folder), []

    def overwrite(vault):
        whole = bytearray(file.read_bytes())
        at = whole.index(_core.ArrayFile(file).column("space1.positions").tobytes())
        whole[at : at + 4 * searcher.ENTRIES] = b"\xff" * 4 * searcher.ENTRIES
        with file.open("r+b") as harmed:
            harmed.write(whole)
        # As the background does that compares checksums.
        vault._tier.manager._give_up(vault._tier.manager._sidecar.coverage.file)
        overwritten.append(file)

    passed = conditions.filters_passed

    def overwriting(*arguments, **named):
        if not overwritten:
            overwrite(vault)
        return passed(*arguments, **named)

    with opened(folder) as vault:
        monkeypatch.setattr(conditions, "filters_passed", overwriting)
        found, notes = searcher.ask(vault, "explain", 5)
        assert overwritten
        assert (found, "sidecar_damaged" in notes) == (wanted["explain 5"], True)
