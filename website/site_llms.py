"""`llms.txt` and `llms-full.txt` for language models: an index of the pages, and their texts in one file (llmstxt.org).

`python website/site_llms.py` writes `llms.txt` of the repository anew, whose links lead to its files. A site gets both,
and each page as Markdown beside its HTML; `llms-full.txt` is not committed, as the pages are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import site_links

__all__ = ["FILE", "Section", "full", "index", "repository", "sections"]

ROOT = site_links.ROOT
FILE = ROOT / "llms.txt"
#: Groups of the navigation that a reader may leave out.
OPTIONAL = ("Benchmarks", "Project")
SUMMARY = (
    "Hybrid retrieval over knowledge in one SQLite file, embedded in a Python process: full text, TF-IDF, vectors and "
    "the facts about an entry in one explained score, without a server or a key."
)
INTRO = """Install with `pip install septet`, or try it with `uvx --from 'septet[cli]' septet demo`. An agent that
writes code with Septet begins with its skill, which is in the wheel: `python -c "from importlib.resources import files;
print(files('septet') / '.agents/skills/septet/SKILL.md')"`. Examples run as shown, in the order of their page."""
#: Blocks of Markdown that are no paragraph.
_OTHER = re.compile(r"#|```|<|\||!|[-*] |\d+\. |\s")
#: A note ends with the first sentence that reaches this many characters.
NOTE = 30


class Section(NamedTuple):
    """A heading, and pages as title and path."""

    title: str
    pages: tuple[tuple[str, str], ...]


def sections(nav: list[Any]) -> list[Section]:
    """Return the groups of a navigation of MkDocs; pages that stand alone are the first, optional ones the last."""
    alone, groups, optional = [], [], []
    for entry in nav:
        ((title, below),) = entry.items()
        if isinstance(below, str):
            alone.append((title, below))
            continue
        # A list in a group holds pages of the API, whose texts only the builder of the site knows.
        pages = [(name, path) for page in below for name, path in page.items() if isinstance(path, str)]
        if title in OPTIONAL:
            optional += pages
        else:
            groups.append(Section(title, tuple(pages)))
    return [Section("First", tuple(alone)), *groups, Section("Optional", tuple(optional))]


def index(nav: list[Any], texts: Mapping[str, str]) -> str:
    """Return `llms.txt`.

    Args:
        nav: the navigation of MkDocs.
        texts: Markdown by path; pages that it lacks are left out.
    """
    parts = [f"# Septet\n\n> {SUMMARY}\n\n{INTRO}\n"]
    for section in sections(nav):
        lines = [f"- [{title}]({path}){_about(texts[path])}" for title, path in section.pages if path in texts]
        if lines:
            parts.append(f"## {section.title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def full(nav: list[Any], texts: Mapping[str, str]) -> str:
    """Return `llms-full.txt`: the same beginning, then each page below a line that names it."""
    parts = [f"# Septet\n\n> {SUMMARY}\n\n{INTRO}\n"]
    for section in sections(nav):
        parts += [f"<!-- {path} -->\n\n{texts[path].strip()}\n" for _, path in section.pages if path in texts]
    return "\n".join(parts)


def _about(text: str) -> str:
    """Return the first sentences of a page as the note of its link."""
    blocks = (block for block in re.split(r"\n{2,}", text) if block and not _OTHER.match(block))
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(next(blocks, "").split())).replace("**", "")
    note = ""
    for sentence in re.findall(r".+?(?:[.:?](?=\s|$)|$)", plain):
        note += sentence
        if len(note) >= NOTE:
            break
    return f": {note.strip().rstrip(':')}" if note else ""


def repository() -> tuple[list[Any], dict[str, str]]:
    """Return the navigation in paths of the repository, and the texts of the files that it has."""
    nav = list(_nav((ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    paths = [path for section in sections(nav) for _, path in section.pages]
    return nav, {path: (ROOT / path).read_text(encoding="utf-8") for path in paths if (ROOT / path).is_file()}


def _nav(settings: str) -> Iterator[Any]:
    """Yield the entries of `nav`, which is the last of the settings; others have tags that only MkDocs reads."""
    group: list[Any] = []
    for indent, title, path in re.findall(r"^( +)- ([^:\n]+): ?(.*)$", settings.partition("\nnav:\n")[2], re.MULTILINE):
        page = {title: _place(path)}
        if len(indent) > 2:
            group.append(page)
        elif path:
            yield page
        else:
            group = []
            yield {title: group}


def _place(page: str) -> str:
    """Return the path of a page in the repository."""
    return next((path for path, name in site_links.PAGES.items() if name == page), f"docs/{page}")


if __name__ == "__main__":
    FILE.write_text(index(*repository()), encoding="utf-8")
