"""Vectors of long texts that were cut, as former versions made them, are made anew once; all others stay."""

import numpy as np
import pytest

from connections import until_end
from septet import EmbeddingOptions, Vault
from septet.embedding import EmbeddingCache, FallbackEmbedder
from septet.embedding.local.embedder import LocalEmbedder
from sidecars import until
from twins.tiny import Tiny

MANUAL = EmbeddingOptions(automatic=False)
SHORT = {f"short-{i}": " ".join("abcdefgh"[: 1 + i % 8]) for i in range(8)}
LONG = {f"long-{i}": " ".join("abcdefghijklmnopqrstuvwxyz" * 3)[i:].strip() for i in (0, 4, 8)}


class Cutting:
    """A local model as it was: texts are cut at its length, and nobody asks how long ones are pooled."""

    def __init__(self, model):
        self.model_ = model
        self.provider, self.model, self.dimensions, self.batch_size = "local", model.model, model.dimensions, 100

    def embed(self, texts, kind="document", *, timeout_s=None):
        return self.model_.embed([" ".join(text.split()[:18]) for text in texts], kind)

    def close(self):
        pass


@pytest.fixture
def model(tmp_path):
    with_model = LocalEmbedder(Tiny().write(tmp_path / "tiny"))
    yield with_model
    with_model.close()


def fill(path, embedder, **options):
    with Vault(path, embedder=embedder, embedding_options=MANUAL, **options) as vault:
        vault.add_many({"id": name, "title": "a", "description": text} for name, text in {**SHORT, **LONG}.items())
        return vault.embed()


def vectors(vault):
    """The stored vector of each entry, by its id."""
    with vault._store.reading() as read:
        sql = "SELECT e.id, v.vector FROM entries e JOIN vectors v ON v.key = e.text_hash WHERE e.live"
        return {name: np.frombuffer(blob, "<f4") for name, blob in read.sql.execute(sql)}


def expected(model):
    names = {**SHORT, **LONG}
    return dict(zip(names, model.embed([f"a\n{text}" for text in names.values()])))


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: FallbackEmbedder([one])], ids=["alone", "in a chain"])
def test_cut_vectors_are_made_anew_once_and_the_others_stay(tmp_path, model, wrap):
    path = tmp_path / "v.db"
    assert fill(path, Cutting(model)).embedded == 11
    with Vault(path, embedder=wrap(model), embedding_options=MANUAL) as vault:
        before = vectors(vault)
        (space,) = vault.embedding_status().spaces
        report = vault.embed()
        assert (report.embedded, report.missing) == (len(LONG), 0)
        after = vectors(vault)
        for name, row in expected(model).items():
            np.testing.assert_array_equal(after[name], row)
            assert (before[name] == row).all() == (name in SHORT)
        # Neither the name of the space nor what answers searches has changed.
        assert vault.embedding_status().spaces == (space,)
        assert vault.embed().embedded == 0
    with Vault(path, embedder=wrap(model), embedding_options=MANUAL) as vault:
        assert vault.embed().embedded == 0


def test_a_search_finds_the_new_vectors_and_not_the_old_ones(tmp_path, model):
    path = tmp_path / "v.db"
    fill(path, Cutting(model))
    with Vault(path, embedder=model, embedding_options=MANUAL) as vault:
        row = expected(model)["long-8"]

        def found():
            return {
                hit.id: hit.signals["vector"] for hit in vault.search("", query_vector=row, legs="vector", limit=11)
            }

        before = found()
        vault.embed()
        after = found()
        assert len(before) == len(after) == 11
        assert next(iter(after)) == "long-8" and after["long-8"] > before["long-8"]


def test_a_vault_without_long_texts_embeds_nothing_again(tmp_path, model):
    path = tmp_path / "v.db"
    with Vault(path, embedder=Cutting(model), embedding_options=MANUAL) as vault:
        vault.add_many({"id": name, "title": "a", "description": text} for name, text in SHORT.items())
        vault.embed()
    with Vault(path, embedder=model, embedding_options=MANUAL) as vault:
        assert vault.embed().embedded == 0
        assert len(vectors(vault)) == len(SHORT)


def test_a_long_text_that_comes_back_does_not_get_its_cut_vector(tmp_path, model):
    path = tmp_path / "v.db"
    fill(path, Cutting(model))
    with Vault(path, embedder=model, embedding_options=MANUAL) as vault:
        vault.delete("long-4", "short-1")
        vault.embed()
        vault.add(id="long-4", title="a", description=LONG["long-4"])
        assert vault.embed().embedded == 1
        np.testing.assert_array_equal(vectors(vault)["long-4"], expected(model)["long-4"])


def test_automatic_embedding_makes_them_anew_with_the_next_write(tmp_path, model):
    path = tmp_path / "v.db"
    fill(path, Cutting(model))
    with Vault(path, embedder=model) as vault:
        vault.add(title="a b")
        assert vault.embedding_status(wait_s=30).activity == "idle"
        np.testing.assert_array_equal(vectors(vault)["long-0"], expected(model)["long-0"])


def test_the_cache_serves_short_texts_and_no_cut_vector(tmp_path, model):
    cache = until_end(EmbeddingCache(tmp_path / "cache.db"))
    fill(tmp_path / "old.db", Cutting(model), embedding_cache=cache)
    report = fill(tmp_path / "new.db", model, embedding_cache=cache)
    few = {name for name, text in SHORT.items() if len(f"a\n{text}") <= model.pooling.whole_bytes}
    assert len(few) > 4
    assert (report.cached, report.embedded) == (len(few), 11 - len(few))
    with Vault(tmp_path / "new.db") as vault:
        for name, row in expected(model).items():
            np.testing.assert_array_equal(vectors(vault)[name], row)
    # What it holds now serves the next vault whole.
    assert fill(tmp_path / "third.db", model, embedding_cache=cache).cached == 11


def test_a_question_that_was_cut_is_not_taken_from_the_cache(tmp_path, model):
    cache, question = until_end(EmbeddingCache(tmp_path / "cache.db")), LONG["long-0"]
    found = []
    for embedder in (Cutting(model), model):
        with Vault(tmp_path / "v.db", embedder=embedder, embedding_cache=cache, embedding_options=MANUAL) as vault:
            asked = vault._embeddings.query_embedders["local/tiny"]
            found.append(asked.embed(question).scan)
            # A short one is served.
            asked.embed("a b")
    np.testing.assert_allclose(found[1], model.embed([question], "query")[0], atol=1e-6)
    assert abs(found[0] - found[1]).max() > 0.01
    # No search waits for the cache: the last one is put there by a thread.
    until(lambda: len(cache) == 3)
