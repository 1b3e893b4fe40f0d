"""Exports and backups: nothing that is ours or in use is written over, and a file appears whole or not at all."""

import io
import os
import stat
import time
from pathlib import Path

import pytest

from septet import StoreError, Vault
from septet.system.target import complete_file

ENDINGS = ["", "-wal", "-shm", "-journal", ".septet"]


def fill(vault, count=5):
    vault.add_many({"id": f"e{i}", "title": f"word {i}", "description": "text " * 40} for i in range(count))


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as made:
        fill(made)
        made.optimize()
        yield made


@pytest.fixture(params=["export", "backup"])
def write(request):
    """What writes a file from a vault."""
    return lambda vault, target: getattr(vault, request.param)(target)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_belongs_to_the_vault_is_refused_and_left_as_it_was(vault, write, tmp_path, ending):
    before = names(tmp_path)
    with pytest.raises(StoreError, match=r"the vault itself, or a part of it: name another"):
        write(vault, f"{vault.path}{ending}")
    assert names(tmp_path) == before
    with Vault(vault.path) as other:
        assert len(other) == 5


def test_a_file_in_the_folder_of_arrays_is_refused_also_when_it_would_be_new(vault, write, tmp_path):
    for target in [*(tmp_path / "v.db.septet").iterdir(), tmp_path / "v.db.septet" / "new"]:
        with pytest.raises(StoreError, match="the vault itself, or a part of it"):
            write(vault, target)


@pytest.mark.parametrize("link", [os.link, os.symlink])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_a_link_to_a_part_of_the_vault_is_refused(vault, write, tmp_path, link, ending):
    link(f"{vault.path}{ending}", tmp_path / "other")
    with pytest.raises(StoreError, match="the vault itself, or a part of it"):
        write(vault, tmp_path / "other")


def test_a_link_to_a_file_of_arrays_or_to_their_folder_is_refused(vault, write, tmp_path):
    (arrays,) = (tmp_path / "v.db.septet").glob("*.arrays")
    os.link(arrays, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(tmp_path / "v.db.septet")
    for target in ("hard", "soft", "soft/new"):
        with pytest.raises(StoreError, match="the vault itself, or a part of it"):
            write(vault, tmp_path / target)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_belongs_to_a_vault_is_refused_where_it_was_opened_by_a_link(tmp_path, write, ending):
    (tmp_path / "link.db").symlink_to(tmp_path / "v.db")
    with Vault(tmp_path / "v.db") as made:
        fill(made)
    with Vault(tmp_path / "link.db") as vault:
        vault.add(title="in the log")
        with pytest.raises(StoreError, match="the vault itself, or a part of it"):
            write(vault, f"{tmp_path}/v.db{ending}")


def test_another_vault_in_use_is_refused_with_all_that_belongs_to_it(vault, write, tmp_path):
    (tmp_path / "there").mkdir()
    with Vault(tmp_path / "there" / "o.db") as other:
        other.add(id="x", title="word")
        other.optimize()
        (tmp_path / "link.db").symlink_to(other.path)
        for target in ("there/o.db", "there/o.db-wal", "there/o.db-shm", "there/o.db.septet/new", "link.db"):
            with pytest.raises(StoreError, match=r"database in use|the log of|index folder"):
                write(vault, tmp_path / target)
        other.add(id="y", title="word")
    with Vault(tmp_path / "there" / "o.db") as again:
        assert sorted(again.search("word").ids) == ["x", "y"]


def test_a_file_beside_which_an_old_log_lies_is_refused(vault, write, tmp_path):
    (tmp_path / "copy.db-journal").write_bytes(b"old")
    with pytest.raises(StoreError, match=r"copy\.db-journal exists"):
        write(vault, tmp_path / "copy.db")


def test_an_open_stream_takes_what_a_device_would(vault):
    out = io.StringIO()
    assert vault.export(out) == 5
    with Path("/dev/null").open("w", encoding="utf-8") as nowhere:
        assert vault.export(nowhere) == 5


@pytest.mark.parametrize("name", ["", "a\0b", "y" * 300])
def test_an_impossible_name_is_an_error_of_the_target(vault, write, name):
    with pytest.raises(StoreError, match=r"it is empty or has a NUL|has a name of 305 bytes"):
        write(vault, name and f"{vault.path}.{name}")


def test_a_file_of_ones_own_with_a_similar_name_stays(vault, write, tmp_path):
    (tmp_path / "out.part").write_text("mine")
    write(vault, tmp_path / "out")
    assert (tmp_path / "out.part").read_text() == "mine"
    assert names(tmp_path) == ["out", "out.part", "v.db", "v.db-shm", "v.db-wal", "v.db.septet"]


def test_a_symbolic_link_is_replaced_and_what_it_points_to_stays(vault, write, tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "out").symlink_to("precious")
    (tmp_path / "out.part").symlink_to("precious")
    write(vault, tmp_path / "out")
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "out").is_symlink()
    (tmp_path / "dangling").symlink_to("nothing")
    write(vault, tmp_path / "dangling")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666])
