"""What embedders of users return, and what providers say of batch jobs: vectors or errors, nothing bent into shape."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import Letters
from septet import CallableEmbedder, EmbeddingError, EmbeddingOptions, EmbeddingUnavailable, Vault
from septet.embedding.batch.formats import GeminiBatchFormat, OpenAIBatchFormat, VoyageBatchFormat
from septet.embedding.batch.job_files import read_vectors
from septet.embedding.providers.formats import GEMINI, OPENAI, GeminiFormat, OpenAIFormat, VoyageFormat, voyage_limits

MANUAL = EmbeddingOptions(automatic=False)
GOOD = [[3.0, 4.0], [0.0, 1.0]]


class Evil:
    """Says that it is an array, or has a length, and raises when it is asked."""

    def __init__(self, **methods):
        self.methods = methods

    def __array__(self, *_, **__):
        raise self.methods.get("array", RuntimeError)("no array")

    def __len__(self):
        raise self.methods.get("len", RuntimeError)("no length")

    def __iter__(self):
        raise self.methods.get("iter", RuntimeError)("no rows")


WRONG = {
    "nothing": None,
    "a number": 5,
    "a text": "3,4",
    "bytes": b"34",
    "a dict": {"a": GOOD},
    "too few": GOOD[:1],
    "too many": [*GOOD, [1.0, 1.0]],
    "without an end": itertools.repeat([1.0, 2.0]),
    "a row without an end": [itertools.repeat(1.0), [1.0, 2.0]],
    "rows of several lengths": [[1.0], [1.0, 2.0]],
    "empty rows": [[], []],
    "nested rows": [GOOD, GOOD],
    "a cube": np.ones((2, 2, 2)),
    "a line": np.ones(2),
    "a scalar": np.array(5.0),
    "texts": [["3", "4"], ["0", "1"]],
    "an array of texts": np.array([["3", "4"], ["0", "1"]]),
    "truth values": [[True, False], [False, True]],
    "one truth value": [[1.0, True], [0.0, 1.0]],
    "an array of truth values": np.array([[True, False], [False, True]]),
    "complex numbers": [[3 + 4j, 1], [0, 1]],
    "an array of complex numbers": np.array([[3 + 4j, 1], [0, 1]]),
    "dates": np.array([["2001-01-01", "2002-02-02"]] * 2, dtype="datetime64[D]"),
    "objects": np.array([[object(), 1.0], [0.0, 1.0]], dtype=object),
    "records": np.array([(1.0, 2.0), (3.0, 4.0)], dtype=[("a", float), ("b", float)]),
    "masked numbers": np.ma.masked_array(GOOD, mask=[[True, False], [False, False]]),
    "masked rows": [np.ma.masked_array(GOOD[0], mask=[True, False]), GOOD[1]],
    "an integer without bound": [[10**400, 1], [0, 1]],
    "NaN": [[float("nan"), 1.0], [0.0, 1.0]],
    "an infinity": [[0.0, 1.0], [-float("inf"), 1.0]],
    "more than float32 holds": [[1e39, 1.0], [0.0, 1.0]],
    "zeros": [[0.0, 0.0], [0.0, 1.0]],
    "None among numbers": [[None, 1.0], [0.0, 1.0]],
    "an object that is no array": Evil(),
    "an object without memory": Evil(iter=MemoryError),
    "rows that are no arrays": [Evil(), Evil()],
    "rows that raise errors of types": [Evil(array=TypeError, len=TypeError, iter=TypeError)] * 2,
    "too many components": np.ones((2, 65_537)),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_a_function_returns_is_refused_unless_it_is_vectors(what):
    embedder = CallableEmbedder(lambda texts: WRONG[what], model="m")
    with pytest.raises(EmbeddingError, match="function"):
        embedder.embed(["first", "second"])


@pytest.mark.parametrize(
    "rows",
    [
        GOOD,
        tuple(map(tuple, GOOD)),
        pytest.param((row for row in GOOD), id="a generator"),
        np.array(GOOD),
        np.array(GOOD, np.float16),
        np.array(GOOD, np.longdouble),
        np.array(GOOD, np.int8),
        np.array(GOOD, object),
        np.asfortranarray(GOOD),
        np.array(GOOD)[:, ::-1][:, ::-1],
        np.array(GOOD, ">f4"),
        [np.array(row) for row in GOOD],
        [[np.float32(x) for x in row] for row in GOOD],
        [[3, 4], [0, 1]],
        np.ma.masked_array(GOOD, mask=False),
    ],
    ids=str,
)
def test_vectors_of_every_kind_are_taken(rows):
    found = CallableEmbedder(lambda texts: rows, model="m").embed(["first", "second"])
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 1.0]], atol=1e-7)


@pytest.mark.parametrize("what", sorted(WRONG.keys() - {"nothing", "without an end", "zeros"}))
def test_what_an_embedder_of_the_users_own_returns_is_never_stored_bent(what):
    embedder = Letters(dimensions=2, knows_dimensions=False)
    with Vault(":memory:", embedder=embedder, embedding_options=MANUAL) as vault:
        vault.add_many([{"title": "first"}, {"title": "second"}])
        embedder.script.extend([lambda texts: WRONG[what]] * 10)
        report = vault.embed()
        assert report.notes and {n.code for n in report.notes} <= {"bad_vector", "batch_failed", "gave_up"}
        # Of rows that are numbers, those that are good are kept.
        assert report.embedded == (what in ("NaN", "an infinity", "more than float32 holds", "None among numbers"))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                "id name key data metadata job displayName operations errors error message status state file response "
                "body status_code custom_id output_file_id error_file_id responsesFile output nextPageToken has_more "
                "embedding values index".split()
            ),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=20,
)
FORMATS = [
    OpenAIBatchFormat(OpenAIFormat("openai", OPENAI, "m", "https://host/v1/embeddings")),
    VoyageBatchFormat(VoyageFormat("voyage", voyage_limits("m"), "m", "https://host/v1/embeddings")),
    GeminiBatchFormat(GeminiFormat("gemini", GEMINI, "m", "https://host")),
]


@pytest.mark.parametrize("batch_format", FORMATS, ids=lambda f: type(f).__name__)
@given(body=JSON)
def test_whatever_is_said_of_a_batch_job_is_read_or_refused(batch_format, body):
    for read in (batch_format.file_id, batch_format.job_id, batch_format.status, batch_format.listed_jobs):
        try:
            read(body)
        except EmbeddingUnavailable as fault:
            assert "batch job" in str(fault)
    result = batch_format.read(body)
    assert result is None or (isinstance(result.key, str) and len(result.cause) <= 300)


@pytest.mark.parametrize("batch_format", FORMATS, ids=lambda f: type(f).__name__)
@given(lines=st.lists(st.one_of(st.binary(max_size=9), JSON), max_size=8))
def test_every_line_of_results_fails_on_its_own(batch_format, lines):
    written = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    good = {"key": "k", "custom_id": "k", "response": {"embedding": {"values": [3, 4]}, "status_code": 200}}
    good["response"]["body"] = {"data": [{"index": 0, "embedding": [3, 4]}]}
    content = b"\n".join([*written, b"[" * 5_000, json.dumps(good).encode(), b"\xff"])
    found = dict(read_vectors(bytearray(content), batch_format, batch_format.provider_format, 2))
    assert found["k"].tolist() == [np.float32(0.6), np.float32(0.8)]


def test_a_line_that_no_vector_fills_is_left_out():
    line = b'{"custom_id":"k","response":{"status_code":200,"body":{"data":[' + b" " * 2**25 + b'{"embedding":[1]}]}}}'
    openai = FORMATS[0]
    assert dict(read_vectors(line, openai, openai.provider_format, 1)) == {}


class Mute(Exception):
    """Cannot even say what it is."""

    def __str__(self):
        raise RuntimeError("no text")


def panic():
    """Return an error such as native code raises when it panics."""
    return type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})("index out of bounds")


RAISED = {"an error without a text": Mute, "a long one": lambda: ValueError("x" * 10**6), "memory": MemoryError} | {
    "too deep": RecursionError,
    "a panic": panic,
}


@pytest.mark.parametrize("what", RAISED)
def test_whatever_foreign_code_raises_is_an_error_and_a_search_goes_on(what):
    def fail(texts):
        raise RAISED[what]()

    embedder = CallableEmbedder(fail, model="m")
    with pytest.raises(EmbeddingUnavailable, match="the embedding function raised") as raised:
        embedder.embed(["a"])
    assert len(str(raised.value)) < 500
    own = Letters()
    own.script.extend([fail])
    with Vault(":memory:", embedder=own, embedding_options=MANUAL) as vault:
        vault.add(title="a word")
        assert [note.code for note in vault.embed().notes] == ["batch_failed"]
        assert vault.embed().embedded == 1
        own.script.extend([fail])
        found = vault.search("word")
        assert len(found) == 1 and [note.code for note in found.notes] == ["embedding_unavailable"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_of_foreign_code_stays_one(kind):
    def stop(texts):
        raise kind

    with pytest.raises(kind):
        CallableEmbedder(stop, model="m").embed(["a"])
