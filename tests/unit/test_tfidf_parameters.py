"""The parameters of the vectorizer mean what they mean for scikit-learn, number by number."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

from septet import QueryError, TfidfVectorizer
from septet.tfidf import SparseRows
from septet.tfidf.parameters import ENGLISH

ODD = [
    "To be, or not to be: that is the question",
    "the THE the cat's cat — a café, Ünïcode naïve x y z",
    "東京 大阪 snake_case x1 42 3.14 e-mail",
    "",
    "   ...  !",
    "be be be be question question cat",
    "İstanbul ŒUVRE ß ½² Ⓐⓑ not not",
    "to to to to",
]
words = st.lists(st.sampled_from("to be or not cat café x1 question The snake_case 東京 a".split()), max_size=12)
texts = st.lists(words.map(" ".join), min_size=1, max_size=9)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 4)]),
        "stop_words": st.sampled_from([None, "english", ["to", "cat"], ["the"]]),
        "min_df": st.sampled_from([1, 2, 3, 0.0, 0.2, 0.5, 1.0]),
        "max_df": st.sampled_from([1.0, 0.9, 0.5, 3, 5, 100]),
        "max_features": st.sampled_from([None, 1, 2, 5, 1000]),
        "sublinear_tf": st.booleans(),
        "norm": st.sampled_from(["l2", "l1", None]),
        "use_idf": st.booleans(),
        "smooth_idf": st.booleans(),
        "binary": st.booleans(),
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "ascii", "unicode"]),
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "token_pattern": st.sampled_from([r"(?u)\b\w\w+\b", r"\w+", r"(\w)\w*", "[^ ]+"]),
        "preprocessor": st.sampled_from([None, str.swapcase]),
        "tokenizer": st.sampled_from([None, str.split]),
        "vocabulary": st.sampled_from([
            None, ["to", "cat", "be not", "x1"], {"not": 1, "be": 0, "never": 2}, {"question", "or", "C", " to"},
            ("café", ""),
        ]),
        "input": st.sampled_from(["content", "content", "file"]),
        "encoding": st.sampled_from(["utf-8", "latin-1", "utf-16"]),
        "decode_error": st.sampled_from(["strict", "ignore", "replace"]),
        "dtype": st.sampled_from([np.float64, np.float32, np.int64, "f4", None]),
    },
)  # fmt: skip
#: What a document is: text, or text encoded in one of the ways.
forms = st.sampled_from([None, "utf-8", "utf-16", "latin-1"])


def documents(corpus, given, form):
    made = [text if form is None else text.encode(form, "replace") for text in corpus]
    if given.get("input") != "file":
        return made
    return [io.StringIO(text) if form is None else io.BytesIO(text) for text in made]


def refused(call, corpus):
    """What a vectorizer makes of documents, or None where it refuses them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(corpus)
        except ValueError:
            return None


def theirs(corpus, given):
    """Their fitted vectorizer, or None where they refuse."""
    return refused(Theirs(**given).fit, corpus)


def equal(ours, fitted, corpus, others, given=None, form=None):
    given = given or {}
    names = fitted.get_feature_names_out()
    assert ours.get_feature_names_out().tolist() == names.tolist() == ours.vocabulary
    assert ours.vocabulary_ == {name: i for i, name in enumerate(names)}
    if fitted.use_idf:
        atol = 1e-12 if fitted.idf_.dtype == np.float64 else 1e-6
        assert ours.idf_.dtype == fitted.idf_.dtype
        np.testing.assert_allclose(ours.idf_, fitted.idf_, rtol=0, atol=atol)
    for some in (corpus, others):
        found, wanted = (refused(one.transform, documents(some, given, form)) for one in (ours, fitted))
        assert (found is None) == (wanted is None)
        if found is None:
            continue
        assert found.shape == wanted.shape and found.data.dtype == wanted.dtype
        atol = 1e-12 if wanted.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(found.to_scipy().toarray(), wanted.toarray(), rtol=0, atol=atol)
        assert found.to_scipy().has_canonical_format


