"""`septet sync` as its users meet it: one command takes a folder in, the next brings in what changed."""

from __future__ import annotations

import json
import os
import sys

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from commands import Commands
from septet import Vault


def chunks(home):
    """The chunks of the vault as (source, path, text)."""
    with Vault(home / "v.db") as vault:
        return sorted((one.source, one.span.path, one.description) for one in vault.entries())


@pytest.fixture
def septet(tmp_path, monkeypatch):
    return Commands(tmp_path, monkeypatch)


@pytest.fixture
def notes(septet):
    folder = septet.home / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at 80 degrees.\n", encoding="utf-8")
    (folder / "deep" / "bread.md").write_text("# Bread\n\nLet the dough rest overnight.\n", encoding="utf-8")
    return folder


def test_a_folder_is_taken_in_and_later_syncs_bring_in_what_changed(septet, notes):
    code, out, err = septet("sync", "notes")
    assert (code, err) == (0, "") and out.startswith("notes: 2 files, 2 added, 2 chunks in, 0 out in ")
    (notes / "tea.md").write_text("# Tea\n\nSteep black tea at 95 degrees.\n", encoding="utf-8")
    (notes / "deep" / "bread.md").rename(notes / "bread.md")
    code, out, err = septet("sync")
    assert (code, err) == (0, "") and out.startswith("notes: 2 files, 1 changed, 1 renamed, ")
    assert [path for _, path, _ in chunks(septet.home)] == ["bread.md", "tea.md"]
    code, out, _ = septet("search", "black tea")
    assert code == 0 and "tea.md#L1-L" in out


def test_a_search_shows_below_the_lines_of_a_chunk_what_it_says_about_the_query(septet, notes):
    said = "".join(f"Word{number} follows word{number}.\n" for number in range(40))
    (notes / "long.md").write_text(f"# Long\n\n## Deeper\n\n{said}The teapot is cracked.\n{said}", encoding="utf-8")
    septet("sync", "notes")
    for mode in ("full", "scan"):
        code, out, _ = septet("search", "cracked teapot", "--limit", "1", "--mode", mode)
        _, first, second, *passage = out.splitlines()
        assert code == 0 and second.split()[1].startswith("long.md#L1-L")
        assert "The teapot is cracked." in " ".join(line.strip() for line in passage)
        assert len(passage) == 2 and max(map(len, passage)) <= 100 and all(line[:7].isspace() for line in passage)
    assert first.endswith("Long")
    # Where the words are those of a heading, the text is shown, and not the heading again.
    assert "Steep green tea at 80 degrees." in septet("search", "tea", "--limit", "1")[1]


def test_a_heading_is_shown_with_those_above_it_where_there_is_room(septet, notes):
    for name, above in (("near", "Pots"), ("far", "A very long name of a page about pots and about kettles and jugs")):
        text = f"# {above}\n\n## Glaze{name}\n\nBlue and {name}.\n"
        (notes / f"{name}.md").write_text(f"Before.\n\n{text}", encoding="utf-8")
    septet("sync", "notes", "--chunks", "entries")
    assert " Pots > Glazenear\n" in septet("search", "blue glazenear", "--limit", "1")[1]
    assert " Glazefar\n" in septet("search", "blue glazefar", "--limit", "1")[1]


def test_options_say_which_files_and_how_they_are_cut_and_are_remembered(septet, notes):
    (notes / "long.md").write_text("".join(f"Line {number} of a long text.\n" for number in range(200)))
    (septet.home / "more.md").write_text("# More\n\nElsewhere.\n")
    options = ("--name", "mine", "--include", "*.md", "--exclude", "deep", "--extra", "../more.md")
    assert (
        septet("sync", "notes", *options, "--chunk-tokens", "50", "--chunk-overlap", "0", "--trust", "unverified")[0]
        == 0
    )
    before = chunks(septet.home)
    assert {path for _, path, _ in before} == {"tea.md", "long.md", "../more.md"} and {s for s, _, _ in before} == {
        "mine"
    }
    assert max(len(text) for _, _, text in before) <= 200
    (notes / "new.md").write_text("# New\n")
    assert septet("sync", "notes", "--chunk-overlap", "10")[0] == 0
    after = chunks(septet.home)
    assert {path for _, path, _ in after} == {"tea.md", "long.md", "../more.md", "new.md"}
    assert max(len(text) for _, _, text in after) <= 200 and len(after) > len(before) + 1
    with Vault(septet.home / "v.db") as vault:
        assert {one.trust for one in vault.entries()} == {"unverified"}


