"""Title and passage in pieces: put together they are the texts, and the pieces that match are those of the hit."""

import asyncio

import pytest

from septet import Vault
from septet.service.operations import OPERATIONS
from septet.service.served import Served

ENTRIES = [
    {"id": "plain", "title": "Retry with backoff", "description": "Wait, then retry. Retries end after five."},
    {"id": "empty", "title": "retry"},
    {"id": "long", "title": "far", "context": "x " * 500 + "retry here " + "y " * 500},
    {"id": "odd", "title": "<b>retry</b> \U0001f600 retry", "description": "...retry... \x01 ü 日本 retry"},
    {"id": "dots", "title": "retry dots", "description": "..."},
]


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_700_000_000.0) as vault:
        vault.add_many(ENTRIES)
        yield vault


def asked(vault, **request):
    async def ask():
        served = Served(vault)
        operation = OPERATIONS["search"]
        return await served.call(operation, operation.request(**request))

    return asyncio.run(ask())


def whole(pieces):
    return "".join(piece["text"] for piece in pieces)


@pytest.mark.parametrize("mode", ["full", "scan"])
@pytest.mark.parametrize("query", ["retry", "dots", "日本", "nothing of it", ""])
def test_pieces_make_up_the_excerpt_and_the_title(vault, mode, query):
    answer = asked(vault, query=query, passages=90, mode=mode, limit=10)
    hits = vault.search(query, mode=mode, limit=10)
    assert [told["id"] for told in answer["hits"]] == hits.ids
    for hit, told in zip(hits, answer["hits"]):
        assert whole(told["marked"]["title"]) == hit.title
        passage = told["marked"]["passage"]
        assert whole(passage) == hit.excerpt(90)
        marked = hit.excerpt(90, marks=("\0", "\0")).split("\0")[1::2]
        assert [piece["text"] for piece in passage if piece["match"]] == marked
        assert all(piece["text"] for piece in (*passage, *told["marked"]["title"]))


def test_without_passages_the_answer_is_that_of_the_results(vault):
    told, found = asked(vault, query="retry"), vault.search("retry").to_dict()
    assert "passages" not in told and all("marked" not in hit for hit in told["hits"])
    assert told["hits"] == found["hits"]
