"""Entries are embedded by themselves after they are written, and nobody waits for it."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from doubles import Letters, down, refused
from septet import EmbeddingOptions, Vault
from septet.embedding import EmbeddingCache

LONG_S = 60.0


@pytest.fixture
def embedder():
    return Letters()


@pytest.fixture
def vault(tmp_path, embedder):
    with Vault(tmp_path / "v.db", embedder=embedder) as made:
        yield made


class Gate:
    """Holds a call until it is opened."""

    def __init__(self):
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, texts):
        self.reached.set()
        assert self.opened.wait(LONG_S)


def missing(vault):
    return vault.embedding_status().spaces[0].missing


def test_opening_a_vault_asks_nobody(tmp_path, embedder):
    with Vault(tmp_path / "v.db") as plain:
        plain.add(title="old")
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        assert vault.embedding_status().activity == "idle" and missing(vault) == 1
    assert embedder.calls == []


def test_what_is_written_has_its_vector_soon_after(vault, embedder):
    vault.add(id="a", title="red apples")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
    vault.update("a", title="green apples")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
    assert vault.search("apples", legs="vector").ids == ["a"]
    status = vault.embedding_status()
    assert (status.model, status.activity, status.asking, status.notes) == ("test/letters", "idle", True, ())
    assert status.report.embedded == 1 and embedder.sent() == ["red apples", "green apples"]


def test_a_large_write_is_embedded_too_in_batches(vault, embedder):
    vault.add_many({"title": f"title {i}"} for i in range(250))
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
    assert sum(embedder.sizes()) == 250 and max(embedder.sizes()) == 100


def test_neither_writes_nor_searches_wait_for_the_provider(vault, embedder):
    gate = Gate()
    embedder.script.append(gate)
    vault.add(id="a", title="red apples")
    assert gate.reached.wait(LONG_S)
    assert vault.embedding_status().activity == "running"
    vault.add(id="b", title="green apples")
    assert set(vault.search("apples").ids) == {"a", "b"}
    assert vault.embedding_status(wait_s=0).activity != "idle"
    gate.opened.set()
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
    assert sorted(embedder.sent()) == ["green apples", "red apples"]


def test_what_is_run_by_hand_meanwhile_takes_its_turn(vault, embedder):
    gate = Gate()
    embedder.script.append(gate)
    vault.add(id="a", title="red apples")
    assert gate.reached.wait(LONG_S)
    by_hand = []
    thread = threading.Thread(target=lambda: by_hand.append(vault.embed()))
    thread.start()
    gate.opened.set()
    thread.join(LONG_S)
    assert by_hand[0].requests == 0 and embedder.sent() == ["red apples"]


def test_embedding_by_hand_tells_what_the_vault_gained_while_it_waited(vault, embedder):
    gate, seen, by_hand = Gate(), [], []
    embedder.script.append(gate)
    vault.add_many({"title": f"title {i}"} for i in range(250))
    assert gate.reached.wait(LONG_S)
    thread = threading.Thread(
        target=lambda: by_hand.append(vault.embed(progress=lambda done, total: seen.append((done, total))))
    )
    thread.start()
    while not vault._embeddings._automatic._waiting:
        thread.join(0.001)
    gate.opened.set()
    thread.join(LONG_S)
    assert (by_hand[0].embedded, by_hand[0].missing, by_hand[0].notes) == (250, 0, ())
    assert seen == [(100, 250), (200, 250), (250, 250)]
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and len(embedder.sent()) == 250


def test_embedding_by_hand_counts_what_another_vault_object_stores_meanwhile(tmp_path):
    gate, slow, fast = Gate(), Letters(), Letters()
    own = EmbeddingOptions(automatic=False)
    with (
        Vault(tmp_path / "v.db", embedder=slow, embedding_options=own) as vault,
        Vault(tmp_path / "v.db", embedder=fast, embedding_options=own) as other,
    ):
        vault.add_many({"title": f"title {i}"} for i in range(250))
        slow.script.append(gate)
        by_hand = []
        thread = threading.Thread(target=lambda: by_hand.append(vault.embed()))
        thread.start()
        assert gate.reached.wait(LONG_S)
        beside = other.embed()
        gate.opened.set()
        thread.join(LONG_S)
        (report,) = by_hand
        assert (report.embedded, report.elsewhere, report.missing) == (100, 150, 0)
        assert (beside.embedded, beside.elsewhere) == (150, 0) and report.to_dict()["elsewhere"] == 150
        assert (vault.embed().embedded, vault.embed().elsewhere) == (0, 0)


def test_embedding_by_hand_counts_what_a_fallback_has_embedded_in_the_background(tmp_path):
    gate, first, second = Gate(), Letters("first"), Letters("second")
    first.script.extend([refused()] * 100)
    second.script.append(gate)
    with Vault(tmp_path / "v.db", embedder=[first, second]) as vault:
        vault.add_many({"title": f"title {i}"} for i in range(250))
        assert gate.reached.wait(LONG_S)
        by_hand = []
        thread = threading.Thread(target=lambda: by_hand.append(vault.embed()))
        thread.start()
        while not vault._embeddings._automatic._waiting:
            thread.join(0.001)
        gate.opened.set()
        thread.join(LONG_S)
        (report,) = by_hand
        assert (report.model, report.missing) == ("test/second", 0)
        assert report.embedded + report.elsewhere == 250 and report.elsewhere == 100


class Computing(Letters):
    """Keeps the interpreter busy for 5 ms a text, in slices."""

    def embed(self, texts, kind="document", *, timeout_s=None):
        until = time.thread_time() + 0.005 * len(texts)
        while time.thread_time() < until:
            sum(range(100))
        return super().embed(texts, kind, timeout_s=timeout_s)


def test_what_computes_in_the_interpreter_gets_short_batches_in_the_background(tmp_path):
    embedder = Computing()
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        vault.add_many({"title": f"title {i}"} for i in range(160))
        assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
        first, *others = embedder.sizes()
        # How long a text takes is known after the first batch.
        assert first == 100 and len(others) >= 6 and max(others) <= 10
        vault.add_many({"title": f"more {i}"} for i in range(100))
        assert vault.embed().missing == 0 and vault.embedding_status(wait_s=LONG_S).activity == "idle"
    # Who asks for it waits for it, and gets whole batches.
    with Vault(tmp_path / "w.db", embedder=embedder, embedding_options=EmbeddingOptions(automatic=False)) as vault:
        vault.add_many({"title": f"title {i}"} for i in range(200))
        vault.embed()
        assert embedder.sizes()[-2:] == [100, 100]


def test_what_waits_for_a_server_gets_whole_batches(tmp_path):
    embedder = Letters()
    embedder.script.extend([lambda texts: time.sleep(0.2)] * 3)
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        vault.add_many({"title": f"title {i}"} for i in range(250))
        assert vault.embedding_status(wait_s=LONG_S).activity == "idle"
    assert embedder.sizes() == [100, 100, 50]


def test_embedding_by_hand_of_the_last_batch_calls_progress_too(vault, embedder):
    gate, seen = Gate(), []
    embedder.script.append(gate)
    vault.add(title="red apples")
    assert gate.reached.wait(LONG_S)
    threading.Timer(0.2, gate.opened.set).start()
    report = vault.embed(progress=lambda done, total: seen.append((done, total)))
    assert (report.embedded, report.missing, seen) == (1, 0, [(1, 1)]) and embedder.sent() == ["red apples"]
    assert vault.embed(progress=lambda *done: seen.append(done)).embedded == 0 and len(seen) == 1


def test_what_is_left_by_an_interrupted_run_by_hand_is_embedded_by_itself(vault, embedder):
    gate = Gate()
    embedder.script.append(gate)
    vault.add_many({"title": f"title {i}"} for i in range(250))
    assert gate.reached.wait(LONG_S)
    threading.Timer(0.2, gate.opened.set).start()

    def interrupted(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.embed(progress=interrupted)
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0


def test_nothing_is_embedded_while_many_entries_are_written(vault, embedder):
    def slowly():
        for i in range(6):
            threading.Event().wait(0.05)
            yield {"title": f"title {i}"}

    vault.add(title="before")
    vault.add_many(slowly())
    assert embedder.calls == []
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
    assert embedder.sizes() == [7]


def test_writes_without_a_pause_put_embedding_off_within_bounds(vault, embedder, monkeypatch):
    monkeypatch.setattr("septet.embedding.automatic.LONGEST_WAIT_S", 0.2)

    def until_embedded():
        for i in range(1_000):
            threading.Event().wait(0.01)
            if embedder.calls:
                return
            yield {"title": f"title {i}"}

    vault.add(title="before")
    assert len(vault.add_many(until_embedded())) < 1_000


def test_a_provider_that_is_down_is_tried_again_by_itself(vault, embedder):
    embedder.script.append(down("no network"))
    vault.add(title="red apples")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
    assert embedder.sent() == ["red apples"] * 2 and vault.embedding_status().notes == ()


def test_while_it_is_down_the_status_says_why_and_the_next_write_tries_at_once(vault, embedder):
    reached = threading.Event()

    def once_more(texts):
        reached.set()
        raise down("no network")

    embedder.script.extend([down("no network"), once_more])
    vault.add(title="red apples")
    assert reached.wait(LONG_S)
    assert "no network" in vault.embedding_status().notes[0].cause
    notes = vault.search("apples").notes
    assert [n.code for n in notes] == ["no_vectors", "batch_failed"] and "no network" in notes[1].cause
    vault.add(title="green apples")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0


def test_a_wrong_key_is_not_tried_until_something_is_written(vault, embedder):
    embedder.script.append(refused(401, "wrong key"))
    vault.add(title="red apples")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle"
    assert embedder.sizes() == [1] and missing(vault) == 1
    assert "provider_refuses" in [n.code for n in vault.embedding_status().notes]
    assert len(vault.search("apples")) == 1


def test_a_text_that_is_refused_is_tried_again_by_hand_only(vault, embedder):
    embedder.script.append(refused(400, "too long"))
    vault.add(title="poison")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle"
    vault.add(title="red apples")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle"
    assert embedder.sent() == ["poison", "red apples"]
    assert vault.embed().embedded == 1


def test_another_model_is_not_begun_by_itself(tmp_path, embedder, vault):
    vault.add(title="red apples")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle"
    other = Letters("other")
    with Vault(vault.path, embedder=other) as second:
        second.add(title="green apples")
        assert second.embedding_status(wait_s=LONG_S).activity == "idle"
        assert other.calls == [] and [n.code for n in second.embedding_status().notes] == ["other_model"]
        second.embed()
        second.add(title="blue apples")
        assert second.embedding_status(wait_s=LONG_S).activity == "idle" and len(other.sent()) == 3
    vault.add(title="grey stones")
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle"
    assert embedder.sent() == ["red apples"]


def test_a_vault_in_memory_is_embedded_too(embedder):
    with Vault(":memory:", embedder=embedder) as vault:
        vault.add_many({"title": f"title {i}"} for i in range(150))
        assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
        assert vault.search("title 7", legs="vector", limit=1)[0].title == "title 7"


def test_it_can_be_turned_off(tmp_path, embedder):
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=EmbeddingOptions(automatic=False)) as vault:
        vault.add(title="red apples")
        assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and embedder.calls == []


def test_closing_waits_for_what_was_just_written(tmp_path, embedder):
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        vault.add_many({"title": f"title {i}"} for i in range(250))
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        assert missing(vault) == 0


def test_closing_does_not_wait_for_ever_and_what_comes_late_goes_to_the_cache(tmp_path, embedder):
    gate, cache = Gate(), EmbeddingCache(tmp_path / "cache.db")
    embedder.script.append(gate)
    where = {"embedding_cache": cache, "embedding_options": EmbeddingOptions(close_wait_s=0.05)}
    with Vault(tmp_path / "v.db", embedder=embedder, **where) as vault:
        vault.add(title="red apples")
        assert gate.reached.wait(LONG_S)
    assert vault._embeddings.status().activity == "running"
    gate.opened.set()
    vault._embeddings.wait(LONG_S)
    with Vault(tmp_path / "v.db", embedder=embedder, **where) as vault:
        report = vault.embed()
        assert (report.embedded, report.cached, report.missing) == (0, 1, 0)
    cache.close()


def test_closing_while_a_retry_is_due_does_not_wait_for_it(tmp_path, embedder):
    tried = threading.Event()

    def last(texts):
        tried.set()
        raise down()

    embedder.script.extend([last] + [down()] * 9)
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=EmbeddingOptions(close_wait_s=LONG_S)) as vault:
        vault.add(title="red apples")
        assert tried.wait(LONG_S)
    assert vault._embeddings.status().activity == "idle"


EXIT = """
import sys, threading
sys.path.insert(0, sys.argv[2])
from pathlib import Path

