"""Batching loses nothing, keeps the order and respects the limits, whatever the texts are."""

from __future__ import annotations

import json
from itertools import pairwise

import httpx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embedding_server import text_rows
from septet.embedding import OpenAICompatibleEmbedder
from septet.embedding.batching import group
from septet.embedding.embedder import estimate_tokens
from septet.embedding.providers.formats import Limits, batches, pieces, split_bytes
from septet.net.client import IO

SIZES = st.lists(st.integers(0, 50), max_size=40)
SCRIPTS = st.text(st.sampled_from("ab cd\néñßжЯ日本語กขक्ष😀👩‍🚀"), max_size=60)
TEXTS = st.lists(SCRIPTS, max_size=20)


def size(text: str) -> int:
    return len(text.encode())


@given(SIZES, st.integers(1, 10), st.one_of(st.none(), st.integers(1, 80)), st.booleans())
def test_a_run_is_never_empty_and_never_over_its_bounds_unless_it_is_one_item(sizes, most, budget, padded):
    runs = list(group(sizes, most=most, budget=budget, padded=padded))
    assert [i for run in runs for i in run] == list(range(len(sizes)))
    for run in runs:
        held = [sizes[i] for i in run]
        cost = max(held) * len(held) if padded else sum(held)
        assert 1 <= len(run) <= most
        assert budget is None or cost <= budget or len(run) == 1


@given(SIZES, st.integers(1, 10), st.one_of(st.none(), st.integers(1, 80)), st.booleans())
def test_a_run_ends_only_where_one_more_would_be_too_many(sizes, most, budget, padded):
    runs = list(group(sizes, most=most, budget=budget, padded=padded))
    for run, following in pairwise(runs):
        held = [sizes[i] for i in run] + [sizes[following[0]]]
        cost = max(held) * len(held) if padded else sum(held)
        assert len(run) == most or (budget is not None and cost > budget)


@given(TEXTS, st.integers(1, 8), st.integers(1, 60), st.integers(1, 200))
def test_batches_respect_count_tokens_and_bytes_together(texts, batch_size, tokens, most_bytes):
    limits = Limits(inputs=5, batch_size=5, tokens=tokens, bytes=most_bytes)
    runs = list(batches(texts, limits, batch_size))
    assert [i for run in runs for i in run] == list(range(len(texts)))
    for run in runs:
        held = [texts[i] for i in run]
        assert len(held) <= min(5, batch_size)
        assert len(held) == 1 or sum(map(estimate_tokens, held)) <= tokens
        assert len(held) == 1 or sum(map(size, held)) <= most_bytes


@given(SCRIPTS, st.integers(1, 40))
def test_a_text_is_the_sum_of_its_pieces_and_no_character_is_cut(text, most):
    found = split_bytes(text, most)
    assert "".join(found) == text
    for piece in found:
        assert size(piece) <= most or len(piece) == 1
    for piece, following in pairwise(found):
        assert size(piece + following[0]) > most


@given(SCRIPTS, st.one_of(st.none(), st.integers(1, 40)))
def test_a_text_that_is_short_enough_stays_whole(text, limit):
    found = pieces(text, limit)
    assert "".join(found) == text
    assert (len(found) == 1) >= (limit is None or estimate_tokens(text) <= limit)


@given(SCRIPTS)
def test_tokens_are_never_more_than_bytes(text):
    assert estimate_tokens(text) <= size(text) or not text


@given(
    st.lists(st.text(st.sampled_from("abc déж日😀"), min_size=1, max_size=40).filter(str.strip), max_size=12),
    st.integers(1, 5),
    # Texts of 64 bytes and less are never divided.
    st.integers(66, 100),
    st.integers(1, 4),
)
def test_every_text_gets_its_own_row_however_the_server_limits_requests(texts, batch_size, server_bytes, most):
    """A text the server takes whole has exactly its vector; a longer one has one from its pieces."""
    taken: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        held = json.loads(request.content)["input"]
        if len(held) > most or max(map(size, held)) > server_bytes:
            return httpx.Response(413, json={"error": {"message": "too large"}})
        taken.extend(held)
        data = [{"index": i, "embedding": row.tolist()} for i, row in enumerate(text_rows(held, 4))]
        return httpx.Response(200, json={"data": data[::-1]})

    one = OpenAICompatibleEmbedder(
        "m", base_url="http://h", batch_size=batch_size, outside=IO(transport=httpx.MockTransport(answer))
    )
    rows = one.embed(texts)
    one.close()
    assert "".join(taken) == "".join(texts)
    whole = [i for i, text in enumerate(texts) if size(text) <= server_bytes]
    assert rows.shape[0] == len(texts)
    if whole:
        assert np.allclose(rows[whole], text_rows([texts[i] for i in whole], 4), atol=1e-6)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
