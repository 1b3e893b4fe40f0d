"""The index of the pages for language models: current, in the form of llmstxt.org, and with a note for each page."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "website"))
try:
    import site_llms
finally:
    sys.path.remove(str(ROOT / "website"))

LINE = re.compile(r"- \[[^\]]+\]\(([^)]+)\): \S.*")


def test_the_index_is_that_of_the_pages():
    assert site_llms.FILE.read_text(encoding="utf-8") == site_llms.index(*site_llms.repository()), (
        "run: python website/site_llms.py"
    )


def test_it_begins_with_a_title_and_a_summary_and_ends_with_what_may_be_left_out():
    title, summary, *rest = site_llms.FILE.read_text(encoding="utf-8").split("\n\n")
    assert title == "# Septet" and re.fullmatch(r"> [^\n]+", summary)
    headings = [part for part in rest if part.startswith("## ")]
    assert len(headings) >= 6 and headings[-1] == "## Optional"


def test_every_page_is_listed_with_a_note_and_is_there():
    links = [line for line in site_llms.FILE.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
    paths = [LINE.fullmatch(line)[1] for line in links]
    assert len(set(paths)) == len(paths) and all((ROOT / path).is_file() for path in paths)
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(paths)


def test_the_full_text_has_every_page_whole_and_is_no_megabyte():
    nav, texts = site_llms.repository()
    full = site_llms.full(nav, texts)
    assert all(f"<!-- {path} -->\n\n{text.strip()}\n" in full for path, text in texts.items())
    assert len(full.encode()) < 1_000_000


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Of [a text](x.md) the first sentence, if it is long. More.", "Of a text the first sentence, if it is long."),
        ("```sh\nls\n```\n\n`code` begins this one, which is long: more.", "`code` begins this one, which is long"),
        ("| a |\n|---|", ""),
    ],
)
def test_a_note_is_how_the_first_paragraph_begins(text, note):
    made = site_llms.index([{"T": "t.md"}], {"t.md": f"# T\n\n{text}\n"})
    assert made.splitlines()[-1] == ("- [T](t.md)" + (f": {note}" if note else ""))
