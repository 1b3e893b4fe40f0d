"""Chunks of followed files on the command line: named by path and line, changed in their files alone."""

from __future__ import annotations

import pytest
from tests.commands import Commands

from septet import Span, Vault
from septet.cli.exits import NOTHING

pytest.importorskip("typer")

PLACE = "# Tea\n\nGreen tea.\n\n# Kyoto\n\nThe heron waits.\n"


@pytest.fixture
def septet(tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "a.md").write_text("# Long\n" + "".join(f"Line {n} says heron {'so ' * 30}\n" for n in range(2, 90)))
    (notes / "deep" / "b.md").write_text(PLACE)
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(notes)
        vault.add(id="own", title="An entry of its own")
    return Commands(tmp_path, monkeypatch)


def chunks(tmp_path, path):
    with Vault(tmp_path / "v.db", read_only=True) as vault:
        return sorted(vault.entries({"path": path}, limit=None), key=lambda one: one.span.first_line)


def test_a_path_means_the_first_chunk_of_its_file_and_a_line_the_chunk_that_holds_it(septet, tmp_path):
    own = chunks(tmp_path, "a.md")
    assert len(own) > 1
    last = own[-1]
    for given, wanted in (
        ("a.md", own[0]),
        ("a.md#L1", own[0]),
        (f"a.md#L{last.span.last_line}", last),
        *((one.span.citation, one) for one in own),
    ):
        code, said, _ = septet("get", given, "--format", "ids")
        assert (code, said.split()) == (0, [wanted.id]), given
    assert septet("similar", "a.md", "--format", "ids")[0] == 0
    assert septet("explain", "heron", "a.md#L1")[0] == 0
    assert septet("link", "own", "deep/b.md")[0] == 0


def test_a_path_that_no_file_has_and_a_line_behind_its_end_mean_nothing(septet):
    for given in ("other.md", "a.md#L5000", "a.md#L0", "#L3"):
        code, _, told = septet("get", given)
        assert code == NOTHING and "no entry" in told, given


def test_a_path_of_two_folders_is_refused_with_the_ids_it_may_mean(septet, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("Another.")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(other)
    code, _, told = septet("get", "a.md")
    assert code not in (0, NOTHING) and "is ambiguous" in told and "of other" in told


def test_an_entry_whose_id_is_a_path_means_itself(septet, tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a.md#L1", title="Named like a place")
    assert septet("get", "a.md#L1", "--format", "ids")[1].split() == ["a.md#L1"]


@pytest.mark.parametrize(
    "command",
    [("edit", "deep/b.md"), ("delete", "deep/b.md"), ("delete", "own", "deep/b.md", "--yes"),
     ("delete", "--where", '{"path": "deep/b.md"}', "--yes")],
)  # fmt: skip
def test_a_chunk_of_a_followed_file_is_neither_edited_nor_deleted_but_its_file_and_line_named(
    septet, tmp_path, command
):
    before = chunks(tmp_path, "deep/b.md")
    code, _, told = septet(*command)
    assert code not in (0, NOTHING)
    assert "line 1 of " in told and str(tmp_path / "notes" / "deep" / "b.md") in told and "septet sync" in told
    assert chunks(tmp_path, "deep/b.md") == before
    assert septet("get", "own")[0] == 0


def test_other_entries_and_chunks_of_folders_that_were_not_followed_are_deleted(septet, tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="loose", title="Loose", kind="chunk", source="elsewhere", span=Span("x.md", 1, 2))
    assert septet("delete", "own", "loose", "--yes")[0] == 0
