"""The border to the extension refuses what it documents, and says why."""

import inspect
import sys

import numpy as np
import pytest

from septet import _core

ROWS = np.eye(3, 2, dtype=np.float32) + np.float32(1)
QUERY = np.ones(2, dtype=np.float32)
DIRECTION = np.ones(2)
AT = np.zeros(1, dtype=np.int64)
FORMULA = _core.Formula([("col", "a")], missing="zero")
NUMBERS = np.ones(3)
NO_SLOTS = np.zeros(0, dtype=np.int64)


def index(*texts):
    made = _core.TermIndex()
    made.append(list(texts))
    return made


def spelling(*texts):
    made = _core.SpellingIndex()
    made.append(list(texts))
    return made


def decay(*, now=0.0, times=(NUMBERS,) * 4, half_life_s=1.0, ramp=0.25):
    return _core.decay(now, *times, half_life_s=half_life_s, ramp=ramp)


@pytest.mark.parametrize(
    ("call", "name", "why"),
    [
        (lambda: _core.unit_rows([[1.0]]), "rows", "expected a numpy array, got list"),
        (lambda: _core.unit_rows(ROWS.astype(np.float64)), "rows", "expected an array of float32, got float64"),
        (lambda: _core.unit_rows(ROWS.astype(">f4")), "rows", "expected an array of float32, got >f4"),
        (lambda: _core.unit_rows(QUERY), "rows", "expected 2 dimensions, got 1"),
        (lambda: _core.unit_rows(np.asfortranarray(ROWS)), "rows", "not C-contiguous"),
        (lambda: _core.top_k(QUERY[None], ROWS, 1), "query", "expected 1 dimensions, got 2"),
        (lambda: _core.top_k(np.ones(4, np.float32)[::2], ROWS, 1), "query", "not C-contiguous"),
        (lambda: _core.top_k(QUERY, ROWS[:, ::-1], 1), "rows", "not C-contiguous"),
        (lambda: _core.top_k(QUERY, ROWS, 1, np.ones(3, np.uint8)), "mask", "expected an array of bool"),
        (lambda: _core.top_k(QUERY, ROWS, 1.5), "k", "float"),
        (lambda: _core.cosine_at(DIRECTION, ROWS, AT.astype(np.int32)), "at", "expected an array of int64, got int32"),
        (lambda: _core.cosine_at(QUERY, ROWS, AT), "query", "expected an array of float64, got float32"),
        (lambda: _core.words(b"bytes"), "text", "bytes"),
        (lambda: _core.TermIndex().append("one text"), "texts", "str"),
        (lambda: _core.TermIndex().append([1]), "texts", "int"),
        (lambda: _core.SpellingIndex().append("one text"), "texts", "str"),
        (
            lambda: _core.SpellingIndex().bm25(spelling("a").statistics(AT), "query", AT.astype(np.int32)),
            "slots",
            "expected an array of int64",
        ),
        (lambda: _core.TermIndex().frequencies([0]), "slots", "expected a numpy array, got list"),
        (lambda: _core.Formula(["col"], missing="zero"), "signals", "'str'"),
        (lambda: _core.Formula([("col", 1)], missing="zero"), "signals", "'int'"),
        (lambda: FORMULA.evaluate({"a": QUERY}, ["entry"] * 2), "columns", "expected an array of float64"),
        (lambda: FORMULA.evaluate({}, "entry"), "kinds", "str"),
        (lambda: _core.rrf([NUMBERS], NUMBERS), "lists", "expected an array of int64, got float64"),
        (lambda: _core.jaccard("tag", []), "query", "str"),
        (lambda: decay(times=(QUERY,) * 4), "created", "expected an array of float64, got float32"),
    ],
)
def test_a_wrong_type_is_a_type_error_that_names_the_argument(call, name, why):
    with pytest.raises(TypeError) as caught:
        call()
    assert why in str(caught.value)
    if sys.version_info >= (3, 11):  # the name comes in a note, which older versions do not have
        assert any(f"'{name}'" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: _core.unit_rows(ROWS - ROWS), "row 0 has length 0"),
        (lambda: _core.unit_rows(np.vstack([ROWS, [[np.inf, 1]]]).astype(np.float32)), "row 3 is NaN or infinite"),
        (lambda: _core.unit_rows(np.full((1, 2), np.nan, np.float32)), "row 0 is NaN or infinite"),
        (lambda: _core.top_k(np.ones(3, np.float32), ROWS, 1), "query has length 3, expected 2"),
        (lambda: _core.top_k(QUERY * np.float32(np.nan), ROWS, 1), "query component 0 is NaN"),
        (lambda: _core.top_k(QUERY * np.float32(np.inf), ROWS, 0), "query component 0 is NaN or infinite"),
        (lambda: _core.top_k(QUERY, ROWS, -1), "k is -1, expected at least 0"),
        (lambda: _core.top_k(QUERY, ROWS, 1, np.ones(2, bool)), "mask has length 2, expected 3"),
        (lambda: _core.top_k(QUERY, ROWS, 1, kernel="mmx"), 'kernel is "mmx", expected one of .*scalar'),
        (lambda: _core.cosine_at(DIRECTION, ROWS, AT + 3), "row 3 is out of range: there are 3"),
        (lambda: _core.cosine_at(DIRECTION, ROWS, AT - 2), "row -2 is out of range"),
        (lambda: _core.cosine_at(DIRECTION[:1], ROWS, AT), "query has length 1, expected 2"),
        (lambda: _core.cosine_at(DIRECTION * np.inf, ROWS, AT), "query component 0 is NaN or infinite"),
        (lambda: _core.cosine_at(DIRECTION * 0, ROWS, AT), "length 0"),
        (lambda: index("a").frequencies(AT + 1), "slot 1 is out of range: there are 1"),
        (lambda: index("a").frequencies(np.zeros(2, np.int64)), "slot 0 is listed twice"),
        (lambda: index("a").frequencies(NO_SLOTS).moved(index("a"), AT, NO_SLOTS), "another TermIndex"),
        (lambda: index("a").cosines(index("a").frequencies(AT), "a", AT), "another TermIndex"),
        (lambda: spelling("a").bm25(spelling("a").statistics(AT), "a", AT + 1), "slot 1 is out of range: there are 1"),
        (lambda: spelling("a").bm25(spelling("a").statistics(AT), "", AT - 1), "slot -1 is out of range: there are 1"),
        (lambda: _core.TfidfVectorizer(tokens="chars"), 'tokens is "chars", expected one of words, signals'),
        (lambda: _core.TfidfVectorizer().transform(["a"]), "not fitted"),
        (lambda: _core.TfidfVectorizer().vocabulary, "not fitted"),
        (lambda: _core.TfidfVectorizer().idf, "not fitted"),
        (lambda: _core.TfidfVectorizer().fit([], threads=0), "threads is 0, expected at least 1"),
        (lambda: _core.TermIndex().append([], threads=-1), "threads is -1, expected at least 1"),
        (lambda: _core.Formula([("colour", "a")], missing="zero"), 'there is no expression "colour"'),
        (lambda: _core.Formula([], missing="none"), 'missing is "none": wanted'),
        (lambda: FORMULA.evaluate({"a": NUMBERS}, ["entry"]), "a column has length 3, expected 1"),
        (lambda: FORMULA.score({"a": NUMBERS}, ["entry"] * 3, NUMBERS), "weights has length 3, expected 1"),
        (lambda: FORMULA.score({"a": NUMBERS}, ["entry"] * 3, NUMBERS[:1] * np.nan), "weight 0 is NaN"),
        (lambda: _core.rrf([AT], NUMBERS), "weights has length 3, expected 1"),
        (lambda: _core.rrf([AT], np.array([np.inf])), "weight 0 is NaN or infinite"),
        (lambda: _core.rrf([AT], NUMBERS[:1], k=0.0, first_rank=0), "k is 0, expected"),
        (lambda: decay(now=np.nan), "now is NaN, expected a finite number"),
        (lambda: decay(half_life_s=0.0), "half_life_s is 0, expected"),
        (lambda: decay(ramp=-1.0), "ramp is -1, expected"),
        (lambda: decay(times=(NUMBERS, NUMBERS[:2], NUMBERS, NUMBERS)), "updated has length 2, expected 3"),
        (lambda: decay(times=(NUMBERS, NUMBERS, NUMBERS, NUMBERS * np.inf)), "valid_until 0 is NaN or infinite"),
    ],
)
def test_a_value_out_of_range_is_a_value_error_that_says_why(call, why):
    with pytest.raises(ValueError, match=why):
        call()


