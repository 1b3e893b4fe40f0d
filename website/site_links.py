"""Links of Markdown files: found outside of code, and checked as a reader of the plain files would follow them.

`python website/site_links.py` checks every Markdown file of the repository and prints what leads nowhere.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGES", "ROOT", "Link", "anchors", "broken", "links", "markdown_files", "without_code"]

ROOT = Path(__file__).resolve().parent.parent
#: Files of the repository, other than those of `docs/`, that are pages of the site.
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benches/RESULTS.md": "figures.md",
    "rust/UNSAFE.md": "unsafe.md",
}

_FENCE = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^\1\2`*~*[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
#: `](target)` or `](target "title")`; `[name]: target` at the beginning of a line; `src="target"` and the like.
_LINKS = (
    re.compile(r"\]\(\s*<?([^\s)>]+)>?(?:\s+\"[^\"]*\")?\s*\)"),
    re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?", re.MULTILINE),
    re.compile(r"<[a-z][^<>]*?\s(?:href|src|srcset)=\"([^\"]+)\"", re.DOTALL),
)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_ANCHOR = re.compile(r"<[a-z][^<>]*?\s(?:id|name)=\"([^\"]+)\"")


class Link(NamedTuple):
    """Where a link goes: the text of its target, and where that stands in the file."""

    target: str
    start: int
    end: int


def without_code(text: str) -> str:
    """Return a text of the same length in which code and comments are blanks; links have no meaning there."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    def inner(found: re.Match[str]) -> str:
        # The backticks stay: headings are read from this text too, by another function that keeps code.
        return found[1] + re.sub(r"[^\n]", " ", found[2]) + found[1]

    return _CODE.sub(inner, _COMMENT.sub(blank, _FENCE.sub(blank, text)))


def links(text: str) -> Iterator[Link]:
    """Yield the links of a Markdown text, in no order."""
    plain = without_code(text)
    for pattern in _LINKS:
        for found in pattern.finditer(plain):
            yield Link(found[1], found.start(1), found.end(1))


def anchors(text: str) -> set[str]:
    """Return the names that a fragment may have: of headings as code hosts make them, and those given in HTML."""
    found: set[str] = set(_ANCHOR.findall(without_code(text)))
    times: dict[str, int] = {}
    for heading in _HEADING.findall(_COMMENT.sub("", _FENCE.sub("", text))):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).strip().replace(" ", "-")
        number = times.get(name, 0)
        times[name] = number + 1
        found.add(f"{name}-{number}" if number else name)
    return found


def markdown_files() -> list[Path]:
    """Return the Markdown files of the repository: those that git follows or would, without git those of the docs."""
    asked = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "*.md"]
    try:
        listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")
        found = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benches").glob("*.md")]
    return sorted({path for path in found if path.is_file()})


def broken(path: Path) -> Iterator[str]:
    """Yield what is wrong with the links of a file, with the line."""
    text = path.read_text(encoding="utf-8")
    for link in links(text):
        line = text.count("\n", 0, link.start) + 1
        target, _, fragment = link.target.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        if target.startswith("/"):
            yield f"line {line}: {link.target} is absolute: write it relative to the file"
            continue
        to = (path.parent / target).resolve() if target else path
        if not to.is_relative_to(ROOT) or not to.exists():
            yield f"line {line}: {link.target} is not there"
        elif fragment and to.suffix == ".md" and fragment not in anchors(to.read_text(encoding="utf-8")):
            yield f"line {line}: {link.target}: no such heading"


def main() -> int:
    """Print the broken links of all Markdown files; return how the command ends."""
    faults = [f"{path.relative_to(ROOT)}, {fault}" for path in markdown_files() for fault in broken(path)]
    print("\n".join(faults) or f"{len(markdown_files())} files, no broken link")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
