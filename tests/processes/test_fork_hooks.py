"""A fork does not wait for what its own hooks hold: modules that lock something during forks are loaded at any time."""

import subprocess
import sys
import threading
import time

import pytest

from septet import Vault
from septet._core import Lock, open_gate, shut_gate
from septet.system import forks

#: Threads search while they hold a lock that a hook takes for each fork; a child says 2 where it may not use the vault.
HOLDING = """
import os, sys, threading, time
from collections import Counter

lock = threading.Lock()

def register():
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)

{before}
import septet
vault = septet.Vault(sys.argv[1])
vault.add_many([{{"title": f"word {{number}}"}} for number in range(200)])
{after}
over, codes = threading.Event(), Counter()

def work(number):
    while not over.wait(0.0005):
        with lock:
            vault.search("word")
            if number == 0:
                vault.add(title="a word more")

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for _ in range(10):
    time.sleep(0.01)
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if vault.search("word") and vault.add(title="of a child") else 3
        except septet.ForkedInUse:
            code = 2
        finally:
            os._exit(code)
    codes[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])] += 1
over.set()
for thread in threads:
    thread.join()
assert vault.search("word")
print(sorted(codes))
"""

#: Forks a child that searches and writes, and returns its number.
FORKING = """
import os, sys, threading, time

def forked(vault):
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        assert vault.search("word")
        vault.add(id="child", title="child")
        code = 0
    finally:
        os._exit(code)
"""

#: A thread that reads wants a lock in the middle of a fork; its parts say what is loaded when, and what is wanted.
WANTED = """
{before}
import septet, septet.system.forks
{between}
vault = septet.Vault(sys.argv[1])
vault.add(id="a", title="word")
{after}
inside, faults = threading.Event(), []

def read():
    try:
        {read}
    except BaseException as fault:
        faults.append(fault)

def held():
    inside.set()
    time.sleep(0.2)

thread = threading.Thread(target=read)
thread.start()
inside.wait(10)
begun = time.monotonic()
child = forked(vault)
took = time.monotonic() - begun
assert os.waitpid(child, 0)[1] == 0, "the child failed"
thread.join(10)
assert not faults, faults
assert vault.get("child") is not None
if os.fork() == 0:
    os._exit(not vault.search("word"))
assert os.wait()[1] == 0
vault.close()
print(took)
"""

EXECUTOR = """
from concurrent.futures import ThreadPoolExecutor
executor = ThreadPoolExecutor(1)
"""
SUBMIT = "with vault._store.reading(): held(); executor.submit(int).result()"
LOG = "with vault._store.reading(): held(); import logging; logging.getLogger('new').isEnabledFor(10)"
LOAD = """
        with vault._store.reading():
            held()
            from concurrent.futures import ThreadPoolExecutor
            ThreadPoolExecutor(1).submit(int).result()
"""
OWN = """
lock = threading.Lock()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock._at_fork_reinit)
"""
TAKE = """
        with vault._store.reading():
            held()
            with lock:
                pass
"""


@pytest.mark.parametrize("loaded", ["before", "between", "after"])
@pytest.mark.parametrize(
    ("module", "read"), [(EXECUTOR, SUBMIT), ("import logging", LOG)], ids=["an executor", "a logger"]
)
def test_a_fork_lets_a_read_have_the_lock_of_a_module_whenever_that_was_loaded(tmp_path, loaded, module, read):
    check(tmp_path, **{loaded: module}, read=read)


@pytest.mark.parametrize("read", [LOG, LOAD], ids=["a logger", "an executor"])
def test_a_module_that_locks_something_is_loaded_while_a_fork_waits(tmp_path, read):
    check(tmp_path, read=read)


def test_a_fork_lets_a_read_have_the_lock_of_a_program_that_registered_it_before_the_vault_was_opened(tmp_path):
    check(tmp_path, between=OWN, read=TAKE)


def test_a_fork_lets_a_thread_write_that_holds_the_lock_of_the_loggers(tmp_path):
    write = """
        import logging
        with logging._lock:
            held()
            time.sleep(0.2)
            vault.add(id="b", title="word")
"""
    check(tmp_path, before="import logging", read=write)


def test_a_fork_waits_until_another_thread_has_loaded_a_module_that_the_child_needs(tmp_path):
    slow = """
import importlib.machinery, types
class Slowly(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        held()
        super().exec_module(module)
class Finder:
    def find_spec(name, path=None, target=None):
        if name == "septet.query.filters":
            found = importlib.machinery.PathFinder.find_spec(name, path)
            found.loader = Slowly(name, found.origin)
            return found
sys.meta_path.insert(0, Finder)
"""
    filtered = "vault.search('word', where={'id': 'a'})"
    check(tmp_path, after=slow, read=filtered, child=filtered)


