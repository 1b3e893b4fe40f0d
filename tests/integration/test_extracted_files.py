"""PDF and HTML files are read with the extra `files`: pages and lines to cite, and what is wrong with one costs it."""

import io
import os
import sys

import pytest

pytest.importorskip("pypdf", reason="reads PDF, of the extra `files`")
pytest.importorskip("lxml", reason="reads HTML, of the extra `files`")

from pypdf import PdfReader, PdfWriter

from integration.test_sources import agrees
from septet import Chunking, Vault
from septet.files import extracting
from septet.files.extracting import extracted
from septet.files.roots import root_at

HTML = """<!doctype html>
<html><head><title>All about tea</title><style>p { color: red }</style></head>
<body>
<nav><a href="index.html">Home</a></nav>
<h1>Tea</h1>
<p>Water that <b>boi</b>ls makes green tea
bitter. The pot is described in <a href="deep/the%20pot.html">pottery</a>.</p>
<h2>Steeping &amp; time</h2>
<ul><li>green: two minutes<li>black: four minutes</ul>
<pre># no heading
  steep()</pre>
<table><tr><th>tea<th>degrees<tr><td>green<td>80</table>
<script>var hidden = "<p>unseen</p>"</script>
</body></html>
"""


def pdf(*pages, title=None):
    """A PDF of pages of one line each; of None one that cannot be read."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for text in pages:
        stream = b"noise" if text is None else f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 "
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>" % (len(objects) + 2)
        )
        filtered = b" /Filter /NoSuch" if text is None else b""
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(stream), filtered, stream))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(pages),
        b" ".join(b"%d 0 R" % kid for kid in kids),
    )
    if title is not None:
        objects.append(f"<< /Title ({title}) >>".encode())
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    xref = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    info = b" /Info %d 0 R" % len(objects) if title is not None else b""
    out.write(b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, info, xref))
    return out.getvalue()


def locked(data, user, owner="owner"):
    writer, out = PdfWriter(), io.BytesIO()
    for page in PdfReader(io.BytesIO(data)).pages:
        writer.add_page(page)
    writer.encrypt(user, owner, algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


@pytest.fixture
def notes(tmp_path):
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    return tmp_path / "notes"


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as made:
        yield made


@pytest.fixture
def without(monkeypatch):
    for package in ("pypdf", "lxml"):
        monkeypatch.setitem(sys.modules, package, None)
    return monkeypatch


def remarks(report):
    """By path, all that the report says of a file, and whether it is taken all the same."""
    paths = {one.path: one.taken for one in report.skipped}
    return {p: ("; ".join(one.reason for one in report.skipped if one.path == p), paths[p]) for p in paths}


def test_a_pdf_is_cited_by_its_pages(vault, notes):
    pages = ["Herons stand still.", "Otters sleep in the reeds.", "Moles dig below the weir."]
    (notes / "river.pdf").write_bytes(pdf(*pages, title="The river"))
    report = vault.sync(notes)
    assert report.files_added == 1 and not report.skipped and not report.skipped_kinds
    (entry,) = vault
    assert entry.citation == "river.pdf#p1-p3" and entry.title == "The river"
    vault.sync(notes, chunking=Chunking(tokens=8, overlap=0))
    assert [hit.citation for hit in vault.search("otters asleep in reeds", limit=1)] == ["river.pdf#p2"]


def test_html_is_cut_by_its_headings_and_cited_by_its_lines(vault, notes):
    (notes / "tea.html").write_text(HTML, encoding="utf-8")
    (notes / "deep" / "the pot.html").write_text("<h1>Pot</h1><p>It is blue.", encoding="utf-8")
    vault.sync(notes, chunking=Chunking(tokens=30, overlap=0))
    own = sorted((e for e in vault if e.span.path == "tea.html"), key=lambda e: e.span.first_line)
    assert [(one.title, one.citation) for one in own] == [
        ("Tea", "tea.html#L5-L6"),
        ("Steeping & time", "tea.html#L8-L12"),
        ("Steeping & time", "tea.html#L12"),
    ]
    text = "\n".join(one.description for one in own)
    for said in ("boils makes green tea bitter", "- green: two minutes", "# no heading\n  steep()", "green | 80"):
        assert said in text
    for unsaid in ("Home", "hidden", "unseen", "color"):
        assert unsaid not in text
    links = [link for one in own for link in vault.links(one.id) if link.type == "mentions"]
    assert [vault.get(link.target).span.path for link in links] == ["deep/the pot.html"]


@pytest.mark.parametrize(
    "data",
    [
        "<title>T</title><p>Straße".encode(),
        "<p>Straße".encode("latin-1"),
        "<meta charset='iso-8859-1'><p>Straße".encode("latin-1"),
        "<p>Straße".encode("utf-16"),
        "<?xml version='1.0' encoding='utf-8'?><html xmlns='http://www.w3.org/1999/xhtml'><p>Straße</p></html>".encode(),
        "<nav>menu</nav><main><p>Straße</p></main><footer>imprint</footer>".encode(),
        "<!-- no --><p>Stra<!-- no -->ße<template>no</template>".encode(),
    ],
)
def test_html_is_read_in_its_encoding_and_without_what_is_no_text(data):
    assert extracted(data, ".html").text == "Straße"


def test_one_that_is_encrypted_or_damaged_costs_itself_alone_and_is_read_once(vault, notes):
    fine = pdf("Herons stand still.")
    files = {
        "locked.pdf": locked(fine, "secret"),
        "open.pdf": locked(fine, ""),
        "cut.pdf": fine[: len(fine) // 3],
        "noise.pdf": b"\x00\xff noise" * 50,
        "empty.pdf": b"",
        "picture.pdf": pdf(""),
        "page.pdf": pdf("Otters sleep.", None, "Moles dig."),
        "binary.html": b"\0\1\2",
        "empty.html": b"",
        "deep.html": b"<div>" * 5_000 + b"x",
        "fine.md": b"# Fine\n",
    }
    for name, data in files.items():
        (notes / name).write_bytes(data)
        os.utime(notes / name, (1, 1))
    report = vault.sync(notes)
    said = remarks(report)
    left = {"locked.pdf": "encrypted", "cut.pdf": "damaged", "noise.pdf": "damaged", "empty.pdf": "damaged"}
    assert {name: reason for name, (reason, taken) in said.items() if not taken} == {**left, "binary.html": "binary"}
    assert "pictures" in said["picture.pdf"][0] and "2" in said["page.pdf"][0] and "deep" in said["deep.html"][0]
    assert report.complete and {e.span.path for e in vault} == {"open.pdf", "page.pdf", "fine.md"}
    again = vault.sync()
    assert again.files_unchanged == len(files) and remarks(again) == said and not again.bytes
    assert vault.sync_status().in_step


def test_size_pages_text_and_time_are_bounded(monkeypatch):
    long = pdf(*(f"Page {number} of many." for number in range(1, 9)))
    monkeypatch.setattr(extracting, "MOST_PAGES", 3)
    made = extracted(long, ".pdf")
    assert set(made.places) == {1, 2, 3} and "of its 8 pages the first 3" in made.problems[0]
    monkeypatch.setattr(extracting, "MOST_CHARS", 20)
    assert set(extracted(long, ".pdf").places) == {1}
    monkeypatch.setattr(extracting, "MOST_S", -1.0)
    assert "the first 0" in extracted(long, ".pdf").problems[0]
    assert extracted(HTML.encode(), ".html") == "too_large"
    monkeypatch.setattr(extracting, "MOST_PDF_BYTES", 100)
    monkeypatch.setattr(extracting, "MOST_HTML_BYTES", 100)
    assert extracted(long, ".pdf") == extracted(HTML.encode(), ".html") == "too_large"


def test_secrets_are_masked_in_them_too(vault, notes):
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    (notes / "a.pdf").write_bytes(pdf(f"The key is {secret}.", title=f"Key {secret}"))
    (notes / "b.html").write_text(f"<title>{secret}</title><p>{secret}</p>", encoding="utf-8")
    assert vault.sync(notes).redacted == {"github": 2}
    assert len(vault) == 2 and not any(secret in str(entry.to_dict()) for entry in vault)


def test_without_the_extra_they_are_counted_and_the_hint_names_it(vault, notes, without):
    (notes / "a.md").write_text("# A\n", encoding="utf-8")
    for name in ("a.pdf", "deep/b.PDF", "c.html", "d.htm"):
        (notes / name).write_bytes(b"-")
    report = vault.sync(notes)
    assert report.skipped_kinds == {"pdf": 2, "htm": 1, "html": 1} and not report.skipped and report.files_seen == 1
    assert "skipped 2 pdf, 1 htm, 1 html (pip install 'septet[files]' reads pdf, html, htm) in " in str(report)
    status = vault.sync_status()
    assert status.in_step and status.roots[0].skipped_kinds["pdf"] == 2 and not status.roots[0].skipped
    report = vault.sync(paths=[notes / "a.pdf"])
    assert "pip install 'septet[files]'" in report.skipped[0].reason and report.files_seen == 0
    agrees(root_at(notes))


def test_what_was_read_of_them_stays_while_the_extra_is_not_there(vault, notes, monkeypatch):
    (notes / "a.pdf").write_bytes(pdf("Herons stand still."))
    (notes / "b.pdf").write_bytes(pdf("Otters sleep."))
    vault.sync(notes)
    ids = {entry.id for entry in vault}
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pypdf", None)
        (notes / "a.pdf").touch()
        for report in (vault.sync(), vault.sync(paths=[notes / "a.pdf"]), vault.sync(notes, force=True)):
            assert not report.files_removed and not report.chunks_removed
        assert {entry.id for entry in vault} == ids and vault.sync_status().in_step
        (notes / "b.pdf").unlink()
        assert vault.sync().files_removed == 1
    assert vault.sync().complete and len(vault) == 1


def test_they_come_in_when_the_extra_is_installed(vault, notes, monkeypatch):
    (notes / "a.pdf").write_bytes(pdf("Herons stand still."))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pypdf", None)
        assert vault.sync(notes).files_seen == 0
    assert vault.sync_status().roots[0].new == ("a.pdf",)
    assert vault.sync().files_added == 1 and vault.search("herons")[0].citation == "a.pdf#p1"


def test_links_and_a_single_file_are_read_too(vault, notes, tmp_path):
    (notes / "a.pdf").write_bytes(pdf("Herons stand still."))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "linked.pdf").symlink_to(notes / "a.pdf")
    assert vault.sync(tmp_path / "other", follow_symlinks=True).files_added == 1
    assert vault.sync(notes / "a.pdf").files_added == 1
    assert {entry.citation for entry in vault} == {"linked.pdf#p1", "a.pdf#p1"}
    agrees(root_at(notes))
