"""A forked child leaves alone what its parent has open, however it ends; both go on, and nothing is lost."""

import gc
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import numpy as np
import pytest

from children import Busy, begun, ended, forked
from doubles import Letters
from septet import EmbeddingOptions, Federation, ForkedInUse, Vault
from septet.embedding import EmbeddingCache
from septet.system import forks

#: The parent closes; another process writes and is killed, so that its log is all there is of what it wrote; then the
#: child ends in one of several ways.
ENDS = """
import os, subprocess, sys
import septet
path, how, deep = sys.argv[1], sys.argv[2], sys.argv[3] == "deep"
vault = septet.Vault(path)
vault.add(id="ours", title="word")
vault.search("word")
if deep:
    open_read = vault._store.reading()
    read = open_read.__enter__()
wait, go = os.pipe()
child = os.fork()
if not child:
    os.close(go)
    os.read(wait, 1)
    if how == "close":
        vault.close()
    elif how == "with":
        with vault:
            pass
    elif how == "collect":
        import gc
        if deep:
            del open_read, read
        del vault
        gc.collect()
    elif how == "raise":
        raise SystemExit(0)
    elif how == "kill":
        os.kill(os.getpid(), 9)
    if how != "end":
        os._exit(0)
    sys.exit()
if deep:
    open_read.__exit__(None, None, None)
vault.close()
other = "import septet, os, sys\\nv = septet.Vault(sys.argv[1])\\n" \
    "for i in range(10): v.add(id=f'k{i}', title=f'kept {i}')\\nos.kill(os.getpid(), 9)"
subprocess.run([sys.executable, "-c", other, path])
os.write(go, b"x")
os.waitpid(child, 0)
with septet.Vault(path) as vault:
    print(len(vault), *sorted(vault.search("kept", limit=99).ids))
"""


@pytest.mark.parametrize("depth", ["idle", "deep"])
@pytest.mark.parametrize("how", ["close", "with", "collect", "raise", "end", "kill"])
def test_a_child_leaves_the_log_of_another_process_alone_however_it_ends(tmp_path, how, depth):
    command = [sys.executable, "-c", ENDS, str(tmp_path / "v.db"), how, depth]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == ["11", *(f"k{i}" for i in range(10))], ran.stderr
    check_sound(tmp_path / "v.db")


def check_sound(path):
    with closing(sqlite3.connect(path)) as sql:
        assert sql.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def writer(vault, name):
    def write(turn):
        vault.add_many([{"id": f"{name}{turn % 9}-{i}", "title": f"word {turn}"} for i in range(100)])

    return write


def searcher(vault):
    def search(turn):
        assert vault.search("word", limit=5)

    return search


def use(vault, name):
    """What children do: search and add."""
    assert vault.search("word", limit=3)
    vault.add(id=name, title="word of a child")
    assert name in vault.search("child", limit=99).ids


@pytest.mark.parametrize("threads", ["one writes", "three search", "eight do both"])
def test_children_search_and_add_while_threads_of_the_parent_are_at_work(tmp_path, threads):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {i}"} for i in range(300))
        work = {
            "one writes": [writer(vault, "w")],
            "three search": [searcher(vault)] * 3,
            "eight do both": [searcher(vault)] * 5 + [writer(vault, name) for name in "xyz"],
        }[threads]
        with Busy(*work):
            children = [begun(lambda n=n: use(vault, f"child{n}")) for n in range(6)]
            assert all(ended(child) for child in children)
        assert {f"child{n}" for n in range(6)} <= set(vault.search("child", limit=99).ids)
    check_sound(path)


