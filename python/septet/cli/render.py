"""How results look: one line per hit, with a bar per signal; the lengths of the bars add up to the score.

Everything is plain text. Terminals add colour, but no information is in the colour alone.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.text import Text

from septet.cli.terminal import flat, harmless, unguarded
from septet.entry import Entry
from septet.explanation import Explanation
from septet.results import Hit, Results
from septet.stats import Stats

__all__ = [
    "SIGNALS",
    "bar",
    "console",
    "entry",
    "explanation",
    "hits",
    "legend",
    "one_line",
    "passages",
    "progress",
    "stats",
]

WIDTH = 100
#: Titles are padded to the longest of the page, up to this width.
TITLE_WIDTH = 32
#: So much of a chunk is shown below its lines: two lines.
PASSAGE_CHARS = 170
#: The score that one cell of a bar stands for: the bars of a score of 1 are 25 cells long.
CELL = 0.04
#: What stands around a match before it is shown: characters that no text needs.
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


class _Harmless(Console):
    """A console that makes harmless what it shows. Its own colours and cursor movements pass."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(harmless(segment.text), segment.style)


def console(stream: TextIO, *, color: bool = True) -> Console:
    """Return a console; it writes plain text if piped, if NO_COLOR is set, or without ``color``."""
    wanted = color and not os.environ.get("NO_COLOR") and stream.isatty()
    system = "auto" if wanted else None
    return _Harmless(
        file=unguarded(stream),
        color_system=system,  # type: ignore[arg-type]
        width=None if stream.isatty() else WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def one_line(text: str, width: int, *, ascii_only: bool = False) -> str:
    """Return the first paragraph of a text on one line, cut to a width."""
    line = flat(text.strip().partition("\n\n")[0])
    if len(line) <= width:
        return line
    return line[: max(0, width - 3)].rstrip() + "..." if ascii_only else line[: max(0, width - 1)].rstrip() + "…"


def bar(value: float, width: int, *, ascii_only: bool = False) -> str:
    """Return a bar of ``width`` characters; a value above 0 shows at least a sliver."""
    eighths = min(width * 8, max(1, round(value / CELL * 8))) if value > 0 else 0
    if ascii_only:
        return ("#" * math.ceil(eighths / 8)).ljust(width)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)


def hits(out: Console, results: Results, *, ids: bool = False, detail: bool = False) -> None:
    """Print results: a heading, then a line per hit with its bars, title and snippet.

    Args:
        ids: add a line with the id and a longer snippet, instead of the short one after the title; of a chunk of a file
            also its lines, and below them what they say about the query.
        detail: print weight × signal of each signal below each hit.
    """
    columns = _columns(results)
    padded = min(TITLE_WIDTH, max((len(hit.title) for hit in results), default=0))
    head = Text("       ")
    for name, width in columns.items():
        head.append(_label(name).ljust(width) + " ")
    out.print(Text(head.plain.rstrip()), style="dim")
    for hit in results:
        _print_titled(out, _barred(out, hit, columns), hit, padded, ids)
        if detail:
            _print_detail(out, hit, results.weights)


def passages(out: Console, results: Results, *, detail: bool = False) -> None:
    """Print chunks of files: the bars of each with its headings, and below them its lines and what they say.

    Args:
        detail: print weight × signal of each signal of the first one.
    """
    columns, plain = _columns(results), _ascii(out)
    head = " ".join(_label(name).ljust(width) for name, width in columns.items())
    out.print(Text(f"       {head.rstrip()}"), style="dim")
    for number, hit in enumerate(results):
        line = _barred(out, hit, columns)
        room = max(20, min(out.width, WIDTH) - line.cell_len - 1)
        out.print(line.append(_headings(hit, room, plain), style="bold"))
        cited = Text("       " + flat(hit.citation or hit.id), style="cyan")
        room = max(40, WIDTH - cited.cell_len - 2)
        out.print(cited.append("  ").append(_marked(one_line(_said(hit, room), room + 2, ascii_only=plain))))
        if detail and not number:
            _print_detail(out, hit, {name: weight for name, weight in results.weights.items() if weight})


def legend(out: Console, pages: Sequence[Results], said: Mapping[str, str]) -> None:
    """Explain the bars of several searches once.

    Args:
        said: what signals mean here, where that differs from their general meaning.
    """
    shown = {name for results in pages for name in _columns(results)}
    for name in (*(n for n in SIGNALS if n in shown), *sorted(shown - set(SIGNALS))):
        meaning = said.get(name) or SIGNALS.get(name, ("", "", "a signal of this profile"))[2]
        out.print(Text(f"  {_label(name):9}", style=_color(name)).append(meaning, style="default"))


def explanation(out: Console, found: Explanation) -> None:
    """Print why an entry ranks where it does."""
    reason, *rest = str(found).split("\n")
    out.print(Text(reason, style="bold"))
    for line in rest:
        out.print(Text(line))


