"""A folder of arrays that is a link may lead to any folder of whoever opens the vault: nothing follows it."""

import pytest

from commands import Commands
from septet import StoreError
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.state import LEAST_SLOTS
from sidecars import entry, folder_of, opened, until, wanted

FOREIGN = ["7-0123456789ab.arrays", "8-0123456789ab.arrays.part", "notes.txt"]


@pytest.fixture
def path(tmp_path):
    """A vault whose folder of arrays is a link to a folder with files of somebody else."""
    target = tmp_path / "precious"
    target.mkdir()
    for name in FOREIGN:
        (target / name).write_text(name)
    path = tmp_path / "v.db"
    with opened(path, sidecar=False) as vault:
        vault.add_many(entry(i) for i in range(LEAST_SLOTS + 1))
    folder_of(path).symlink_to(target)
    yield path
    assert {file.name: file.read_text() for file in target.iterdir()} == {name: name for name in FOREIGN}
    assert folder_of(path).readlink() == target


def test_searches_go_on_without_it_and_write_none(path):
    with opened(path) as vault:
        assert [(hit.id, hit.score) for hit in vault.search("alpha", limit=20)] == wanted(path)[0]
        until(lambda: not vault._tier.manager.busy)
        assert not vault._tier.manager.restored


def test_arrays_behind_it_are_not_read(path, tmp_path):
    whole = tmp_path / "whole.db"
    with opened(path, sidecar=False) as vault:
        vault.backup(whole)
    with opened(whole) as vault:
        vault.optimize()
    beside = folder_of(whole).rename(tmp_path / "elsewhere")
    folder_of(whole).symlink_to(beside)
    with opened(whole) as vault, vault._store.reading() as read:
        assert vault._tier.manager.sidecar.latest(read) is None


def test_optimize_says_that_it_is_a_link(path):
    with opened(path) as vault, pytest.raises(StoreError, match=r"v\.db\.septet cannot be written: it is a link"):
        vault.optimize()


def test_doctor_says_that_it_is_a_link_and_mends_nothing_behind_it(path, tmp_path, monkeypatch):
    code, said, _ = Commands(tmp_path, monkeypatch)("doctor", "--fix")
    assert code != 0
    assert "is a symbolic link, which searches ignore" in " ".join(said.split())


def test_a_redaction_says_what_it_left(path):
    with opened(path) as vault:
        problems = vault.redact().problems
    assert [problem for problem in problems if "it is a link" in problem]


def test_no_part_of_it_is_swept_or_dropped(path):
    sidecar = Sidecar(str(path))
    sidecar.drop()
    assert (sidecar.unfinished(), sidecar.sweep(), sidecar.faults()) == (0, 0, [])


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    path = tmp_path / "v.db"
    with opened(path) as vault:
        vault.add(title="alpha")
        folder_of(path).mkdir()
        (folder_of(path) / "lock").symlink_to(tmp_path / "made")
        with pytest.raises(StoreError, match="cannot be written"):
            vault.optimize()
    assert not (tmp_path / "made").exists()


def test_a_vault_whose_file_is_a_link_has_its_arrays_beside_the_link(tmp_path):
    with opened(tmp_path / "v.db") as vault:
        vault.add(title="alpha")
    (tmp_path / "link.db").symlink_to("v.db")
    with opened(tmp_path / "link.db") as vault:
        assert vault.optimize().path.startswith(str(tmp_path / "link.db.septet"))
    assert not folder_of(tmp_path / "v.db").exists()