@given(corpus=texts, given=parameters, form=forms, threads=st.sampled_from([1, 2]))
def test_any_parameters_give_the_numbers_of_scikit_learn(corpus, given, form, threads):
    fitted = theirs(documents(corpus, given, form), given)
    ours = TfidfVectorizer(**given)
    try:
        rows = ours.fit_transform(documents(corpus, given, form), threads=threads)
    except QueryError as error:
        # Weights that are infinite are refused by their transform alone.
        assert fitted is None or refused(fitted.transform, documents(corpus, given, form)) is None, error
        return
    assert fitted is not None
    equal(ours, fitted, corpus, ODD, given, form)
    for found, wanted in zip(rows, ours.transform(documents(corpus, given, form)), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ngram_range": (1, 2), "min_df": 2, "sublinear_tf": True},
        {"stop_words": "english", "max_df": 0.5, "norm": "l1"},
        {"ngram_range": (2, 3), "max_features": 50, "norm": None, "smooth_idf": False},
        {"use_idf": False, "max_features": 7},
    ],
)
def test_odd_texts_give_the_numbers_of_scikit_learn(given):
    equal(TfidfVectorizer(**given).fit(ODD), theirs(ODD, given), ODD, ODD[::-1])


@pytest.mark.parametrize("most", [1, 3, 17, 40, 200])
@pytest.mark.parametrize("more", [{}, {"min_df": 2}, {"binary": True}, {"analyzer": "char_wb", "ngram_range": (2, 3)}])
def test_of_terms_that_come_equally_often_those_of_scikit_learn_stay(most, more):
    corpus = [" ".join(f"term{(17 * at + 7 * number) % 90}" for at in range(40)) for number in range(12)]
    equal(
        TfidfVectorizer(max_features=most, **more).fit(corpus),
        theirs(corpus, {"max_features": most, **more}),
        corpus,
        ODD,
    )


@pytest.mark.parametrize("corpus", [[], ["", ""], ["the of", "and"], ["! ?", "."], ["red", "blue", "green"]])
@pytest.mark.parametrize("more", [{}, {"tokens": "signals"}, {"binary": True}, {"token_pattern": "(?u)\\b\\w\\w+"}])
def test_texts_that_leave_no_term_are_an_error_and_leave_what_was_learned(corpus, more):
    vectorizer = TfidfVectorizer(stop_words="english", **more).fit(["cats dogs", "cats birds"])
    vectorizer.set_params(min_df=2)
    with pytest.raises(ValueError, match="no term is left"):
        vectorizer.fit(corpus)
    assert vectorizer.vocabulary == ["birds", "cats", "dogs"]


