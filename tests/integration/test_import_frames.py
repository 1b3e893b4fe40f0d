"""Frames and matrices beside them give what the same rows give one by one."""

import datetime
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import BatchError, Entry, EntryError, Federation, Vault, VectorError

NOW = 1_700_000_000.0
ROWS = [
    {"id": "a", "title": "First", "description": "one", "tags": ["x", "y"], "created_at": 5.0, "price": 7},
    {"id": "b", "title": "Second", "description": None, "tags": None, "created_at": None, "price": None},
    {"id": "c", "title": "日本語", "description": "three", "tags": [], "created_at": 9.5, "price": 9},
]


def arrow(rows):
    return pytest.importorskip("pyarrow").Table.from_pylist(rows)


def batch(rows):
    return pytest.importorskip("pyarrow").RecordBatch.from_pylist(rows)


def pandas(rows):
    return pytest.importorskip("pandas").DataFrame(rows)


def polars(rows):
    return pytest.importorskip("polars").DataFrame(rows)


FRAMES = pytest.mark.parametrize("frame", [arrow, batch, pandas, polars])


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        yield made


def one_by_one(items, **options):
    """A vault that gets the items singly, through the checks of `add`."""
    made = Vault(":memory:", clock=lambda: NOW)
    for item in items:
        made.add(**item, **options)
    return made


def content(vault):
    with vault._store.reading() as read:
        columns = "id, title, description, tags, attrs, created_at, updated_at, parent, text_hash, grams, source, trust"
        return [
            read.sql.execute(f"SELECT {columns} FROM entries ORDER BY row").fetchall(),
            read.sql.execute("SELECT key, vector FROM vectors ORDER BY key").fetchall(),
            read.sql.execute("SELECT model, dimensions FROM spaces ORDER BY model").fetchall(),
        ]


@FRAMES
def test_the_columns_of_a_frame_are_the_arguments_of_add(vault, frame):
    rows = [{name: value for name, value in row.items() if name != "price"} for row in ROWS]
    told = []
    assert vault.add_many(frame(rows), progress=lambda *seen: told.append(seen)) == ["a", "b", "c"]
    with one_by_one(rows) as twin:
        assert content(vault) == content(twin)
    assert told == [(3, 3)]


@FRAMES
def test_a_column_that_an_entry_does_not_have_is_refused_by_add_many_and_kept_by_import(vault, frame):
    with pytest.raises(BatchError, match=r"item 0 .*unknown field 'price'"):
        vault.add_many(frame(ROWS))
    done = vault.import_(frame(ROWS), map={"title": "description"})
    assert (done.entries, len(vault)) == (3, 3)
    found = [vault.get(id) for id in "abc"]
    # A column of numbers with gaps is one of floats to pandas.
    assert [entry.attrs.get("price") for entry in found] == [7, None, 9]
    assert [(e.title, e.description, e.attrs.get("description")) for e in found] == [
        ("First", "First", "one"),
        ("Second", "Second", None),
        ("日本語", "日本語", "three"),
    ]
    assert vault.import_(frame(ROWS), map={"title": "description"}).unchanged == 3


@FRAMES
def test_times_of_a_frame_are_read_and_what_is_no_time_is_missing(vault, frame):
    day = datetime.datetime(2024, 5, 31, 12)
    done = vault.import_(
        frame([{"id": "a", "title": "t", "created_at": day}, {"id": "b", "title": "t", "created_at": None}])
    )
    assert vault.get("a").created_at == day.replace(tzinfo=datetime.timezone.utc).timestamp()
    assert vault.get("b").created_at == NOW and done.notes == ("1 times without a zone were taken as UTC",)


@FRAMES
def test_a_row_of_a_frame_that_cannot_be_stored_is_named_by_its_number(vault, frame):
    rows = [{"title": f"t {n}" if n != 700 else " "} for n in range(1_000)]
    with pytest.raises(BatchError, match="item 700 could not be stored: title is empty") as refused:
        vault.add_many(frame(rows))
    assert (refused.value.index, refused.value.written, len(vault)) == (700, 0, 0)
    with pytest.raises(BatchError, match=r"^row 701: title"):
        vault.import_(frame(rows))
    assert [fault.line for fault in vault.import_(frame(rows), on_error="skip").errors] == [701]


@FRAMES
def test_an_empty_frame_stores_nothing(vault, frame):
    assert vault.add_many(frame(ROWS)[:0]) == [] and vault.import_(frame(ROWS)[:0]).entries == 0


def test_a_frame_with_names_that_are_no_text_is_refused(vault):
    table = pytest.importorskip("pyarrow").table([["a"], ["b"]], names=["title", "title"])
    for take in (vault.add_many, vault.import_):
        with pytest.raises(EntryError, match="the column 'title' twice"):
            take(table)


