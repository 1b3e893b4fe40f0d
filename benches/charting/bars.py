"""Ratios as bars from 1 on a logarithmic scale: to the right in our favour, to the left against us."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .scales import Scale, around, told, trimmed
from .svg import Drawing, fitted, width_of

__all__ = ["Bar", "Section", "ratios"]

WIDTH, NAMES = 760, 330
#: What is left free to the right of the scale: the least, and the most where values would run into verdicts.
RIGHT = range(132, 300, 4)
TOP, LINE, THICK, HEADING = 66, 21, 11, 28


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


@dataclass(frozen=True)
class Section:
    """Bars below a heading."""

    heading: str
    bars: Sequence[Bar]


def ratios(
    title: str,
    about: str,
    sections: Sequence[Section],
    notes: Sequence[str],
    origin: str,
    *,
    steps: Sequence[int] = (1,),
) -> str:
    """Draw a bar for each ratio; a bar that did not reach its aim has a colour of its own, and says so."""
    bars = [bar for section in sections for bar in section.bars]
    values = [value for bar in bars for value in (bar.ratio, bar.aim, *bar.others) if not math.isnan(value)]
    low, high = around(min(1.0, *values), max(values), 1, 2, 5)
    body = len(bars) * LINE + sum(HEADING if section.heading else 0 for section in sections)
    height = TOP + body + 34 + 16 * (len(notes) + 1) + 4
    drawing = Drawing(WIDTH, height, title, f"{about}. {listed(sections)}. Logarithmic scale; {origin}.")
    drawing.text(20, 30, title, size=16, bold=True)
    drawing.text(20, 50, about, "soft", size=12)
    scales = [Scale(low, high, NAMES, WIDTH - right, log=True) for right in RIGHT]
    scale = next((s for s in scales if all(apart(s, bar) for bar in bars)), scales[-1])
    bottom = TOP + body
    for mark in scale.ticks(*steps):
        drawing.text(scale(mark), bottom + 14, f"{trimmed(mark)}×", "soft", anchor="middle", size=11)
    y = float(TOP)
    for section in sections:
        y += HEADING if section.heading else 0
        drawing.text(20, y - 7, section.heading, size=13, bold=True) if section.heading else None
        end = y + LINE * len(section.bars)
        drawing.grid([scale(mark) for mark in scale.ticks(*steps) if not math.isclose(mark, 1)], y, end)
        drawing.line(scale(1), y, scale(1), end, "axis")
        for bar in section.bars:
            row(drawing, scale, y + LINE / 2, bar)
            y += LINE
    for i, note in enumerate((*notes, origin)):
        drawing.text(20, bottom + 40 + 16 * i, note, "soft", size=11)
    return drawing.svg()


def valued(bar: Bar) -> str:
    return bar.value or f"{told(bar.ratio)}×"


def behind(scale: Scale, bar: Bar) -> float:
    """Return where the value of a bar stands: behind everything that is drawn in its line."""
    drawn = (1, bar.ratio, *bar.others, *([] if math.isnan(bar.aim) else [bar.aim]))
    return max(scale(value) for value in drawn) + 8


def apart(scale: Scale, bar: Bar) -> bool:
    """Whether the value of a bar ends before its verdict begins."""
    return behind(scale, bar) + width_of(valued(bar), 13.5) + 8 <= WIDTH - 16 - width_of(bar.verdict, 11)


def row(drawing: Drawing, scale: Scale, y: float, bar: Bar) -> None:
    kind = "miss" if bar.missed else "ours" if bar.ratio >= 1 else "theirs"
    drawing.text(NAMES - 12, y + 4, fitted(bar.name, 12, NAMES - 24), anchor="end", size=12)
    ends = sorted((scale(1), scale(bar.ratio)))
    drawing.rect(ends[0], y - THICK / 2, max(ends[1] - ends[0], 1), THICK, kind, round=1.5)
    for other in bar.others:
        drawing.dot(scale(other), y, 3, "theirs")
    # The axis is an aim of 1.
    if not math.isnan(bar.aim) and bar.aim != 1:
        drawing.line(scale(bar.aim), y - 8, scale(bar.aim), y + 8, "aim", width=2)
    colour = kind if kind != "theirs" else "soft"
    drawing.text(behind(scale, bar), y + 4, valued(bar), colour, size=12, bold=True)
    drawing.text(WIDTH - 16, y + 4, bar.verdict, "miss" if bar.missed else "soft", anchor="end", size=11)


def listed(sections: Sequence[Section]) -> str:
    """Say the bars in words."""
    said = []
    for section in sections:
        bars = ", ".join(
            f"{bar.name} {valued(bar)}" + (f" ({bar.verdict})" if bar.verdict else "") for bar in section.bars
        )
        said.append(f"{section.heading}: {bars}" if section.heading else bars)
    return "; ".join(said)
