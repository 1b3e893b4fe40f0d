"""`septet import` as its users meet it: tables, folders, what is skipped, Ctrl-C, and what a terminal shows."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from consoles import CONSOLE, interrupt
from septet import Vault

MODULE = [sys.executable, "-m", "septet", "import"]


@pytest.fixture
def septet(tmp_path):
    def run(*args, stdin=b"", **env):
        done = subprocess.run(
            [*MODULE, *args, "--vault", "v.db"],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **env},
            timeout=120,
            check=False,
        )
        assert done.stdout == b""
        return done.returncode, done.stderr.decode()

    return run


def test_a_table_is_mapped_and_what_cannot_be_stored_is_skipped_by_line(septet, tmp_path):
    (tmp_path / "in.csv").write_text("name;text;price;junk\nOne;first;7;x\n;;8;x\nTwo;second;9;x\n", encoding="utf-8")
    args = ["in.csv", "--map", "text=description", "--map", "name=title", "--map", "junk=", "--on-error", "skip"]
    code, said = septet(*args)
    assert code == 0 and "skipped line 3: title and description are missing" in said
    assert "stored 2 entries, 0 links, 0 feedback rows, 1 skipped in v.db" in said
    with Vault(tmp_path / "v.db") as vault:
        found = [vault.get(hit.id) for hit in vault.search("first second").hits]
        assert sorted((e.title, e.description, e.attrs["price"], len(e.attrs)) for e in found) == [
            ("One", "first", "7", 1),
            ("Two", "second", "9", 1),
        ]
    assert "stored 2 entries, 2 of them unchanged" in septet(*args)[1]


def test_fields_that_an_entry_does_not_have_may_be_dropped_or_refused(septet, tmp_path):
    line = json.dumps({"id": "a", "title": "One", "price": 7}).encode()
    assert septet("-", "--rest", "error", stdin=line)[0] == 2
    assert not (tmp_path / "v.db").exists()
    assert septet("-", "--rest", "drop", stdin=line)[0] == 0
    with Vault(tmp_path / "v.db") as vault:
        assert vault.get("a").attrs == {}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--map", "text"], "wanted NAME=FIELD"),
        (["--map", "text=words"], "'words'; wanted a field of an entry"),
        (["--rest", "keep"], "rest is 'keep'"),
        (["--on-error", "ignore"], "on_error is 'ignore'"),
        (["--format", "xml"], "format is 'xml'"),
    ],
)
def test_a_wrong_option_is_refused(septet, args, said):
    code, told = septet("-", *args, stdin=b'{"title": "t"}')
    assert (code, told.count("\n")) == (2, 1) and said in told


def test_a_folder_of_texts_is_imported_and_split(septet, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "long.md").write_text("# A long one\n\n" + "A sentence of some words here. " * 60)
    (tmp_path / "notes" / "picture.bin").write_bytes(b"\0")
    code, said = septet("notes", "--split")
    assert code == 0 and "note: 1 files with other suffixes were skipped" in said
    with Vault(tmp_path / "v.db") as vault:
        assert vault.get("long.md").title == "A long one" and vault.get("long.md#2").parent == "long.md"


@pytest.mark.parametrize("form", [[], ["--format", "json"]])
def test_an_array_on_standard_input_is_known(septet, tmp_path, form):
    array = json.dumps([{"title": "One"}, {"title": "Two"}], indent=1).encode()
    assert "stored 2 entries" in septet("-", *form, stdin=array)[1]


@pytest.fixture
def interruptible():
    """Who starts the tests in the background has them ignore interrupts, and so would their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_says_what_is_stored_and_a_second_run_goes_on(septet, tmp_path):
    lines = b"".join(b'{"title": "t %d"}\n' % number for number in range(5_200))
    command = [*MODULE, "-", "--vault", "v.db"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, **CONSOLE) as running:
        running.stdin.write(lines)
        running.stdin.flush()
        while not (tmp_path / "v.db").exists() or entries(tmp_path) < 5_000:
            assert running.poll() is None
            time.sleep(0.05)
        # Until it waits for more: the progress is told behind the transaction.
        time.sleep(2)
        interrupt(running)
        said = running.stderr.read().decode()
        assert running.wait(60) == 130
    assert said == "stopped: 5,000 stored; import again to continue\n"
    assert entries(tmp_path) == 5_000
    assert "stored 5200 entries, 5000 of them unchanged" in septet("-", stdin=lines)[1]


def entries(folder):
    try:
        with Vault(folder / "v.db", read_only=True) as vault:
            return len(vault)
    except Exception:  # noqa: BLE001 - the file is being made
        return 0


def test_a_terminal_sees_progress_and_a_pipe_does_not(septet, tmp_path):
    import pty

    (tmp_path / "in.jsonl").write_text("".join(f'{{"title": "t {number}"}}\n' for number in range(5_001)))
    assert septet("in.jsonl")[1].count("\n") == 1
    leader, follower = pty.openpty()
    command = [*MODULE, "in.jsonl", "--vault", "other.db"]
    with subprocess.Popen(command, stderr=follower, cwd=tmp_path, env={**os.environ, "TERM": "xterm"}):
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65_536):
                shown += part
        except OSError:
            pass  # the other end was closed: Linux says so with EIO
    os.close(leader)
    assert b"importing" in shown and b"/5001" in shown and b"stored 5001 entries" in shown
