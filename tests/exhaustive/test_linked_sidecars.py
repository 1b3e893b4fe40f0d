"""Tests of `integration/test_linked_sidecars.py` that take seconds."""

import pytest

from integration.test_linked_sidecars import FOREIGN
from septet.exchange import restore
from septet.sqlite.snapshot.state import LEAST_SLOTS
from sidecars import entry, folder_of, opened


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


def test_restoring_a_backup_leaves_what_is_behind_it(path, tmp_path):
    with opened(path) as vault:
        vault.backup(tmp_path / "backup.db")
    assert restore(tmp_path / "backup.db", path) == LEAST_SLOTS + 1