def test_a_child_goes_on_writing_when_its_parent_has_closed_and_another_process_was_killed(tmp_path):
    path = tmp_path / "v.db"
    wait, go = os.pipe()
    vault = Vault(path)
    vault.add(id="parent", title="word")

    def task():
        os.close(go)
        vault.add(id="before", title="word")
        os.read(wait, 1)
        for i in range(20):
            vault.add(id=f"after{i}", title="word")
        os.kill(os.getpid(), 9)

    child = begun(task)
    os.close(wait)
    vault.search("word")
    vault.close()
    killed = "import septet, os, sys\nseptet.Vault(sys.argv[1]).add(id='killed', title='word')\nos.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed, str(path)], timeout=60)
    os.write(go, b"x")
    os.close(go)
    assert not ended(child)
    with Vault(path) as vault:
        assert set(vault.search("word", limit=99).ids) == {
            "parent",
            "before",
            "killed",
            *(f"after{i}" for i in range(20)),
        }
    check_sound(path)


POOLED = []


def add_in_pool(number):
    use(POOLED[0], f"pooled{number}")
    return number


def test_the_processes_of_a_pool_share_the_vault_of_their_parent(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="x", title="word")
        POOLED[:] = [vault]
        with Busy(searcher(vault)), multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map_async(add_in_pool, range(8), chunksize=1).get(60) == list(range(8))
        assert len(vault) == 9
    check_sound(tmp_path / "v.db")


def test_a_child_forked_in_a_write_of_its_thread_writes_nothing_and_the_parent_commits(tmp_path):
    path = tmp_path / "v.db"
    children = []
    with Vault(path) as vault:
        vault.add(id="before", title="word")

        def task():
            with pytest.raises(ForkedInUse, match="during a read or a write"):
                block.__exit__(None, None, None)
            with pytest.raises(ForkedInUse):
                vault.add(id="child", title="word")
            vault.close()

        block = vault._store.writing()
        write = block.__enter__()
        write.sql.execute("INSERT INTO meta VALUES ('parent', 1)")
        children.append(begun(task))
        assert ended(children.pop())
        write.sql.execute("INSERT INTO meta VALUES ('later', 1)")
        block.__exit__(None, None, None)
        vault.add(id="after", title="word")
        with vault._store.reading() as read:
            keys = {key for (key,) in read.sql.execute("SELECT key FROM meta WHERE key IN ('parent', 'later')")}
        assert keys == {"parent", "later"}
        assert set(vault.search("word").ids) == {"before", "after"}
    check_sound(path)


def test_a_child_whose_clock_forked_it_in_a_write_cannot_go_on_with_it(tmp_path):
    path = tmp_path / "v.db"
    forking, parents = [], os.getpid()

    def clock():
        if forking:
            forking.clear()
            children.append(os.fork())
        return 1.7e9

    children = []
    with Vault(path, clock=clock) as vault:
        vault.add(id="x", title="word")
        forking.append(True)
        fault = None
        try:
            vault.update("x", title="changed")
        except BaseException as raised:  # noqa: BLE001 - looked at in the child
            fault = raised
        if os.getpid() != parents:
            os._exit(0 if isinstance(fault, ForkedInUse) or "authorized" in str(fault) else 1)
        assert fault is None
        assert ended(children[0])
        assert vault.get("x").title == "changed"
        vault.update("x", title="again")
    check_sound(path)


def test_both_go_on_with_what_they_were_given_when_the_items_of_a_batch_fork(tmp_path):
    path, parents = tmp_path / "v.db", os.getpid()
    children = []

    def items():
        for i in range(10):
            if i == 5:
                children.append(os.fork())
            yield {"id": f"{'parent' if os.getpid() == parents else 'child'}{i}", "title": "word"}

    vault = Vault(path)
    code = 1
    try:
        ids = vault.add_many(items())
        code = 0
    finally:
        if os.getpid() != parents:
            os._exit(code)
    assert ended(children[0])
    assert ids == [f"parent{i}" for i in range(10)]
    found = set(vault.search("word", limit=99).ids)
    assert found == {*ids, *(f"child{i}" for i in range(5, 10))}
    vault.close()
    check_sound(path)


