"""How large an answer may be."""

import json

import numpy as np
import pytest

from septet.embedding.providers.formats import answer_bytes
from septet.net.calls import MAX_ANSWER_BYTES


@pytest.mark.parametrize(("texts", "dimensions"), [(1, 8), (3, 768), (16, 1536)])
def test_the_bound_of_an_answer_leaves_room_for_vectors_written_as_widely_as_json_allows(texts, dimensions):
    rows = np.random.default_rng(1).normal(scale=1e-5, size=(texts, dimensions))
    items = [{"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]
    body = json.dumps({"object": "list", "data": items}, indent=4)
    assert len(body) < answer_bytes(texts, dimensions) - MAX_ANSWER_BYTES


def test_the_bound_grows_with_the_texts_and_covers_any_model_of_unknown_dimension():
    assert answer_bytes(100, 384) < answer_bytes(101, 384) < answer_bytes(100, None)
    assert answer_bytes(1, 4096) < answer_bytes(1, None)
