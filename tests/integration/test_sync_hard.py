"""Folders as they are found: files that change while they are read, that cannot be read, and that are no text."""

import os
import threading

import pytest

from children import ROOT, Busy
from septet import Vault
from septet.files.steady import print_of, read_steadily
from synced import fresh, ids, paths, picture

needs_root = pytest.mark.skipif(not ROOT, reason="permissions bind root only after it has stepped down")


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "birds").mkdir(parents=True)
    (folder / "herons.md").write_text("# Herons\n\nHerons stand in shallow water.\n", encoding="utf-8")
    (folder / "birds" / "owls.md").write_text("# Owls\n\nOwls hunt at night, unlike [[herons]].\n", encoding="utf-8")
    return folder


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.septet") as made:
        yield made


# -- files that change while they are read ---------------------------------------------------------------------------


def version(n):
    return "".join(f"# Part {part} of version {n}\n\n" + f"version {n} " * 150 + "\n\n" for part in range(8))


def versions(vault):
    return {word for e in vault for word in e.description.split() if word.isdigit() and int(word) > 99}


def test_a_file_that_is_replaced_all_the_time_is_in_the_vault_as_one_of_its_versions(vault, notes):
    path, beside = notes / "page.md", notes / "page.tmp"
    path.write_text(version(100), encoding="utf-8")
    vault.sync(notes)

    def replace(turn):
        beside.write_text(version(101 + turn), encoding="utf-8")
        beside.replace(path)

    with Busy(replace):
        for _ in range(30):
            assert vault.sync().complete
            assert len(versions(vault)) == 1
            found = {word for e in vault.load(vault.search("version", limit=50).ids) for word in e.description.split()}
            assert len({word for word in found if word.isdigit() and int(word) > 99}) == 1
    vault.sync()
    assert picture(vault) == fresh(notes)


def test_a_file_that_is_written_in_place_is_told_while_it_changes_and_as_it_is_when_that_ends(vault, notes):
    path = notes / "log.md"
    path.write_text("# Log\n\n", encoding="utf-8")
    vault.sync(notes)

    def write(turn):
        with path.open("r+" if turn % 50 else "w", encoding="utf-8") as file:
            file.seek(0, os.SEEK_END)
            file.write(f"Line {turn} of the log of herons.\n" * 20)

    with Busy(write):
        for _ in range(40):
            report = vault.sync()
            assert report.complete and {one.reason for one in report.skipped} <= {"changing"}
            assert {"herons.md", "birds/owls.md"} <= set(paths(vault))
    vault.sync()
    assert picture(vault) == fresh(notes)


def test_files_that_come_grow_and_go_during_a_sync_are_right_after_the_next(vault, notes):
    for n in range(80):
        (notes / f"n{n}.md").write_text(f"# Note {n}\n\nA note.\n", encoding="utf-8")

    def stir(turn):
        with (notes / f"n{turn % 80}.md").open("a", encoding="utf-8") as file:
            file.write(f"More of it, {turn}.\n")
        (notes / f"m{turn % 50}.md").write_text(f"# New {turn}\n", encoding="utf-8")
        (notes / f"m{(turn + 25) % 50}.md").unlink(missing_ok=True)

    with Busy(stir):
        for _ in range(5):
            report = vault.sync(notes)
            assert {one.reason for one in report.skipped} <= {"vanished", "changing"}
            assert len([path for path in paths(vault) if path.startswith("n")]) >= 80 - len(report.skipped)
    assert vault.sync().complete
    assert picture(vault) == fresh(notes)


def test_a_file_that_moves_between_folders_during_a_sync_never_loses_its_chunks(vault, notes):
    folders = [notes / "a", notes / "z"]
    for folder in folders:
        folder.mkdir()
        for n in range(80):
            (folder / f"still{n}.md").write_text(f"# Still {folder.name} {n}\n", encoding="utf-8")
    (folders[0] / "moving.md").write_text("# Moving\n\nIt is moved all the time.\n", encoding="utf-8")
    vault.sync(notes)
    (moving,) = [e for e in vault if e.title == "Moving"]

    for turn in range(40):
        mover = threading.Timer(
            turn / 40 * 0.008, (folders[turn % 2] / "moving.md").rename, [folders[1 - turn % 2] / "moving.md"]
        )
        mover.start()
        vault.sync()
        mover.join()
        assert moving.id in vault
    vault.sync()
    assert picture(vault) == fresh(notes)


# -- files that are no text, or not such as people write -------------------------------------------------------------


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_mark_at_the_beginning_says_how_a_text_is_encoded(vault, notes, codec):
    mark = "\ufeff" if codec.endswith(("le", "be")) else ""
    (notes / "marked.md").write_bytes(f"{mark}# Dưới cầu\r\n\r\nDie Störche 😀 stehen.\r\n".encode(codec))
    report = vault.sync(notes)
    assert not report.skipped
    (entry,) = [e for e in vault if e.span.path == "marked.md"]
    assert entry.title == "Dưới cầu" and "Störche 😀" in entry.description
    assert vault.sync().count == 0


