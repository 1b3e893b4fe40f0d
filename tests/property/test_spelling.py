"""The spelling index gives the doubles of `trigrams`, bit for bit, whatever the texts and however they came in."""

import threading

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from septet import _core

steady = settings(derandomize=True, deadline=None, max_examples=300)

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


def same(index, query, corpus, slots):
    found = index.cosines(query, np.array(slots, dtype=np.int64))
    np.testing.assert_array_equal(found, _core.trigrams(query, [corpus[slot] for slot in slots]), strict=True)


@steady
@given(batches, st.lists(texts, min_size=1, max_size=4), st.data())
def test_cosines_are_those_of_the_texts_between_appends(appended, queries, data):
    index, corpus = _core.SpellingIndex(), []
    for batch in appended:
        assert index.append(batch) == len(corpus)
        corpus += batch
        assert len(index) == len(corpus)
        slots = data.draw(st.lists(st.integers(0, len(corpus) - 1), max_size=12)) if corpus else []
        for query in [*queries, *batch[:1]]:
            same(index, query, corpus, slots)


@steady
@given(st.lists(texts, min_size=1, max_size=8), texts)
def test_the_history_of_the_index_does_not_show(corpus, query):
    whole, backward = _core.SpellingIndex(), _core.SpellingIndex()
    whole.append(corpus)
    for text in reversed(corpus):
        backward.append([text])
    there, back = (index.cosines(query, np.arange(len(corpus))) for index in (whole, backward))
    np.testing.assert_array_equal(there, back[::-1])


def test_many_words_and_many_slots():
    rng = np.random.default_rng(3)
    lexicon = np.array([f"{number:x}é"[:: 1 - 2 * (number % 2)] for number in range(20_000)])
    corpus = [" ".join(rng.choice(lexicon, rng.integers(0, 90))) for _ in range(1_500)]
    index = _core.SpellingIndex()
    for start in range(0, len(corpus), 400):
        index.append(corpus[start : start + 400])
    for query in [*corpus[:5], " ".join(lexicon[:3_000])]:
        same(index, query, corpus, rng.integers(0, len(corpus), 2_000).tolist())
    assert 100 * len(corpus) < index.size_bytes < 1_000 * len(corpus)


def test_texts_and_queries_of_any_length():
    corpus = ["ab " * 70_000, "é" * 70_000, "ab cd " * 40_000 + "é", "", "the of and", "ab"]
    index = _core.SpellingIndex()
    index.append(corpus)
    for query in [*corpus, "ab é", "abé"]:
        same(index, query, corpus, range(len(corpus)))


def test_threads_read_while_one_appends():
    corpus = [f"alpha beta{i} gamma délta {i * i}" for i in range(50)]
    index = _core.SpellingIndex()
    index.append(corpus)
    slots = np.arange(50)
    wanted = _core.trigrams("alpha beta1 dèlta 441", corpus)
    done, wrong = threading.Event(), []

    def read():
        while not done.is_set():
            if not (index.cosines("alpha beta1 dèlta 441", slots) == wanted).all():
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
