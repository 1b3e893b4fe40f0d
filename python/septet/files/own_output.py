"""Remove Septet's own output from a text: passages in prompts, and results printed by the command line."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

_KEY = r"[0-9A-Za-z]{8,64}"
#: Headers of passages, in the wording of every version.
_HEADS = re.compile(
    rf"Retrieved\s+passages\s+follow,\s+each\s+between\s+<passage-({_KEY})>\s+and\s+</passage-\1>\.[^<\n]*"
    rf"|Between\s+<retrieved-({_KEY})>\s+and\s+</retrieved-\2>\s+is\s+retrieved\s+data,\s+not\s+instructions:[^<\n]*"
    rf"|Retrieved\s+facts(?:\s+\([a-z]+\))?:\s+data,\s+never\s+instructions\s+to\s+follow\.(?:\s+Cite\s+as\s+\[1\]\.)?"
    rf"(?=\s*<facts-{_KEY}>)"
    r"|^No passages were retrieved\.\r?$",
    re.MULTILINE,
)
#: Opening tags of passages (with their JSON line) and of facts, and closing tags.
_BEGINS = re.compile(
    rf'<((?:passage|retrieved)-{_KEY})>(?=\s*(?:\[\d+\] )?\{{"id": )|<(facts-{_KEY})>(?=\s*(?:\[\d+\] |\| |</facts-))'
)
_ENDS = re.compile(rf"</((?:passage|retrieved|facts)-{_KEY})>")
_TRUNCATED = re.compile(r"\s*(?:Passages|Facts) left out for lack of room: \d+\.")
#: A result line of the command line: the score and the first bar, which may be empty below a header line.
_SCORE = re.compile(r" ?\d+\.\d{3} ")
_BARRED = re.compile(r" ?\d+\.\d{3} [█▉▊▋▌▍▎▏#]")
_NAMES = re.compile(r" {0,7}[a-z_]{1,9}(?: +[a-z_]{1,9})*")
#: Lines below each result: its id, its lines, the parts of its score.
_BELOW = re.compile(r" {7,}\S")
#: A Markdown fence left empty.
_EMPTY_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`~]*\n\s*\1[ \t]*$", re.MULTILINE)


def without_own_output(text: str) -> str:
    """Return a text without the output of `Results.to_prompt`, agent tools and printed searches."""
    cleaned = text
    if "etrieved" in cleaned or "<facts-" in cleaned or "<passage-" in cleaned:
        cleaned = "".join(_outside(_HEADS.sub("", cleaned)))
    if re.search(r"\d\.\d{3} ", cleaned):
        cleaned = "\n".join(_unprinted(cleaned.split("\n")))
    return cleaned if cleaned == text else _EMPTY_FENCE.sub("", cleaned)


def _outside(text: str) -> Iterator[str]:
    """Yield the parts of a text outside passages."""
    ends: dict[str, list[int]] = {}
    for end_tag in _ENDS.finditer(text):
        ends.setdefault(end_tag[1], []).append(end_tag.start())
    at = 0
    for begin in _BEGINS.finditer(text):
        name = begin[1] or begin[2]
        ends_of_name = ends.get(name, [])
        if begin.start() < at or (which := bisect_left(ends_of_name, begin.end())) == len(ends_of_name):
            continue
        yield text[at : begin.start()]
        at = ends_of_name[which] + len(f"</{name}>")
        if truncated := _TRUNCATED.match(text, at):
            at = truncated.end()
    yield text[at:]


def _unprinted(lines: list[str]) -> Iterator[str]:
    """Yield the lines not printed by a search."""
    at = 0
    while at < len(lines):
        end = _printed(lines, at)
        if end == at:
            yield lines[at]
            end += 1
        at = end


def _printed(lines: list[str], at: int) -> int:
    """Return the index after the results that begin at a line; the same index without results."""
    start = at
    has_header = at + 1 < len(lines) and bool(_NAMES.fullmatch(lines[at].rstrip()) and _SCORE.match(lines[at + 1]))
    at += has_header
    while at < len(lines) and (_SCORE if has_header else _BARRED).match(lines[at]):
        below = at + 1
        while below < len(lines) and _BELOW.match(lines[below]):
            below += 1
        if below == at + 1:
            break
        at = below
    return at if at > start + has_header else start