#: Another thread begins an import after the hook has looked for one: this hook, registered first, runs last.
IMPORTING = """
import importlib.abc, importlib.machinery, os, signal, sys, threading
os.register_at_fork(before=lambda: (threading.Thread(target=slow, daemon=True).start(), begun.wait()))
import septet, septet.system.forks as forks
vault = septet.Vault(sys.argv[1])
begun = threading.Event()

class Endless(importlib.abc.Loader):
    def exec_module(self, module):
        begun.set()
        threading.Event().wait()

class Finder:
    def find_spec(name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, Endless()) if name == "septet.endless" else None

def slow():
    import septet.endless

sys.meta_path.insert(0, Finder)
child = os.fork()
if not child:
    signal.alarm(20)
    grandchild = os.fork()
    if not grandchild:
        os._exit(0)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os._exit(0)
"""


def test_a_child_does_not_wait_for_an_import_that_a_thread_of_its_parent_had_begun(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", IMPORTING, str(tmp_path / "v.db")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "0", "")


def check(folder, before="", between="", after="", read="", child=""):
    """Fork beside a read; the child and its parent go on, at once, and nothing is printed."""
    code = FORKING + WANTED.format(before=before, between=between, after=after, read=read)
    if child:
        code = code.replace('assert vault.search("word")', f"assert {child}")
    command = [sys.executable, "-W", "ignore", "-c", code, str(folder / "v.db")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    # Two tenths are slept; the machine may be busy.
    assert float(ran.stdout) < 1.5


RERANKED = """
import septet

def fork(query, hits):
    begun, child = time.monotonic(), forked(vault)
    took.append(time.monotonic() - begun)
    assert os.waitpid(child, 0)[1] == 0, "the child failed"
    return [1.0] * len(hits)

took = []
with septet.Vault(sys.argv[1]) as vault:
    vault.add_many({"id": f"e{i}", "title": f"word {i}"} for i in range(50))
    found = vault.search_many(["word", "word 1"] * 8, rerank=fork, threads=4)
    assert not [one.notes for one in found if one.notes]
    assert vault.get("child")
print(max(took))
"""


def test_a_reranker_of_many_searches_may_fork(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", FORKING + RERANKED, str(tmp_path / "v.db")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert float(ran.stdout) < 0.5


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_fork_ends_though_threads_search_under_a_lock_that_its_hooks_take(tmp_path, before):
    program = HOLDING.format(before="register()" * before, after="register()" * (not before))
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "v.db")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    # What a hook of the vault cannot bring to rest any more, as it has run before, the child may not use.
    assert ran.stdout.strip() in (["[0]", "[0, 2]", "[2]"] if before else ["[0]"])


def open_connections():
    return [one for one in forks._connections if forks.is_open(one)]


def test_who_reads_between_the_closing_of_connections_and_the_fork_waits_a_moment_and_leaves_none(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="x", title="word")
        forks._before()
        found = []
        thread = threading.Thread(target=lambda: found.append(vault.search("word").ids))
        thread.start()
        thread.join(0.1)
        assert not found
        # A hook that runs between may wait for a lock that this thread holds.
        thread.join(60)
        assert found == [["x"]] and not forks.passed_gate() and open_connections() == []
        forks._in_parent()
        assert vault.search("word").ids == ["x"] and open_connections()


def test_who_writes_between_the_closing_of_connections_and_the_fork_is_told_of_to_the_child(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="x", title="word")
        forks._before()
        thread = threading.Thread(target=lambda: vault.add(id="y", title="word"))
        thread.start()
        thread.join(60)
        assert forks.passed_gate() and open_connections()
        # The hook of a fork that was registered first runs last, and brings SQLite to rest once more.
        forks._before()
        assert not forks.passed_gate() and open_connections() == []
        forks._in_parent()
        assert sorted(vault.search("word").ids) == ["x", "y"]


def late_after_a_slow_read():
    """Return True if a thread that waited 0.15 s for a fork to begin did not wait 0.1 s longer for its end."""
    reading, begins, seen = Lock(gated=True).hold(), threading.Event(), []

    def fork():
        begins.set()
        assert shut_gate(60)
        time.sleep(0.1)
        seen.append(forks.passed_gate())
        open_gate()

    def read():
        begins.wait()
        Lock(gated=True).hold().release()

    threads = [threading.Thread(target=work) for work in (fork, read)]
    for thread in threads:
        thread.start()
    time.sleep(0.15)
    reading.release()
    for thread in threads:
        thread.join()
    return seen[0]


def test_who_waited_for_a_fork_to_begin_waits_anew_for_its_end():
    # A busy machine may hold up the fork for longer than a reader waits.
    assert not all(late_after_a_slow_read() for _ in range(20))