def test_a_slot_that_was_not_counted_cannot_be_removed():
    made = index("alpha", "beta")
    with pytest.raises(ValueError, match="slot 1 cannot be removed"):
        made.frequencies(AT).moved(made, NO_SLOTS, AT + 1)


def test_a_text_that_is_not_unicode_is_refused():
    with pytest.raises(UnicodeEncodeError):
        _core.tokenize("\ud800")


def test_nothing_in_gives_nothing_out():
    empty = np.zeros((0, 2), np.float32)
    ids, scores = _core.top_k(QUERY, empty, 5)
    assert (ids.shape, ids.dtype, scores.shape, scores.dtype) == ((0,), np.int64, (0,), np.float64)
    assert _core.unit_rows(empty).shape == (0, 2)
    assert _core.unit_rows(np.zeros((0, 0), np.float32)).shape == (0, 0)
    assert _core.cosine_at(DIRECTION, empty, NO_SLOTS).shape == (0,)
    assert _core.top_k(np.zeros(0, np.float32), np.zeros((3, 0), np.float32), 2)[0].tolist() == [0, 1]
    nothing = _core.Formula([], missing="share").score({}, ["entry"] * 4, np.zeros(0))
    assert [a.shape for a in nothing] == [(0, 4), (0, 4), (4,), (4,), (0,)]
    assert [a.shape for a in _core.rrf([], np.zeros(0))] == [(0,), (0,)]
    assert _core.TermIndex().frequencies(NO_SLOTS).to_dict() == {}
    assert _core.SpellingIndex().bm25(_core.SpellingIndex().statistics(NO_SLOTS), "word", NO_SLOTS).shape == (0,)
    assert _core.jaccard([], [[]]).tolist() == [0.0]


