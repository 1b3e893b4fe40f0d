"""Real processes on one file: what one writes the others see, nothing is lost, nothing is half done."""

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from children import forked
from septet import Closed, Federation, ForkedInUse, Vault

ADD = """
import sys
from septet import Vault
with Vault(sys.argv[1]) as vault:
    vault.add(id="theirs", title="word", vector=[0, 1])
"""

BULK = """
import sys
from septet import Vault
def items():
    for i in range(1_000_000):
        if i == 12_500:
            print("started", flush=True)
        yield {"id": f"e{i}", "title": f"word {i}", "description": "日本語 getUserName", "vector": [1.0, float(i)]}
with Vault(sys.argv[1]) as vault:
    vault.add_many(items())
"""


def started(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_sound(path):
    with closing(sqlite3.connect(path)) as sql:
        assert sql.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("entries_fts", "grams_fts"):
            # Rank 0: the index alone; it leaves out memories and deleted rows on purpose, so the table differs.
            sql.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)")
        terms = sql.execute("SELECT count(*) FROM entries WHERE live AND kind <> 'memory'").fetchone()
        assert sql.execute("SELECT count(*) FROM entries_fts_docsize").fetchone() == terms


def test_the_next_search_finds_what_another_process_added(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add(id="ours", title="word", vector=[1, 0])
        assert vault.search("word", query_vector=[0, 1]).ids == ["ours"]
        subprocess.run([sys.executable, "-c", ADD, str(path)], check=True)
        assert vault.search("word", query_vector=[0, 1]).ids == ["theirs", "ours"]
        assert vault.get("theirs") is not None and len(vault) == 2


def test_a_process_killed_in_a_batch_leaves_whole_batches(tmp_path):
    path = tmp_path / "v.db"
    for _ in range(2):
        process = started(BULK, path)
        assert process.stdout.readline() == "started\n"
        process.kill()
        process.communicate()
        with Vault(path) as vault:
            assert len(vault) >= 10_000 and len(vault) % 5_000 == 0
            assert vault.stats().spaces[0].entries == len(vault)
            assert vault.search("word 9999", limit=1, query_vector=[0, 1])
            assert vault.search("日本", limit=1)
        check_sound(path)


def test_a_forked_child_uses_the_vault_and_the_parent_goes_on(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add(id="before", title="word")
        vault.search("word")

        def task():
            assert vault.search("word").ids == ["before"]
            vault.add(id="child", title="word")
            assert len(vault.search("word")) == 2

        assert forked(task)
        vault.add(id="parent", title="word")
        assert sorted(vault.search("word").ids) == ["before", "child", "parent"]
    check_sound(path)


def test_a_child_forked_in_the_middle_of_a_read_leaves_it_and_is_told_why(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add(id="before", title="word")

        def task():
            read.close()
            for use in (lambda: vault.search("word"), lambda: vault.add(title="word"), lambda: Vault(path)):
                with pytest.raises(ForkedInUse, match=r"v\.db.*during a read.*spawn"):
                    use()
            with Vault(tmp_path / "other.db") as other:
                other.add(id="x", title="word")
                assert other.search("word").ids == ["x"]

        with ExitStack() as read:
            read.enter_context(vault._store.reading())
            assert forked(task)
        vault.add(id="parent", title="word")
        assert sorted(vault.search("word").ids) == ["before", "parent"]
    check_sound(path)


def test_a_forked_child_that_closes_the_vault_does_not_disturb_the_parent(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add(id="before", title="word")
        vault.search("word")
        assert forked(vault.close)
        vault.add(id="parent", title="word")
        with Vault(path) as other:
            other.add(id="other", title="word")
        assert sorted(vault.search("word").ids) == ["before", "other", "parent"]
    check_sound(path)


def test_a_forked_child_can_search_a_federation(tmp_path):
    with Vault(tmp_path / "a.db") as one, Vault(tmp_path / "b.db") as two, Federation({"a": one, "b": two}) as mind:
        one.add(id="x", title="word")
        mind.search("word")
        two.add_many({"title": f"word {i}"} for i in range(1_000))
        assert forked(lambda: mind.search("word"), timeout_s=2)


def test_a_child_forked_while_full_text_is_built_in_the_background_answers(tmp_path):
    with Vault(tmp_path / "large.db") as large, Vault(tmp_path / "v.db") as vault:
        large.add_many({"title": f"word {i}"} for i in range(20_000))
        vault.add(id="x", title="word")
        for _ in range(8):
            large.add(title="one more word")
            large.search("word", limit=1)
            assert forked(lambda: vault.search("word")[0], timeout_s=10)


@pytest.mark.parametrize("where", ["file", "memory"])
def test_threads_share_a_vault(tmp_path, where):
    with Vault(tmp_path / "v.db" if where == "file" else ":memory:") as vault:

        def work(name):
            for i in range(15):
                vault.add(id=f"{name}-{i}", title=f"word {name}", vector=[1, i])
                found = vault.search(f"word {name}", limit=3, query_vector=[1, i])
                assert len(found) == min(3, len(found)) and found[0].score <= 1
                vault.update(f"{name}-{i}", domain=f"d{name}")
                if i % 3 == 2:
                    assert vault.delete(f"{name}-{i - 1}") == 1
            return len(vault.search("word", domain=f"d{name}", limit=99))

        with ThreadPoolExecutor(6) as threads:
            assert list(threads.map(work, range(6))) == [10] * 6
        assert len(vault) == 60 and len(vault.search("word", limit=99, query_vector=[1, 0])) == 60


def test_entries_may_be_deleted_and_purged_while_others_search(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {i}", "vector": [1, i]} for i in range(400))
        done = threading.Event()

        def searching():
            while not done.is_set():
                results = vault.search("word", limit=20, query_vector=[1, 5])
                assert all(h.entry.title for h in results)
                vault.explain("word", "e399", query_vector=[1, 5])

        with ThreadPoolExecutor(3) as threads:
            running = [threads.submit(searching) for _ in range(3)]
            try:
                for start in range(0, 300, 20):
                    vault.delete([f"e{i}" for i in range(start, start + 20)])
                    vault.purge()
            finally:
                done.set()
            for one in running:
                one.result()
        assert len(vault.search("word", limit=999)) == 100


def test_closing_while_others_search_gives_them_results_or_closed(tmp_path):
    for _ in range(3):
        vault = Vault(tmp_path / "v.db")
        vault.add_many({"id": f"e{i}", "title": f"word {i}", "vector": [1, i]} for i in range(300))
        searching = threading.Barrier(4)

        def search(vault=vault, searching=searching):
            searching.wait()
            try:
                while True:
                    assert vault.search("word", limit=5, query_vector=[1, 1])
            except Closed:
                return True

        with ThreadPoolExecutor(3) as threads:
            running = [threads.submit(search) for _ in range(3)]
            searching.wait()
            vault.close()
            assert all(one.result() for one in running)
