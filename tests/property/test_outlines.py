"""Headings and links are those that another parser of CommonMark finds, in real documents and in random ones."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import _core

markdown_it = pytest.importorskip("markdown_it")

ROOT = Path(__file__).parents[2]
#: Documents of this repository, and of the packages beside this Python.
PACKAGES = Path(pytest.__file__).parents[1]
DOCUMENTS = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *PACKAGES.rglob("*.md")})
OPENED = ("blockquote_open", "bullet_list_open", "ordered_list_open", "table_open")
CLOSED = ("blockquote_close", "bullet_list_close", "ordered_list_close", "table_close")
LINES = st.sampled_from(
    [
        *("# a", "## b #", "a", "b *c* `d`", "===", "---", "- x", "> q", "```", "    code", "", "1. o", "-->"),
        *("***", "+++", "#\tt", "####### no", "\\# e", "# e \\#", "* * *", "- # h", "  # i", "   === ", "a\\", "<p>"),
        *("| a | b |", "|---|---|", "<div>", "</div>", "![i](u) t", "[t](a.md)", "~~~", "***a**", "# [h](b.md#c)"),
        *("\u3000# j", "#\u3000k", "<!-- c"),
    ]
)


def texts_of(token):
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield " "
        elif child.type == "image":
            yield from texts_of(child)


def twin(text):
    """Return (line, path) of the headings outside lists and quotes, and the relative links, as markdown-it has them."""
    depth, above, headings, links = 0, [], [], []
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(text)
    for token, following in zip(tokens, [*tokens[1:], None]):
        depth += (token.type in OPENED) - (token.type in CLOSED)
        if token.type == "heading_open" and depth == 0:
            said = " ".join("".join(texts_of(following)).split())[:200].rstrip()
            if said:
                above = [one for one in above if one[0] < int(token.tag[1])] + [(int(token.tag[1]), said)]
                headings.append((token.map[0] + 1, [name for _, name in above]))
        children = token.children or ()
        links += [c.attrs["href"] for c in children if c.type == "link_open" and c.markup != "autolink"]
    return headings, [link for link in links if relative(link)]


def relative(link):
    return not re.match(r"[^/?#]*:|//|[\\?#]|\Z|%5C", link) and len(link) < 1_000


def compare(text):
    headings, links = twin(text)
    # So small that a chunk has one line that is not blank, or a few short ones.
    paths, parts = _core.document_chunks(text, 1, 0, "capped", "markdown")
    lines = text.split("\n")
    for _, first, last, place, _ in parts:
        line = next((n for n in range(first, last + 1) if lines[n - 1].strip()), first)
        expected = [path for begins, path in headings if begins <= line][-1:]
        assert ([paths[place]] if place >= 0 else []) == expected, line
    mentions = [(unquote(a), unquote(b)) for *_, named in parts for a, b, kind in named if kind == "link"]
    pieces = [link.partition("#") for link in links]
    expected = [(unquote(path.partition("?")[0]), unquote(anchor)) for path, _, anchor in pieces]
    assert mentions == [one for one in expected if not re.search(r"[\x00-\x1f\x7f-\x9f]", "".join(one))]


@pytest.mark.parametrize("path", DOCUMENTS[:80], ids=lambda path: path.name)
def test_headings_and_links_of_real_documents_are_those_of_another_parser(path):
    compare(path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n"))


@given(st.lists(LINES, max_size=9).map("\n".join))
def test_headings_and_links_of_random_markdown_are_those_of_another_parser(text):
    compare(text)
