"""Tests of `integration/test_embedding_cache.py` that start processes."""

import os

import pytest

from integration.test_embedding_cache import MADE, found, rows
from septet.embedding.cache import EmbeddingCache


@pytest.fixture
def cache(tmp_path):
    made = EmbeddingCache(tmp_path / "cache.db", limit=3)
    yield made
    made.close()


def test_a_forked_child_uses_the_cache_and_the_parent_goes_on(cache):
    cache.put(MADE, rows(1))
    child = os.fork()
    if not child:
        code = 1
        try:
            cache.put(MADE, rows(2))
            code = 0 if found(cache, 1, 2) else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert sorted(found(cache, 1, 2)) == ["text 1", "text 2"]
