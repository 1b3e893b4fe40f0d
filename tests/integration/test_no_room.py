"""Disks that are full: a write says so, nothing is lost, and all goes on when there is room."""

import pytest

from septet import StoreError, Vault
from small_files import no_larger_than


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {i}"} for i in range(200))
        yield vault


def test_a_full_disk_is_an_error_and_nothing_is_lost(vault):
    with vault._store.writing() as write:
        pages = write.sql.execute("PRAGMA page_count").fetchone()[0]
    vault._store._writer.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(StoreError, match=r"v\.db: the disk is full"):
        vault.add(title="word", description="long " * 200_000)
    assert len(vault) == 200 and len(vault.search("word", limit=999)) == 200
    vault._store._writer.execute("PRAGMA max_page_count = 1000000000")
    vault.add(title="word")
    assert len(vault) == 201


def test_a_limit_on_the_size_of_files_is_named_and_nothing_is_lost(vault):
    with (
        no_larger_than(300_000),
        pytest.raises(StoreError, match=r"v\.db: .* file size limit of this process is 300000 bytes"),
    ):
        vault.add(title="word", description="long " * 200_000)
    assert len(vault) == 200 and len(vault.search("word", limit=999)) == 200
    vault.add(title="word")
    assert len(vault) == 201


def test_a_backup_without_room_names_the_backup_and_why(vault, tmp_path):
    with (
        no_larger_than(20_000),
        pytest.raises(StoreError, match=r"b\.db cannot be written .* file size limit of this process is 20000 bytes"),
    ):
        vault.backup(tmp_path / "b.db")
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.startswith("v.db")) == []
