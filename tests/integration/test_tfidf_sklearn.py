"""The vectorizer inside scikit-learn: its own checks of estimators, pipelines, searches for parameters."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.validation import check_is_fitted

from septet import QueryError, TfidfVectorizer

TEXTS = [
    f"{word} {i % 3} {'good fine nice' if i % 2 else 'bad poor awful'} x{i}" for i, word in enumerate("abcdef" * 8)
]
LABELS = [i % 2 for i in range(len(TEXTS))]


class OfNumbers(TransformerMixin, BaseEstimator):
    """A transformer of numbers, to ask which checks there are: for those of texts, none are given out."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def every_check():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = estimator_checks._yield_all_checks(OfNumbers(), legacy=True)
        return {getattr(check, "func", check).__name__ for check in checks}


APPLY = [
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]
NUMBERS = "gives arrays of numbers to fit, which are no texts"
#: Checks that cannot be run, with the reason, and the test here that checks the same with texts.
OTHERS = {
    "check_array_api_input": NUMBERS,
    "check_complex_data": NUMBERS,
    "check_dict_unchanged": f"{NUMBERS}: test_transforming_changes_nothing",
    "check_dont_overwrite_parameters": f"{NUMBERS}: test_fit_sets_no_public_attribute",
    "check_dtype_object": NUMBERS,
    "check_estimator_sparse_array": "gives sparse numbers to fit",
    "check_estimator_sparse_matrix": "gives sparse numbers to fit",
    "check_estimator_sparse_tag": "gives sparse numbers to fit",
    "check_estimators_dtypes": NUMBERS,
    "check_estimators_empty_data_messages": f"{NUMBERS}; no texts leave no term, which is an error",
    "check_estimators_fit_returns_self": f"{NUMBERS}: test_fit_returns_the_vectorizer_and_leaves_parameters_alone",
    "check_estimators_nan_inf": "texts have no NaN",
    "check_estimators_overwrite_params": f"{NUMBERS}: test_fit_returns_the_vectorizer_and_leaves_parameters_alone",
    "check_estimators_pickle": f"{NUMBERS}: test_what_was_learned_is_pickled",
    "check_estimators_unfitted": "wants scikit-learn's own NotFittedError; it is a QueryError, a ValueError too",
    "check_f_contiguous_array_estimator": NUMBERS,
    "check_fit1d": "one dimension of texts is what fit takes",
    "check_fit2d_1feature": "texts have no features before they are fitted",
    "check_fit2d_1sample": f"{NUMBERS}: one text is fitted in test_pipelines_take_any_sequence_of_texts",
    "check_fit2d_predict1d": NUMBERS,
    "check_fit_check_is_fitted": f"{NUMBERS}: test_scikit_learn_knows_whether_it_is_fitted",
    "check_fit_idempotent": f"{NUMBERS}: test_fitting_again_gives_the_same",
    "check_fit_score_takes_y": f"{NUMBERS}: test_fit_takes_labels_behind_the_texts",
    "check_methods_sample_order_invariance": f"{NUMBERS}: test_rows_do_not_depend_on_their_neighbours",
    "check_methods_subset_invariance": f"{NUMBERS}: test_rows_do_not_depend_on_their_neighbours",
    "check_n_features_in": "texts have no features before they are fitted",
    "check_n_features_in_after_fitting": "texts have no features before they are fitted",
    "check_pipeline_consistency": f"{NUMBERS}: test_a_pipeline_learns_as_with_their_own_vectorizer",
    "check_positive_only_tag_during_fit": NUMBERS,
    "check_readonly_memmap_input": NUMBERS,
    "check_transformer_data_not_an_array": NUMBERS,
    "check_transformer_general": NUMBERS,
    "check_transformer_n_iter": "a fit has no iterations",
    "check_transformer_preserve_dtypes": "texts have no dtype",
    "check_transformers_unfitted": "wants scikit-learn's own NotFittedError; it is a QueryError, a ValueError too",
}


@pytest.mark.parametrize("name", APPLY)
def test_a_check_of_estimators_that_applies_passes(name):
    check = getattr(estimator_checks, name, None) or getattr(estimator_checks, f"{name}s")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check("TfidfVectorizer", TfidfVectorizer())


def test_every_check_of_estimators_is_passed_or_does_not_apply():
    known = {*APPLY, *(f"{name}s" for name in APPLY), *OTHERS}
    assert sorted(every_check() - known) == []


def test_a_clone_has_the_parameters_and_learned_nothing():
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), stop_words=["a"]).fit(TEXTS)
    estimator_checks.check_estimator_cloneable("TfidfVectorizer", vectorizer)
    copied = clone(vectorizer)
    assert copied.get_params() == vectorizer.get_params() and copied.vocabulary == []
    assert set(vectorizer.get_params()) == set(inspect.signature(TfidfVectorizer).parameters)


def test_its_tags_are_those_of_a_transformer_of_texts():
    own, theirs = get_tags(TfidfVectorizer()), get_tags(Theirs())
    assert (own.input_tags, own.target_tags, own.estimator_type) == (
        theirs.input_tags,
        theirs.target_tags,
        theirs.estimator_type,
    )
    assert own.requires_fit and not is_classifier(TfidfVectorizer())


def test_scikit_learn_knows_whether_it_is_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(TfidfVectorizer())
    check_is_fitted(TfidfVectorizer().fit(TEXTS))


