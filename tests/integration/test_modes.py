"""A new vault is its owner's alone, with all that lies beside it, unless its folder or its maker says otherwise."""

import os
import stat

import numpy as np
import pytest

from septet import Vault
from septet.embedding import EmbeddingCache
from septet.embedding.cache import CacheNamespace


@pytest.fixture(autouse=True)
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def filled(path):
    vault = Vault(path)
    vault.add_many({"id": f"e{i}", "title": f"word {i}", "vector": [1.0, i]} for i in range(20))
    vault.optimize()
    vault.add(id="later", title="word")
    return vault


def test_a_new_vault_its_log_its_arrays_and_its_backup_are_its_owners_alone(tmp_path):
    with filled(tmp_path / "v.db") as vault:
        vault.backup(tmp_path / "b.db")
        found = modes(tmp_path)
        assert {"v.db", "v.db-wal", "v.db-shm", "b.db"} < set(found)
        assert any(name.startswith("v.db.septet/") for name in found)
        assert set(found.values()) == {0o600}
        assert stat.S_IMODE((tmp_path / "v.db.septet").stat().st_mode) == 0o700


def test_a_vault_behind_a_link_to_nothing_is_its_owners_alone_too(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    with filled(tmp_path / "link.db"):
        assert modes(tmp_path)["real.db"] == 0o600


def test_a_new_embedding_cache_is_its_owners_alone(tmp_path):
    cache = EmbeddingCache(tmp_path / "cache.db")
    cache.put(CacheNamespace("p", "m", "document"), {"text": np.ones(3, dtype=np.float32)})
    assert set(modes(tmp_path).values()) == {0o600}
    cache.close()


def test_a_folder_that_gives_its_files_to_a_group_leaves_the_mode_to_the_umask(tmp_path):
    os.umask(0o002)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    with filled(shared / "v.db"):
        assert set(modes(shared).values()) == {0o664}


def test_a_file_that_its_maker_gave_a_mode_keeps_it(tmp_path):
    path = tmp_path / "v.db"
    path.touch()
    path.chmod(0o640)
    with filled(path):
        assert modes(tmp_path)["v.db"] == modes(tmp_path)["v.db-wal"] == 0o640


def test_a_vault_that_is_there_keeps_its_mode_when_it_is_opened_again(tmp_path):
    path = tmp_path / "v.db"
    filled(path).close()
    path.chmod(0o644)
    with Vault(path) as vault:
        vault.add(title="more")
    assert modes(tmp_path)["v.db"] == 0o644
