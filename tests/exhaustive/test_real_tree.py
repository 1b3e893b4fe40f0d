"""Real documents: the Markdown and text files of the installed packages and of this repository, synced and cited."""

import os
import shutil
import sysconfig
from pathlib import Path

import pytest

from septet import Chunking, Vault
from septet.files.documents import document_of

ROOT = Path(__file__).parents[2]
ENDINGS = (".md", ".rst", ".txt")
#: So many bytes for the suite, and all there are when there is time.
MOST_BYTES = 1_500_000 if "SEPTET_STRESS_S" not in os.environ else 1 << 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tree")
    taken = 0
    for place, name in ((ROOT / "docs", "docs"), (Path(sysconfig.get_path("purelib")), "packages")):
        for path in sorted(place.rglob("*")):
            hidden = any(part.startswith(".") for part in path.relative_to(place).parts)
            if path.suffix in ENDINGS and path.is_file() and not hidden and taken + path.stat().st_size <= MOST_BYTES:
                copy = made / name / path.relative_to(place)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
                taken += copy.stat().st_size
    return made


@pytest.fixture(scope="module")
def vault(folder, tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("vault") / "v.db") as opened:
        report = opened.sync(folder, redact=False)
        assert report.complete and report.files_added == report.files_seen > 50
        yield opened


def test_a_second_sync_finds_nothing_to_do(vault):
    report = vault.sync()
    assert report.complete and report.count == 0 and report.files_unchanged == report.files_seen > 50


def by_file(vault):
    found, page = {}, vault.entries({"kind": "chunk"}, limit=10_000)
    while True:
        for entry in page:
            found.setdefault(entry.span.path, []).append(entry)
        if page.next is None:
            return found
        page = vault.entries({"kind": "chunk"}, limit=10_000, after=page.next)


def text_of(path):
    return path.read_bytes().decode("utf-8-sig", "replace")


def test_the_chunks_of_every_file_are_those_of_its_text(vault, folder):
    found = by_file(vault)
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        data = path.read_bytes()
        expected = [] if b"\0" in data else document_of(text_of(path), name, path.stat().st_mtime, Chunking()).chunks
        made = sorted((e.span.first_line, e.span.last_line, e.description, e.title) for e in found.pop(name, []))
        wanted = [
            (c.fields["first_line"], c.fields["last_line"], c.fields["description"], c.fields["title"])
            for c in expected
        ]
        assert made == sorted(wanted), name
    assert not found


def test_the_lines_that_a_chunk_names_hold_its_text(vault, folder):
    for name, entries in by_file(vault).items():
        lines = text_of(folder / name).split("\n")
        for entry in entries:
            cited = "\n".join(lines[entry.span.first_line - 1 : entry.span.last_line])
            # Pieces of one long line are joined by line ends that the file does not have.
            assert "".join(entry.description.split()) in "".join(cited.split()), entry.citation


def test_an_answer_cites_lines_with_the_words_that_were_asked_for(vault, folder):
    asked = 0
    for query in ("search profile weights", "embedding provider key", "license conditions", "install the package"):
        for hit in vault.search(query, limit=5):
            path, _, lines = hit.citation.partition("#L")
            first, _, last = lines.partition("-L")
            text = "\n".join(text_of(folder / path).split("\n")[int(first) - 1 : int(last or first)])
            entry = vault.get(hit.id)
            assert "".join(entry.description.split()) in "".join(text.split())
            asked += 1
    assert asked >= 10