def test_read_only_arrays_are_taken_as_they_are(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    ids, _ = _core.top_k(QUERY, mapped, 1)
    assert ids.tolist() == [0]


def test_a_mask_byte_other_than_one_counts_as_true():
    mask = np.array([0, 2, 255], dtype=np.uint8).view(np.bool_)
    assert _core.top_k(QUERY, ROWS, 3, mask)[0].tolist() == [1, 2]


def test_a_forced_level_is_one_of_those_listed():
    assert _core.kernel() == _core.kernels()[0]
    assert _core.kernels()[-1] == "scalar"
    for level in _core.kernels():
        assert _core.top_k(QUERY, ROWS, 1, kernel=level)[0].tolist() == [0]


def test_classes_are_final_and_functions_have_signatures():
    for made in (
        _core.TermIndex,
        _core.Frequencies,
        _core.SpellingIndex,
        _core.SpellingStatistics,
        _core.TfidfVectorizer,
    ):
        with pytest.raises(TypeError):
            type("Derived", (made,), {})
    signature = inspect.signature(_core.top_k)
    assert str(signature) == "(query, rows, k, mask=None, *, kernel=None)"


def test_the_documented_stop_words_are_ninety_five():
    assert isinstance(_core.stop_words(), frozenset)
    assert len(_core.stop_words()) == 95