def test_fit_returns_the_vectorizer_and_leaves_parameters_alone():
    vectorizer = TfidfVectorizer(stop_words=["a", "b"], min_df=0.1)
    before = vectorizer.get_params()
    assert vectorizer.fit(TEXTS) is vectorizer
    assert all(vectorizer.get_params()[name] is value for name, value in before.items())


def test_fit_sets_no_public_attribute():
    vectorizer = TfidfVectorizer()
    before = set(vars(vectorizer))
    vectorizer.fit(TEXTS)
    assert all(name.startswith("_") for name in set(vars(vectorizer)) - before)


def test_transforming_changes_nothing():
    vectorizer = TfidfVectorizer().fit(TEXTS)
    before = dict(vars(vectorizer))
    vectorizer.transform(TEXTS)
    vectorizer.inverse_transform(vectorizer.transform(TEXTS))
    assert vars(vectorizer) == before


def test_fitting_again_gives_the_same():
    vectorizer = TfidfVectorizer(min_df=2)
    first = vectorizer.fit(TEXTS).transform(TEXTS)
    for found, wanted in zip(vectorizer.fit(TEXTS).transform(TEXTS), first, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_fit_takes_labels_behind_the_texts():
    for name in ("fit", "fit_transform"):
        assert list(inspect.signature(getattr(TfidfVectorizer, name)).parameters)[2] == "y"
        getattr(TfidfVectorizer(), name)(TEXTS, LABELS)


def test_rows_do_not_depend_on_their_neighbours():
    vectorizer = TfidfVectorizer(output="scipy").fit(TEXTS)
    whole = vectorizer.transform(TEXTS).toarray()
    np.testing.assert_array_equal(vectorizer.transform(TEXTS[::-1]).toarray(), whole[::-1])
    np.testing.assert_array_equal(np.vstack([vectorizer.transform([text]).toarray() for text in TEXTS]), whole)


def test_a_pipeline_learns_as_with_their_own_vectorizer():
    def learned(vectorizer):
        made = make_pipeline(vectorizer, LogisticRegression()).fit(TEXTS, LABELS)
        assert made.score(TEXTS, LABELS) == 1
        return made.predict_proba(["good a", "awful b", "neither"])

    ours, theirs = learned(TfidfVectorizer(output="scipy")), learned(Theirs())
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_pipelines_take_any_sequence_of_texts():
    made = Pipeline([("terms", TfidfVectorizer(output="scipy")), ("model", LogisticRegression())])
    for texts in (TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)):
        assert made.fit(texts, LABELS).predict(["good"]).tolist() == [1]
    assert made[:-1].get_feature_names_out().tolist() == made["terms"].vocabulary
    assert TfidfVectorizer().fit(["one text"]).vocabulary == ["one", "text"]
    both = FeatureUnion([("words", TfidfVectorizer(output="scipy")), ("pairs", TfidfVectorizer(ngram_range=(2, 2)))])
    both.set_params(pairs__output="scipy")
    assert both.fit_transform(TEXTS).shape == (len(TEXTS), len(both.get_feature_names_out()))
    assert {name.split("__")[0] for name in both.get_feature_names_out()} == {"words", "pairs"}


def test_parameters_are_searched_for():
    made = make_pipeline(TfidfVectorizer(output="scipy", dtype=np.float32), LogisticRegression())
    grid = {
        "tfidfvectorizer__vocabulary": [None, ("good", "bad", "fine", "poor", "nice", "awful")],
        "tfidfvectorizer__ngram_range": [(1, 1), (1, 2)],
        "tfidfvectorizer__min_df": [1, 2],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(made, grid, cv=3, n_jobs=1).fit(TEXTS, LABELS)
    assert search.best_score_ == 1 and len(search.cv_results_["params"]) == 8
    with pytest.raises(QueryError, match="unknown parameter 'ngrams'"):
        TfidfVectorizer().set_params(ngrams=2)


def test_columns_of_a_frame_are_vectorized_beside_numbers_as_with_their_own():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "more": TEXTS[::-1], "n": range(len(TEXTS))})

    def made(vectorizer):
        steps = [("text", vectorizer, "text"), ("more", clone(vectorizer), "more"), ("n", StandardScaler(), ["n"])]
        return ColumnTransformer(steps)

    ours, theirs = made(TfidfVectorizer(output="scipy")), made(Theirs())
    np.testing.assert_allclose(ours.fit_transform(frame).toarray(), theirs.fit_transform(frame).toarray(), atol=1e-12)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    scores = cross_val_score(make_pipeline(ours, LogisticRegression()), frame, LABELS, cv=2)
    assert scores.tolist() == [1.0, 1.0]
    # Sparse rows cannot become a frame: vectorizers of texts have no set_output, theirs neither.
    for columns in (ours, theirs):
        with pytest.raises(ValueError, match="`set_output` is not available"):
            columns.set_output(transform="pandas")


@pytest.mark.parametrize("texts", [TEXTS[:3], TEXTS])
def test_rows_that_are_no_matrix_say_how_to_get_one(texts):
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    rows = TfidfVectorizer().fit_transform(texts)
    for call in (
        lambda: pipeline.fit(texts, LABELS[: len(texts)]),
        lambda: np.asarray(rows),
        lambda: np.array(rows, dtype=object),
        lambda: np.ones(len(texts)) @ rows,
    ):
        with pytest.raises(TypeError, match=r"\.to_scipy\(\), or TfidfVectorizer\(output='scipy'\)"):
            call()
    assert pipeline.set_params(tfidfvectorizer__output="scipy").fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.5
