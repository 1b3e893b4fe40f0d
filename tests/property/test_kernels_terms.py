"""Words, tokens and TF-IDF against slow twins, scikit-learn and SQLite."""

import math
import re
import sqlite3
import threading
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer as SklearnVectorizer

from septet import _core

# Letters, marks, digits and separators of several scripts, old enough for every Unicode version in use.
SCRIPTS = "abzABZ019_- .,'éÉßøĐœİıΑςσДйیक\u0301\u093f\u0308漢字かカーｶ한국กิ水½²Ⓐ\u200d\u200c\u00ad☃👍\n\u00a0"
texts = st.one_of(st.text(SCRIPTS, max_size=40), st.text(max_size=20).filter(lambda t: t.isprintable()))
ascii_texts = st.text(st.characters(max_codepoint=127), max_size=60)
vocabulary = ["red", "green", "blue", "the", "jwt", "two-phase", "café", "漢字", "x", "sha256"]
sentences = st.lists(st.sampled_from(vocabulary), max_size=12).map(" ".join)


def slots(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


@given(ascii_texts)
def test_ascii_words_are_the_alphanumeric_runs(text):
    assert _core.words(text) == re.findall("[a-z0-9]+", text.lower())


@given(texts)
def test_words_are_lower_case_without_separators(text):
    for word in _core.words(text):
        assert word and word == word.lower() and not set(word) & set("_- .,'\n\u00a0\u200c\u200d\u00ad☃👍")
        assert _core.words(word) == [word]


@given(texts)
def test_folding_twice_changes_nothing_more(text):
    for word in _core.words(text):
        assert _core.fold(_core.fold(word)) == _core.fold(word)
        assert _core.fold(word.upper()).isascii() or not _core.fold(word).isascii()


@given(texts)
def test_query_grams_are_distinct_and_found_among_the_index_grams(text):
    asked = _core.query_grams(text)
    assert len(asked) == len(set(asked))
    assert set(asked) <= set(_core.grams(text))


@given(st.text("abc DEF,;!", max_size=30).map(str.lower))
def test_plain_lower_case_text_has_no_grams(text):
    assert _core.grams(text) == _core.query_grams(text) == []


@given(st.lists(st.sampled_from(["get", "home", "dir", "v2", "10"]), min_size=2, max_size=6), st.sampled_from("_.-"))
def test_a_name_is_found_by_what_its_words_are_together_and_by_every_two_neighbours(parts, sign):
    name = sign.join(parts)
    held, asked = set(_core.grams(f"see {name}, or so")), set(_core.query_terms(name, False, True, 256)[0])
    assert {term for term in asked if term not in parts and not term.isdigit()} <= held | set(parts)
    for pair in pairwise(parts):
        assert set(_core.query_terms(sign.join(pair), False, True, 256)[0]) - set(parts) <= held


def test_every_folded_letter_is_found_in_full_text():
    """A text is found by the folded form of its words: as SQLite's own token or as an extra term."""
    letters = [chr(i) for i in range(0xC0, 0x3000) if chr(i).isalpha() and i not in (0x1E0, 0x1E1, 0x37F)]
    # A word each; the two letters before keep identifiers' parts out of the way.
    words = [f"xq{letter.lower()}zk" for letter in letters]
    db = sqlite3.connect(":memory:")
    with db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(text, grams, tokenize='unicode61 remove_diacritics 2')")
        db.executemany(
            "INSERT INTO t(rowid, text, grams) VALUES (?, ?, ?)",
            ((i, word, " ".join(_core.grams(word))) for i, word in enumerate(words)),
        )
    lost = [
        word
        for i, word in enumerate(words)
        if not db.execute(
            "SELECT 1 FROM t WHERE t MATCH ? AND rowid = ?",
            (" AND ".join(f'"{term}"' for term in _core.query_grams(word) or [_core.fold(word)]), i),
        ).fetchone()
    ]
    db.close()
    assert lost == []


@given(ascii_texts)
def test_ascii_tokens_follow_the_documented_rule(text):
    cleaned = re.sub(r"[^a-z0-9\s-]", " ", text.lower(), flags=re.ASCII)
    wanted = [t for t in cleaned.split() if len(t) >= 3 and t not in _core.stop_words()]
    assert _core.tokenize(text) == wanted


@given(texts)
def test_tokens_do_not_depend_on_case_or_composition(text):
    assert _core.tokenize(text.replace("é", "e\u0301")) == _core.tokenize(text)
    assert all(token == _core.fold(token) for token in _core.tokenize(text))


def slow_cosine(frequencies, query, text):
    def weights(tokens):
        counts = Counter(t for t in tokens if frequencies.document_frequency(t))
        return {t: n / len(tokens) * frequencies.idf(t) for t, n in counts.items()}

    a, b = weights(_core.tokenize(query)), weights(_core.tokenize(text))
    if not a or not b:
        return 0.0
    dot = math.fsum(a[t] * b[t] for t in a.keys() & b.keys())
    return dot / math.sqrt(math.fsum(w * w for w in a.values()) * math.fsum(w * w for w in b.values()))


@given(st.lists(sentences, min_size=1, max_size=8), sentences, st.data())
def test_cosines_equal_the_formula(corpus, query, data):
    index = _core.TermIndex()
    assert index.append(corpus) == 0
    counted = data.draw(st.sets(st.integers(0, len(corpus) - 1)))
    frequencies = index.frequencies(slots(*counted))
    found = index.cosines(frequencies, query, slots(*range(len(corpus))))
    np.testing.assert_allclose(found, [slow_cosine(frequencies, query, text) for text in corpus], rtol=1e-12)
    assert ((found >= 0) & (found <= 1)).all()


@given(st.lists(sentences, max_size=6), st.lists(sentences, max_size=6), st.data())
def test_frequencies_moved_equal_frequencies_counted_afresh(first, second, data):
    index = _core.TermIndex()
    index.append(first)
    numbers = st.integers(0, len(first) + len(second) - 1)
    before = data.draw(st.sets(numbers.filter(lambda i: i < len(first)))) if first else set()
    frequencies = index.frequencies(slots(*before))
    assert index.append(second) == len(first)
    after = data.draw(st.sets(numbers)) if first or second else set()
    moved = frequencies.moved(index, slots(*(after - before)), slots(*(before - after)))
    fresh = index.frequencies(slots(*after))
    documents = [set(_core.tokenize((first + second)[i])) for i in after]
    assert moved.to_dict() == fresh.to_dict() == Counter(term for terms in documents for term in terms)
    assert moved.documents == fresh.documents == len(after)
    for term in vocabulary:
        df = fresh.document_frequency(term)
        assert df == fresh.to_dict().get(term, 0)
        assert fresh.idf(term) == pytest.approx(math.log((len(after) + 1) / (df + 1)) + 1, rel=1e-15)


def test_threads_read_while_one_appends():
    index = _core.TermIndex()
    index.append(["alpha beta", "beta gamma"])
    frequencies = index.frequencies(slots(0, 1))
    wanted = index.cosines(frequencies, "beta alpha", slots(0, 1))
    done, wrong = threading.Event(), []

    def read():
        while not done.is_set():
            if not (index.cosines(frequencies, "beta alpha", slots(0, 1)) == wanted).all():
                wrong.append(1)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(200):
        assert index.append([f"beta word{i} word{i + 1}"] * 10) == 2 + 10 * i
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong and len(index) == 2002
    assert frequencies.document_frequency("word1") == 0


@pytest.mark.parametrize("tokens", ["words", "signals"])
@given(st.lists(st.one_of(texts, sentences), max_size=8), st.lists(sentences, max_size=3))
def test_tfidf_equals_scikit_learn(tokens, corpus, others):
    # scikit-learn refuses an empty vocabulary.
    corpus = [*corpus, "anchor word"]
    options = {} if tokens == "words" else {"analyzer": _core.tokenize}
    theirs = SklearnVectorizer(**options)
    ours = _core.TfidfVectorizer(tokens=tokens)
    wanted = theirs.fit_transform(corpus)
    fitted = ours.fit_transform(corpus)
    assert ours.vocabulary == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(ours.idf, theirs.idf_, rtol=1e-12)
    pairs = [(fitted, wanted), (ours.transform(corpus[:1]), theirs.transform(corpus[:1]))]
    if others:
        pairs.append((ours.transform(others), theirs.transform(others)))
    for (data, columns, offsets), matrix in pairs:
        matrix.sort_indices()
        assert (data.dtype, columns.dtype, offsets.dtype) == (np.float64, np.int32, np.int64)
        np.testing.assert_array_equal(offsets, matrix.indptr)
        np.testing.assert_array_equal(columns, matrix.indices)
        np.testing.assert_allclose(data, matrix.data, rtol=1e-9)


# The crate may know a later Unicode than this Python, which takes its new letters for none.
assigned = st.characters(exclude_categories=("Cs", "Cn"))
words_of_any_length = st.lists(
    st.one_of(
        st.text("abé_", min_size=1, max_size=3),
        st.text("aßΣ漢", min_size=14, max_size=40),
        st.text(assigned, max_size=8),
    ),
    max_size=40,
).map(" ".join)


@given(st.lists(words_of_any_length, max_size=6))
def test_words_of_random_unicode_are_those_of_scikit_learn(corpus):
    corpus = [*corpus, "anchor word"]
    theirs = SklearnVectorizer()
    ours = _core.TfidfVectorizer(tokens="words")
    data, columns, offsets = ours.fit_transform(corpus)
    wanted = theirs.fit_transform(corpus)
    wanted.sort_indices()
    assert ours.vocabulary == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(offsets, wanted.indptr)
    np.testing.assert_array_equal(columns, wanted.indices)
    np.testing.assert_allclose(data, wanted.data, rtol=0, atol=1e-12)
