"""The modules of Unix and of Windows have the same names with the same arguments, and do what they say."""

import ast
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import septet.system
from septet.system.host import host
from septet.system.session import session

FOLDER = Path(septet.system.__file__).parent
WINDOWS = sys.platform == "win32"


def public(name):
    """Return what a module defines: functions with their arguments, and constants."""
    defined = {}
    for node in ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            defined[node.name] = ast.unparse(node.args)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            defined[target.id] = "constant"
    return {key: value for key, value in defined.items() if not key.startswith("_")}


@pytest.mark.parametrize(("unix", "windows"), [("unix", "windows"), ("unix_session", "windows_session")])
def test_both_modules_have_the_same_names(unix, windows):
    assert public(unix) == public(windows)


def test_a_lock_is_held_until_the_file_is_closed(tmp_path):
    with (tmp_path / "lock").open("ab") as first:
        assert host.lock_file(first.fileno())
        with (tmp_path / "lock").open("ab") as second:
            assert not host.lock_file(second.fileno())
    with (tmp_path / "lock").open("ab") as third:
        assert host.lock_file(third.fileno())


def test_a_locked_file_is_written_and_read(tmp_path):
    with (tmp_path / "file").open("w+b", buffering=0) as file:
        file.write(b"before")
        assert host.lock_file(file.fileno())
        file.write(b" after")
        assert (tmp_path / "file").read_bytes() == b"before after"


def test_a_file_takes_the_place_of_another(tmp_path):
    (tmp_path / "new").write_text("new", encoding="utf-8")
    (tmp_path / "old").write_text("old", encoding="utf-8")
    host.replace(tmp_path / "new", tmp_path / "old")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text(encoding="utf-8") == "new"


def test_a_missing_file_is_removed_without_an_error(tmp_path):
    host.remove(tmp_path / "none")
    host.erase(tmp_path / "none")


def test_this_process_runs_and_began_once():
    assert host.is_running(os.getpid())
    assert host.started(os.getpid()) == host.started(os.getpid()) != "?"


def test_a_process_that_ended_does_not_run():
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    pid = ended.pid
    del ended
    assert not host.is_running(pid)


def test_a_path_of_the_system_and_one_with_slashes_are_told_apart(tmp_path):
    assert host.native("a/b.md") == f"a{os.sep}b.md"
    assert host.slashed(f"a{os.sep}b.md") == "a/b.md"
    assert host.relative(str(tmp_path / "a" / "b.md"), str(tmp_path)) == "a/b.md"


def test_a_quoted_word_is_one_word():
    for word in ("plain", "two words", "it's" if not WINDOWS else "100%", "a/b c.md"):
        assert session.words(session.quoted(word)) == [word]


def test_a_socket_is_readable_once_something_came_or_its_other_end_closed():
    left, other = socket.socketpair()
    with left:
        assert not host.is_readable(left.fileno())
        other.send(b"hello")
        assert host.is_readable(left.fileno()) and left.recv(5) == b"hello"
        assert not host.is_readable(left.fileno())
        other.close()
        assert host.is_readable(left.fileno())


def test_limits_are_numbers_or_none(tmp_path):
    assert host.free_bytes(str(tmp_path)) > 0
    assert host.cores() >= 1
    assert all(limit is None or limit > 0 for limit in (host.most_file_bytes(), host.most_connections()))


@pytest.mark.skipif(not WINDOWS, reason="shares and drives are of Windows")
def test_uris_of_drives_and_shares_name_the_file():
    assert host.sqlite_uri("C:\\a b\\c#.db") == "file:///C:/a b/c%23.db"
    assert host.sqlite_uri("\\\\server\\share\\c.db") == "file:////server/share/c.db"
    assert not host.is_remote("C:\\")