@pytest.mark.parametrize(
    ("content", "reason", "chunks"),
    [
        (b"", None, 0),
        (b" \n\t\n\n", None, 0),
        (b"---\ntitle: Nothing else\n---\n", None, 1),
        (b"---\ntitle: Nothing else\n---", None, 1),
        (b"\xef\xbb\xbf", None, 0),
        (b"\xff\xfe", None, 0),
        (b"text before\0 and behind", "binary", 0),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", 0),
        (b"\xff\xfe" + bytes(range(256)) * 3, "binary", 0),
        ("no mark".encode("utf-16-le"), "binary", 0),
        (b"caf\xe9 and na\xefve", "not UTF-8 from byte 3", 1),
        (b"\xc3\x28 \xed\xa0\x80 \xf4\x90\x80\x80", "not UTF-8 from byte 0", 1),
        (b"\x1b[31mred\x1b[0m \x07\x08", None, 1),
        (b"\r\r\r\n\r", None, 0),
        (b"one\rtwo\r\nthree\n", None, 1),
    ],
)
def test_what_is_in_a_file_costs_no_other_file(vault, notes, content, reason, chunks):
    (notes / "odd.md").write_bytes(content)
    report = vault.sync(notes)
    said = {one.path: one.reason for one in report.skipped}
    assert report.complete and (said == {} if reason is None else said["odd.md"].startswith(reason))
    assert len([e for e in vault if e.span.path == "odd.md"]) == chunks
    assert {"herons.md", "birds/owls.md"} <= set(paths(vault))
    again = vault.sync()
    assert (again.count, {one.path: one.reason for one in again.skipped}) == (0, said)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("line.md", "the heron waits in the reeds " * 40_000),
        ("word.md", "heron" * 200_000),
        ("lines.md", "a line of herons\n" * 60_000),
        ("blank.md", "heron\n" + "\n" * 1_000_000),
        ("headings.md", "".join(f"# heron {n}\n\ntext {n}\n" for n in range(25_000))),
        ("deep.md", "".join(f"{'#' * (n % 6 + 1)} heron {n}\n" for n in range(25_000))),
        ("brackets.md", "heron " + "[" * 300_000),
        ("links.md", "heron [[herons]] " * 8_000),
        ("quotes.md", "heron " + "> " * 100_000),
        ("stars.md", "heron " + "*a " * 100_000),
        ("list.md", "".join(f"{'  ' * (n % 200)}- heron {n}\n" for n in range(5_000))),
        ("front.md", "---\nheron: " + "[" * 50_000 + "\n---\n"),
    ],
)
def test_a_file_of_any_shape_and_size_is_indexed_whole(vault, notes, name, content):
    path = notes / name
    path.write_text(content, encoding="utf-8")
    assert vault.sync(notes).complete
    own = [e for e in vault if e.span.path == name]
    assert "heron" in "".join(e.description for e in own)
    assert max(e.span.last_line for e in own) <= content.count("\n") + 1

    with path.open("a", encoding="utf-8") as file:
        file.write("\n\nAnd a loon at its end.\n")
    vault.sync()
    assert [e for e in vault if "a loon at its end" in e.description]
    path.unlink()
    vault.sync()
    assert paths(vault) == ["birds/owls.md", "herons.md"]


def test_a_file_that_is_too_large_is_told_and_stays_as_it_was(vault, notes):
    path = notes / "herons.md"
    vault.sync(notes)
    before = ids(vault)
    os.truncate(path, 257 << 20)
    report = vault.sync()
    assert [(one.path, one.reason[:19]) for one in report.skipped] == [("herons.md", "larger than 256 MiB")]
    assert ids(vault) == before
    path.write_text("# Herons\n\nShorter again.\n", encoding="utf-8")
    assert not vault.sync().skipped
    assert picture(vault) == fresh(notes)


@pytest.mark.parametrize("seconds", [-(2**31), -1, 0, 1, 2**31, 2**33, 2**34, 10**12])
def test_a_time_of_change_may_be_any(vault, notes, seconds):
    for path in (notes / "herons.md", notes / "birds" / "owls.md"):
        os.utime(path, (seconds, seconds))
    assert vault.sync(notes).files_added == 2
    assert vault.sync().count == 0
    (notes / "herons.md").write_text("# Herons\n\nAnother text.\n", encoding="utf-8")
    os.utime(notes / "herons.md", (seconds + 1, seconds + 1))
    vault.sync()
    assert picture(vault) == fresh(notes)


# -- what cannot be read ---------------------------------------------------------------------------------------------


@needs_root
def test_a_file_that_becomes_a_link_or_a_pipe_after_the_look_is_not_followed_and_not_waited_for(tmp_path, notes):
    secret = tmp_path / "secret"
    secret.write_text("what is outside", encoding="utf-8")
    (notes / "link.md").symlink_to(secret)
    os.mkfifo(notes / "pipe.md")
    for name in ("link.md", "pipe.md"):
        assert read_steadily(str(notes / name)) == print_of(str(notes / name)) == "unreadable"
    # A folder above it may become a link as well.
    (notes / "swapped").symlink_to(tmp_path, target_is_directory=True)
    for path in ("swapped/secret", "swapped/notes/herons.md"):
        assert (notes / path).is_file()
        assert read_steadily(str(notes / path)) == print_of(str(notes / path)) == "unreadable"
    assert read_steadily(str(notes / "herons.md")).data.startswith(b"# Herons")
    assert read_steadily(str(notes / "none.md")) == print_of(str(notes / "none.md")) == "vanished"