def test_an_empty_glob_takes_back_those_that_were_given(septet, notes):
    (septet.home / "more.md").write_text("# More\n\nElsewhere.\n")
    given = ("--include", "tea.md", "--include", "more.md", "--exclude", "tea.md", "--extra", "../more.md")
    assert septet("sync", "notes", *given)[0] == 0
    assert [path for _, path, _ in chunks(septet.home)] == ["../more.md"]
    for option, left in (("--include", ["../more.md", "deep/bread.md"]), ("--extra", ["deep/bread.md"])):
        assert septet("sync", "notes", option, "")[0] == 0
        assert [path for _, path, _ in chunks(septet.home)] == left
    assert septet("sync", "notes", "--exclude", "")[0] == 0
    assert [path for _, path, _ in chunks(septet.home)] == ["deep/bread.md", "tea.md"]
    # Beside others it is a mistake.
    code, _, err = septet("sync", "notes", "--exclude", "", "--exclude", "deep")
    assert code == 2 and '""' in err


def test_the_layout_memory_takes_the_files_of_an_agent(septet, notes):
    (notes / "MEMORY.md").write_text("# Memory\n\nPrefers tea.\n")
    (notes / "memory").mkdir()
    (notes / "memory" / "2026-01-05.md").write_text("Bought tea.\n")
    assert septet("sync", "notes", "--layout", "memory")[0] == 0
    assert [path for _, path, _ in chunks(septet.home)] == ["MEMORY.md", "memory/2026-01-05.md"]


def test_only_some_files_may_be_synced(septet, notes):
    assert septet("sync", "notes")[0] == 0
    for path in (notes / "tea.md", notes / "deep" / "bread.md"):
        path.write_text(path.read_text() + "\nMore.\n")
    code, out, _ = septet("sync", "--only", "notes/tea.md")
    assert code == 0 and "notes: 1 file, 1 changed, 1 chunk in, 1 out in " in out
    assert [text.count("More.") for _, _, text in chunks(septet.home)] == [0, 1]


def test_files_left_out_are_named_with_reasons_on_standard_error(septet, notes):
    (notes / "link.md").symlink_to("tea.md")
    (notes / "data.md").write_bytes(b"\0\1\2" * 100)
    (notes / "evil\x1b[2J.md").symlink_to("tea.md")
    code, out, err = septet("sync", "notes")
    assert code == 0 and out.count("\n") == 1 and "3 skipped" in out
    assert "skipped link.md: symlink\n" in err and "skipped data.md: binary\n" in err
    assert err.count("skipped") == 3 and "\x1b" not in err
    code, out, err = septet("sync", "notes", "--follow-symlinks")
    assert code == 0 and "skipped link.md: duplicate\n" in err


def test_of_a_file_that_is_taken_in_it_is_said_what_is_wrong_and_not_that_it_is_left_out(septet, notes):
    (notes / "odd.md").write_text("---\ntitle: Fixing: it\n---\nThe hinge.\n")
    fault = "warning for odd.md: front matter is not valid YAML at line 2; it stays in the text"
    assert septet("sync", "notes")[2].splitlines() == [fault]
    assert f"\n  {fault}\n" in septet("status")[1]
    assert f"\n{fault}\n" in septet("demo", "notes")[1]
    assert septet("search", "hinge")[0] == 0
    for command in (("sync",), ("sync", "--force")):
        _, out, said = septet(*command)
        assert said.splitlines() == [fault] and ", 1 with a remark in " in out and "skipped" not in out
    (notes / ".gitignore").write_text("\\\ndeep\n")
    assert ".gitignore: ignored an invalid glob" in septet("sync")[2].splitlines()


