"""Chunks made anew beside those that answer: what is kept of them, what is embedded ahead, and what is cleaned."""

import json

import numpy as np
import pytest

from septet import Vault
from septet.errors import EmbeddingUnavailable
from septet.sqlite.tables import staged
from septet.sqlite.tables.staged import Staged


class Counting:
    """An embedder that counts the texts it is given, and fails when told to."""

    provider, model, dimensions, batch_size = "test", "counting", 4, 3

    def __init__(self):
        self.seen, self.fails = [], False

    def embed(self, texts, kind="document", *, timeout_s=None):
        if self.fails:
            raise EmbeddingUnavailable("away", provider="test")
        self.seen += texts
        return np.array([[len(text), text.count("a") + 1, 1, 2] for text in texts], dtype=np.float32)

    def close(self):
        pass


@pytest.fixture
def embedder():
    return Counting()


@pytest.fixture
def vault(tmp_path, embedder):
    with Vault(tmp_path / "v.db", embedder=embedder) as opened:
        with opened._store.writing() as write:
            sql = "INSERT INTO roots (root, path, name, options, identity) VALUES (?, ?, ?, '{}', 'old')"
            write.sql.executemany(sql, [(1, "/one", "one"), (2, "/two", "two")])
            sql = (
                "INSERT INTO files (file, id, root, path, name, stem, kind, size, mtime_ns, hash, synced_at) "
                "VALUES (?, ?, ?, ?, ?, ?, 'text', 1, 1, 'h', 1)"
            )
            write.sql.executemany(sql, [(n, f"file-{n}", 1 + n // 10, f"{n}.md", f"{n}.md", f"{n}") for n in range(20)])
        yield opened


def of_file(file, *texts, hash="h"):
    chunks = tuple(json.dumps({"title": "T", "description": text}) for text in texts)
    return Staged(file, hash, '{"path": "p", "size": 1, "mtime_ns": 2}', chunks), [f"{text}-hash" for text in texts]


def put(vault, *made):
    with vault._store.bookkeeping() as write:
        staged.put(write, [one for one, _ in made], [hashes for _, hashes in made])


@pytest.mark.parametrize("files", [0, 1, 3, 10])
def test_what_was_staged_of_a_file_is_read_again_in_order_and_replaced_when_it_is_staged_again(vault, files):
    made = [of_file(file, *(f"{file} {n}" for n in range(file))) for file in range(files)]
    put(vault, *made)
    with vault._store.reading() as read:
        assert list(staged.read(read, range(files))) == [one for one, _ in made]
        assert staged.count(read, 1) == sum(range(files))
        assert staged.any_of(read) == (files > 0)
        assert not staged.files(read, 2)
    if files:
        again = of_file(0, "new", hash="h2")
        put(vault, again)
        with vault._store.reading() as read:
            assert list(staged.read(read, range(files))) == [again[0], *(one for one, _ in made[1:])]
            assert staged.files(read, 1)[0] == ("h2", "p")


@pytest.mark.parametrize("rows", [0, 1, 1_999, 2_000, 4_500])
def test_leftovers_are_removed_in_shares_and_those_of_other_roots_stay(vault, rows):
    with vault._store.bookkeeping() as write:
        staged.begin(write, 1, staged.Target("new", 1.0))
    put(vault, of_file(0, *(f"{n}" for n in range(rows))), of_file(15, "stays"))
    gone = []
    while not gone or gone[-1] == staged.DROPPED_ROWS:
        with vault._store.bookkeeping() as write:
            gone.append(staged.drop(write, 1))
    assert sum(gone) == rows + 1
    with vault._store.reading() as read:
        assert staged.target(read, 1) is None
        assert [one.chunks for one in staged.read(read, staged.files(read, 2))] == [of_file(15, "stays")[0].chunks]


def test_staged_texts_are_embedded_once_and_their_vectors_outlive_a_purge(vault, embedder):
    vault.add(id="old", title="T", description="there before")
    vault.embed()
    put(vault, of_file(0, *"abcdefgh"), of_file(1, "a", "i"))
    before = len(embedder.seen)
    tally = vault._embeddings.run_ahead(lambda: False, wait_s=9)
    assert (tally.embedded, sorted(embedder.seen[before:])) == (9, sorted(f"T\n{text}" for text in "abcdefghi"))
    assert vault._embeddings.run_ahead(lambda: False, wait_s=9).embedded == 0
    vault.purge()
    assert vault._embeddings.run_ahead(lambda: False, wait_s=9).embedded == 0
    with vault._store.bookkeeping() as write:
        staged.drop(write, 1)
    vault.purge()
    put(vault, of_file(0, "a"))
    assert vault._embeddings.run_ahead(lambda: False, wait_s=9).embedded == 1


def test_a_provider_that_is_away_ends_embedding_ahead_after_a_few_requests(vault, embedder):
    vault.add(id="old", title="T", description="there before")
    vault.embed()
    put(vault, of_file(0, *(f"text {n}" for n in range(100))))
    embedder.fails = True
    tally = vault._embeddings.run_ahead(lambda: False, wait_s=9)
    assert tally.embedded == 0 and tally.requests <= 5 and tally.stopped_by.code == "gave_up"
    embedder.fails = False
    assert vault._embeddings.run_ahead(lambda: False, wait_s=9).embedded == 100


@pytest.mark.parametrize("batches", [0, 1, 5])
def test_embedding_ahead_stops_when_it_is_told_to(vault, embedder, batches):
    vault.add(id="old", title="T", description="there before")
    vault.embed()
    put(vault, of_file(0, *(f"text {n}" for n in range(100))))
    asked = iter(range(batches))
    tally = vault._embeddings.run_ahead(lambda: next(asked, None) is None, wait_s=9)
    assert tally.embedded == batches * 3
