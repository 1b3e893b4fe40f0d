"""The embedding pipeline: what lacks a vector, how it is sent, what is counted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from doubles import Letters, down
from golden.differences import differs
from golden.loader import recording
from septet import EmbeddingOptions, Vault
from septet.embedding.report import EmbedReport
from septet.sqlite.tables import texts

RECORDED = recording("vectors")["pipeline"]
BY_HAND = EmbeddingOptions(automatic=False)
LONG_S = 60.0


def counted(report: EmbedReport) -> dict[str, int]:
    """Return what was recorded of a run; the double embeds a text for a token, and nothing is ever skipped."""
    return {"embedded": report.embedded, "skipped": 0, "failed": report.failed, "tokensUsed": report.embedded}


@pytest.fixture
def embedder() -> Letters:
    return Letters()


@pytest.fixture
def vault(tmp_path, embedder) -> Iterator[Vault]:
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND) as made:
        made.add_many({"id": f"e{i}", "title": f"title {i}"} for i in range(RECORDED["first"]["embedded"]))
        yield made


def test_batches_progress_and_counts_are_the_recorded_ones(vault, embedder):
    seen = []
    assert counted(vault.embed(progress=lambda done, total: seen.append([done, total]))) == RECORDED["first"]
    assert seen == RECORDED["progress"]
    assert embedder.sizes() == [call["n"] for call in RECORDED["callSizes"]]
    assert counted(vault.embed()) == RECORDED["second"]


def test_another_model_in_batches_of_seven_makes_the_recorded_calls(vault):
    vault.embed()
    other = Letters("other")
    options = EmbeddingOptions(automatic=False, batch_texts=7)
    with Vault(vault.path, embedder=other, embedding_options=options) as second:
        assert counted(second.embed()) == RECORDED["otherModelBatch7"]
    assert len(other.calls) == RECORDED["otherModelCalls"]


@differs("changed-text-is-embedded-again")
def test_a_changed_title_is_embedded_again(vault, embedder):
    vault.embed()
    vault.update("e0", title="another title")
    assert counted(vault.embed())["embedded"] == 1
    assert RECORDED["afterTitleChange"]["embedded"] == 0 and not RECORDED["embedEntryAfterTitleChange"]


def two(tmp_path, embedder: Letters) -> Vault:
    vault = Vault(tmp_path / "two.db", embedder=embedder, embedding_options=BY_HAND)
    vault.add_many({"id": id, "title": f"title {id}"} for id in ("f1", "f2"))
    return vault


def test_a_batch_that_fails_is_counted_as_recorded(tmp_path, embedder):
    embedder.script.append(down())
    with two(tmp_path, embedder) as vault:
        assert counted(vault.embed()) == RECORDED["failing"]


@differs("no-vector-is-no-success")
def test_a_provider_that_returns_nothing_is_counted_as_failed(tmp_path, embedder):
    embedder.script.append(lambda batch: np.empty((0, 32), dtype=np.float32))
    with two(tmp_path, embedder) as vault:
        assert counted(vault.embed()) == RECORDED["failing"] != RECORDED["providerReturnsNothing"]
        with vault._store.reading() as read:
            assert read.sql.execute("SELECT count(*) FROM vectors").fetchone() == (0,)
    assert [row["bytes"] for row in RECORDED["storedBytesThen"]] == [0, 0]


@differs("every-write-is-embedded")
@pytest.mark.parametrize(("entries", "calls"), [(3, 1), (101, 2)])
def test_a_write_of_any_size_is_embedded_in_the_background(tmp_path, embedder, entries, calls):
    recorded = RECORDED["autoEmbed"]
    assert (len(recorded["seedOf3Calls"]), recorded["seedOf101Calls"], recorded["updateCalls"]) == (3, 0, 0)
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        vault.add_many({"id": f"e{i}", "title": f"title {i}"} for i in range(entries))
        assert vault.embedding_status(wait_s=LONG_S).activity == "idle"
        assert len(embedder.calls) == calls
        vault.update("e0", title="another title")
        assert vault.embedding_status(wait_s=LONG_S).activity == "idle"
        assert embedder.sizes()[calls:] == [1]


@pytest.mark.parametrize(("model", "missing"), recording("vectors")["missingByModel"].items())
def test_what_lacks_a_vector_of_a_model_is_as_recorded(model, missing):
    held = {"m1": ("b", "c", "z"), "m2": ("a", "long"), "m3": ("short",)}
    with Vault(":memory:") as vault:
        vault.add_many({"id": id, "title": f"Entry {id}"} for ids in held.values() for id in ids)
        with vault._store.writing() as write:
            keys = dict(write.sql.execute("SELECT id, text_hash FROM entries").fetchall())
            for name, ids in held.items():
                space = texts.make_space(write, name, 2, 0.0)
                texts.put(write, space, [keys[id] for id in ids], np.ones((len(ids), 2), dtype=np.float32))
        with vault._store.reading() as read:
            found = texts.missing(read, texts.find_space(read, model), after="", limit=99)
    assert sorted(text.removeprefix("Entry ") for _, text in found) == missing