# -- vectors beside ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("take", ["add_many", "import_"])
def test_a_matrix_gives_each_row_its_vector(vault, dtype, order, take):
    matrix = np.array([[1, 2], [3, 4], [5, -6]], dtype=dtype, order=order)
    items = [{"id": id, "title": f"t {id}"} for id in "abc"]
    getattr(vault, take)(items, vectors=matrix, model="m")
    with Vault(":memory:", clock=lambda: NOW) as twin:
        origin = {} if take == "add_many" else {"source": "import", "trust": "unverified"}
        for item, row in zip(items, matrix):
            twin.add(**item, **origin, vector=row, model="m")
        assert content(vault) == content(twin)


@pytest.mark.parametrize("wrong", [0, 3, 499, 500, 1_199])
@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, 1e39])
def test_a_row_that_is_no_vector_is_named_by_its_number(vault, wrong, value):
    matrix = np.ones((1_200, 3))
    matrix[wrong] = value
    items = [{"title": f"t {n}"} for n in range(1_200)]
    with pytest.raises(BatchError, match=rf"item {wrong} could not be stored: vector of") as refused:
        vault.add_many(items, vectors=matrix)
    assert isinstance(refused.value.__cause__, VectorError) and (refused.value.index, len(vault)) == (wrong, 0)
    done = vault.import_(items, vectors=matrix, on_error="skip")
    assert ([fault.line for fault in done.errors], done.entries) == ([wrong + 1], 1_199)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"vectors": [[1, 2]]}, r"vectors has shape \(1, 2\): wanted an array of shape \(2, d\)"),
        ({"vectors": [1, 2]}, r"vectors has shape \(2,\)"),
        ({"vectors": [["a"], ["b"]]}, "vectors cannot be read as numbers"),
        ({"vectors": np.ones((2, 0))}, r"shape \(2, 0\)"),
        ({"model": "m"}, "vectors"),
    ],
)
@pytest.mark.parametrize("take", ["add_many", "import_"])
def test_a_matrix_of_another_shape_is_refused(vault, options, said, take):
    with pytest.raises(EntryError, match=said):
        getattr(vault, take)([{"title": "a"}, {"title": "b"}], **options)
    assert len(vault) == 0


@pytest.mark.parametrize("take", ["add_many", "import_"])
def test_vectors_want_items_whose_number_is_known_and_which_have_none(vault, take):
    with pytest.raises(EntryError, match="make a list first"):
        getattr(vault, take)(iter([{"title": "a"}]), vectors=[[1.0]])
    with pytest.raises(BatchError, match="of its own beside vectors="):
        getattr(vault, take)([{"title": "a", "vector": [1.0]}], vectors=[[1.0]])


FIELD = {
    "id": st.sampled_from(["a", "b", "c", "a#1", ""]),
    "description": st.text(max_size=8) | st.none() | st.just("words and words " * 20),
    "tags": st.lists(st.sampled_from(["x", "y"])) | st.just({"x"}) | st.none(),
    "created_at": st.floats(0, 9) | st.none() | st.just("late"),
    "parent": st.sampled_from(["a", "b"]),
    "attrs": st.just({"n": 1}) | st.just([]),
    "split": st.sampled_from([None, 5]),
    "vector": st.just([1.0, 2.0]),
    "colour": st.just("red"),
}
PLAIN = st.fixed_dictionaries({"title": st.sampled_from(["a", "b"]), "id": st.sampled_from("abcdef")})
ITEMS = st.lists(
    PLAIN
    | st.fixed_dictionaries({"title": st.text("ab ", max_size=4)}, optional=FIELD)
    | st.just(Entry(id="e", title="An entry"))
    | st.just(5),
    max_size=12,
)


@given(items=ITEMS, split=st.sampled_from([None, 10]))
def test_a_list_is_stored_as_its_items_are_from_an_iterator(items, split):
    told = []
    for given_items in (list(items), iter(items)):
        with Vault(":memory:", clock=lambda: NOW) as vault, pytest.MonkeyPatch.context() as patch:
            patch.setattr("septet.vault.blocks.BLOCK", 2)
            try:
                ids = vault.add_many(given_items, split=split)
            except BatchError as fault:
                ids = str(fault), fault.index, fault.written
            told.append((ids, content(vault)))
    assert told[0] == told[1]


def test_blocks_of_plain_and_other_rows_are_stored_in_order(vault):
    items = [{"id": f"{n}", "title": f"t {n}", "tags": {"odd"} if n % 700 == 3 else ()} for n in range(5_600)]
    told = []
    assert vault.add_many(items, progress=lambda *seen: told.append(seen)) == [f"{n}" for n in range(5_600)]
    assert told == [(5_000, 5_600), (5_600, 5_600)]
    with Vault(":memory:", clock=lambda: NOW) as twin:
        twin.add_many(iter(items))
        assert content(vault) == content(twin)


def test_a_federation_imports_frames_into_the_tier_that_is_named(vault):
    with Vault(":memory:") as team:
        both = Federation({"agent": vault, "team": team})
        both.tier("team").import_([{"id": "a", "title": "t"}], vectors=[[1.0, 2.0]])
        both.import_([{"id": "b", "title": "t"}])
        assert (len(vault), len(team), vault.get("b").title) == (1, 1, "t")
        both.close()
