"""Sources of an import that are no JSON lines: each ends in an error that says which line, and what is stored."""

from __future__ import annotations

import base64
import csv
import io
import json
import os

import pytest

from septet import BatchError, EntryError, Vault
from septet.exchange.source import MAX_LINE_CHARS

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
        assert str(fault).count("line 4") == 1 and str(fault).endswith("; nothing was stored")
        assert (fault.written, fault.index, len(vault)) == (0, 2, 0) and len(str(fault)) < 2_000


@pytest.mark.parametrize("line", [["title"], 5, None])
def test_a_line_that_is_no_text_is_named_with_what_is_wanted(line):
    with Vault(":memory:") as vault, pytest.raises(BatchError, match=r"^line 2: it is .*wanted a dict with a title"):
        vault.import_(["", line])


def test_a_fault_in_a_line_is_placed_by_its_character(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"title": "One"}\n{"title": \n')
    with (
        Vault(":memory:") as vault,
        pytest.raises(BatchError, match="line 2: it is not JSON: Expecting value at character 12"),
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
    with Vault(":memory:") as vault, pytest.raises(BatchError, match=r"line 1: it has more than 67,108,864 characters"):
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


@pytest.mark.parametrize("kind", ["pipe", "device", "endless device", "loop", "missing", "long", "nul"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / {"nul": "a\0b", "long": "é" * 300}.get(kind, "in.jsonl")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind not in ("missing", "long", "nul"):
        path.symlink_to({"device": "/dev/null", "endless device": "/dev/zero", "loop": path}[kind])
    with (
        Vault(":memory:") as vault,
        pytest.raises(EntryError, match=r"cannot be read|NUL|a name of 600 bytes"),
    ):
        vault.import_(path)


def test_a_record_of_an_array_is_read_up_to_a_bound():
    asked = []

    def read(size):
        asked.append(size)
        return '[{"title": "' if len(asked) == 1 else "x" * 2**24

    stream = io.StringIO()
    stream.read = read
    with Vault(":memory:") as vault, pytest.raises(BatchError, match=r"line 1: it has more than 67,108,864 characters"):
        vault.import_(stream, format="json")
    assert len(asked) < 12


def test_an_array_of_arrays_without_an_end_is_refused():
    with Vault(":memory:") as vault, pytest.raises(BatchError, match="nested too deeply"):
        vault.import_(io.StringIO("[" * 500_000), format="json")


WRONG_ARRAYS = {
    "an array that is cut": ('[{"title": "a"}, {"title": "b"}', "the array has no end"),
    "an object that is cut": ('[{"title": "a"}, {"title": "b', "line 1: it is not JSON"),
    "two arrays": ('[{"title": "a"}]\n[{"title": "b"}]', "text after the end"),
    "no comma": ('[{"title": "a"} {"title": "b"}]', "where a comma"),
    "two commas": ('[{"title": "a"},, {"title": "b"}]', "not JSON"),
    "words": ("once upon a time", "not JSON"),
    "an integer of many digits": ('[{"attrs": {"a": 1' + "0" * 10_000 + "}}]", "not JSON"),
}


@pytest.mark.parametrize("what", WRONG_ARRAYS)
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_wrong_array_stops_where_it_cannot_be_read_on(what, on_error):
    text, said = WRONG_ARRAYS[what]
    with Vault(":memory:") as vault, pytest.raises(BatchError, match=said):
        vault.import_(io.BytesIO(text.encode()), format="json", on_error=on_error)


def test_a_table_of_ten_thousand_columns_is_taken_or_refused_as_a_whole():
    header = ",".join(["title", *(f"c{n}" for n in range(10_000))])
    lines = [header, ",".join(["a row", *map(str, range(10_000))])]
    with Vault(":memory:") as vault:
        assert vault.import_(lines, format="csv").entries == 1
        (entry,) = vault.load([hit.id for hit in vault.search("row")])
        assert (len(entry.attrs), entry.attrs["c9999"]) == (10_000, "9999")
        with pytest.raises(BatchError, match=r"has 10,002 fields, but the header has 10,001"):
            vault.import_([header, lines[1] + ",more"], format="csv")


def test_a_cell_longer_than_the_csv_module_takes_is_text_and_its_bound_stays():
    bound = csv.field_size_limit()
    with Vault(":memory:") as vault:
        vault.import_(["id,title,description", f"a,long,{'word ' * 100_000}"], format="csv")
        assert len(vault.get("a").description) == 500_000
    assert csv.field_size_limit() == bound


WRONG_TABLES = {
    "a quote without an end": (b'title\n"never closed\nmore\n', "line 2: .*end of data"),
    "text behind a quote": (b'title\n"a"b\n', "line 2: it is not a row"),
    "two columns of one name": (b"title,title\na,b\n", "line 1: the header has 'title' twice"),
    "more cells than names": (b"title\na,b\n", "line 2: the row has 2 fields, but the header has 1"),
    "no title and no text": (b"name,text\na,b\n", r"line 2: title and description are missing.*map=\{'text'"),
    "a byte that is not UTF-8": (b"title\ncaf\xe9\n", "line 2: title cannot be encoded"),
    "a byte that is not UTF-8 in a foreign cell": (b"title,x\na,caf\xe9\n", "line 2: attrs cannot be stored"),
    "a NUL in an id": (b"id,title\na\0b,t\n", "line 2: "),
    "attrs that are no JSON": (b"title,attrs\na,{\n", "line 2: attrs is '{': wanted JSON"),
    "tags of a broken list": (b"title,tags\na,[\n", "line 2: tags is '\\[': wanted JSON"),
    "a date that is none": (b"title,created_at\na,2024-13-01\n", "line 2: created_at is '2024-13-01': wanted an ISO"),
}


@pytest.mark.parametrize("what", WRONG_TABLES)
def test_a_wrong_row_is_named_by_its_line(what, tmp_path):
    content, said = WRONG_TABLES[what]
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    with Vault(":memory:") as vault:
        with pytest.raises(BatchError, match=said) as refused:
            vault.import_(path)
        assert refused.value.written == len(vault) == 0 and str(refused.value).isprintable()


def test_what_is_no_text_in_a_folder_is_left_out_and_told(tmp_path):
    (tmp_path / "good.md").write_text("# Good\n\ntext")
    (tmp_path / "binary.md").write_bytes(b"PK\0\1")
    (tmp_path / "latin.txt").write_bytes(b"one\ncaf\xe9")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "large.txt").write_bytes(b"x" * 10_000_001)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "loop").symlink_to(tmp_path)
    (tmp_path / "link.md").symlink_to(tmp_path / "good.md")
    (tmp_path / "nowhere.md").symlink_to(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / os.fsdecode(b"odd\xff.md")).write_text("odd")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.md").write_text("hidden")
    with Vault(":memory:") as vault:
        done = vault.import_(tmp_path)
        assert (done.entries, done.skipped, len(vault)) == (1, 9, 1)
        told = {fault.path: fault.message for fault in done.errors}
        assert len(told) == 9 and all(fault.line == 0 for fault in done.errors)
        wanted = {
            "binary.md": "is binary",
            "latin.txt": "line 2",
            "empty.txt": "is empty",
            "large.txt": "more than 10,000,000 bytes",
            "inside/loop": "a link",
            "link.md": "a link",
            "nowhere.md": "a link",
            "pipe.txt": "a pipe",
            "odd\\udcff.md": "not UTF-8",
        }
        assert all(said in told[path] for path, said in wanted.items())
        note = "1 files with other suffixes were skipped (1 .png); format='text' imports all text files"
        assert done.notes == (note,)
