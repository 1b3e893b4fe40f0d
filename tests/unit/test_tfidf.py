"""The vectorizer that needs no vault."""

import math
import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import septet
from septet.errors import QueryError
from septet.tfidf import SparseRows, TfidfVectorizer

CORPUS = ["to be or not to be", "to see or not to see", "A Bee, to see!"]


def test_a_row_holds_counts_times_idf_at_length_one():
    vectorizer = TfidfVectorizer()
    rows = vectorizer.fit_transform(["to be to", "be"])
    be, to = 1.0, math.log(1.5) + 1
    assert vectorizer.vocabulary == ["be", "to"]
    assert vectorizer.idf.tolist() == [be, to]
    assert rows.data.tolist() == pytest.approx([be / math.hypot(be, 2 * to), 2 * to / math.hypot(be, 2 * to), 1.0])
    assert (rows.indices.tolist(), rows.indptr.tolist()) == ([0, 1, 0], [0, 2, 3])


def test_scipy_takes_the_rows_as_they_are():
    vectorizer = septet.TfidfVectorizer().fit(CORPUS)
    rows = vectorizer.transform(["see, see", "unknown", ""])
    assert isinstance(rows, SparseRows)
    matrix = csr_matrix(rows, shape=(3, len(vectorizer)))
    assert matrix.toarray()[:, vectorizer.vocabulary.index("see")].tolist() == [1, 0, 0]
    assert matrix.nnz == 1


def test_any_iterable_of_texts_will_do_and_a_fit_replaces_the_last():
    vectorizer = TfidfVectorizer(tokens="signals")
    vectorizer.fit(text for text in ("old words",))
    vectorizer.fit(("the Zürich-West",))
    assert vectorizer.vocabulary == ["zurich-west"]
    assert repr(vectorizer) == "<TfidfVectorizer of 1 terms, tokens='signals'>"


def test_nothing_learned_is_an_empty_vocabulary_and_no_rows():
    vectorizer = TfidfVectorizer()
    assert (vectorizer.vocabulary, len(vectorizer), vectorizer.idf.dtype) == ([], 0, np.float64)
    with pytest.raises(QueryError, match="call fit first"):
        vectorizer.transform(CORPUS)
    with pytest.raises(QueryError, match="no term is left"):
        vectorizer.fit_transform([])
    rows = vectorizer.fit(CORPUS).transform([])
    assert [len(part) for part in rows] == [0, 0, 1]
    assert [len(part) for part in vectorizer.transform(["", ""])] == [0, 0, 3]


@pytest.mark.parametrize("call", ["fit", "transform", "fit_transform"])
def test_what_is_not_many_texts_is_refused(call):
    ask = getattr(TfidfVectorizer().fit(CORPUS), call)
    with pytest.raises(QueryError, match="texts is one str: wanted several"):
        ask("one text")
    with pytest.raises(QueryError, match="int"):
        ask(["a text", 1])
    with pytest.raises(QueryError, match="text 1 has half a surrogate pair"):
        ask(["a text", "\ud800"])
    with pytest.raises(QueryError, match="threads is 0"):
        ask(CORPUS, threads=0)


def test_unknown_tokens_are_refused():
    with pytest.raises(QueryError, match="tokens is 'chars': wanted 'words' or 'signals'"):
        TfidfVectorizer(tokens="chars").fit(CORPUS)


def test_threads_transform_while_another_fits():
    vectorizer = TfidfVectorizer().fit(CORPUS)
    wanted = {1: vectorizer.fit_transform(CORPUS), 2: vectorizer.fit_transform(CORPUS * 2)}
    done, wrong = threading.Event(), []

    def read():
        while not done.is_set():
            found = vectorizer.transform(CORPUS, threads=2)
            if found.indptr.tolist() != wanted[1].indptr.tolist() or not all(
                np.isin(found.data, np.concatenate([w.data for w in wanted.values()]))
            ):
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(100):
        vectorizer.fit(CORPUS * (1 + i % 2), threads=2)
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