def test_many_files_that_are_left_out_are_counted(septet, notes):
    for number in range(23):
        (notes / f"link{number:02}.md").symlink_to("tea.md")
    _, _, err = septet("sync", "notes")
    assert err.count("skipped link") == 20 and err.endswith("skipped 3 more\n")


def test_json_is_the_whole_report(septet, notes):
    (notes / "link.md").symlink_to("tea.md")
    code, out, _ = septet("sync", "notes", "--json")
    report = json.loads(out)
    assert code == 0 and report["roots"] == ["notes"] and report["files_added"] == 2 and report["complete"] is True
    assert report["skipped"] == [{"path": "link.md", "reason": "symlink", "root": "notes", "taken": False}]


def test_what_is_left_out_and_what_is_taken_with_a_remark_are_told_apart(septet, notes):
    (notes / "link.md").symlink_to("tea.md")
    (notes / "data.md").write_bytes(b"\0\1\2" * 100)
    for number in range(22):
        (notes / f"latin{number:02}.md").write_bytes("# Caf\u00e9\n".encode("latin-1"))
    for command in (("sync", "notes"), ("sync",), ("sync", "--force")):
        code, out, said = septet(*command)
        assert code == 0 and ", 2 skipped, 22 with a remark in " in out
        assert "skipped link.md: symlink\n" in said and "warning for latin00.md: not UTF-8 from byte 5 on" in said
        assert said.endswith(" more files have warnings\n")
    report = json.loads(septet("sync", "--json")[1])
    taken = {one["path"]: one["taken"] for one in report["skipped"]}
    assert len(taken) == 24 and [path for path, is_taken in taken.items() if not is_taken] == ["link.md", "data.md"]
    told = json.loads(septet("status", "--json")[1])["roots"][0]
    assert {one["path"]: one["taken"] for one in (*told["skipped"], *told["problems"])} == taken


def test_what_is_left_to_do_is_exit_code_1(septet, notes):
    code, out, _ = septet("sync", "notes", "--timeout", "0")
    assert code == 1 and "2 files left" in out
    assert septet("sync")[0] == 0
    notes.rename(septet.home / "away")
    code, out, err = septet("sync")
    assert code == 1 and "0 files, 1 problem, not complete in " in out and "problem: " in err and "is not there" in err
    assert len(chunks(septet.home)) == 2


def test_secrets_in_transcripts_are_masked_and_counted(septet, notes):
    key = "sk-" + "a1B2c3D4" * 4
    line = {"type": "message", "message": {"role": "user", "content": f"my key is {key}"}}
    (notes / "s.jsonl").write_text(json.dumps(line) + "\n")
    code, out, err = septet("sync", "notes")
    assert code == 0 and "1 secret masked" in out and "masked 1 of " in err
    assert key.encode() not in (septet.home / "v.db").read_bytes()
    assert septet("sync", "notes", "--redact", "no")[0] == 0
    assert any(key in text for _, _, text in chunks(septet.home))


