"""`septet export` in other formats, and the way back."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.commands import Commands

from septet import Vault

pytest.importorskip("typer")

ENTRIES = [
    {"id": "plain", "title": "Jobs wait", "description": "in SQLite", "tags": ["sqlite", "queue"]},
    {"id": "-x", "title": '=HYPERLINK("http://x")', "description": "@all\n+1\r\n'-1 'quoted'", "context": "-2+3",
     "tags": ["=1", "a"], "source": "web", "trust": "untrusted"},
    {"id": "apostrophes", "title": "'=1", "description": "''+2", "tags": ["a,b", " c", "[d]", "e;f"]},
    {"id": "attrs", "title": "Attrs", "attrs": {"none": None, "deep": {"x": [1, "é"]}}, "severity": "critical"},
    {"id": "bracket", "title": "Tag", "tags": ["[not json"], "kind": "note", "type": "rule", "domain": "http"},
    {"id": "times", "title": "Times", "created_at": 1_700_000_000.1234567, "updated_at": 1_700_000_001.0,
     "valid_from": -1.5, "valid_until": 253_402_300_000.25},
    {"id": "file", "title": "Chunk", "kind": "chunk", "parent": "plain",
     "span": {"path": "a/b.md", "first_line": 3, "last_line": 9}},
]  # fmt: skip


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many(ENTRIES)
        vault.remember("Maria prefers short reports", id="maria")
    return Commands(tmp_path, monkeypatch)


def entries(path):
    with Vault(path, read_only=True) as vault:
        return sorted(vault, key=lambda entry: entry.id)


@pytest.mark.parametrize("name", ["copy.csv", "copy.json", "copy.jsonl", "copy"])
def test_what_is_exported_comes_back_as_it_was(septet, name):
    assert septet("export", name)[0] == 0
    assert septet("import", name, "--vault", "other.db")[0] == 0
    assert entries("other.db") == entries("v.db")
    # Nothing is different from what is there.
    code, _, told = septet("import", name)
    assert code == 0 and f"stored {len(ENTRIES) + 1} entries, {len(ENTRIES) + 1} of them unchanged" in told


def test_a_table_has_iso_dates_and_no_cell_is_a_formula(septet):
    code, said, told = septet("export", "-", "--format", "csv")
    assert (code, told) == (0, "") and said.endswith("\r\n")
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(said, newline=""))}
    assert len(rows) == len(ENTRIES) + 1
    assert rows["times"]["updated_at"] == "2023-11-14T22:13:21Z"
    assert rows["times"]["created_at"].startswith("2023-11-14T22:13:20.1234")
    assert (
        rows["plain"]["tags"] == "sqlite, queue" and rows["attrs"]["attrs"] == '{"none": null, "deep": {"x": [1, "é"]}}'
    )
    assert [
        cell for row in rows.values() for cell in row.values() if cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    ] == []
    assert "'-x" in rows and rows["'-x"]["title"] == '\'=HYPERLINK("http://x")'


def test_no_cell_of_a_list_is_a_formula_either_tags_included(septet):
    _, said, _ = septet("list", "--format", "csv")
    for row in csv.DictReader(io.StringIO(said, newline="")):
        assert [cell for cell in row.values() if cell[:1] in ("=", "+", "@", "-")] == []


def test_columns_of_a_table_may_be_sorted_and_left_out(septet):
    septet("export", "copy.csv")
    with open("copy.csv", encoding="utf-8", newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))
    kept = ["title", "record", "id"]
    with open("less.csv", "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
        writer = csv.DictWriter(file, kept, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    assert septet("import", "less.csv", "--vault", "less.db")[0] == 0
    assert {entry.id: entry.title for entry in entries("less.db")} == {e.id: e.title for e in entries("v.db")}


def test_a_cell_that_was_spoilt_is_told_with_its_line(septet):
    septet("export", "copy.csv")
    text = (septet.home / "copy.csv").read_text("utf-8")
    (septet.home / "spoilt.csv").write_text(text.replace("2023-11-14T22:13:21Z", "14/11/2023"), "utf-8")
    code, _, told = septet("import", "spoilt.csv", "--vault", "other.db")
    assert code == 2 and "updated_at is '14/11/2023': wanted an ISO date" in told
    code, _, told = septet("import", "spoilt.csv", "--on-error", "skip", "--vault", "other.db")
    assert code == 0 and "1 skipped" in told


def test_apostrophes_of_tables_from_elsewhere_stay(septet):
    (septet.home / "foreign.csv").write_text("id,title\none,'-tis\n", "utf-8")
    septet("import", "foreign.csv", "--vault", "foreign.db")
    assert entries("foreign.db")[0].title == "'-tis"


def test_what_a_format_cannot_hold_is_told(septet):
    with Vault("v.db") as vault:
        vault.link("plain", "attrs")
        vault.feedback("jobs", "plain", "accepted")
    for format in ("csv", "md"):
        _, _, told = septet("export", "-", "--format", format)
        assert told == (
            f"{format} contains entries only, without 1 links, 1 rows of feedback: use --format jsonl to export all\n"
        )
    records = json.loads(septet("export", "-", "--format", "json")[1])
    assert [record["record"] for record in records][-2:] == ["link", "feedback"]
    assert records == [json.loads(line) for line in septet("export", "-")[1].splitlines()]


def test_texts_of_markdown_are_those_of_get(septet):
    whole = septet("export", "-", "--format", "md")[1]
    assert septet("get", "plain", "--format", "md")[1] in whole and whole.count("+++\n# ") == len(ENTRIES) + 1


def test_an_unknown_format_is_refused_and_nothing_is_written(septet):
    code, _, told = septet("export", "copy.x", "--format", "xlsx")
    assert code == 2 and "unknown --format" in told
    assert not (septet.home / "copy.x").exists()


def test_a_table_is_never_written_over_the_vault(septet):
    before = entries("v.db")
    code, _, told = septet("export", "v.db", "--format", "csv", "--force")
    assert code == 3 and "the vault itself" in told and entries("v.db") == before
