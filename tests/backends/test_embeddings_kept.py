"""Embeddings over SQLite and PostgreSQL: the same code over another store pays once for each text."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from doubles import Letters, letters, refused
from embedding_server import text_rows
from job_world import codes, job_world
from septet import EmbeddingOptions
from septet.embedding import EmbeddingCache
from septet.sqlite.store.store import SqliteStore
from septet.store.owners import new_owner, owner_of
from vector_world import World, postgres_world


@pytest.fixture(params=["sqlite", "postgres"])
def world(request, tmp_path):
    """A vault in each kind of store; what the tests did to it must leave its counts exact."""
    if request.param == "sqlite":
        made = World(SqliteStore(str(tmp_path / "v.db")))
    else:
        made = postgres_world(request.getfixturevalue("dsn"), request.getfixturevalue("vault_name"), buckets=7)
    yield made
    made.check()
    made.store.close()


def figures(report):
    return report.embedded, report.cached, report.failed, report.missing, report.requests


def test_texts_are_sent_in_batches_and_only_once(world):
    world.fill(250)
    world.fill(3, 250, kind="memory")
    embedder, seen = Letters(), []
    with world.embeddings(embedder) as made:
        report = made.run(lambda done, total: seen.append((done, total)))
        assert figures(report) == (253, 0, 0, 0, 3) and seen == [(100, 253), (200, 253), (253, 253)]
        assert figures(made.run(None)) == (0, 0, 0, 0, 0)
    assert embedder.sizes() == [100, 100, 53]
    found = world.of(["e0", "e252"])
    assert found["e252"].tobytes() == letters("title 252", 32).astype("<f4").tobytes()
    world.add({"id": "e0", "title": "a new text"})
    assert figures(world.embed(embedder)) == (1, 0, 0, 0, 1)


def test_a_run_that_fails_on_the_way_keeps_what_it_paid_for(world):
    world.fill(250)
    embedder = Letters()
    embedder.script.extend([None, refused(402, "no quota")])
    report = world.embed(embedder)
    assert (report.embedded, report.missing) == (100, 150)
    assert world.spaces() == [("test/letters", 100, 150, True)]
    assert world.embed(embedder).embedded == 150 and len(set(embedder.sent())) == 250


def test_a_cache_serves_every_vault(world, tmp_path):
    world.fill(30)
    cache, embedder = EmbeddingCache(tmp_path / "cache.db"), Letters()
    first = World(SqliteStore(str(tmp_path / "other.db")))
    first.fill(20)
    first.embed(embedder, cache=cache)
    first.store.close()
    assert figures(world.embed(embedder, cache=cache)) == (10, 20, 0, 0, 1)
    cache.close()


def test_another_model_answers_once_it_is_complete_and_the_old_one_goes(world):
    world.fill(120)
    world.embed(Letters("old"))
    new = Letters("new", 16)
    new.script.extend([None, refused(402, "no quota")])
    world.embed(new)
    assert world.spaces() == [("test/old", 120, 0, True), ("test/new", 100, 20, False)]
    assert len(world.of(["e1"], "test/old")) == 1
    world.check()
    world.embed(new)
    assert world.spaces() == [("test/new", 120, 0, True)]
    assert world.of(["e1"], "test/old") == {}
    world.embed(Letters("old"))
    assert world.spaces() == [("test/old", 120, 0, True)]


def test_a_chain_fills_the_space_of_the_model_that_answers(world):
    world.fill(40)
    first, second = Letters("first"), Letters("second", 16)
    first.script.extend([refused(401)])
    with world.embeddings([first, second]) as made:
        made.run(None)
        assert [(s.model, s.entries, s.missing, s.standby) for s in made.spaces()] == [
            ("test/second", 40, 0, False),
            ("test/first", 0, 40, False),
        ]
        chosen = made.select({"test/first": 32, "test/second": 16})
        assert chosen.space.model == "test/second" and [n.code for n in chosen.notes] == ["embedding_fallback"]
    world.embed([first, second])
    with world.embeddings([first, second]) as made:
        assert [(s.model, s.entries, s.standby) for s in made.spaces()] == [
            ("test/first", 40, False),
            ("test/second", 40, True),
        ]
        assert made.select({"test/first": 32, "test/second": 16}).space.model == "test/first"
        assert made.select({"test/second": 16}).space.model == "test/second"


def test_texts_that_another_has_claimed_are_left_to_him_until_his_time_is_over(world):
    world.fill(10)
    now = time.time()
    with world.store.bookkeeping() as write:
        keys = [key for key, _ in write.tables.texts.missing(write, None, after="", limit=4)]
        kept = write.tables.claims
        assert kept.claim(write, "test/letters", "elsewhere 1 1 1", keys[1:], now, now + 1_000.0) == keys[1:]
        assert kept.claim(write, "test/letters", "elsewhere 1 1 2", keys, now, now - 1.0) == keys[:1]
    report = world.embed()
    assert figures(report) == (7, 0, 0, 3, 1) and [n.code for n in report.notes] == ["not_all"]
    with world.store.bookkeeping() as write:
        assert write.tables.claims.drop_expired(write, 2e12) == 3
    assert figures(world.embed()) == (3, 0, 0, 0, 1)


def test_claims_of_a_process_that_has_ended_are_freed(world):
    world.fill(5)
    process = subprocess.run(
        [sys.executable, "-c", "from septet.store.owners import new_owner, owner_of; print(new_owner())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    with world.store.bookkeeping() as write:
        kept = write.tables.claims
        keys = [key for key, _ in write.tables.texts.missing(write, None, after="", limit=9)]
        assert len(kept.claim(write, "test/letters", process.stdout.strip(), keys, 0.0, 1_000.0)) == 5
        own = new_owner()
        assert kept.claim(write, "other", own, keys[:2], 0.0, 1_000.0) == keys[:2]
    with world.store.reading() as read:
        assert kept.claimed(read, "test/letters", own, keys, 0.0) == set(keys)
        assert len(kept.owners(read)) == 7
    with world.store.bookkeeping() as write:
        assert kept.drop_dead(write) == 5
        kept.drop_own(write, "other", {own})
        assert kept.claimed(write, "other", "", keys, 0.0) == set(keys[:2])
        kept.drop_own(write, "other", set())
        assert kept.claimed(write, "other", "", keys, 0.0) == set()
    assert figures(world.embed()) == (5, 0, 0, 0, 1)


def test_batch_jobs_are_left_to_a_later_run_and_collected_by_it(world, tmp_path):
    world.fill(30)
    options = EmbeddingOptions(automatic=False, job_texts=10, jobs_at_once=1)
    with job_world(tmp_path) as provider, world.embeddings(provider.embedder(), options=options) as made:
        first = made.run(None, batch=True, wait=False)
        assert (first.embedded, first.missing, codes(first)) == (0, 30, ["in_jobs"])
        world.add({"id": "late", "title": "written later"})
        assert made.run(None).embedded == 1 and provider.inline == ["written later"]
        with world.embeddings(provider.embedder(), options=options) as other:
            report = other.run(None, batch=True)
        assert (report.embedded, report.missing, report.notes) == (30, 0, ())
        assert Counter(provider.batched) == Counter(f"title {i}" for i in range(30))
        found = world.of(["e7"], "openai/openai-test", 8)["e7"]
        assert found.tobytes() == np.asarray(text_rows(["title 7"])[0], dtype="<f4").tobytes()
    with world.store.reading() as read:
        assert read.tables.claims.owners(read) == []
        assert read.tables.jobs.count_texts(read, "openai/openai-test") == 0


def test_a_job_is_taken_by_one_process_and_let_go_when_that_has_ended(world):
    with world.store.bookkeeping() as write:
        jobs = write.tables.jobs
        first = jobs.make(write, "m", "https://here", "one", "a b 1 1", 1.0, 100.0)
        second = jobs.make(write, "m", "https://here", "two", "", 1.0, 100.0)
        jobs.make(write, "m", "https://elsewhere", "three", "", 1.0, 100.0)
        jobs.submitted(write, first, "batch-1")
        taken = jobs.take(write, "m", "https://here", "c d 1 1", 50.0, 90.0)
        assert [(job.job, job.name, job.batch) for job in taken] == [(second, "two", None)]
        assert jobs.take(write, "m", "https://here", "e f 1 1", 50.0, 90.0) == []
        jobs.renew(write, "c d 1 1", 200.0)
        later = jobs.take(write, "m", "https://here", "e f 1 1", 150.0, 190.0)
        assert [(job.job, job.batch) for job in later] == [(first, "batch-1")]
        jobs.let_go(write, "c d 1 1")
        assert [job.job for job in jobs.take(write, "m", "https://here", "e f 1 1", 150.0, 190.0)] == [second]
        write.tables.claims.claim(write, "m", owner_of(first), ["x", "y"], 1.0, 1e12)
        assert jobs.keys(write, first) == {"x", "y"} and jobs.count_texts(write, "m") == 2
        jobs.drop(write, first)
        assert jobs.count_texts(write, "m") == 0


EMBED = """
import json, sys, threading
sys.path.insert(0, sys.argv[1])
from doubles import Letters
from vector_world import postgres_world