def entry(out: Console, found: Entry) -> None:
    """Print a whole entry."""
    facts = [found.kind, found.type, found.domain, found.severity, *(f"#{tag}" for tag in found.tags)]
    out.print(Text(flat(found.title), style="bold"))
    out.print(Text(flat(found.id) + "  " + flat(" ".join(facts)), style="dim"))
    if found.citation is not None:
        out.print(Text(flat(found.citation), style="dim"))
    for text in (found.context, found.description):
        if text:
            out.print(Text("\n" + text))
    for key, value in found.attrs.items():
        out.print(Text(flat(f"{key}: {value}"), style="dim"))


def stats(out: Console, found: Stats) -> None:
    """Print what a vault holds."""
    out.print(Text(f"{flat(found.path)}  {found.size_bytes / 1e6:.1f} MB, generation {found.generation}"))
    for name, value in [("entries", found.entries), ("links", found.links)]:
        out.print(Text(f"  {name:10} {value:>10,}"))
    for title, counts in [("kind", found.kinds), ("feedback", found.feedback)]:
        for name, number in counts.items():
            out.print(Text(f"  {title:10} {number:>10,}  {flat(name)}"))
    for space in found.spaces:
        out.print(Text(f"  {'vectors':10} {space.entries:>10,}  {flat(space.model)}, {space.dimensions} dimensions"))


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a progress bar on standard error if it is a terminal; otherwise yield None."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(40), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as shown:
        task = shown.add_task(label, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def _barred(out: Console, hit: Hit, columns: Mapping[str, int]) -> Text:
    """Return the beginning of a hit's line: its score and its bars."""
    line = Text(f" {hit.score:.3f} ", style="bold")
    for name, width in columns.items():
        shape = bar(hit.breakdown.get(name, 0.0), width, ascii_only=_ascii(out))
        line.append(shape, style=_color(name)).append(" ")
    return line


def _headings(hit: Hit, width: int, plain: bool) -> str:
    """Return the title, or, of a chunk with headings above its own and room for them, all of them."""
    above = hit.entry.context if hit.entry is not None and hit.citation is not None else ""
    return one_line(above if above and len(above) <= width else hit.title, width, ascii_only=plain)


def _said(hit: Hit, chars: int) -> str:
    """Return what a chunk says about the query, on one line, matches between marks."""
    said = hit.excerpt(chars - 6, marks=MARKS, escape=lambda text: _BLANKS.sub(" ", text.translate(_NO_MARKS)))
    if hit.entry is not None and said.translate(_NO_MARKS).strip(". ") in hit.entry.context:
        # The heading is printed already.
        lines = hit.entry.description.splitlines()
        said = " ".join(line for line in lines if not line.startswith("#"))
    return said


def _marked(text: str) -> Text:
    """Return a text with what stands between marks underlined."""
    line = Text()
    for number, part in enumerate(re.split("|".join(MARKS), text)):
        line.append(part, style="underline" if number % 2 else "dim")
    return line


def _print_titled(out: Console, line: Text, hit: Hit, padded: int, ids: bool) -> None:
    plain = _ascii(out)
    left = min(out.width, WIDTH) - line.cell_len - 1
    if ids:
        line.append(_headings(hit, max(20, left), plain), style="bold")
        out.print(line)
        second = Text(f"       {flat(hit.id)}", style="cyan")
        if hit.citation is not None:
            out.print(second.append("  " + flat(hit.citation)))
            said = _marked(one_line(_said(hit, PASSAGE_CHARS), PASSAGE_CHARS + 2, ascii_only=plain))
            for part in said.wrap(out, WIDTH - 7):
                part.rstrip()
                out.print(Text("       ").append(part))
            return
        if described := _described(hit, WIDTH - 9 - len(flat(hit.id)), plain):
            second.append("  " + described, style="dim")
        out.print(second)
        return
    title = one_line(hit.title, max(20, left), ascii_only=plain)
    line.append(title, style="bold")
    room = left - max(padded, len(title)) - 2
    if room >= 12:
        line.append(" " * (padded - len(title)) + "  " + _described(hit, room, plain), style="dim")
    line.rstrip()
    out.print(line)


def _described(hit: Hit, width: int, plain: bool) -> str:
    whole = hit.entry.description if hit.entry is not None else hit.snippet
    return one_line(whole, max(12, width), ascii_only=plain)


def _print_detail(out: Console, hit: Hit, weights: Mapping[str, float]) -> None:
    for name, part in hit.breakdown.items():
        if name not in weights and not part:
            continue
        value = hit.signals.get(name)
        seen = "unknown" if value is None else f"{value:.4f}"
        out.print(Text(f"         {name:16} {weights.get(name, 0.0):.4f} x {seen:7} = {part:.4f}", style="dim"))


def _columns(results: Results) -> dict[str, int]:
    """Return the signals that contribute to any hit, with the width of their columns."""
    widths = {}
    for name in dict.fromkeys(name for hit in results for name in hit.breakdown):
        most = max(hit.breakdown.get(name, 0.0) for hit in results)
        if most > 0:
            widths[name] = max(len(_label(name)), math.ceil(max(most, results.weights.get(name, 0.0)) / CELL))
    return widths


def _label(name: str) -> str:
    return SIGNALS[name][0] if name in SIGNALS else name[:9]


def _color(name: str) -> str:
    return SIGNALS[name][1] if name in SIGNALS else "default"


def _ascii(out: Console) -> bool:
    return not out.encoding.lower().startswith("utf")
