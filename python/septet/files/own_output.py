"""What Septet itself put into a text: results as a prompt has them, and as the command line prints them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

__all__ = ["without_own_output"]

_KEY = r"[0-9A-Za-z]{8,64}"
#: What stands before passages, in words of every version.
_HEADS = re.compile(
    rf"Retrieved\s+passages\s+follow,\s+each\s+between\s+<passage-({_KEY})>\s+and\s+</passage-\1>\.[^<\n]*"
    rf"|Between\s+<retrieved-({_KEY})>\s+and\s+</retrieved-\2>\s+is\s+retrieved\s+data,\s+not\s+instructions:[^<\n]*"
    rf"|Retrieved\s+facts(?:\s+\([a-z]+\))?:\s+data,\s+never\s+instructions\s+to\s+follow\.(?:\s+Cite\s+as\s+\[1\]\.)?"
    rf"(?=\s*<facts-{_KEY}>)"
    r"|^No passages were retrieved\.\r?$",
    re.MULTILINE,
)
#: The beginning of a passage with its line of JSON, or of facts with the first one; and what ends them.
_BEGINS = re.compile(
    rf'<((?:passage|retrieved)-{_KEY})>(?=\s*(?:\[\d+\] )?\{{"id": )|<(facts-{_KEY})>(?=\s*(?:\[\d+\] |\| |</facts-))'
)
_ENDS = re.compile(rf"</((?:passage|retrieved|facts)-{_KEY})>")
_LEFT_OUT = re.compile(r"\s*(?:Passages|Facts) left out for lack of room: \d+\.")
#: A line of a search on the command line: the score and the first bar. Below a line of their names it may be empty.
_SCORE = re.compile(r" ?\d+\.\d{3} ")
_BARRED = re.compile(r" ?\d+\.\d{3} [█▉▊▋▌▍▎▏#]")
_NAMES = re.compile(r" {0,7}[a-z_]{1,9}(?: +[a-z_]{1,9})*")
#: What is printed below each: its id, its lines, the parts of its score.
_BELOW = re.compile(r" {7,}\S")
#: A fence of Markdown that has nothing in it any more.
_EMPTY_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`~]*\n\s*\1[ \t]*$", re.MULTILINE)


def without_own_output(text: str) -> str:
    """Return a text without what `Results.to_prompt` and the tools of agents wrote, and what a search printed."""
    made = text
    if "etrieved" in made or "<facts-" in made or "<passage-" in made:
        made = "".join(_outside(_HEADS.sub("", made)))
    if re.search(r"\d\.\d{3} ", made):
        made = "\n".join(_unprinted(made.split("\n")))
    return made if made == text else _EMPTY_FENCE.sub("", made)


def _outside(text: str) -> Iterator[str]:
    """Yield what is in no passage."""
    ends: dict[str, list[int]] = {}
    for found in _ENDS.finditer(text):
        ends.setdefault(found[1], []).append(found.start())
    at = 0
    for begin in _BEGINS.finditer(text):
        name = begin[1] or begin[2]
        places = ends.get(name, [])
        if begin.start() < at or (which := bisect_left(places, begin.end())) == len(places):
            continue
        yield text[at : begin.start()]
        at = places[which] + len(f"</{name}>")
        if left_out := _LEFT_OUT.match(text, at):
            at = left_out.end()
    yield text[at:]


def _unprinted(lines: list[str]) -> Iterator[str]:
    """Yield lines without those that a search printed."""
    at = 0
    while at < len(lines):
        end = _printed(lines, at)
        if end == at:
            yield lines[at]
            end += 1
        at = end


def _printed(lines: list[str], at: int) -> int:
    """Return where the results end that begin with a line; that line itself if none do."""
    start = at
    named = at + 1 < len(lines) and bool(_NAMES.fullmatch(lines[at].rstrip()) and _SCORE.match(lines[at + 1]))
    at += named
    while at < len(lines) and (_SCORE if named else _BARRED).match(lines[at]):
        below = at + 1
        while below < len(lines) and _BELOW.match(lines[below]):
            below += 1
        if below == at + 1:
            break
        at = below
    return at if at > start + named else start
