"""Prints results: one line per hit, with a bar per signal; the lengths of the bars add up to the score.

Plain text; colours add no information.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from septet.cli.screen import WIDTH, Screen, StyledLine, cells, fitted
from septet.cli.terminal import flat

if TYPE_CHECKING:
    from septet.model.entry import Entry
    from septet.model.explanation import Explanation
    from septet.model.results import Hit, Results
    from septet.model.stats import Stats

#: Titles are padded to the longest of the page, up to this width.
TITLE_WIDTH = 32
#: Minimum width of titles beside the bars; on narrower terminals there are no bars.
LEAST_TITLE = 20
#: Maximum characters of the passage of a chunk, two lines.
PASSAGE_CHARS = 170
#: Score per cell of a bar: the bars of a score of 1 take 25 cells.
CELL = 0.04
#: Markers around a match, from the private use area.
MARKS = ("\ue000", "\ue001")
_BLANKS = re.compile(r"\s+")
_NO_MARKS = str.maketrans("", "", "".join(MARKS))
EIGHTHS = " ▏▎▍▌▋▊▉"

#: Heading, colour and meaning of each built-in signal, in the order of the profiles.
SIGNALS: Mapping[str, tuple[str, str, str]] = {
    "semantic": ("semantic", "cyan", "how well the words match (BM25 and letter triples)"),
    "vector": ("vector", "blue", "how near the meaning is"),
    "severity": ("sev", "red", "how important the entry says it is"),
    "temporal_decay": ("age", "yellow", "how recently the entry changed"),
    "tag_overlap": ("tags", "magenta", "tags in common with those asked for"),
    "domain_match": ("dom", "blue", "the domain asked for"),
    "graph_proximity": ("graph", "green", "links to the best matches"),
}


def one_line(text: str, width: int, *, ascii_only: bool = False) -> str:
    """Return the first paragraph of a text on one line, cut to ``width`` cells."""
    line = flat(text.strip().partition("\n\n")[0])
    return fitted(line, width, ascii_only=ascii_only)


def bar(value: float, width: int, *, ascii_only: bool = False) -> str:
    """Return a bar of ``width`` characters; a positive value takes at least an eighth of a cell."""
    eighths = min(width * 8, max(1, round(value / CELL * 8))) if value > 0 else 0
    if ascii_only:
        return ("#" * math.ceil(eighths / 8)).ljust(width)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)


def hits(out: Screen, results: Results, *, ids: bool = False, detail: bool = False) -> None:
    """Print results: a heading, then a line per hit with its bars, title and snippet.

    Args:
        ids: instead of the short snippet, print a line with the id and a longer one; for chunks of files the lines and
            a passage.
        detail: print weight × signal of each signal below each hit.
    """
    columns = _columns(results, out)
    padded = min(TITLE_WIDTH, max((cells(flat(hit.title)) for hit in results), default=0))
    _print_heading(out, columns)
    for hit in results:
        _print_titled(out, _barred(out, hit, columns), hit, padded, ids)
        if detail:
            _print_detail(out, hit, results.weights)


def passages(out: Screen, results: Results, *, detail: bool = False) -> None:
    """Print chunks of files: a line with bars and headings, and one with the lines and a passage.

    Args:
        detail: print weight × signal of each signal of the first hit.
    """
    columns, plain = _columns(results, out), out.ascii_only
    _print_heading(out, columns)
    for number, hit in enumerate(results):
        line = _barred(out, hit, columns)
        room = max(20, min(out.width, WIDTH) - line.width - 1)
        out.print(line.append(_headings(hit, room, plain), "bold"))
        cited = StyledLine("       " + flat(hit.citation or hit.id), "cyan")
        room = max(40, WIDTH - cited.width - 2)
        out.print(cited.append("  ").append(_underlined(one_line(_passage(hit, room), room + 2, ascii_only=plain))))
        if detail and not number:
            _print_detail(out, hit, {name: weight for name, weight in results.weights.items() if weight})


def legend(out: Screen, pages: Sequence[Results], meanings: Mapping[str, str]) -> None:
    """Explain the bars of several searches.

    Args:
        meanings: overrides of the general meanings of signals.
    """
    shown = {name for results in pages for name in _columns(results, out)}
    for name in (*(n for n in SIGNALS if n in shown), *sorted(shown - set(SIGNALS))):
        meaning = meanings.get(name) or SIGNALS.get(name, ("", "", "a signal of this profile"))[2]
        out.print(StyledLine(f"  {_label(name):9}", _color(name)).append(meaning))


def explanation(out: Screen, explained: Explanation) -> None:
    """Print the explanation of a rank."""
    from septet.cli.wording import in_commands

    reason, *rest = in_commands(str(explained)).split("\n")
    out.print(StyledLine(reason, "bold"))
    for line in rest:
        out.print(StyledLine(line))


def entry(out: Screen, item: Entry) -> None:
    """Print a whole entry."""
    facts = [item.kind, item.type, item.domain, item.severity, *(f"#{tag}" for tag in item.tags)]
    out.print(StyledLine(flat(item.title), "bold"))
    out.print(StyledLine(flat(item.id) + "  " + flat(" ".join(facts)), "dim"))
    if item.citation is not None:
        out.print(StyledLine(flat(item.citation), "dim"))
    for text in (item.context, item.description):
        if text:
            out.print(StyledLine("\n" + text))
    for key, value in item.attrs.items():
        out.print(StyledLine(flat(f"{key}: {value}"), "dim"))


def stats(out: Screen, counts: Stats) -> None:
    """Print the statistics of a vault."""
    # Vaults on a server share tables and have no size of their own.
    size = f"{counts.size_bytes / 1e6:.1f} MB, " if counts.size_bytes else ""
    out.print(StyledLine(f"{flat(counts.path)}  {size}generation {counts.generation}"))
    for name, value in [("entries", counts.entries), ("links", counts.links)]:
        out.print(StyledLine(f"  {name:10} {value:>10,}"))
    for title, numbers in [("kind", counts.kinds), ("feedback", counts.feedback)]:
        for name, number in numbers.items():
            out.print(StyledLine(f"  {title:10} {number:>10,}  {flat(name)}"))
    for space in counts.spaces:
        out.print(
            StyledLine(f"  {'vectors':10} {space.entries:>10,}  {flat(space.model)}, {space.dimensions} dimensions")
        )


def _print_heading(out: Screen, columns: Mapping[str, int]) -> None:
    if columns:
        names = " ".join(_label(name).ljust(width) for name, width in columns.items())
        out.print(f"       {names.rstrip()}", "dim")


def _barred(out: Screen, hit: Hit, columns: Mapping[str, int]) -> StyledLine:
    """Return the score and the bars of a hit."""
    # Hits that are listed rather than ranked have no score.
    line = StyledLine(f" {hit.score:.3f} " if hit.breakdown else " " * 7, "bold")
    for name, width in columns.items():
        shape = bar(hit.breakdown.get(name, 0.0), width, ascii_only=out.ascii_only)
        line.append(shape, _color(name)).append(" ")
    return line


def _headings(hit: Hit, width: int, plain: bool) -> str:
    """Return the title; for a chunk all headings above it, if they fit."""
    above = hit.entry.context if hit.entry is not None and hit.citation is not None else ""
    return one_line(above if above and len(above) <= width else hit.title, width, ascii_only=plain)


def _passage(hit: Hit, chars: int) -> str:
    """Return the excerpt of a chunk on one line, with matches between marks."""
    excerpt = hit.excerpt(chars - 6, marks=MARKS, escape=lambda text: _BLANKS.sub(" ", text.translate(_NO_MARKS)))
    if hit.entry is not None and excerpt.translate(_NO_MARKS).strip(". ") in hit.entry.context:
        # Do not repeat the heading.
        lines = hit.entry.description.splitlines()
        excerpt = " ".join(line for line in lines if not line.startswith("#"))
    return excerpt


def _underlined(text: str) -> StyledLine:
    """Return a text with the parts between marks underlined."""
    line = StyledLine()
    for number, part in enumerate(re.split("|".join(MARKS), text)):
        line.append(part, "underline" if number % 2 else "dim")
    return line


def _print_titled(out: Screen, line: StyledLine, hit: Hit, padded: int, ids: bool) -> None:
    plain = out.ascii_only
    available = min(out.width, WIDTH) - line.width - 1
    if ids:
        line.append(_headings(hit, max(20, available), plain), "bold")
        out.print(line)
        second = StyledLine(f"       {flat(hit.id)}", "cyan")
        if hit.citation is not None:
            out.print(second.append("  " + flat(hit.citation)))
            passage = _underlined(one_line(_passage(hit, PASSAGE_CHARS), PASSAGE_CHARS + 2, ascii_only=plain))
            for part in passage.wrapped(min(out.width, WIDTH) - 7):
                out.print(StyledLine("       ").append(part))
            return
        if described := _described(hit, WIDTH - 9 - cells(flat(hit.id)), plain):
            second.append("  " + described, "dim")
        out.print(second)
        return
    title = one_line(hit.title, max(20, available), ascii_only=plain)
    line.append(title, "bold")
    room = available - max(padded, cells(title)) - 2
    if room >= 12:
        line.append(" " * (padded - cells(title)) + "  " + _described(hit, room, plain), "dim")
    out.print(line.stripped())


def _described(hit: Hit, width: int, plain: bool) -> str:
    whole = hit.entry.description if hit.entry is not None else hit.snippet
    return one_line(whole, max(12, width), ascii_only=plain)


def _print_detail(out: Screen, hit: Hit, weights: Mapping[str, float]) -> None:
    for name, part in hit.breakdown.items():
        if name not in weights and not part:
            continue
        value = hit.signals.get(name)
        seen = "unknown" if value is None else f"{value:.4f}"
        out.print(StyledLine(f"         {name:16} {weights.get(name, 0.0):.4f} x {seen:7} = {part:.4f}", "dim"))


def _columns(results: Results, out: Screen) -> dict[str, int]:
    """Return the signals that contribute to any hit, with their column widths; empty if the bars do not fit."""
    widths = {}
    for name in dict.fromkeys(name for hit in results for name in hit.breakdown):
        most = max(hit.breakdown.get(name, 0.0) for hit in results)
        if most > 0:
            widths[name] = max(len(_label(name)), math.ceil(max(most, results.weights.get(name, 0.0)) / CELL))
    taken = 7 + sum(widths.values()) + len(widths)
    return widths if taken + LEAST_TITLE <= out.width else {}


def _label(name: str) -> str:
    return SIGNALS[name][0] if name in SIGNALS else name[:9]


def _color(name: str) -> str:
    return SIGNALS[name][1] if name in SIGNALS else ""
