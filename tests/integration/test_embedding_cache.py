"""The embedding cache: shared by whoever names the file, bounded, and never in the way."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from septet import CallableEmbedder, Vault
from septet.embedding import OllamaEmbedder, OpenAICompatibleEmbedder, OpenAIEmbedder
from septet.embedding.cache import CacheNamespace, EmbeddingCache, namespace_of
from septet.system import forks
from small_files import no_larger_than

MADE = CacheNamespace("test", "letters", "document")


def rows(*values):
    return {f"text {v}": np.array([v, 1.0], dtype=np.float32) for v in values}


def found(cache, *values, made=MADE, dimensions=2):
    return {text: row[0] for text, row in cache.get(made, dimensions, [f"text {v}" for v in values]).items()}


@pytest.fixture
def cache(tmp_path):
    made = EmbeddingCache(tmp_path / "cache.db", limit=3)
    yield made
    made.close()


def test_models_of_the_same_name_on_other_servers_share_no_vectors(cache):
    def of(make, **given):
        with closing(make(**given, api_key="k")) as embedder:
            return namespace_of(embedder, "document")

    own = [of(OpenAICompatibleEmbedder, model="default", base_url=f"http://127.0.0.1:{port}/v1") for port in (1, 2)]
    cache.put(own[0], rows(1))
    assert found(cache, 1, made=own[0]) == {"text 1": 1.0}
    assert found(cache, 1, made=own[1]) == {}
    hosts = [of(OllamaEmbedder, model="m", base_url=f"http://{host}:11434") for host in ("one", "two")]
    assert hosts[0] != hosts[1]
    assert (
        of(OpenAIEmbedder)
        == of(OpenAIEmbedder, base_url="https://api.openai.com/v1")
        != of(OpenAIEmbedder, base_url="https://proxy.example/v1")
    )
    assert of(OpenAIEmbedder).provider == "openai"


def test_a_vector_is_found_by_text_and_only_where_everything_is_the_same(cache):
    cache.put(MADE, rows(1, 2))
    assert found(cache, 1, 2, 3) == {"text 1": 1.0, "text 2": 2.0}
    assert found(cache, 1, dimensions=3) == {}
    for other in (MADE._replace(provider="p"), MADE._replace(model="m"), MADE._replace(kind="query")):
        assert found(cache, 1, made=other) == {}


def test_the_least_recently_used_goes_first(cache):
    cache.put(MADE, rows(1, 2, 3))
    assert found(cache, 1)
    cache.put(MADE, rows(4))
    assert sorted(found(cache, 1, 2, 3, 4)) == ["text 1", "text 3", "text 4"]
    cache.put(MADE, rows(5, 6, 7, 8))
    assert len(cache) == 3
    assert sorted(found(cache, 4, 5, 6, 7, 8)) == ["text 6", "text 7", "text 8"]


def test_a_second_opening_and_another_thread_see_what_was_kept(cache, tmp_path):
    cache.put(MADE, rows(1))
    other = EmbeddingCache(tmp_path / "cache.db")
    assert found(other, 1)
    other.put(MADE, rows(2))
    other.close()
    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(lambda _: found(cache, 2), range(8)))


def foreign(path):
    with sqlite3.connect(path) as sql:
        sql.execute("CREATE TABLE vectors (x)")
    sql.close()


def a_vault(path):
    with Vault(path) as vault:
        vault.add(title="word")


@pytest.mark.parametrize("make", [lambda p: p.write_bytes(b"no database at all" * 99), foreign, a_vault])
def test_a_file_that_is_no_cache_is_left_alone_and_said(tmp_path, make):
    path = tmp_path / "file"
    make(path)
    before = path.read_bytes()
    cache = EmbeddingCache(path)
    cache.put(MADE, rows(1))
    assert found(cache, 1) == {} and len(cache) == 0
    assert [n.code for n in cache.notes] == ["cache_unusable"]
    cache.close()
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_said(tmp_path):
    cache = EmbeddingCache(tmp_path / "missing" / "cache.db")
    assert found(cache, 1) == {}
    assert "unable to open" in cache.notes[0].cause


def test_a_cache_that_breaks_in_use_is_given_up(cache, tmp_path):
    cache.put(MADE, rows(1))
    cache.close()
    content = bytearray((tmp_path / "cache.db").read_bytes())
    content[4096:] = b"\xaa" * (len(content) - 4096)
    (tmp_path / "cache.db").write_bytes(content)
    assert found(cache, 1) == {}
    cache.put(MADE, rows(2))
    assert [n.code for n in cache.notes] == ["cache_unusable"]


def test_a_busy_cache_is_passed_over_and_used_again_later(tmp_path):
    cache = EmbeddingCache(tmp_path / "cache.db", busy_timeout_s=0.01)
    cache.put(MADE, rows(1))
    holder = sqlite3.connect(tmp_path / "cache.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    cache.put(MADE, rows(2))
    holder.execute("COMMIT")
    holder.close()
    assert not cache.notes and sorted(found(cache, 1, 2)) == ["text 1"]
    cache.close()


def test_threads_may_fill_one_cache_at_once(tmp_path):
    caches = [EmbeddingCache(tmp_path / "cache.db", limit=50) for _ in range(4)]
    start = threading.Barrier(4)

    def fill(number):
        start.wait()
        for i in range(20):
            caches[number].put(MADE, rows(number * 100 + i))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(fill, range(4)))
    assert [c.notes for c in caches] == [()] * 4
    assert len(caches[0]) == 50
    for cache in caches:
        cache.close()


def test_a_query_that_ends_after_its_vault_opens_the_cache_no_more(tmp_path, monkeypatch):
    closed, stored = threading.Event(), threading.Event()
    put = EmbeddingCache.put

    def late(cache, *told):
        # An answer that was there at once is stored by the caller, before the vault can close.
        in_time = threading.current_thread() is threading.main_thread()
        assert in_time or closed.wait(10)
        put(cache, *told)
        assert in_time or len(cache) == 0
        stored.set()

    def vectors(texts):
        time.sleep(0.05)
        return [[1.0, len(text)] for text in texts]

    embedder = CallableEmbedder(vectors, model="lengths", dimensions=2)
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_cache=tmp_path / "cache.db") as vault:
        vault.add(title="word")
        assert vault.embedding_status(wait_s=10).activity == "idle"
        monkeypatch.setattr(EmbeddingCache, "put", late)
        vault.search("another word")
    connections = len(forks._connections)
    closed.set()
    assert stored.wait(10)
    assert len(forks._connections) <= connections


def test_a_limit_must_keep_something(tmp_path):
    with pytest.raises(ValueError, match="limit is 0: wanted a whole number from 1"):
        EmbeddingCache(tmp_path / "c", limit=0)


@pytest.mark.parametrize("began", [True, False])
def test_a_disk_that_is_full_for_a_while_is_skipped_for_that_while(cache, began):
    if began:
        cache.put(MADE, rows(1))
    with no_larger_than(1_000):
        cache.put(MADE, rows(2))
        assert [n.code for n in cache.notes] == ["cache_unusable"]
        assert "room" in cache.notes[0].cure
    cache.put(MADE, rows(3))
    assert found(cache, 2, 3) == {"text 3": 3.0}
    assert not cache.notes