class Told(Letters):
    "Says what it is sent before it answers; the first answer waits until it may."
    def embed(self, texts, kind="document", *, timeout_s=None):
        print(json.dumps(list(texts)), flush=True)
        sys.stdin.readline()
        return super().embed(texts, kind)

world = postgres_world(sys.argv[2], sys.argv[3])
report = world.embed(Told(batch_size=50))
print(json.dumps(report.to_dict()), flush=True)
"""


def started(dsn, name):
    command = [sys.executable, "-c", EMBED, str(Path(__file__).parents[1]), dsn, name]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_processes_share_the_work_and_one_that_is_killed_loses_what_was_on_its_way(dsn, vault_name):
    world = postgres_world(dsn, vault_name, buckets=7)
    world.fill(400)
    first, second = started(dsn, vault_name), started(dsn, vault_name)
    sent = [json.loads(process.stdout.readline()) for process in (first, second)]
    assert not set(sent[0]) & set(sent[1]) and [len(texts) for texts in sent] == [50, 50]
    go_on(first)
    lost = json.loads(first.stdout.readline())
    first.send_signal(signal.SIGKILL)
    first.communicate()
    paid, line = list(sent[1]), ""
    while not line.startswith("{"):
        go_on(second)
        line = second.stdout.readline()
        if line.startswith("["):
            paid += json.loads(line)
    second.communicate()
    report = json.loads(line)
    # What the dead one had claimed is not asked for again in the same run, as nobody else would know that it is dead.
    assert report["missing"] == 50 and not set(paid) & set(sent[0] + lost)
    assert len(paid) == len(set(paid)) == 300
    embedder = Letters()
    assert figures(world.embed(embedder)) == (50, 0, 0, 0, 1)
    assert sorted(embedder.sent()) == sorted(lost)
    assert len(world.of([f"e{i}" for i in range(400)])) == 400
    world.check()
    world.store.close()


def test_entries_that_come_while_vectors_are_stored_and_removed_find_them(dsn, vault_name):
    world, other = postgres_world(dsn, vault_name, buckets=7), postgres_world(dsn, vault_name)
    world.fill(30)

    def writes():
        for turn in range(12):
            world.add(*({"id": f"x{turn}-{i}", "title": f"title {i}"} for i in range(30)))

    def stores():
        for _ in range(4):
            other.embed(Letters(batch_size=3))
            with other.store.writing() as write:
                (space,) = write.tables.vectors.all_spaces(write)
                write.tables.texts.empty(write, space, 40)

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(writes), threads.submit(stores)]:
            done.result()
    world.check(apart=False)
    # What was removed is embedded again, and no more.
    other.embed()
    world.check()
    assert world.spaces() == [("test/letters", 390, 0, True)]
    other.store.close()
    world.store.close()