def halves(text):
    return [text[: len(text) // 2], *text.split()]


@pytest.mark.parametrize("given", [
    {"analyzer": halves}, {"tokenizer": str.split}, {"preprocessor": str.upper}, {"strip_accents": str.title},
    {"tokenizer": str.split, "token_pattern": None, "lowercase": False}, {"token_pattern": r"(?u)\b(\w)\w+\b"},
    {"analyzer": "char", "ngram_range": (1, 4), "preprocessor": str.swapcase},
])  # fmt: skip
def test_steps_of_the_callers_give_the_numbers_of_scikit_learn_and_are_pickled(given):
    ours = TfidfVectorizer(**given).fit(ODD)
    for one in (ours, pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        equal(one, theirs(ODD, given), ODD, ODD[::-1])


@pytest.mark.parametrize("given", [
    {"analyzer": list}, {"preprocessor": " ".join}, {"tokenizer": list, "lowercase": False, "stop_words": ["the"]},
    {"analyzer": list, "vocabulary": ["cat", "the"]},
])  # fmt: skip
def test_functions_of_the_callers_take_documents_of_any_type(given):
    corpus, others = [["the", "Cat"], ["dog", "cat", "cat"], []], [("cat", "the", "x")]
    equal(TfidfVectorizer(**given).fit(corpus), theirs(corpus, given), corpus, others)
    with pytest.raises(QueryError, match=r"text 0 is .*, of type list: wanted text"):
        TfidfVectorizer(tokenizer=list).fit(corpus)


def test_documents_are_read_from_files(tmp_path):
    for name, text in (("a.txt", "Crème brûlée".encode("latin-1")), ("b.txt", b"brew tea")):
        (tmp_path / name).write_bytes(text)
    paths = sorted(tmp_path.iterdir())
    given = {"input": "filename", "encoding": "latin-1"}
    ours, fitted = TfidfVectorizer(**given).fit(paths), Theirs(**given).fit(paths)
    assert ours.vocabulary == fitted.get_feature_names_out().tolist() == ["brew", "brûlée", "crème", "tea"]
    assert abs(ours.transform(map(str, paths)).to_scipy() - fitted.transform(paths)).max() < 1e-12
    with pytest.raises(QueryError, match=r"text 1, .* cannot be read: No such file"):
        ours.transform([paths[0], tmp_path / "none"])
    with pytest.raises(QueryError, match="text 0 is 3: wanted the path of a file"):
        ours.transform([3])
    with pytest.raises(QueryError, match=r"text 0 is 'a': wanted a file, with read\(\)"):
        TfidfVectorizer(input="file").fit(["a"])


def test_bytes_that_cannot_be_decoded_are_named():
    with pytest.raises(QueryError, match=r"text 1 is not utf-8 .*: name its encoding, or set decode_error='replace'"):
        TfidfVectorizer().fit(["tea", b"caf\xe9"])
    assert TfidfVectorizer(decode_error="ignore").fit([b"caf\xe9"]).vocabulary == ["caf"]
    for missing in (None, float("nan"), np.nan, bytearray(b"tea")):
        with pytest.raises(QueryError, match=r"text 1 is .*: wanted text"):
            TfidfVectorizer().fit(["tea", missing])


def test_a_given_vocabulary_is_known_before_the_fit_and_keeps_its_columns():
    vectorizer = TfidfVectorizer(vocabulary={"tea": 1, "oat milk": 0}, ngram_range=(1, 2), min_df=9, max_features=1)
    assert vectorizer.get_feature_names_out().tolist() == ["oat milk", "tea"]
    assert vectorizer.inverse_transform([[0, 2.0]])[0].tolist() == ["tea"] and vectorizer.vocabulary == []
    with pytest.raises(QueryError, match="call fit first"):
        vectorizer.transform(["tea"])
    vectorizer.fit(["Tea with oat milk", "black tea"])
    assert vectorizer.vocabulary == ["oat milk", "tea"] and vectorizer.vocabulary_ == {"tea": 1, "oat milk": 0}
    assert vectorizer.get_params()["vocabulary"] == {"tea": 1, "oat milk": 0}
    for again in (pickle.loads(pickle.dumps(vectorizer)), copy.deepcopy(vectorizer)):
        assert again.transform(["tea oat milk"]).data.tolist() == vectorizer.transform(["tea oat milk"]).data.tolist()
        assert again.fit(["oat milk"]).vocabulary == ["oat milk", "tea"]
    assert vectorizer.set_params(vocabulary=None, min_df=1, max_features=None).fit(["other"]).vocabulary == ["other"]


def test_a_given_term_without_texts_and_smoothing_is_named_where_rows_are_scaled():
    corpus, given = ["tea", "tea"], {"vocabulary": ["tea", "none"], "smooth_idf": False}
    ours = TfidfVectorizer(**given).fit(corpus)
    assert ours.idf_.tolist() == [1.0, np.inf] and ours.transform(corpus).data.tolist() == [1.0, 1.0]
    with pytest.raises(QueryError, match="the idf of 'none' is infinite"):
        ours.transform(["none"])
    assert TfidfVectorizer(norm=None, **given).fit(corpus).transform(["none"]).data.tolist() == [np.inf]


def test_weights_are_set_from_elsewhere():
    fitted = Theirs().fit(ODD)
    ours = TfidfVectorizer(vocabulary=fitted.vocabulary_)
    ours.idf_ = fitted.idf_
    equal(ours, fitted, ODD, ODD[::-1])
    ours.idf_ = np.ones(len(ours))
    assert pickle.loads(pickle.dumps(ours)).idf_.tolist() == [1.0] * len(ours)
    for bad in ([1.0], "text", [np.nan] * len(ours), None):
        with pytest.raises(QueryError, match="idf_ is"):
            ours.idf_ = bad
    for vectorizer in (TfidfVectorizer(), TfidfVectorizer(vocabulary=["tea"], use_idf=False)):
        with pytest.raises(QueryError, match=r"fit first|use_idf is False"):
            vectorizer.idf_ = [1.0]


def test_what_a_function_of_the_caller_raises_is_raised_and_odd_terms_are_named():
    with pytest.raises(ZeroDivisionError):
        TfidfVectorizer(analyzer=lambda text: 1 / 0).fit(["a"])
    with pytest.raises(QueryError, match="the term 3"):
        TfidfVectorizer(analyzer=lambda text: [3]).fit(["a"])
    with pytest.raises(QueryError, match="text 1 is 5"):
        TfidfVectorizer(analyzer="char").fit(["a", 5])


def test_the_english_stop_words_are_those_of_scikit_learn():
    assert set(ENGLISH) == ENGLISH_STOP_WORDS and list(ENGLISH) == sorted(ENGLISH)


def test_terms_of_the_signals_have_neighbours_too():
    vectorizer = TfidfVectorizer(tokens="signals", ngram_range=(2, 2), stop_words=["two-phase"])
    vectorizer.fit(["the Two-phase commit of databases", "Zürich-West"])
    assert vectorizer.vocabulary == ["commit databases"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tokens": "chars"}, "tokens is 'chars'"),
        ({"analyzer": "chars"}, "analyzer is 'chars'"),
        ({"analyzer": ["word"]}, "analyzer is"),
        ({"strip_accents": True}, "strip_accents is True"),
        ({"token_pattern": "("}, "token_pattern"),
        ({"token_pattern": r"(\w)(\w)"}, "at most one group"),
        ({"token_pattern": None}, "token_pattern is None"),
        ({"tokenizer": "split"}, "tokenizer is 'split'"),
        ({"binary": 2}, "binary"),
        ({"tokens": "signals", "analyzer": "char"}, "an analyzer of its own"),
        ({"ngram_range": (2, 1)}, "ngram_range"),
        ({"ngram_range": (0, 1)}, "ngram_range"),
        ({"ngram_range": 3}, "ngram_range"),
        ({"ngram_range": (1, 2, 3)}, "ngram_range"),
        ({"stop_words": "german"}, "stop_words is 'german'"),
        ({"stop_words": [3]}, "a stop word"),
        ({"min_df": 0}, "min_df"),
        ({"min_df": 1.5}, "min_df"),
        ({"min_df": True}, "min_df"),
        ({"max_df": -0.1}, "max_df"),
        ({"max_df": 1, "min_df": 2}, "max_df is 1 and min_df 2: of 2 texts"),
        ({"max_features": 0}, "max_features"),
        ({"norm": "max"}, "norm is 'max': wanted 'l2' or 'l1' or None"),
        ({"use_idf": 1}, "use_idf is 1"),
        ({"output": "pandas"}, "output is 'pandas'"),
        ({"vocabulary": []}, "vocabulary is empty"),
        ({"vocabulary": "term"}, "vocabulary is 'term'"),
        ({"vocabulary": 3}, "vocabulary is 3"),
        ({"vocabulary": ["a", "b", "a"]}, "duplicate term 'a' in vocabulary"),
        ({"vocabulary": ["a", 3]}, "a term of vocabulary"),
        ({"vocabulary": ["\ud800"]}, "a term of vocabulary"),
        ({"vocabulary": {"a": 1}}, "wanted each column from 0 to 0 once"),
        ({"vocabulary": {"a": 0, "b": 0}}, "wanted each column"),
        ({"vocabulary": {"a": 0, "b": "1"}}, "wanted each column"),
        ({"input": "path"}, "input is 'path'"),
        ({"encoding": "base64"}, "encoding is 'base64'"),
        ({"encoding": "nonsense"}, "encoding is 'nonsense'"),
        ({"encoding": None}, "encoding is NoneType"),
        ({"decode_error": "xmlcharrefreplace"}, "decode_error is"),
        ({"dtype": complex}, "dtype is"),
        ({"dtype": "float16"}, "dtype is 'float16'"),
        ({"dtype": object()}, "dtype is"),
    ],
)
def test_parameters_that_mean_nothing_are_refused_by_the_fit_and_nothing_is_forgotten(given, message):
    vectorizer = TfidfVectorizer().fit(["known term"])
    vectorizer.set_params(**given)
    with pytest.raises(QueryError, match=message):
        vectorizer.fit(["a text", "a text"])
    assert vectorizer.vocabulary == ["known", "term"]


def test_terms_come_back_from_rows():
    vectorizer = TfidfVectorizer().fit(ODD)
    rows = vectorizer.transform(["cat to cat", "", "unknown be"])
    wanted = [["cat", "to"], [], ["be"]]
    for form in (rows, rows.to_scipy(), rows.to_scipy().tocoo(), rows.to_scipy().toarray()):
        assert [found.tolist() for found in vectorizer.inverse_transform(form)] == wanted
    fitted = Theirs().fit(ODD)
    for found, own in zip(fitted.inverse_transform(fitted.transform(ODD)), ODD, strict=True):
        assert sorted(found) == vectorizer.inverse_transform(vectorizer.transform([own]))[0].tolist()
    for bad in (np.ones((1, 3)), "text", None, [[["a"]]], SparseRows(*rows)):
        with pytest.raises(QueryError, match="rows"):
            vectorizer.inverse_transform(bad)
    with pytest.raises(QueryError, match="call fit first"):
        TfidfVectorizer().inverse_transform(rows)


def test_rows_have_a_shape_and_products():
    vectorizer = TfidfVectorizer().fit(ODD)
    rows = vectorizer.transform(ODD)
    matrix = rows.to_scipy()
    assert rows.shape == matrix.shape == (len(ODD), len(vectorizer)) and sparse.issparse(matrix)
    assert "8 rows" in repr(rows)
    dense = np.random.default_rng(0).normal(size=(len(vectorizer), 3))
    np.testing.assert_allclose(rows @ dense, matrix @ dense, atol=1e-15)
    np.testing.assert_allclose(rows @ dense[:, 0], matrix @ dense[:, 0], atol=1e-15)
    assert (vectorizer.transform([]) @ dense).shape == (0, 3)
    for bad in (np.ones(3), "text", np.ones((len(vectorizer), 1, 1))):
        with pytest.raises(QueryError):
            rows @ bad
    for again in (pickle.loads(pickle.dumps(rows)), copy.deepcopy(rows)):
        assert again.shape == rows.shape and isinstance(again, SparseRows)
    assert SparseRows(*vectorizer.transform(["be"])).shape == (1, vectorizer.vocabulary_["be"] + 1)


def test_scipy_rows_are_given_on_request_and_their_absence_is_named(monkeypatch):
    vectorizer = TfidfVectorizer(output="scipy")
    assert isinstance(vectorizer.fit_transform(ODD), sparse.csr_matrix)
    assert abs(vectorizer.transform(ODD) - TfidfVectorizer().fit_transform(ODD).to_scipy()).nnz == 0
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse", None)
    with pytest.raises(QueryError, match="pip install scipy"):
        vectorizer.transform(ODD)


@pytest.mark.parametrize("given", [{}, {"ngram_range": (1, 2), "norm": "l1", "stop_words": ["to"], "use_idf": False}])
def test_what_was_learned_is_pickled(given):
    vectorizer = TfidfVectorizer(**given).fit(ODD)
    # What is set later counts for the next fit.
    vectorizer.set_params(norm=None)
    for again in (pickle.loads(pickle.dumps(vectorizer)), copy.deepcopy(vectorizer), copy.copy(vectorizer)):
        assert again.get_params() == vectorizer.get_params()
        for found, wanted in zip(again.transform(ODD), vectorizer.transform(ODD), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert again.fit(["other"]).vocabulary == ["other"] and vectorizer.vocabulary != ["other"]
    empty = pickle.loads(pickle.dumps(TfidfVectorizer(**given)))
    assert empty.vocabulary == [] and not hasattr(empty, "vocabulary_") and not hasattr(empty, "idf_")


def test_rows_of_another_width_are_refused_before_they_are_read():
    vectorizer = TfidfVectorizer()
    vectorizer.fit(["to be", "to see"])
    with pytest.raises(QueryError, match="rows has 7 columns: wanted 3"):
        vectorizer.inverse_transform(np.broadcast_to(1.0, (10**12, 7)))
