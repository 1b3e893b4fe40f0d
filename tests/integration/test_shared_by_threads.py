"""Threads that change one vault or federation at the same moment lose nothing of each other's changes."""

import sys
import threading
from contextvars import ContextVar

import pytest

from septet import CallableEmbedder, Federation, TierError, Vault
from septet.system.contexts import without_context

THREADS = 8


@pytest.fixture(autouse=True)
def interleaved():
    """Threads that take turns as often as the interpreter allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work, threads=THREADS):
    """Call a function with the number of each thread at the same time; return the results or errors in order."""
    start, results = threading.Barrier(threads), [None] * threads

    def run(number):
        start.wait()
        try:
            results[number] = work(number)
        except Exception as fault:  # noqa: BLE001 - the test looks at it
            results[number] = fault

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return results


def test_every_tier_that_is_connected_stays():
    vault = Vault(":memory:")
    for _ in range(20):
        federation = Federation({"first": vault})
        assert together(lambda n, to=federation: to.connect(f"tier{n}", vault)) == [None] * THREADS
        assert set(federation.tiers()) == {"first", *(f"tier{n}" for n in range(THREADS))}
        assert together(lambda n, of=federation: of.disconnect(f"tier{n}")) == [True] * THREADS
        assert set(federation.tiers()) == {"first"}
        federation.close()
    vault.close()


def test_one_of_several_connects_a_tier_by_one_name_and_one_disconnects_it():
    vault = Vault(":memory:")
    federation = Federation({"first": vault})
    for _ in range(20):
        results = together(lambda n: federation.connect("second", vault))
        assert results.count(None) == 1 and sum(isinstance(result, TierError) for result in results) == THREADS - 1
        assert sorted(together(lambda n: federation.disconnect("second"))) == [False] * (THREADS - 1) + [True]
    federation.close()
    vault.close()


def test_a_vault_makes_its_embeddings_once(monkeypatch):
    made = []
    new = Vault._new_embeddings
    monkeypatch.setattr(Vault, "_new_embeddings", lambda vault: (made.append(vault), new(vault))[1])
    for _ in range(20):
        vault = Vault(":memory:")
        assert len({id(embeddings) for embeddings in together(lambda n, of=vault: of._embeddings)}) == 1
        vault.close()
    assert len(made) == 20


def test_every_watcher_ends_with_its_vault(tmp_path):
    pytest.importorskip("watchfiles")
    vault = Vault(tmp_path / "notes.db")
    watchers = together(lambda n: vault.watch_files())
    vault.close()
    assert [watcher.closed for watcher in watchers] == [True] * THREADS


def test_an_embedder_in_the_background_does_not_see_the_variables_of_the_write_that_woke_it(tmp_path):
    word: ContextVar[str] = ContextVar("word", default="none")
    seen = []

    def embed(texts):
        seen.append(word.get())
        return [[1.0, float(len(text))] for text in texts]

    vault = Vault(tmp_path / "notes.db", embedder=CallableEmbedder(embed, model="ours"))
    word.set("of the writer")
    vault.add(title="a title")
    vault.embedding_status(wait_s=None)
    vault.close()
    assert seen and set(seen) == {"none"}


def test_work_without_context_sees_no_variable_of_its_caller():
    word: ContextVar[str] = ContextVar("word", default="none")
    word.set("of the caller")
    assert without_context(word.get)() == "none" and word.get() == "of the caller"
