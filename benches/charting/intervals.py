"""Changes with their intervals, beside nothing changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .scales import Scale
from .svg import Drawing

__all__ = ["Change", "changes"]

WIDTH, NAMES, RIGHT, TOP, LINE, HEADING = 760, 250, 96, 62, 23, 32


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


def changes(
    title: str, about: str, sections: Sequence[tuple[str, float, Sequence[Change]]], notes: Sequence[str], origin: str
) -> str:
    """Draw changes below the value that each section changes."""
    rows = [row for _, _, changed in sections for row in changed]
    body = len(rows) * LINE + len(sections) * HEADING
    height = TOP + body + 36 + 16 * (len(notes) + 1) + 6
    told = "; ".join(
        f"{heading}, {whole:.3f} as a whole: "
        + ", ".join(f"{c.name} {signed(c.change)} ({signed(c.low)} to {signed(c.high)})" for c in changed)
        for heading, whole, changed in sections
    )
    drawing = Drawing(WIDTH, height, title, f"{about}. {told}. {origin}.")
    drawing.text(20, 30, title, size=16, bold=True)
    drawing.text(20, 50, about, "soft", size=12)
    step = 0.02
    first = int(min(0.0, *(row.low for row in rows)) / step) - 1
    last = int(max(0.0, *(row.high for row in rows)) / step) + 1
    scale = Scale(first * step, last * step, NAMES, WIDTH - RIGHT)
    bottom = TOP + body
    y = float(TOP)
    for heading, whole, changed in sections:
        y += HEADING
        drawing.text(20, y - 9, f"{heading} …", size=13, bold=True)
        drawing.text(scale(0), y - 9, f"whole: {whole:.3f}", "ours", anchor="middle", size=12, bold=True)
        for mark in range(first, last + 1):
            place = scale(mark * step)
            drawing.line(place, y, place, y + LINE * len(changed), "axis" if mark == 0 else "grid")
        for row in changed:
            line(drawing, scale, y + LINE / 2, row, whole)
            y += LINE
    for mark in range(first, last + 1):
        drawing.text(scale(mark * step), bottom + 16, signed(mark * step, 2), "soft", anchor="middle", size=11)
    for i, note in enumerate((*notes, origin)):
        drawing.text(20, bottom + 44 + 16 * i, note, "soft", size=11)
    return drawing.svg()


def line(drawing: Drawing, scale: Scale, y: float, row: Change, whole: float) -> None:
    drawing.text(NAMES - 14, y + 4, row.name, anchor="end", size=12)
    kind = "ours" if row.sure else "theirs"
    drawing.line(scale(row.low), y, scale(row.high), y, f"{kind}-line", width=2.5)
    drawing.dot(scale(row.change), y, 5, kind)
    if not row.sure:
        drawing.dot(scale(row.change), y, 2.5, "ground")
    words = f"{whole + row.change:.3f}  {signed(row.change)}"
    drawing.text(WIDTH - 16, y + 4, words, kind if row.sure else "soft", anchor="end", size=12)


def signed(value: float, digits: int = 3) -> str:
    """Write a change with its sign, by a real minus."""
    if round(value, digits) == 0:
        return "0" if value == 0 or digits < 3 else "±0"
    return f"{value:+.{digits}f}".replace("-", "−")
