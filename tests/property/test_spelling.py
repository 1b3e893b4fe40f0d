"""The spelling index gives BM25 over the trigrams of the texts, whatever the texts and however they came in."""

import math
import threading
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from septet import _core

# Letters, marks, digits, joiners, separators and emoji; some fold to several letters, some to none.
SCRIPTS = "abzABZ019_- .,'éÉßøĐœİıﬁŉΑςσДйیكُـक\u0301\u093f\u0308漢字かカーｶ한국กิ水½²ﷺⒶ\u200d\u200c\u00ad☃👍\n\u00a0𠀀"
COMMON = [
    "the",
    "of",
    "a",
    "I",
    "x",
    "index",
    "Index",
    "indexes",
    "vector",
    "Straße",
    "café",
    "漢字",
    "токен",
    "sha256",
]
LONG = ["internationalisation", "Donaudampfschifffahrtsgesellschaft", "достопримечательность", "abcdefghijklmn" * 3]
words = st.one_of(st.sampled_from(COMMON + LONG), st.text("abcdeé", min_size=1, max_size=18))
texts = st.one_of(
    st.lists(words, max_size=30).map(" ".join),
    st.text(SCRIPTS, max_size=60),
    st.text(max_size=20),
    st.builds(lambda word, times: f"{word} " * times, words, st.integers(0, 200)),
)
batches = st.lists(st.lists(texts, max_size=8), min_size=1, max_size=5)


def trigrams(text):
    folded = (_core.fold(word) for word in _core.words(text))
    kept = (w for w in folded if w and w not in _core.stop_words() and not (len(w) == 1 and w.isascii()))
    return Counter(f" {w} "[i : i + 3] for w in kept for i in range(len(w)))


def bm25(query, corpus):
    """The formula as it is written, as a part of the most that it can give."""
    texts = [trigrams(text) for text in corpus]
    holding = Counter(trigram for text in texts for trigram in text)
    average = sum(text.total() for text in texts) / len(texts)

    def share(text, trigram, times):
        df, tf = holding[trigram], text[trigram]
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        return times * idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * text.total() / average)) if tf else 0.0

    asked = trigrams(query)
    most = math.fsum(
        2.2 * n * math.log(1 + (len(texts) - holding[t] + 0.5) / (holding[t] + 0.5)) for t, n in asked.items()
    )
    return [math.fsum(share(text, *one) for one in asked.items()) / (most or 1.0) for text in texts]


def everything(index):
    return index.statistics(np.arange(len(index)))


def same(index, query, corpus, slots):
    found = index.bm25(everything(index), query, np.array(slots, dtype=np.int64))
    wanted = bm25(query, corpus) if len(slots) else []
    np.testing.assert_allclose(found, [wanted[slot] for slot in slots], rtol=1e-10, atol=1e-12)


@given(batches, st.lists(texts, min_size=1, max_size=4), st.data())
def test_scores_are_those_of_the_texts_between_appends(appended, queries, data):
    index, corpus = _core.SpellingIndex(), []
    for batch in appended:
        assert index.append(batch) == len(corpus)
        corpus += batch
        assert len(index) == len(corpus)
        slots = data.draw(st.lists(st.integers(0, len(corpus) - 1), max_size=12)) if corpus else []
        for query in [*queries, *batch[:1]]:
            same(index, query, corpus, slots)


@given(st.lists(texts, min_size=1, max_size=8), texts)
def test_the_history_of_the_index_does_not_show(corpus, query):
    whole, backward = _core.SpellingIndex(), _core.SpellingIndex()
    whole.append(corpus)
    for text in reversed(corpus):
        backward.append([text])
    there, back = (index.bm25(everything(index), query, np.arange(len(corpus))) for index in (whole, backward))
    np.testing.assert_array_equal(there, back[::-1])


def test_threads_read_while_one_appends():
    corpus = [f"alpha beta{i} gamma délta {i * i}" for i in range(50)]
    index = _core.SpellingIndex()
    index.append(corpus)
    slots = np.arange(50)
    counted = everything(index)
    wanted = index.bm25(counted, "alpha beta1 dèlta 441", slots)
    done, wrong = threading.Event(), []

    def read():
        while not done.is_set():
            if not (index.bm25(counted, "alpha beta1 dèlta 441", slots) == wanted).all():
                wrong.append(1)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(200):
        assert index.append([f"beta word{i} wörd{i + 1} alpha{i}"] * 10) == 50 + 10 * i
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong and len(index) == 2_050


def test_several_threads_append():
    index, firsts = _core.SpellingIndex(), {}

    def append(name):
        firsts[name] = [index.append([f"{name}{i} shared", f"shared {name}"]) for i in range(100)]

    writers = [threading.Thread(target=append, args=(name,)) for name in ("red", "grün", "blue")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(first for found in firsts.values() for first in found) == list(range(0, 600, 2))
    corpus = [""] * 600
    for name, found in firsts.items():
        for i, first in enumerate(found):
            corpus[first : first + 2] = [f"{name}{i} shared", f"shared {name}"]
    same(index, "red7 grun shared", corpus, range(600))


@given(st.lists(texts, min_size=1, max_size=10), st.data())
def test_statistics_move_to_what_counting_from_scratch_gives(corpus, data):
    index = _core.SpellingIndex()
    index.append(corpus)
    slots = st.lists(st.sampled_from(range(len(corpus))), unique=True)
    before, after = set(data.draw(slots)), set(data.draw(slots))
    arrays = [np.array(sorted(part), dtype=np.int64) for part in (before, after - before, before - after, after)]
    moved, fresh = index.statistics(arrays[0]).moved(index, *arrays[1:3]), index.statistics(arrays[3])
    assert moved.slots == fresh.slots == len(after)
    for query in corpus:
        found = [index.bm25(counted, query, np.arange(len(corpus))) for counted in (moved, fresh)]
        np.testing.assert_array_equal(*found)
