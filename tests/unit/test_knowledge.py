"""What a retrieval asks of a vault, and how it tells several apart."""

import os

from septet import Federation, Vault
from septet.retrieval.knowledge import items_of, key_of, store_of


def test_a_file_is_one_store_however_it_is_named(tmp_path, monkeypatch):
    file = tmp_path / "v.db"
    monkeypatch.chdir(tmp_path)
    with Vault(file) as one, Vault("v.db") as again, Vault(tmp_path / "w.db") as other:
        assert store_of(one) == store_of(again) == os.path.realpath(file)
        assert store_of(other) != store_of(one)


def test_vaults_in_memory_and_federations_are_stores_of_their_own():
    with Vault(":memory:") as one, Vault(":memory:") as other, Federation({"project": one}) as both:
        names = [store_of(one), store_of(other), store_of(both)]
        assert len(set(names)) == 3
        assert names == [store_of(one), store_of(other), store_of(both)]


def test_what_cannot_be_remembered_by_name_is_told_by_its_place():
    class Slotted:
        __slots__ = ()

    one, other = Slotted(), Slotted()
    assert store_of(one) == store_of(one) != store_of(other)


def test_an_entry_has_one_key_whatever_found_it():
    with Vault(":memory:") as vault:
        vault.add(title="Token refresh", id="a", vector=[1.0, 0.0])
        by_words = items_of(store_of(vault), vault.search("token", legs="text"))
        by_vectors = items_of(store_of(vault), vault.search("token", query_vector=[1.0, 0.0], legs="vector"))
        assert [item.key for item in by_words] == [item.key for item in by_vectors] == [key_of(store_of(vault), "a")]
