"""Rows below headings: a name, what matplotlib draws on one scale, a value and a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from .canvas import COLOURS, Canvas
from .scales import around, marks, rounded, trimmed
from .svg import fitted

__all__ = ["Bar", "Change", "Section", "Time", "changes", "ratios", "speedups", "times"]

LINE, HEADING, THICK = 21, 28, 11


@dataclass(frozen=True)
class Bar:
    """A ratio, what was wanted of it (NaN: nothing), and the ratios of others at the same work."""

    name: str
    ratio: float
    aim: float = math.nan
    missed: bool = False
    others: Sequence[float] = ()
    value: str = ""

    @property
    def verdict(self) -> str:
        if math.isnan(self.aim):
            return ""
        # A limit is an aim of 1, and the axis shows it.
        told_aim = "" if self.aim == 1 else f"aim {trimmed(self.aim)}×"
        return ", ".join(part for part in (told_aim, "not reached" if self.missed else "") if part)

    @property
    def kind(self) -> str:
        return "miss" if self.missed else "ours" if self.ratio >= 1 else "theirs"

    @property
    def shown(self) -> str:
        return self.value or f"{rounded(self.ratio)}×"


@dataclass(frozen=True)
class Time:
    """The time of a competitor; ours is emphasised."""

    name: str
    value: float
    ours: bool = False


@dataclass(frozen=True)
class Change:
    """A difference with the ends of its interval."""

    name: str
    change: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Section:
    """Rows below a heading."""

    heading: str
    rows: Sequence[Any]


Draw = Callable[[Axes, float, Any], None]


def _rows(canvas: Canvas, sections: Sequence[Section], ticks: Sequence[float], mark: str, draw: Draw) -> None:
    """Draw the rows; `mark` formats the ticks of the scale, as `str.format` does."""
    axes, y, names = canvas.axes, 0.0, {}
    axes.set_ylim(canvas.body, 0)
    axes.minorticks_off()
    axes.set_xticks(ticks, [mark.format(trimmed(tick)).replace("-", "−") for tick in ticks])
    for section in sections:
        if section.heading:
            y += HEADING
            place = {"transform": axes.get_yaxis_transform(), "weight": "bold", "size": 13, "color": COLOURS["ink"]}
            axes.text((20 - canvas.left) / canvas.across, y - 7, section.heading, **place)
        axes.vlines(ticks, y, y + LINE * len(section.rows), colors=COLOURS["grid"], linewidths=1, zorder=0)
        for row in section.rows:
            names[y + LINE / 2] = fitted(row.name, 12, canvas.left - 24)
            draw(axes, y + LINE / 2, row)
            y += LINE
    axes.set_yticks(list(names), list(names.values()), size=12, color=COLOURS["ink"])
    axes.tick_params(axis="y", pad=10)


def _body(sections: Sequence[Section]) -> float:
    return sum(LINE * len(section.rows) + (HEADING if section.heading else 0) for section in sections)


def _value(axes: Axes, x: float, y: float, words: str, kind: str, *, bold: bool = True) -> None:
    """Write a value behind everything that is drawn in its row."""
    style = {"color": COLOURS[kind], "size": 12, "weight": "bold" if bold else "normal"}
    axes.annotate(words, (x, y), (9, 0), textcoords="offset points", va="center_baseline", **style)


def _at_end(axes: Axes, y: float, words: str, kind: str, right: float, *, size: float = 11) -> None:
    """Write words that end at the right edge of the chart."""
    style = {"color": COLOURS[kind], "size": size, "ha": "right", "va": "center_baseline"}
    axes.annotate(words, (1, y), (right - 16, 0), axes.get_yaxis_transform(), "offset points", **style)


def _bar(axes: Axes, y: float, bar: Bar, right: float, start: float) -> None:
    axes.barh(y, bar.ratio - start, THICK, left=start, color=COLOURS[bar.kind])
    axes.plot(bar.others, [y] * len(bar.others), "o", color=COLOURS["theirs"], markersize=6, markeredgewidth=0)
    drawn = [1, bar.ratio, *bar.others]
    # The axis is an aim of 1.
    if not math.isnan(bar.aim) and (bar.aim != 1 or not start):
        axes.vlines(bar.aim, y - 8, y + 8, colors=COLOURS["aim"], linewidths=2)
        drawn.append(bar.aim)
    _value(axes, max(drawn), y, bar.shown, "soft" if bar.kind == "theirs" else bar.kind)
    _at_end(axes, y, bar.verdict, "miss" if bar.missed else "soft", right)


def ratios(
    title: str,
    about: str,
    sections: Sequence[Section],
    notes: Sequence[str],
    origin: str,
    *,
    steps: Sequence[int] = (1,),
) -> str:
    """Draw ratios as bars from 1 on a logarithmic scale: to the right in our favour, to the left against us."""
    bars = [bar for section in sections for bar in section.rows]
    values = [value for bar in bars for value in (bar.ratio, bar.aim, *bar.others) if not math.isnan(value)]
    low, high = around(min(1.0, *values), max(values), 1, 2, 5)
    right = 250.0
    canvas = Canvas(title, about, (*notes, origin), left=320, right=right, body=_body(sections))
    canvas.axes.set_xscale("log")
    canvas.axes.set_xlim(low, high)
    _rows(canvas, sections, marks(low, high, *steps), "{}×", lambda axes, y, bar: _bar(axes, y, bar, right, 1.0))
    canvas.axes.axvline(1, color=COLOURS["axis"], linewidth=1)
    return canvas.svg(f"{about}. {_listed(sections)}. Logarithmic scale; {origin}.")


def speedups(title: str, about: str, bars: Sequence[Bar], notes: Sequence[str], origin: str) -> str:
    """Draw how many times as fast each is, from 0 on."""
    high = max(2.0, *(math.ceil(bar.ratio * 2) / 2 for bar in bars))
    sections, right = [Section("", bars)], 205.0
    canvas = Canvas(title, about, (*notes, origin), left=330, right=right, body=_body(sections))
    canvas.axes.set_xlim(0, high)
    ticks = [step / 2 for step in range(int(high * 2) + 1)]
    _rows(canvas, sections, ticks, "{}×", lambda axes, y, bar: _bar(axes, y, bar, right, 0.0))
    return canvas.svg(f"{about}. {_listed(sections)}. {origin}.")


def _listed(sections: Sequence[Section]) -> str:
    """Return the bars as text."""
    summary = []
    for section in sections:
        bars = ", ".join(f"{b.name} {b.shown}" + (f" ({b.verdict})" if b.verdict else "") for b in section.rows)
        summary.append(f"{section.heading}: {bars}" if section.heading else bars)
    return "; ".join(summary)


def times(title: str, groups: Sequence[Section], unit: str, notes: Sequence[str], origin: str) -> str:
    """Draw times of several competitors at the same work, as dots on one logarithmic scale."""
    values = [row.value for group in groups for row in group.rows]
    low, high = around(min(values), max(values), 1)
    summary = "; ".join(
        f"{g.heading}: " + ", ".join(f"{t.name} {rounded(t.value)} {unit}" for t in g.rows) for g in groups
    )
    about = f"{unit}, logarithmic scale: each line of the grid is ten times the one before"
    canvas = Canvas(title, about, (*notes, origin), left=178, right=92, body=_body(groups))
    canvas.axes.set_xscale("log")
    canvas.axes.set_xlim(low, high)

    def dot(axes: Axes, y: float, time: Time) -> None:
        kind = "ours" if time.ours else "theirs"
        axes.hlines(y, low, time.value, colors=COLOURS[kind], linewidths=2)
        axes.plot(time.value, y, "o", color=COLOURS[kind], markersize=11, markeredgewidth=0, clip_on=False)
        _value(axes, time.value, y, f"{rounded(time.value)} {unit}", "ours" if time.ours else "soft", bold=time.ours)

    _rows(canvas, groups, marks(low, high, 1), f"{{}} {unit}", dot)
    return canvas.svg(f"{summary}. Logarithmic scale; {origin}.")


def changes(
    title: str, about: str, sections: Sequence[tuple[str, float, Sequence[Change]]], notes: Sequence[str], origin: str
) -> str:
    """Draw changes with their intervals, below the value that each section changes."""
    rows = [row for _, _, changed in sections for row in changed]
    summary = "; ".join(
        f"{heading}, {whole:.3f} as a whole: "
        + ", ".join(f"{c.name} {signed(c.change)} ({signed(c.low)} to {signed(c.high)})" for c in changed)
        for heading, whole, changed in sections
    )
    whole_of = {id(row): whole for _, whole, changed in sections for row in changed}
    blocks = [Section(f"{heading} … (whole: {whole:.3f})", changed) for heading, whole, changed in sections]
    step, right = 0.02, 120.0
    first = int(min(0.0, *(row.low for row in rows)) / step) - 1
    last = int(max(0.0, *(row.high for row in rows)) / step) + 1
    canvas = Canvas(title, about, (*notes, origin), left=250, right=right, body=_body(blocks))
    canvas.axes.set_xlim(first * step, last * step)

    def interval(axes: Axes, y: float, row: Change) -> None:
        kind = "ours" if row.sure else "theirs"
        face = COLOURS[kind if row.sure else "ground"]
        axes.hlines(y, row.low, row.high, colors=COLOURS[kind], linewidths=2.5)
        style = {"color": COLOURS[kind], "markerfacecolor": face, "markersize": 9, "markeredgewidth": 2.5}
        axes.plot(row.change, y, "o", **style)
        words = f"{whole_of[id(row)] + row.change:.3f}  {signed(row.change)}"
        _at_end(axes, y, words, kind if row.sure else "soft", right, size=12)

    _rows(canvas, blocks, [step * mark for mark in range(first, last + 1)], "{}", interval)
    canvas.axes.axvline(0, color=COLOURS["axis"], linewidth=1, zorder=0.5)
    return canvas.svg(f"{about}. {summary}. {origin}.")


def signed(value: float, digits: int = 3) -> str:
    """Write a change with its sign, by a real minus."""
    if round(value, digits) == 0:
        return "0" if value == 0 or digits < 3 else "±0"
    return f"{value:+.{digits}f}".replace("-", "−")
