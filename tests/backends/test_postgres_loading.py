"""A load of several transactions: what is done ahead of them and behind them leaves what single writes leave."""

import numpy as np
import pytest

from septet import BatchError, PostgresVault, Vault
from septet.postgres.store import upkeep
from septet.postgres.tables import blocks, indexing
from written import faults

ROWS = 100


@pytest.fixture
def vault(dsn, vault_name, monkeypatch):
    """A vault whose transactions are small."""
    for name in ("batch.BATCH_ROWS", "blocks.BATCH_ROWS", "blocks.BLOCK"):
        monkeypatch.setattr(f"septet.vault.{name}", ROWS)
    with PostgresVault(dsn, vault_name, buckets=5, clock=lambda: 1e9) as opened:
        yield opened


@pytest.fixture
def calls(monkeypatch):
    """What was called, each time."""
    made = []
    for module, name in ((blocks, "fold"), (upkeep, "analyse_if_grown"), (indexing, "prepared")):
        monkeypatch.setattr(module, name, noted(made, name, getattr(module, name)))
    return made


def noted(made, name, before):
    def call(*given):
        made.append(name)
        return before(*given)

    return call


def items(count, first=0):
    words = np.random.default_rng(first).integers(0, 900, (count, 12)).tolist()
    return [
        {
            "id": f"e{at}",
            "title": f"title {at}",
            "description": "\n\n".join(f"w{one}" for one in own),
            "kind": "memory" if at % 7 == 0 else "chunk",
            "tags": [f"t{at % 5}"],
        }
        for at, own in enumerate(words, first)
    ]


def everything(vault):
    entries = sorted(vault, key=lambda one: one.id)
    return [(one.id, one.title, one.description, one.kind, one.tags, one.parent) for one in entries]


def test_a_load_stores_what_it_stores_in_a_file_and_is_folded_once(vault, calls):
    vectors = np.random.default_rng(3).standard_normal((440, 8)).astype(np.float32)
    given = items(440)
    # One comes twice in a transaction, one in two of them.
    given[140]["id"], given[380]["id"] = "e120", "e20"
    with Vault(":memory:", clock=lambda: 1e9) as local:
        for one in (vault, local):
            assert len(one.add_many(given, vectors=vectors, model="m")) == 440
        assert everything(vault) == everything(local)
        found = [one.search("w1 w2 title", limit=30, query_vector=vectors[9], model="m") for one in (vault, local)]
        assert [hit.id for hit in found[0]] == [hit.id for hit in found[1]]
    assert faults(vault._store) == []
    assert calls.count("prepared") == 5
    assert calls.count("analyse_if_grown") == 1
    with vault._store.reading() as read:
        assert read.sql.execute(
            "SELECT count(*) FROM septet.count_changes WHERE vault = %s", (read.vault.number,)
        ).fetchone() == (0,)


def test_a_load_over_what_is_there_and_of_texts_that_are_split_leaves_sound_counts(vault):
    vault.add_many(items(60))
    vault.add_many([{**one, "description": f"{one['description']} again"} for one in items(240)])
    assert faults(vault._store) == []
    vault.add_many(items(220, 40), split=5)
    assert faults(vault._store) == []
    assert len(everything(vault)) > 260


def test_an_item_that_cannot_be_stored_leaves_the_transactions_before_it_and_their_counts_are_folded(vault, calls):
    given = items(320)
    given[234]["title"] = 5
    with pytest.raises(BatchError) as told:
        vault.add_many(given)
    assert (told.value.written, told.value.index) == (200, 234)
    assert len(everything(vault)) == 200 and calls.count("analyse_if_grown") == 1
    assert faults(vault._store) == []


def test_a_load_that_waits_for_its_end_folds_before_too_much_waits(vault, calls, monkeypatch):
    monkeypatch.setattr(upkeep, "MOST_TERMS", 2_000)
    vault.add_many(items(320))
    assert calls.count("analyse_if_grown") > 2
    assert faults(vault._store) == []