def test_stats_names_the_folders_and_forget_root_lets_go_of_them(septet, notes):
    septet("sync", "notes")
    _, out, _ = septet("stats")
    assert "2  chunks of 2 files: notes" in out and "synced 20" in out
    [root] = json.loads(septet("stats", "--json")[1])["roots"]
    assert (root["name"], root["files"], root["chunks"], root["problem"]) == ("notes", 2, 2, None)
    code, _, err = septet("forget-root", "notes")
    assert code == 0 and err.startswith("erased 2 chunks of notes")
    assert chunks(septet.home) == [] and (notes / "tea.md").exists()
    assert "chunks of" not in septet("stats")[1] and septet("forget-root", "notes")[0] == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nowhere"], "is not there"),
        (["notes", "--redact", "some"], "wanted yes, no or all"),
        (["notes", "--layout", "tree"], "layout is 'tree'"),
        (["notes", "--include", "{a"], "include"),
        (["notes", "--chunks", "small"], "variant"),
        (["notes", "--chunk-tokens", "0"], "tokens is 0"),
        (["notes", "--timeout", "-1"], "timeout_s is -1"),
        (["notes", "--trust", "none"], "trust is 'none'"),
        (["notes", "--only", "../elsewhere.md"], "is in no folder"),
    ],
)
def test_a_wrong_argument_is_refused_and_leaves_no_vault_behind(septet, notes, args, said):
    code, out, err = septet("sync", *args)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1
    if args[0] == "nowhere" or "--only" not in args:
        assert not (septet.home / "v.db").exists()


def test_without_a_vault_or_a_folder_it_says_how_to_begin(septet, notes):
    code, _, err = septet("sync")
    assert code == 3 and "`septet sync`" in err and not (septet.home / "v.db").exists()
    septet("add", "a note")
    code, _, err = septet("sync")
    assert code == 2 and "follows no folder: add one with `septet sync DIR`" in err
    code, _, err = septet("sync", "--exclude", "*.txt")
    assert code == 2 and "pass the root" in err


def test_watching_without_its_package_is_refused_before_anything_is_stored(septet, notes, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    code, out, said = septet("watch", "notes")
    assert (code, out) == (2, "") and "pip install 'septet[watch]'" in said
    assert [one.name for one in septet.home.iterdir()] == ["notes"]


@pytest.mark.parametrize("command", ["sync", "watch", "demo"])
def test_a_folder_without_a_name_is_not_the_working_directory(septet, notes, command):
    code, out, said = septet(command, "")
    assert (code, out) == (2, "") and "empty" in said
    assert [one.name for one in septet.home.iterdir()] == ["notes"]


def test_a_file_without_a_name_is_none_of_a_folder(septet, notes):
    assert septet("sync", "notes")[0] == 0
    code, out, said = septet("sync", "--only", "")
    assert (code, out) == (2, "") and "empty" in said


@pytest.mark.parametrize("command", ["sync", "watch"])
def test_a_device_is_not_followed(septet, notes, command):
    os.mkfifo(septet.home / "pipe")
    for odd in ("/dev/null", "pipe"):
        code, out, said = septet(command, odd)
        assert (code, out) == (2, "") and "name a folder, or a regular file" in said
    assert sorted(one.name for one in septet.home.iterdir()) == ["notes", "pipe"]


def test_files_of_other_kinds_are_counted_by_ending(septet, notes):
    for name in ("a.epub", "b.epub", "c.canvas", "Makefile"):
        (notes / name).write_bytes(b"-")
    code, out, err = septet("sync", "notes")
    assert (code, err) == (0, "") and ", skipped 2 epub, 1 canvas, 1 other in " in out
    code, out, _ = septet("status")
    assert code == 0 and "  skipped 2 epub, 1 canvas, 1 other" in out


def test_a_dry_run_says_what_would_be_done_and_makes_no_vault(septet, notes):
    code, out, err = septet("sync", "notes", "--dry-run")
    assert (code, err) == (0, "") and out.startswith("notes: a sync would see 2 files, 2 added, 2 chunks in, 0 out in ")
    assert not (septet.home / "v.db").exists()
    septet("sync", "notes")
    (notes / "tea.md").unlink()
    for given in ((), ("notes",)):
        code, out, _ = septet("sync", *given, "--dry-run", "--json")
        made = json.loads(out)
        assert code == 0 and made["dry_run"] and (made["files_seen"], made["files_removed"]) == (1, 1)
    assert len(chunks(septet.home)) == 2
