"""What is read of many rows stands in their order; a row that is not there is an error, never a shift."""

import pytest

from septet import StoreError, Vault
from septet.sqlite.tables import entries

NOW = 1_000.0


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db", clock=lambda: NOW, sidecar=False) as made:
        made.add_many({"id": f"e{i}", "title": f"alpha {i}", "tags": [f"t{i}"]} for i in range(4))
        yield made


READERS = [entries.read_rows, entries.ids_at, entries.tags_at, entries.texts_at]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_what_is_read_stands_in_the_order_of_the_rows_that_were_asked_for(vault, reader):
    with vault._store.reading() as read:
        alone = {row: reader(read, [row])[0] for row in range(1, 5)}
        assert reader(read, [3, 1, 3, 4]) == [alone[3], alone[1], alone[3], alone[4]]
        assert reader(read, []) == []


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_row_that_is_not_there_is_an_error(vault, reader):
    with vault._store.reading() as read, pytest.raises(StoreError, match="1 of 3 entries"):
        reader(read, [1, 99, 2])


def test_a_row_that_was_deleted_is_no_candidate(vault):
    vault.delete("e1")
    with vault._store.reading() as read, pytest.raises(StoreError, match="1 of 2 entries"):
        entries.read_rows(read, [1, 2])


def test_a_search_over_rows_that_another_program_removed_says_so_instead_of_mixing_entries_up(vault):
    vault.optimize()
    assert len(vault.search("alpha")) == 4
    # Without a new generation, so that the snapshot is believed to be right.
    vault._store._writer.execute("DELETE FROM entries WHERE id = 'e1'")
    with pytest.raises(StoreError, match="changed by another program"):
        vault.search("alpha")
