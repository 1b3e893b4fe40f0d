"""Bars on a straight scale that begins at nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .bars import LINE, NAMES, THICK, TOP, WIDTH, Bar, Section, listed
from .scales import Scale, told, trimmed
from .svg import Drawing, fitted

__all__ = ["speedups"]

#: Room for a value and a verdict: bars end near it.
RIGHT = 205


def speedups(title: str, about: str, bars: Sequence[Bar], notes: Sequence[str], origin: str) -> str:
    """Draw how many times as fast each is, from 0 on."""
    high = max(2.0, *(math.ceil(bar.ratio * 2) / 2 for bar in bars))
    bottom = TOP + len(bars) * LINE
    height = bottom + 34 + 16 * (len(notes) + 1) + 4
    drawing = Drawing(WIDTH, height, title, f"{about}. {listed([Section('', bars)])}. {origin}.")
    drawing.text(20, 30, title, size=16, bold=True)
    drawing.text(20, 50, about, "soft", size=12)
    scale = Scale(0, high, NAMES, WIDTH - RIGHT)
    for step in range(int(high * 2) + 1):
        mark = step / 2
        drawing.line(scale(mark), TOP, scale(mark), bottom, "axis" if mark == 1 else "grid")
        drawing.text(scale(mark), bottom + 14, f"{trimmed(mark)}×", "soft", anchor="middle", size=11)
    for i, bar in enumerate(bars):
        y = TOP + LINE * (i + 0.5)
        kind = "miss" if bar.missed else "ours"
        drawing.text(NAMES - 12, y + 4, fitted(bar.name, 12, NAMES - 24), anchor="end", size=12)
        drawing.rect(scale(0), y - THICK / 2, scale(bar.ratio) - scale(0), THICK, kind, round=1.5)
        last = bar.ratio
        if not math.isnan(bar.aim):
            drawing.line(scale(bar.aim), y - 8, scale(bar.aim), y + 8, "aim", width=2)
            last = max(last, bar.aim)
        drawing.text(scale(last) + 8, y + 4, f"{told(bar.ratio)}×", kind, size=12, bold=True)
        drawing.text(WIDTH - 16, y + 4, bar.verdict, "miss" if bar.missed else "soft", anchor="end", size=11)
    for i, note in enumerate((*notes, origin)):
        drawing.text(20, bottom + 40 + 16 * i, note, "soft", size=11)
    return drawing.svg()
