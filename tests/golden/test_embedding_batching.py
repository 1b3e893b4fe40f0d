"""Batches of texts that a model pads, and texts that are cut for it, as recorded."""

from __future__ import annotations

import random

import pytest

from doubles import Letters
from golden.differences import differs
from golden.loader import other_recording
from septet import CallableEmbedder, EmbeddingOptions, Vault
from septet.embedding.batching import Batching

RECORDED = other_recording("lore-embed-batching")
DOCUMENTED = EmbeddingOptions(automatic=False, batch_texts=8, batch_tokens=4096)
MOST_CHARS = 16_384


def batch_sizes(texts):
    batching = Batching(DOCUMENTED.batch_texts, DOCUMENTED.batch_tokens)
    return [len(run) for run in batching.runs(texts)]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: str(len(case["lengths"])))
def test_texts_go_together_as_recorded(case):
    assert batch_sizes(["x" * length for length in case["lengths"]]) == case["batch_sizes"]


@pytest.mark.parametrize("seed", range(6))
def test_a_vault_sends_its_texts_in_such_batches(seed):
    chance = random.Random(seed)
    lengths = [chance.choice((10, 100, 2_000, 2_048, 3_000, 17_000)) for _ in range(chance.choice((1, 8, 9, 40)))]
    embedder = Letters()
    with Vault(":memory:", embedder=embedder, embedding_options=DOCUMENTED) as vault:
        vault.add_many({"title": f"{n:05d}".ljust(length, "x")} for n, length in enumerate(lengths))
        assert vault.embed().embedded == len(lengths)
    assert sorted(map(len, embedder.sent())) == sorted(lengths)
    assert embedder.sizes() == batch_sizes(embedder.sent())


def kept_of(text):
    """How much of a text a function with a limit of its own gets."""
    seen = []

    def function(texts):
        seen.extend(texts)
        return [[1.0, 2.0]] * len(texts)

    CallableEmbedder(function, model="cut", max_chars=MOST_CHARS).embed([text])
    assert text.startswith(seen[0])
    return seen[0]


def units(text):
    return len(text.encode("utf-16-le")) // 2


def cut_as_recorded(text):
    """Cut after so many UTF-16 units, and before a character that stands across."""
    return text.encode("utf-16-le")[: 2 * MOST_CHARS].decode("utf-16-le", "ignore")


@pytest.mark.parametrize("case", RECORDED["truncation"], ids=str)
@differs("cut-after-characters")
def test_texts_are_cut_as_recorded_but_for_characters_of_two_units(case):
    if "length_utf16" in case:
        text = "x" * case["kept"] + "\U0001f600"
        text += "x" * (case["length_utf16"] - units(text))
    else:
        text = "x" * case["length"]
    recorded = cut_as_recorded(text)
    assert len(recorded) == case["kept"]
    # A character that stands across the limit is one of so many, and whole.
    assert kept_of(text) == text[:MOST_CHARS] and kept_of(text).removeprefix(recorded) in ("", "\U0001f600")
