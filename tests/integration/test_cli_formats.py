"""Every format of an answer, and that none of them lets a text be more than text."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.commands import Commands

from septet import Vault

pytest.importorskip("typer")

EVIL = "\x1b]0;owned\x07 \u202egnp"
FORMULA = '=HYPERLINK("http://x","y")'


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(
            id="a/b", title='Rotate, "daily" cookies', description="first line\nsecond | line", tags=["web", "a,b"]
        )
        vault.add(id="ü ?#%", title=FORMULA, description="-1+1 cookies", tags=["web"])
        vault.add(id="日本語", title="クッキー cookies 📚", description=EVIL, attrs={"team": "core"})
    return Commands(tmp_path, monkeypatch)


def rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_a_search_gives_the_same_hits_in_every_format(septet):
    code, said, _ = septet("search", "cookies", "--json")
    whole = json.loads(said)
    ids = [hit["id"] for hit in whole["hits"]]
    assert code == 0 and len(ids) == 3
    again = json.loads(septet("search", "cookies", "--format", "json")[1])
    assert again.keys() == whole.keys() and [hit["entry"] for hit in again["hits"]] == [
        hit["entry"] for hit in whole["hits"]
    ]
    lines = [json.loads(line) for line in septet("search", "cookies", "--format", "jsonl")[1].splitlines()]
    assert [{k: v for k, v in line.items() if k == "id"} for line in lines] == [{"id": id} for id in ids]
    assert lines[0].keys() == whole["hits"][0].keys()
    assert septet("search", "cookies", "--format", "ids")[1].splitlines() == ids
    head, *body = rows(septet("search", "cookies", "--format", "csv")[1])
    assert [row[head.index("id")] for row in body] == ids
    assert [float(row[0]) for row in body] == pytest.approx([hit["score"] for hit in whole["hits"]], abs=1e-4)
    table = septet("search", "cookies", "--format", "table")[1]
    assert table == septet("search", "cookies")[1] and all(id in table for id in ids)
    markdown = septet("search", "cookies", "--format", "md")[1].splitlines()
    assert len(markdown) == 2 + len(ids) and all(line.startswith("|") for line in markdown)


def test_csv_is_that_of_rfc_4180_and_no_cell_is_a_formula(septet):
    code, said, _ = septet("list", "--format", "csv", "--order-by", "id")
    assert code == 0 and said.count("\r\n") == 4 and "\r" not in said.replace("\r\n", "")
    head, *body = rows(said)
    found = {row[0]: dict(zip(head, row, strict=True)) for row in body}
    assert found["a/b"]["title"] == 'Rotate, "daily" cookies'
    assert found["a/b"]["description"] == "first line\nsecond | line"
    assert found["ü ?#%"]["title"] == "'" + FORMULA
    assert found["ü ?#%"]["description"] == "'-1+1 cookies"
    assert found["a/b"]["created_at"].startswith("20") and found["a/b"]["created_at"].endswith("Z")


@pytest.mark.parametrize("format", ["table", "md", "csv", "json", "jsonl", "ids"])
@pytest.mark.parametrize("command", [("list",), ("search", "cookies"), ("get", "日本語")], ids=lambda c: c[0])
def test_no_format_lets_an_escape_sequence_through(septet, command, format):
    code, said, _ = septet(*command, "--format", format)
    assert code == 0 and "日本語" in said
    assert not {"\x1b", "\x07", "\u202e"} & set(said)


def test_json_loses_nothing_of_what_could_steer_a_terminal(septet):
    assert json.loads(septet("get", "日本語", "--json")[1])[0]["description"] == EVIL
    assert json.loads(septet("get", "日本語", "--format", "jsonl")[1])["description"] == EVIL
    lines = map(json.loads, septet("export", "-")[1].splitlines())
    assert [line["description"] for line in lines if line.get("id") == "日本語"] == [EVIL]


def test_an_export_to_standard_output_can_be_imported_as_it_was(septet):
    code, said, _ = septet("export")
    assert code == 0
    assert septet("import", "-", "--format", "jsonl", "--vault", "copy.db", stdin=said)[0] == 0
    with Vault("v.db", read_only=True) as one, Vault("copy.db", read_only=True) as other:
        assert [entry.to_dict() for entry in one] == [entry.to_dict() for entry in other]
    assert septet("export", "out.jsonl")[1] == ""
    assert (septet.home / "out.jsonl").read_text("utf-8").count("\n") == said.count("\n")


def test_markdown_cells_cannot_break_out_of_their_table(septet):
    lines = septet("facets", "tags", "--format", "md")[1].splitlines()
    assert lines[0] == "| count | value |"
    septet("add", "x|y <b> [z](http://q)", "--id", "pipe")
    row = next(line for line in septet("list", "--format", "md")[1].splitlines() if "pipe" in line)
    assert row.count(" | ") == 4 and "x\\|y \\<b\\> \\[z\\]" in row


@pytest.mark.parametrize(
    ("command", "works"),
    [
        (("stats",), {"table", "json", "jsonl", "csv", "md"}),
        (("explain", "cookies", "a/b"), {"table", "json", "jsonl", "ids"}),
        (("links", "a/b"), {"table", "json", "jsonl", "csv", "md", "ids"}),
        (("history", "a/b"), {"table", "json", "jsonl", "csv", "md"}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_format_that_makes_no_sense_is_refused_in_one_line(septet, command, works):
    for format in ("table", "json", "jsonl", "csv", "md", "ids"):
        code, said, told = septet(*command, "--format", format)
        if format in works:
            assert code == 0, (format, told)
        else:
            assert (code, said) == (2, "") and told.startswith(f"septet: --format {format}: ")


def test_two_formats_at_once_and_unknown_ones_are_refused(septet):
    code, said, told = septet("search", "cookies", "--json", "--format", "csv")
    assert (code, said) == (2, "") and "conflicts with" in told
    code, said, told = septet("search", "cookies", "--format", "xml")
    assert (code, said) == (2, "") and "xml" in told
    assert septet("search", "cookies", "--json", "--format", "json")[0] == 0


def test_where_nothing_is_found_the_data_is_empty_and_the_exit_code_1(septet):
    for format, empty in {"table": "", "jsonl": "", "ids": ""}.items():
        code, said, told = septet("list", "--where", '{"domain": "none"}', "--format", format)
        assert (code, said, told) == (1, empty, "nothing found\n")
    assert json.loads(septet("list", "--where", '{"domain": "none"}', "--json")[1])["entries"] == []
    assert septet("search", "cookies", "--where", '{"domain": "none"}', "--format", "csv")[:2][0] == 1


def test_a_list_is_ordered_filtered_and_read_page_by_page(septet):
    ids = septet("list", "--order-by", "id:desc", "--format", "ids")[1].splitlines()
    assert ids == sorted(["a/b", "ü ?#%", "日本語"], reverse=True)
    code, said, told = septet("list", "--order-by", "id:desc", "--format", "ids", "-n", "2")
    assert (code, said.splitlines()) == (0, ids[:2])
    after = told.split("--after ")[1].strip().strip("'")
    assert septet("list", "--order-by", "id:desc", "--format", "ids", "--after", after)[1].splitlines() == ids[2:]
    assert septet("list", "--where", '{"attrs.team": "core"}', "--format", "ids")[1] == "日本語\n"
    assert septet("list", "--order-by", "nonsense")[0] == 2


def test_times_in_csv_are_iso_text_that_an_import_reads_and_a_filter_takes(septet):
    with Vault("v.db") as vault:
        vault.add(id="old", title="Old", created_at=-1.5, updated_at=1_767_225_600.25, valid_until=4e9)
    code, said, _ = septet("list", "--format", "csv", "--where", '{"created_at": {"$lt": "1970-01-01"}}')
    head, row = rows(said)
    found = dict(zip(head, row, strict=True))
    assert code == 0 and found["created_at"] == "1969-12-31T23:59:58.500000Z"
    assert (found["updated_at"], found["valid_from"]) == ("2026-01-01T00:00:00.250000Z", "")
    assert septet("import", "-", "--format", "csv", "--vault", "copy.db", stdin=said)[0] == 0
    with Vault("copy.db", read_only=True) as copy:
        again = copy.get("old")
    assert (again.created_at, again.updated_at, again.valid_until) == (-1.5, 1_767_225_600.25, 4e9)