def test_the_mode_is_that_of_the_file_before_or_the_owners_alone(vault, write, tmp_path, mode):
    write(vault, tmp_path / "new")
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(mode)
    write(vault, tmp_path / "old")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "old")]
    assert modes == [0o600, mode]


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, OSError])
def test_nothing_is_left_of_a_file_that_was_not_completed(tmp_path, stop):
    (tmp_path / "out").write_text("old")
    with pytest.raises((stop, StoreError)), complete_file(tmp_path / "out") as part:
        os.write(part.descriptor, b"half")
        part.path.with_name(f"{part.path.name}-journal").write_text("half")
        raise stop("stop")
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "old"


def test_a_backup_that_is_interrupted_leaves_nothing(vault, tmp_path):
    def progress(done, total):
        raise KeyboardInterrupt

    before = names(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        vault.backup(tmp_path / "copy.db", progress=progress)
    assert names(tmp_path) == before


def test_a_file_that_somebody_puts_in_place_of_the_unfinished_one_is_not_taken(tmp_path):
    with pytest.raises(StoreError, match="replaced by another program"), complete_file(tmp_path / "out") as part:
        part.path.unlink()
        part.path.write_text("planted")
    assert not (tmp_path / "out").exists()


def test_what_a_killed_process_left_unfinished_goes_when_it_is_old_and_nobody_holds_it(vault, write, tmp_path):
    def unfinished(number, age_s):
        made = tmp_path / f".septet-{number:016x}.part"
        made.write_text("half")
        os.utime(made, (time.time() - age_s,) * 2)
        return made

    old, young = unfinished(1, 7_200), unfinished(2, 60)
    Path(f"{old}-journal").write_text("half")
    (tmp_path / ".septet-mine.part").write_text("mine")
    os.utime(tmp_path / ".septet-mine.part", (0, 0))
    with complete_file(tmp_path / "slow") as part:
        os.utime(part.path, (0, 0))
        write(vault, tmp_path / "out")
        assert part.path.exists()
        assert young.exists()
        assert not old.exists()
        assert not Path(f"{old}-journal").exists()
        assert (tmp_path / ".septet-mine.part").read_text() == "mine"
    assert (tmp_path / "slow").exists()


def test_a_target_that_comes_into_use_meanwhile_is_not_replaced(tmp_path):
    with pytest.raises(StoreError, match="database in use"), complete_file(tmp_path / "o.db"):
        other = Vault(tmp_path / "o.db")
        other.add(id="x", title="word")
    assert other.search("word").ids == ["x"]
    other.close()


def test_a_folder_that_vanishes_is_named_and_not_the_vault(vault, write, tmp_path):
    with pytest.raises(StoreError, match=r"missing/out cannot be written: the folder .*missing does not exist") as told:
        write(vault, tmp_path / "missing" / "out")
    assert "v.db" not in str(told.value)
    (tmp_path / "going").mkdir()

    def progress(done, total):
        for file in (tmp_path / "going").iterdir():
            file.unlink()
        (tmp_path / "going").rmdir()

    with pytest.raises(StoreError, match=r"the folder .*going does not exist") as told:
        vault.backup(tmp_path / "going" / "out", progress=progress)
    assert "v.db" not in str(told.value)


def test_a_vault_that_is_damaged_is_named_and_not_the_target(tmp_path):
    with Vault(tmp_path / "v.db") as made:
        fill(made, 600)
    with Vault(tmp_path / "v.db", read_only=True) as vault:
        whole = (tmp_path / "v.db").read_bytes()
        (tmp_path / "v.db").write_bytes(whole[: len(whole) // 2])
        try:
            vault.backup(tmp_path / "copy.db")
        except StoreError as fault:
            assert str(tmp_path / "v.db") in str(fault)
        else:
            pytest.fail("half a vault was copied")
    assert not (tmp_path / "copy.db").exists()
