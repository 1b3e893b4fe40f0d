"""What comes in from callers is taken as exactly what it says, or refused with what was seen."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest

import odd_values
from septet import (
    CallableEmbedder,
    EmbeddingConfigError,
    EmbeddingOptions,
    EntryError,
    Federation,
    ProfileError,
    QueryError,
    SeptetError,
    Span,
    StoreError,
    TfidfVectorizer,
    TierError,
    Vault,
    VectorError,
    VectorIndex,
    top_k,
)
from septet.inputs.arguments import as_epoch, file_path, listed, real, shown, utf8, whole
from septet.model.drafts import MOST_CHARS, MOST_TAGS
from septet.model.entry import MOST_DEPTH
from septet.model.vector import MOST_DIMENSIONS, entry_vector, query_vector
from septet.profiles import resolve


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add(id="a", title="ducks swim", vector=[1, 0, 0])
        made.add(id="b", title="geese fly", vector=[0, 1, 0])
        yield made


# -- what errors show --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two\nlines.npy", "\x1b[31mred.npy"])
def test_an_error_is_one_line_whatever_the_name_of_a_file(vault, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"of no use" * 1_000)
    for opened in (Vault, VectorIndex.open, resolve, vault.import_):
        with pytest.raises(SeptetError) as refused:
            opened(path / "inside")
        assert str(refused.value).isprintable() and name not in str(refused.value)
    with pytest.raises(SeptetError) as refused:
        Vault(path)
    assert str(refused.value).isprintable()


# -- numbers, texts, times, paths --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), odd_values.NumberOf(3), odd_values.Size.LARGE])
def test_a_whole_number_of_any_type_is_one(value):
    found = whole(value, "k", QueryError, 1, 3)
    assert (found, type(found)) == (3, int)


@pytest.mark.parametrize("value", [True, 3.0, "3", None, 0, 4, 2**63, 10**400, float("nan"), np.float64(3), [3]])
def test_what_is_no_whole_number_in_range_is_refused(value):
    with pytest.raises(QueryError, match=r"k is .*: wanted a whole number from 1 to 3"):
        whole(value, "k", QueryError, 1, 3)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2), odd_values.RealOf(0.5)])
def test_a_number_of_any_type_is_one(value):
    found = real(value, "share", QueryError, 0, 1)
    assert (found, type(found)) == (0.5, float)


@pytest.mark.parametrize("value", [True, "0.5", None, -1, 1.5, float("nan"), float("inf"), 10**400, 1j, [0.5]])
def test_what_is_no_number_in_range_is_refused(value):
    with pytest.raises(QueryError, match=r"share is .*: wanted a number from 0 to 1"):
        real(value, "share", QueryError, 0, 1)


def test_a_span_of_time_is_no_number():
    for check in (lambda value: real(value, "share", QueryError), lambda value: whole(value, "count", QueryError, 0)):
        with pytest.raises(QueryError, match=r"wanted a (whole )?number"):
            check(np.timedelta64(3, "s"))


@pytest.mark.parametrize(("text", "most"), [("", 0), ("a", 1), ("é" * 10, 10)])
def test_a_text_may_be_as_long_as_its_bound_and_no_longer(text, most):
    assert utf8(text, "note", EntryError, most) == text
    with pytest.raises(EntryError, match=rf"note has {most + 1} characters: at most {most} are allowed"):
        utf8(text + "x", "note", EntryError, most)


def test_a_text_of_another_class_is_taken_as_the_text_it_is(vault):
    class Kind(str, Enum):
        NOTE = "note"

    vault.add(id="c", title=odd_values.EvilText("swans"), type=Kind.NOTE, domain=np.str_("birds"), tags=[Kind.NOTE])
    entry = vault.get("c")
    assert (entry.title, entry.type, entry.domain, entry.tags) == ("swans", "note", "birds", ("note",))
    assert vault.search("swans", where={"tags": Kind.NOTE, "type": Kind.NOTE}).ids == ["c"]


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 4_097, b"bytes", 5, None, odd_values.PathOf(b"x")])
def test_what_is_no_path_is_refused_everywhere(vault, path):
    calls = [
        lambda: Vault(path),
        lambda: vault.backup(path),
        lambda: VectorIndex(3).save(path),
        lambda: VectorIndex.open(path),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="path "):
            call()
    with pytest.raises(StoreError):
        file_path(path, "path", StoreError)


def test_a_time_in_a_zone_that_is_none_or_too_far_is_refused():
    for zone in (odd_values.Nowhere(), odd_values.TooFar()):
        with pytest.raises(EntryError, match="created_at is"):
            as_epoch(datetime(2020, 1, 1, tzinfo=zone), "created_at", EntryError)
    far = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12)))
    assert as_epoch(far, "created_at", EntryError) == far.timestamp()


def test_a_collection_that_lies_about_its_length_takes_no_memory():
    assert listed(odd_values.Lying(), "ids", EntryError, "ids") == ["one", "one"]
    with pytest.raises(EntryError, match="ids has more than 5 values"):
        listed(range(2**62), "ids", EntryError, "ids", 5)


# -- vectors -----------------------------------------------------------------------------------------------------------

LOSSY = {
    "complex": np.array([1j, 2, 3]),
    "masked": np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "masked float32": np.ma.masked_array(np.ones(3, np.float32), mask=[0, 1, 0]),
    "times": np.array(["2020", "2021", "2022"], "datetime64[s]"),
    "spans of time": np.array([1, 2, 3], "timedelta64[s]"),
    "text": np.array(["1", "2", "3"]),
    "texts in a list": ["1", "2", "3"],
    "one text": "123",
    "bytes": b"123",
    "booleans": np.array([True, False, True]),
    "booleans in a list": [True, False, True],
    "objects": np.array([1.0, 2.0, 3.0], dtype=object),
    "a dict": {"0": 1.0},
    "a set": {1.0, 2.0},
    "a huge number": [10**400, 1, 2],
    "beyond float32": [1e39, 1.0, 2.0],
    "nested": [[1.0, 2.0, 3.0]],
    "one number": 1.0,
    "none": [],
}


@pytest.mark.parametrize("value", LOSSY.values(), ids=LOSSY)
def test_no_vector_is_made_of_what_is_none(vault, value):
    before = vault.stats().generation
    with pytest.raises(EntryError, match="vector"):
        vault.add(title="t", vector={"m": value})
    with pytest.raises(VectorError, match="query_vector"):
        query_vector(value)
    assert vault.stats().generation == before


@pytest.mark.parametrize(
    "value", [v for k, v in LOSSY.items() if k != "nested"], ids=[k for k in LOSSY if k != "nested"]
)
def test_an_index_takes_no_vectors_made_of_what_is_none(value):
    index = VectorIndex(3)
    for call in (lambda: index.add(value), lambda: index.search(value), lambda: top_k(value, np.eye(3), 1)):
        with pytest.raises(VectorError):
            call()
    assert len(index) == 0


@pytest.mark.parametrize("size", [1, 2, 1_000, MOST_DIMENSIONS])
def test_a_vector_of_1_to_65_536_components_is_stored_and_found(size):
    row = np.ones(size, np.float32)
    with Vault(":memory:") as made:
        made.add(id="a", title="ducks", vector=row)
        assert made.search("ducks", query_vector=row).ids == ["a"]
        assert made.search("ducks", query_vector=row.astype(float).tolist()).ids == ["a"]


@pytest.mark.parametrize("size", [MOST_DIMENSIONS + 1, 2 * MOST_DIMENSIONS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_a_vector_of_more_components_is_refused_wherever_it_comes_in(size, dtype):
    row = np.ones(size, dtype)
    with Vault(":memory:") as made:
        for call in (
            lambda: made.add(title="t", vector=row),
            lambda: made.add(title="t", vector=row.tolist()),
            lambda: made.search("t", query_vector=row),
            lambda: made.search_many(["t"], query_vectors=[row]),
            lambda: entry_vector(row, "vector"),
            lambda: VectorIndex(size),
            lambda: top_k(row, row[np.newaxis], 1),
        ):
            with pytest.raises(VectorError, match="65,536"):
                call()
        assert len(made) == 0
    with pytest.raises(EmbeddingConfigError, match="65,536"):
        CallableEmbedder(lambda texts: [row], model="m", dimensions=size)


# -- entries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"span": {"path": "p", "first_line": 1, "last_line": 2**70}}, "span.last_line"),
        ({"span": Span("p", 0, 1)}, "span.first_line is 0"),
        ({"span": {"path": "p" * 5_000, "first_line": 1, "last_line": 1}}, "span.path has 5,000 characters"),
        ({"tags": ["t"] * (MOST_TAGS + 1)}, "tags has more than 10,000 values"),
        ({"tags": ["t" * 4_097]}, "a tag has 4,097 characters"),
        ({"tags": [b"t"]}, "tags contain the tag b't'"),
        ({"attrs": {"a": {1: 2}}}, "attrs have the key 1"),
        ({"attrs": odd_values.nested(MOST_DEPTH + 1, lambda inner: {"a": inner})}, "nested deeper than 500 levels"),
        ({"attrs": {"a": odd_values.recursive_list()}}, "nested deeper than 500 levels"),
        ({"created_at": "2020-01-01"}, "created_at is '2020-01-01': wanted epoch seconds"),
        ({"description": b"text"}, "description is bytes, not text"),
        ({"description": "x" * (MOST_CHARS + 1)}, "description has 50,000,001 characters"),
        ({"title": "x" * (MOST_CHARS // 2), "description": "x" * (MOST_CHARS // 2 + 1)}, "50,000,001 characters"),
        ({"split": 1.5}, "split, the words of a part, is 1.5"),
        ({5: 6}, "unknown field 5"),
    ],
)
def test_a_field_out_of_bounds_is_refused_by_name_and_nothing_is_written(vault, fields, said):
    before = vault.stats().generation
    with pytest.raises(EntryError) as caught:
        vault.add_many([{"title": "t", **fields}])
    assert said in str(caught.value)
    assert len(str(caught.value)) < 1_000
    assert vault.stats().generation == before


def test_what_is_within_the_bounds_is_stored(vault):
    tags = [f"tag {i}" for i in range(1_000)]
    deep = odd_values.nested(MOST_DEPTH - 1, lambda inner: {"a": inner})
    vault.add(id="c", title="t", description="word " * 2_000_000, tags=tags, attrs=deep, span=Span("p", 1, 2**63 - 1))
    entry = vault.get("c")
    assert (len(entry.description), list(entry.tags), entry.attrs) == (10_000_000, tags, deep)
    assert vault.search("word", where={"attrs.a.a": {"$exists": True}}).ids == ["c"]


# -- other calls -------------------------------------------------------------------------------------------------------


def at_an_odd_time():
    with Vault(":memory:", clock=lambda: "x") as vault:
        vault.search("a")


OUTSIDE_OF_DATES = [float("nan"), float("inf"), 1e300, -1e18, 10**400, 1_760_000_000_000.0, 253_402_300_800, None]


@pytest.mark.parametrize("now", OUTSIDE_OF_DATES, ids=shown)
def test_a_clock_that_tells_no_time_of_these_millennia_is_refused_and_nothing_is_stored(now):
    said = r"what clock\(\) returned is .*: wanted a number from -62,135,596,800 to 253,402,300,799"
    with Vault(":memory:", clock=lambda: now) as vault, Vault(":memory:") as sound:
        for call in (
            lambda: vault.add(id="a", title="ducks swim"),
            lambda: vault.add_many([{"title": "ducks swim"}]),
            lambda: vault.search("ducks"),
        ):
            with pytest.raises(SeptetError, match=said):
                call()
        assert vault.count() == 0
        with (
            Federation({"own": sound}, clock=lambda: now) as both,
            pytest.raises(TierError, match=said),
        ):
            both.search("ducks")


@pytest.mark.parametrize("now", [-62_135_596_800, 0, 1_000.5, 253_402_300_799.0])
def test_any_date_may_be_the_time_of_a_clock(now):
    with Vault(":memory:", clock=lambda: now) as vault:
        vault.add(id="a", title="ducks swim")
        assert vault.get("a").created_at == now


def test_what_a_call_cannot_take_is_refused_with_what_was_seen_and_what_was_wanted(vault):
    options = EmbeddingOptions
    for call, error, said in [
        (lambda: Vault(":memory:", embedder=42), EmbeddingConfigError, "embedder is 42: wanted an embedder"),
        (lambda: Vault(":memory:", embedding_options={}), EmbeddingConfigError, "embedding_options is {}"),
        (lambda: Vault(":memory:", clock=5), StoreError, "clock is 5: wanted a function"),
        (at_an_odd_time, StoreError, r"what clock\(\) returned is 'x'"),
        (lambda: options(batch_texts=1.5), EmbeddingConfigError, "batch_texts is 1.5: wanted a whole number"),
        (lambda: options(poll_s=float("inf")), EmbeddingConfigError, "poll_s is inf: wanted a number"),
        (lambda: Federation([]), TierError, r"tiers is \[\]: wanted a dict"),
        (lambda: Federation({"a": vault}, {"a": "1"}), TierError, "priority of 'a' is '1'"),
        (lambda: VectorIndex("x"), VectorError, "dimensions is 'x': wanted a whole number from 1 to 65,536"),
        (lambda: vault.link_many([5]), EntryError, r"link is 5: wanted \(source, target"),
        (lambda: vault.link("a", "b", "t" * 257), EntryError, "wanted 1 to 256 characters"),
        (lambda: vault.link("a", "b", note="x" * 1_000_001), EntryError, "link note has 1,000,001 characters"),
        (lambda: vault.load([5]), EntryError, "an id is int, not text"),
        (lambda: vault.load(5), EntryError, "ids is 5: wanted ids, as text"),
        (lambda: vault.delete([["a"]]), EntryError, "an id is list, not text"),
        (lambda: vault.add_many("text"), EntryError, "items is 'text': wanted a list of entries"),
        (lambda: vault.add_many([], progress=5), EntryError, "progress is 5: wanted a function"),
        (lambda: vault.search("a", boost_tags=["t"] * 10_001), QueryError, "boost_tags has more than 10,000 values"),
        (lambda: vault.search("a", limit=2.0), QueryError, "limit is 2.0: wanted a whole number"),
        (lambda: vault.search("a", mode=["full"]), QueryError, r"mode is \['full'\]"),
        (lambda: vault.feedback("q", "a", ["accepted"]), EntryError, r"action is \['accepted'\]"),
        (lambda: vault.weights(vectors="yes"), QueryError, "vectors is 'yes'"),
        (lambda: vault.embedding_status(wait_s=10**400), EmbeddingConfigError, "wait_s is a whole number of 1329 bits"),
        (lambda: TfidfVectorizer().fit([5]), QueryError, "text 0 is 5, of type int"),
        (lambda: TfidfVectorizer(tokens=[]).fit(["a"]), QueryError, r"tokens is \[\]"),
        (lambda: CallableEmbedder(5, model="m"), EmbeddingConfigError, "function is 5"),
    ]:
        with pytest.raises(error, match=said):
            call()


@pytest.mark.parametrize("number", [2**31, 2**63, 2**70, 10**400])
def test_counts_without_an_end_mean_everything(vault, number):
    index = VectorIndex(3)
    index.add(np.eye(3))
    assert len(index.search([1, 0, 0], number, threads=number)[0]) == 3
    assert len(top_k([1, 0, 0], np.eye(3), number)[0]) == 3
    found = vault.search_many(["ducks"], limit=number, max_tokens=number, threads=number)
    assert found[0].ids == vault.search("ducks", limit=10).ids
    assert len(TfidfVectorizer().fit_transform(["a word"], threads=number).data) == 1


# -- profiles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": {"text": {"semantic": 1e308}}},
        {"weights": {"text": {"semantic": float("nan")}}},
        {"facts": {"half_life_days": 1e308}},
        {"facts": {"half_life_days": 5e-324}},
        {"facts": {"half_life_days": "365"}},
        {"facts": {"half_life_days": True}},
        {"cuts": {"limit": 2**63}},
        {"cuts": {"factor": 10**400}},
        {"cuts": {"minimum": 2**70}},
        {"cuts": {"limit": "10"}},
        {"cuts": {"confident_score": float("inf")}},
        {"text": {"grams": "yes"}},
        {"text": {"grams": 1}},
        {"graph": {"proximity": range(2**62)}},
        {"graph": {"proximity": [0.5] * 17}},
        {"memory_score": 1e308},
        {"name": b"bytes"},
        {1: 2},
    ],
    ids=lambda changes: shown(changes)[:60],
)
def test_a_number_of_a_profile_that_would_spoil_scores_is_refused_by_name(changes):
    base = resolve("septet").to_dict()
    if "weights" in changes:
        changes = {"weights": {**base["weights"], "text": {**base["weights"]["text"], **changes["weights"]["text"]}}}
    with pytest.raises(ProfileError):
        resolve({"extends": "septet", **changes})


def test_the_largest_weights_rank_as_small_ones_do(vault):
    weights = resolve("septet").to_dict()["weights"]
    large = {name: {s: w * 1e8 for s, w in some.items()} for name, some in weights.items()}
    plain, scaled = (vault.search("ducks", profile=p) for p in ("septet", {"extends": "septet", "weights": large}))
    assert plain.ids == scaled.ids
    assert scaled[0].score > 0
