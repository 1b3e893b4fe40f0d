"""A text of great length keeps no other one from its vector, nor does a local model work on it for hours if told so."""

import random

import numpy as np
import pytest

from septet import EmbeddingOptions, EmbeddingUnavailable, Vault
from septet.embedding import FallbackEmbedder
from septet.embedding.local import embedder as local
from septet.embedding.local.embedder import LocalEmbedder
from twins.tiny import Tiny

BY_HAND = EmbeddingOptions(automatic=False)


def words(count, seed=0):
    chance = random.Random(seed)
    return " ".join("".join(chance.choices("abcdefghij", k=3)) for _ in range(count))


@pytest.fixture
def folder(tmp_path):
    Tiny().write(tmp_path / "tiny")
    return tmp_path / "tiny"


class Noting(LocalEmbedder):
    """Notes how many texts it gets, and how long the longest is."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.batches = []

    def embed(self, texts, kind="document", *, timeout_s=None):
        self.batches.append((len(texts), max(map(len, texts))))
        # As long as the tests need: what is said of the sizes does not depend on the vectors.
        return super().embed([text[:200] for text in texts], kind, timeout_s=timeout_s)


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: FallbackEmbedder([one])], ids=["alone", "in a chain"])
@pytest.mark.parametrize(("tokens", "most"), [(None, local.BATCH_TOKENS), (400, 400)])
def test_a_vault_sends_long_texts_in_small_batches(folder, wrap, tokens, most):
    own = Noting(folder)
    options = EmbeddingOptions(automatic=False, batch_tokens=tokens)
    lengths = [50, 300_000, 10, 1_000, 60_000] * 12
    with Vault(":memory:", embedder=wrap(own), embedding_options=options) as vault:
        vault.add_many({"title": f"{n:04d} ".ljust(length, "a")} for n, length in enumerate(lengths))
        assert vault.embed().embedded == len(lengths)
    assert sum(count for count, _ in own.batches) == len(lengths)
    assert all(count == 1 or count * -(-longest // 4) <= most for count, longest in own.batches)
    assert max(count for count, _ in own.batches) > 1 and 1 in {count for count, _ in own.batches}


@pytest.mark.parametrize("done", [0, 1, 3, 5])
def test_the_texts_that_were_done_when_the_time_was_over_are_kept(folder, monkeypatch, done):
    texts = [words(40, seed) for seed in range(done)] + [words(20_000), words(5)]
    embedder = LocalEmbedder(folder)
    alone = embedder.embed(texts[:done])
    looks = iter([0.0, 0.0])
    # The clock is looked at once at the beginning, then before each block; the second block is late.
    monkeypatch.setattr(local.time, "monotonic", lambda: next(looks, 100.0))
    with pytest.raises(EmbeddingUnavailable, match="not done within 50 s") as caught:
        embedder.embed(texts, timeout_s=50)
    assert caught.value.rows.shape == (done, embedder.dimensions)
    assert np.array_equal(caught.value.rows, alone)


@pytest.mark.parametrize("most", [1, 10, 100, 5_000])
def test_a_limit_cuts_texts_after_so_many_characters_and_their_windows_are_those_of_what_is_left(folder, most):
    texts = [words(n) for n in (1, 3, 20, 400)]
    limited = LocalEmbedder(folder, max_chars=most)
    assert np.array_equal(limited.embed(texts), LocalEmbedder(folder).embed([text[:most] for text in texts]))
    assert [limited.is_long(text) for text in texts if len(text) > most] == [True] * sum(len(t) > most for t in texts)
    assert all(not limited.is_long(text) for text in texts if len(text.encode()) <= limited.pooling.whole_bytes)


def test_a_vault_embeds_anew_what_a_new_limit_cuts(folder, tmp_path):
    lengths = (1, 3, 20, 400)
    embedded = []
    for most in (None, None, 60, 60, 5):
        embedder = LocalEmbedder(folder, max_chars=most)
        with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND) as vault:
            if not embedded:
                vault.add_many({"title": words(n)} for n in lengths)
            embedded.append(vault.embed().embedded)
    # Of 20 and 400 words; then of 3 words too. The model takes few tokens, so those of 20 words were long before.
    assert embedded == [4, 0, 2, 0, 3]
