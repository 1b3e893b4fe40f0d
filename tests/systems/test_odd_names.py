"""A folder whose files have odd names is synced, with ids of forward slashes, and its line ends do not matter."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from septet import Vault

NAMES = [
    "plain.md",
    "with blanks  inside.md",
    "näïve résumé.md",
    "日本語/ノート.md",
    "emoji 🦀.md",
    "percent%20sign.md",
    "hash#tag.md",
    "semi;colon,comma.md",
    "(brackets) [square] {curly}.md",
    "quote's.md",
    "dollar$HOME.md",
    "UPPER.MD",
    "dots...in.the.name.md",
    "deep/er/and/deeper/note.md",
    "a&b^c!d.md",
]
#: Windows refuses these, or reads them as devices or as other names.
REFUSED = ["con.md", "aux.txt", "nul.md", "trailing dot./note.md", "trailing blank /note.md"]
REFUSED += ["a:b.md", 'a"b.md', "a\\b.md"]


def write(folder, name, text):
    """Write a file; raise where the system does not take its name."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def synced(vault, folder):
    report = vault.sync(folder)
    return report, {entry.span.path for entry in vault.entries({"kind": "chunk"}, limit=1_000)}


def test_every_odd_name_is_read_and_named_with_forward_slashes(tmp_path):
    folder = tmp_path / "notes of mine"
    for number, name in enumerate(NAMES):
        write(folder, name, f"# Note {number}\n\nThe text of number {number}.\n")
    with Vault(":memory:") as vault:
        generations = []
        for _ in range(2):
            assert synced(vault, folder)[1] == set(NAMES)
            generations.append(vault.stats().generation)
        # The second sync finds nothing to do.
        assert generations[0] == generations[1]


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_a_system_refuses_or_changes_is_read_as_it_is_on_the_disk(tmp_path, name):
    folder = tmp_path / "notes"
    write(folder, "plain.md", "# Plain\n\nPlain text.\n")
    with suppress(OSError):
        write(folder, name, "# Odd\n\nOdd text.\n")
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file()}
    with Vault(":memory:") as vault:
        assert synced(vault, folder)[1] == there


def test_a_long_path_is_read(tmp_path):
    folder = tmp_path / "notes"
    name = "/".join(["a-folder-with-a-long-name-" * 2] * 6) + "/note.md"
    try:
        write(folder, name, "# Long\n\nFar down.\n")
    except OSError:
        pytest.skip("this system takes no such path")
    with Vault(":memory:") as vault:
        assert synced(vault, folder)[1] == {name}


def test_lines_that_end_as_on_windows_give_the_same_chunks(tmp_path):
    text = "# Title\n\nFirst paragraph.\n\n## Part\n\n- one\n- two\n\n```\ncode\n```\n"
    chunks = []
    for ending in ("\n", "\r\n"):
        folder = tmp_path / str(len(ending))
        folder.mkdir()
        (folder / "note.md").write_bytes(text.replace("\n", ending).encode())
        with Vault(":memory:") as vault:
            vault.sync(folder, name="notes")
            entries = vault.entries({"kind": "chunk"}, limit=10)
            chunks.append([(e.title, e.span.first_line, e.description.replace("\r\n", "\n")) for e in entries])
    assert chunks[0] == chunks[1]


def test_a_file_is_found_again_by_a_path_of_the_system(tmp_path):
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "note.md").write_text("# First\n\nOne text.\n", encoding="utf-8")
    with Vault(":memory:") as vault:
        vault.sync(folder)
        (folder / "deep" / "note.md").write_text("# Second\n\nAnother text.\n", encoding="utf-8")
        vault.sync(paths=[os.fspath(folder / "deep" / "note.md")])
        assert [entry.title for entry in vault.entries({"kind": "chunk"}, limit=5)] == ["Second"]


@pytest.mark.skipif(sys.platform != "win32", reason="drives and shares are of Windows")
def test_a_folder_is_the_same_by_other_spellings(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nText.\n", encoding="utf-8")
    with Vault(":memory:") as vault:
        for spelling in (str(folder), folder.as_posix(), str(folder) + "\\", str(Path(folder / "." / "x" / ".."))):
            vault.sync(spelling)
        assert len(vault.entries({"kind": "chunk"}, limit=5)) == 1
