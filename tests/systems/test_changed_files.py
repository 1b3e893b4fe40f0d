"""Files that another program replaces or cuts while they are open: an error says so, or the system keeps them."""

import os
from contextlib import suppress

import numpy as np
import pytest

from septet import Vault, VaultReplaced, VectorIndex


def vault_at(path, *titles):
    with Vault(path) as vault:
        for title in titles:
            vault.add(title=title)
        vault.optimize()


def test_a_vault_is_not_replaced_unnoticed(tmp_path):
    path, another = tmp_path / "vault.db", tmp_path / "another.db"
    vault_at(path, "The first one")
    vault_at(another, "The second one")
    with Vault(path) as vault:
        vault.add(title="Open for writing")
        try:
            another.replace(path)
        except PermissionError:
            vault.add(title="The same as before")
            assert len(vault) == 3
        else:
            with pytest.raises(VaultReplaced):
                vault.add(title="Lost")


def test_arrays_that_are_cut_between_two_openings_are_made_anew(tmp_path):
    path = tmp_path / "vault.db"
    vault_at(path, "Rotate session cookies", "Pin the toolchain")
    (arrays,) = (tmp_path / "vault.db.septet").glob("*.arrays")
    os.truncate(arrays, arrays.stat().st_size // 2)
    with Vault(path) as vault:
        assert len(vault.search("cookies").ids) == 1


def test_arrays_that_are_cut_while_they_are_open_change_no_answer(tmp_path):
    path = tmp_path / "vault.db"
    vault_at(path, *(f"Rotate session cookies {number}" for number in range(300)))
    with Vault(path) as vault:
        before = vault.search("cookies", limit=20).ids
        (arrays,) = (tmp_path / "vault.db.septet").glob("*.arrays")
        with suppress(PermissionError):
            os.truncate(arrays, 5_000)
        assert vault.search("cookies", limit=20).ids == before


def test_an_index_of_vectors_is_written_over_one_that_is_open(tmp_path):
    rows = np.random.default_rng(5).standard_normal((500, 16)).astype(np.float32)
    index = VectorIndex(16)
    index.add(rows)
    index.save(tmp_path / "index.npy")
    opened = VectorIndex.open(tmp_path / "index.npy")
    first = opened.search(rows[:5], 3)[0]
    for count in (400, 300):
        smaller = VectorIndex(16)
        smaller.add(rows[:count])
        smaller.save(tmp_path / "index.npy")
        assert len(VectorIndex.open(tmp_path / "index.npy")) == count
    assert np.array_equal(opened.search(rows[:5], 3)[0], first)
    del opened
    index.save(tmp_path / "index.npy")
    assert len(VectorIndex.open(tmp_path / "index.npy")) == 500