from doubles import Letters
from septet import EmbeddingOptions, Vault
embedder = Letters()
if sys.argv[3] == "hangs":
    embedder.script.append(lambda texts: threading.Event().wait(600))
vault = Vault(sys.argv[1], embedder=embedder, embedding_options=EmbeddingOptions(close_wait_s=float(sys.argv[4])))
vault.add(title="red apples")
embedder.asked.wait(60)
"""


@pytest.mark.parametrize(("how", "wait_s", "left"), [("answers", 60, 0), ("hangs", 0.1, 1)])
def test_the_exit_of_the_program_waits_within_bounds(tmp_path, how, wait_s, left):
    command = [sys.executable, "-c", EXIT, tmp_path / "v.db", Path(__file__).parents[1], how, wait_s]
    subprocess.run([str(part) for part in command], check=True, timeout=LONG_S)
    with Vault(tmp_path / "v.db", embedder=Letters()) as vault:
        assert missing(vault) == left
        # Whatever the dead process had claimed is free at once.
        assert vault.embed().missing == 0


def test_a_forked_child_embeds_what_it_writes_and_the_parent_goes_on(tmp_path, embedder, vault):
    gate = Gate()
    embedder.script.append(gate)
    vault.add(title="red apples")
    assert gate.reached.wait(LONG_S)
    child = os.fork()
    if not child:
        signal.alarm(30)
        code = 1
        try:
            embedder.script.clear()
            vault.add(title="green apples")
            idle = vault.embedding_status(wait_s=20).activity == "idle"
            code = 0 if idle and missing(vault) == 1 and vault.search("apples") else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    gate.opened.set()
    assert vault.embedding_status(wait_s=LONG_S).activity == "idle" and missing(vault) == 0
    assert embedder.sent() == ["red apples"]
