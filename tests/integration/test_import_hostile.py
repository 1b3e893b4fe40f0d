"""Sources of an import that are no JSON lines: each ends in an error that says which line, and what is stored."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys

import pytest

from septet import BatchError, EntryError, Vault
from septet.portable import MAX_LINE_CHARS

GOOD = ['{"title": "first", "id": "a"}', "", '{"title": "second", "id": "b"}']


def floats(count):
    return base64.b64encode(b"\0\0\x80\x3f" * count).decode()


WRONG = {
    "deep lists": ('{"title": "t", "attrs": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}", "nested too deeply"),
    "deep objects": ('{"a":' * 100_000, "nested too deeply|not JSON"),
    "an integer of many digits": ('{"title": "t", "attrs": {"a": 1' + "0" * 10_000 + "}}", "is not JSON"),
    "half a line": ('{"title": "t"', "is not JSON"),
    "a list": ("[]", "not a JSON object"),
    "a kind that is no text": ('{"record": ["entry"]}', "not an entry"),
    "a kind that is an object": ('{"record": {}}', "not an entry"),
    "no title": ('{"id": "c"}', "title"),
    "a vector that is no base64": ('{"title": "t", "vector": {"m": "&&&&"}}', "not base64"),
    "a vector of half a number": ('{"title": "t", "vector": {"m": "AAA="}}', "not base64"),
    "a vector of letters that are none": ('{"title": "t", "vector": {"m": "äöüß"}}', "not base64"),
    "an empty vector": ('{"title": "t", "vector": {"m": ""}}', "vector|dimension|component"),
    "a vector of too many numbers": (
        json.dumps({"title": "t", "vector": {"m": floats(65_537)}}),
        "of 65,537 components",
    ),
    "a vector of NaN": ('{"title": "t", "vector": {"m": "AADAfwAAwH8="}}', "NaN"),
    "a vector of zeros": ('{"title": "t", "vector": {"m": "AAAAAA=="}}', "zero"),
    "a vector of numbers of two models": ('{"title": "t", "vector": {"m": {"m": 1}}}', "vector|number"),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("form", ["lines", "stream", "file"])
def test_a_wrong_line_is_named_with_what_is_stored(tmp_path, what, form):
    line, said = WRONG[what]
    lines = [*GOOD, line, '{"title": "after"}']
    text = "\n".join(lines) + "\n"
    path = tmp_path / "in.jsonl"
    path.write_text(text, encoding="utf-8")
    with Vault(":memory:") as vault:
        source = {"lines": lines, "stream": io.StringIO(text), "file": path}[form]
        with pytest.raises(BatchError, match=said) as refused:
            vault.import_(source)
        fault = refused.value
        assert str(fault).count("line 4") == 1 and "0 entries before it are stored" in str(fault)
        assert (fault.written, fault.index, len(vault)) == (0, 2, 0) and len(str(fault)) < 2_000


@pytest.mark.parametrize("line", [{"title": "a dict"}, 5, None])
def test_a_line_that_is_no_text_is_named_with_what_takes_it(line):
    with Vault(":memory:") as vault, pytest.raises(BatchError, match=r"^item 0 .*line 2 is .*wanted a line of JSON"):
        vault.import_(["", line])


def test_a_fault_in_a_line_is_placed_by_its_character(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"title": "One"}\n{"title": \n')
    with (
        Vault(":memory:") as vault,
        pytest.raises(BatchError, match="line 2 is not JSON: Expecting value at character 12"),
    ):
        vault.import_(tmp_path / "in.jsonl")


class Endless(io.TextIOBase):
    """A stream of one line without an end; counts what was asked of it."""

    asked = 0

    def readable(self):
        return True

    def readline(self, size=-1):
        assert 0 < size <= MAX_LINE_CHARS + 1
        self.asked += 1
        return " " * size


def test_a_line_without_an_end_is_read_up_to_a_bound():
    source = Endless()
    with Vault(":memory:") as vault, pytest.raises(BatchError, match=r"line 1 has more than 67,108,864 characters"):
        vault.import_(source)
    assert source.asked == 1


def test_the_same_lines_are_read_from_a_stream_of_bytes():
    with Vault(":memory:") as vault:
        assert vault.import_(io.BytesIO("\n".join(GOOD).encode())).entries == 2
        assert vault.import_(io.StringIO("\n".join(GOOD))).entries == 2
        assert len(vault) == 2


def test_what_is_not_utf8_says_about_where(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"title": "t"}\n' * 2 + b'{"title": "caf\xe9"}\n')
    with Vault(":memory:") as vault, pytest.raises(BatchError, match=r"line \d.*not UTF-8"):
        vault.import_(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "endless device", "loop", "missing", "nul"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / ("a\0b" if kind == "nul" else "in.jsonl")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind not in ("missing", "nul"):
        path.symlink_to({"device": "/dev/null", "endless device": "/dev/zero", "loop": path}[kind])
    with Vault(":memory:") as vault, pytest.raises(EntryError, match="cannot be read"):
        vault.import_(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_the_command_line_refuses_what_is_no_file_too(tmp_path, kind):
    pytest.importorskip("typer")
    path = tmp_path / "in.jsonl"
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "septet", "import", str(path), "--vault", str(tmp_path / "v.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and f"it is a {kind}" in done.stderr and "`-`" in done.stderr
    assert not (tmp_path / "v.db").exists()
