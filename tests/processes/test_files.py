"""Tests of `integration/test_files.py` that start processes."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from children import ROOT, as_nobody, open_to_others
from septet import ReadOnly, StoreBusy, StoreError, Vault
from septet.sqlite.store.store import SqliteStore

HOLDER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
held.execute("UPDATE meta SET value = value" if sys.argv[2] == "vault" else "CREATE TABLE t (x)")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder():
    running = []

    def hold(path, what="vault"):
        command = [sys.executable, "-c", HOLDER, str(path), what]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.append(process)
        assert process.stdout.readline() == b"held\n"

    yield hold
    for process in running:
        process.communicate()


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "v.db"
    with Vault(made) as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {i}", "description": "text " * 50} for i in range(200))
    return made


needs_root = pytest.mark.skipif(not ROOT, reason="permissions bind root only after it has stepped down")


@pytest.fixture
def open_folder(tmp_path):
    """A folder that others can walk into: pytest's own are private."""
    return open_to_others(tmp_path)


def test_a_locked_vault_is_an_error_after_a_bounded_wait_that_says_who_to_look_for(path, holder):
    holder(path)
    store = SqliteStore(str(path), busy_timeout_s=0.05)
    with closing(store):
        with store.reading() as read:
            assert read.generation == 1
        with pytest.raises(StoreBusy, match=r"v\.db.*locked.*fuser .*lsof "), store.writing():
            pytest.fail("the lock was taken twice")
        with pytest.raises(StoreBusy), store.writing():
            pytest.fail("the lock was taken twice")


def test_the_wait_is_as_long_as_was_asked_also_when_the_vault_is_made(tmp_path, holder):
    path = tmp_path / "new.db"
    path.touch()
    holder(path, "new")
    code = (
        "import sys, time; from septet import StoreBusy; from septet.sqlite.store.store import SqliteStore as Store\n"
        "begun = time.monotonic()\n"
        "try: Store(sys.argv[1], busy_timeout_s=0.05)\n"
        "except StoreBusy: sys.exit(time.monotonic() - begun > 2)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=3)


@pytest.fixture
def at_rest(open_folder):
    """A vault that nobody has open, in a folder that only its owner may write."""
    made = open_folder / "v.db"
    with Vault(made) as vault:
        vault.add(id="x", title="word")
    made.chmod(0o444)
    return made


def opened_and_written(path):
    with Vault(path) as vault:
        vault.add(title="t")


@needs_root
def test_a_file_that_may_not_be_written_says_so_when_it_is_opened_for_writing(at_rest):
    def task():
        with pytest.raises(ReadOnly, match=r"v\.db.*check the permissions"):
            opened_and_written(at_rest)

    assert as_nobody(task)


@needs_root
def test_a_folder_that_may_not_be_written_is_named(at_rest):
    at_rest.chmod(0o666)

    def task():
        with pytest.raises(ReadOnly, match=r"new\.db.*folder .* does not take writes"):
            Vault(at_rest.with_name("new.db"))
        with pytest.raises(ReadOnly, match=r"v\.db"):
            opened_and_written(at_rest)

    assert as_nobody(task)


@needs_root
@pytest.mark.parametrize("mode", [0o444, 0o666])
def test_a_vault_at_rest_can_be_read_where_nothing_may_be_written(at_rest, mode):
    at_rest.chmod(mode)

    def task():
        with Vault(at_rest, read_only=True) as reader:
            assert reader.search("word").ids == ["x"]

    assert as_nobody(task)


@needs_root
def test_a_vault_in_use_can_be_read_where_nothing_may_be_written(at_rest):
    with Vault(at_rest) as vault:
        vault.add(id="y", title="word")

        def task():
            with Vault(at_rest, read_only=True) as reader:
                assert sorted(reader.search("word").ids) == ["x", "y"]

        assert as_nobody(task)


@needs_root
def test_what_lies_beside_a_vault_is_used_where_nothing_may_be_written(at_rest):
    at_rest.chmod(0o644)
    with Vault(at_rest) as vault:
        vault.add_many({"title": f"word {i}", "vector": [1.0, i]} for i in range(50))
        wanted = vault.search("word 7", query_vector=[1, 7], limit=9).ids
        beside = vault.optimize().path

    def task():
        with Vault(at_rest, read_only=True) as reader:
            assert reader.search("word 7", query_vector=[1, 7], limit=9).ids == wanted
            assert reader._tier.manager.current.postings is not None

    assert as_nobody(task)
    assert [str(p) for p in Path(beside).parent.glob("*.arrays")] == [beside]


@needs_root
def test_a_folder_beside_a_vault_that_takes_no_writes_is_no_hindrance(open_folder):
    open_folder.chmod(0o777)
    path = open_folder / "v.db"
    with Vault(path) as vault:
        vault.add(title="word")
        vault.optimize()
    path.chmod(0o666)
    for log in open_folder.glob("v.db-*"):
        log.unlink()

    def task():
        with Vault(path) as theirs:
            added = theirs.add(title="another word")
            with pytest.raises(StoreError, match=r"v\.db\.septet cannot be written"):
                theirs.optimize()
            assert added in theirs.search("word").ids

    assert as_nobody(task)


@needs_root
@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_that_may_not_be_read_says_so(at_rest, read_only):
    at_rest.chmod(0o000)

    def task():
        with pytest.raises(StoreError, match=r"v\.db.*permissions"):
            Vault(at_rest, read_only=read_only)

    assert as_nobody(task)


DAMAGED = """
import sys, sqlite3
from septet import StoreError, Vault
seen = 0
CALLS = (
    lambda v: v.search("word", limit=500),
    lambda v: v.load([f"e{i}" for i in range(200)]),
    lambda v: v.stats(),
    lambda v: v.add(id="e7", title="new"),
    lambda v: v.delete("e9"),
    lambda v: v.backup(sys.argv[1] + ".copy"),
)
for call in CALLS:
    try:
        with Vault(sys.argv[1]) as vault:
            call(vault)
    except StoreError as fault:
        assert sys.argv[1] in str(fault), fault
        seen += 1
print(seen)
"""


@pytest.mark.parametrize("damage", ["half", "one page", "header only", "noise in the middle", "zeros", "text"])
def test_a_damaged_vault_gives_store_errors_and_no_traceback_of_sqlite(path, damage):
    whole = path.read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    path.write_bytes(
        {
            "half": whole[:middle],
            "one page": whole[:4096],
            "header only": whole[:100],
            "noise in the middle": whole[:8192] + b"\xa5" * (len(whole) - 12288) + whole[-4096:],
            "zeros": whole[:4096] + b"\x00" * (len(whole) - 4096),
            "text": b"no longer a database" * 500,
        }[damage]
    )
    # In a process of its own: damage may end in more than an exception.
    ran = subprocess.run([sys.executable, "-c", DAMAGED, str(path)], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 0


def test_opening_needs_no_write_when_the_vault_exists(path, holder):
    holder(path)
    with Vault(path) as vault:
        assert len(vault.search("word", limit=5)) == 5
