"""Times of several competitors at the same work, as dots on one logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .scales import Scale, around, told, trimmed
from .svg import Drawing

__all__ = ["Group", "Time", "times"]

WIDTH, NAMES, RIGHT = 760, 178, 92
TOP, LINE, HEADING, GAP = 66, 20, 24, 10


@dataclass(frozen=True)
class Time:
    """How long somebody took; ours is the one that is emphasised."""

    who: str
    value: float
    ours: bool = False


@dataclass(frozen=True)
class Group:
    """The same work, done by all."""

    work: str
    times: Sequence[Time]


def times(title: str, groups: Sequence[Group], unit: str, notes: Sequence[str], origin: str) -> str:
    """Draw groups below each other; each dot says its value."""
    values = [one.value for group in groups for one in group.times]
    low, high = around(min(values), max(values))
    rows = sum(len(group.times) for group in groups)
    body = rows * LINE + len(groups) * (HEADING + GAP)
    height = TOP + body + 34 + 16 * (len(notes) + 1) + 8
    told_all = "; ".join(
        f"{group.work}: " + ", ".join(f"{one.who} {told(one.value)} {unit}" for one in group.times) for group in groups
    )
    drawing = Drawing(WIDTH, height, title, f"{told_all}. Logarithmic scale; {origin}.")
    drawing.text(20, 30, title, size=16, bold=True)
    drawing.text(
        20, 50, f"{unit}, logarithmic scale: each line of the grid is ten times the one before", "soft", size=12
    )
    scale = Scale(low, high, NAMES, WIDTH - RIGHT, log=True)
    bottom = TOP + body
    for mark in scale.ticks():
        drawing.text(scale(mark), bottom + 10, f"{trimmed(mark)} {unit}", "soft", anchor="middle", size=11)
    y = TOP
    for group in groups:
        y += HEADING
        drawing.text(20, y - 6, group.work, size=13, bold=True)
        drawing.grid([scale(mark) for mark in scale.ticks()], y, y + LINE * len(group.times))
        for one in group.times:
            row(drawing, scale, y + LINE / 2, one, unit)
            y += LINE
        y += GAP
    for i, note in enumerate((*notes, origin)):
        drawing.text(20, bottom + 42 + 16 * i, note, "soft", size=11)
    return drawing.svg()


def row(drawing: Drawing, scale: Scale, y: float, one: Time, unit: str) -> None:
    who = "ours" if one.ours else "theirs"
    drawing.text(NAMES - 10, y + 4, one.who, "ours" if one.ours else "ink", anchor="end", size=12, bold=one.ours)
    drawing.line(scale.start, y, scale(one.value), y, f"{who}-line", width=2)
    drawing.dot(scale(one.value), y, 5.5, who)
    kind = "ours" if one.ours else "soft"
    drawing.text(scale(one.value) + 11, y + 4, f"{told(one.value)} {unit}", kind, size=12, bold=one.ours)
