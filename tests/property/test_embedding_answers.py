"""Whatever a server answers, a provider gives rows of unit length or an error of Septet's own."""

from __future__ import annotations

import json

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import EmbeddingError
from septet.embedding import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder, VoyageEmbedder
from septet.net.client import IO

NUMBERS = st.one_of(st.none(), st.floats(), st.integers(-3, 3), st.just(10**400), st.booleans(), st.text(max_size=3))
JSON = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=12,
)
VECTOR = st.one_of(st.lists(NUMBERS, max_size=3), st.lists(st.floats(-2, 2), min_size=2, max_size=2), JSON)
ROW = st.one_of(st.fixed_dictionaries({}, optional={"index": JSON, "embedding": VECTOR, "values": VECTOR}), VECTOR)
BODY = st.one_of(
    JSON,
    st.fixed_dictionaries({}, optional={"data": st.lists(ROW, max_size=3), "embeddings": st.lists(ROW, max_size=3)}),
    st.fixed_dictionaries({"error": st.one_of(JSON, st.fixed_dictionaries({"message": JSON, "details": JSON}))}),
)
ANSWER = st.one_of(st.binary(max_size=20), BODY.map(lambda body: json.dumps(body).encode()))
MADE = [
    lambda outside: OpenAIEmbedder("m", api_key="k", outside=outside),
    lambda outside: VoyageEmbedder("m", api_key="k", outside=outside),
    lambda outside: GeminiEmbedder("m", api_key="k", outside=outside),
    lambda outside: OllamaEmbedder("m", outside=outside),
]


@pytest.mark.parametrize("make", MADE, ids="openai voyage gemini ollama".split())
@given(answer=ANSWER, status=st.sampled_from([200, 200, 200, 204, 302, 400, 413, 429, 500]))
def test_no_answer_makes_anything_but_rows_or_an_error(make, answer, status):
    def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=answer)

    outside = IO(sleep=lambda seconds: None, random=lambda: 0.5, transport=httpx.MockTransport(reply))
    embedder = make(outside)
    try:
        rows = embedder.embed(["first", "second"])
    except EmbeddingError as error:
        assert str(error)
    else:
        # Both say that it went well; 204 has no text as a rule, and is no fault where it has one.
        assert status in (200, 204)
        assert rows.dtype == np.float32 and rows.shape[0] == 2
        assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    finally:
        embedder.close()