def test_children_of_children_use_the_vault(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add(id="x", title="word")

        def generation(depth):
            use(vault, f"depth{depth}")
            if depth < 3:
                assert forked(lambda: generation(depth + 1))
            use(vault, f"back{depth}")

        assert forked(lambda: generation(1))
        assert len(vault) == 7
    check_sound(path)


def test_a_federation_is_searched_by_parent_and_child_while_threads_search_it(tmp_path):
    with Vault(tmp_path / "a.db") as one, Vault(tmp_path / "b.db") as two, Federation({"a": one, "b": two}) as mind:
        one.add(id="x", title="word")
        two.add_many({"id": f"e{i}", "title": f"word {i}"} for i in range(500))
        with Busy(*[searcher(mind)] * 3):
            for n in range(4):
                assert forked(lambda n=n: (mind.search("word")[0], use(one, f"child{n}")))
        assert len(one) == 5


def test_a_child_has_a_copy_of_a_vault_in_memory(tmp_path):
    with Vault(":memory:") as vault:
        vault.add(id="x", title="word")
        with Busy(searcher(vault), writer(vault, "w")):
            for n in range(5):
                assert forked(lambda n=n: use(vault, f"child{n}"))
        assert not [i for i in vault.search("child", limit=999).ids if i.startswith("child")]

        def task():
            block.__exit__(None, None, None)
            use(vault, "child")

        block = vault._store.writing()
        block.__enter__()
        assert forked(task)
        block.__exit__(None, None, None)
        assert vault.get("child") is None


def test_an_embedding_cache_is_used_by_parent_and_child_at_once(tmp_path):
    from septet.embedding.cache import CacheNamespace

    cache, namespace = EmbeddingCache(tmp_path / "cache.db"), CacheNamespace("p", "m", "document")
    cache.put(namespace, {"text": np.ones(3, dtype=np.float32)})

    def get_and_put(turn):
        assert cache.get(namespace, 3, ["text"])
        cache.put(namespace, {f"turn {turn}": np.ones(3, dtype=np.float32)})

    def task():
        get_and_put(-1)
        assert len(cache) >= 2 and not cache.notes
        cache.close()

    with Busy(get_and_put, get_and_put):
        for _ in range(5):
            assert forked(task)
    assert cache.get(namespace, 3, ["turn -1"]) and not cache.notes
    cache.close()
    check_sound(tmp_path / "cache.db")


def test_children_write_while_the_background_embeds(tmp_path):
    with Vault(tmp_path / "v.db", embedder=Letters(), embedding_options=EmbeddingOptions(batch_texts=5)) as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {i}"} for i in range(200))
        for n in range(4):
            assert forked(lambda n=n: use(vault, f"child{n}"))
        assert vault.embedding_status(wait_s=60).activity == "idle"
        vault.embed()
        assert vault.stats().spaces[0].entries == 204


@pytest.mark.parametrize("end", ["close", "collect", "leave"])
def test_a_child_forked_while_another_thread_will_not_end_its_read_refuses_every_file(tmp_path, monkeypatch, end):
    monkeypatch.setattr(forks, "WAIT_S", 0.1)
    path = tmp_path / "v.db"
    reading, done = threading.Event(), threading.Event()

    def read():
        with vault._store.reading():
            reading.set()
            done.wait(60)

    with Vault(path) as vault, Vault(":memory:") as other:
        vault.add(id="x", title="word")
        other.add(id="x", title="word")

        def task():
            for refused in (
                lambda: vault.search("word"),
                lambda: vault.add(title="word"),
                lambda: other.search("word"),
                lambda: Vault(tmp_path / "new.db"),
            ):
                with pytest.raises(ForkedInUse):
                    refused()
            if end == "close":
                vault.close()
                other.close()
            elif end == "collect":
                vault.__dict__.clear()
                gc.collect()

        thread = threading.Thread(target=read)
        thread.start()
        assert reading.wait(60)
        try:
            assert forked(task)
            assert vault.search("word").ids == ["x"]
            vault.add(id="y", title="word")
        finally:
            done.set()
            thread.join()
        assert forked(lambda: use(vault, "child")), "the next fork finds everything at rest"
        assert set(vault.search("word").ids) == {"x", "y", "child"}
    check_sound(path)
