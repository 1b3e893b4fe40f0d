"""Tests of `property/test_spelling.py` that take seconds."""

import numpy as np

from property.test_spelling import same
from septet import _core


def test_many_words_and_many_slots():
    rng = np.random.default_rng(3)
    lexicon = np.array([f"{number:x}é"[:: 1 - 2 * (number % 2)] for number in range(20_000)])
    corpus = [" ".join(rng.choice(lexicon, rng.integers(0, 90))) for _ in range(1_500)]
    index = _core.SpellingIndex()
    for start in range(0, len(corpus), 400):
        index.append(corpus[start : start + 400])
    for query in [*corpus[:3], " ".join(lexicon[:300])]:
        same(index, query, corpus, rng.integers(0, len(corpus), 2_000).tolist())
    assert 100 * len(corpus) < index.size_bytes < 1_000 * len(corpus)


def test_texts_and_queries_of_any_length():
    corpus = ["ab " * 70_000, "é" * 70_000, "ab cd " * 40_000 + "é", "", "the of and", "ab"]
    index = _core.SpellingIndex()
    index.append(corpus)
    for query in [*corpus, "ab é", "abé"]:
        same(index, query, corpus, range(len(corpus)))
