"""Lines through measured points, each named at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .scales import Scale, around, told, trimmed
from .svg import Drawing

__all__ = ["Line", "Plot", "curves", "spread"]

WIDTH, LEFT, TOP, HIGH = 760, 66, 74, 270


@dataclass(frozen=True)
class Line:
    """Points in order of x, and the colour of the line."""

    name: str
    points: Sequence[tuple[float, float]]
    kind: str
    dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """What the axes are: names, and where they begin and end, if not at round values around the points."""

    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    within_x: tuple[float, float] | None = None
    within_y: tuple[float, float] | None = None
    marks_x: Sequence[float] = ()
    marks_y: Sequence[float] = ()
    #: How a value of x is written.
    percent: bool = False
    #: Room at the right for names.
    right: int = 206
    values: bool = True


def curves(title: str, about: str, lines: Sequence[Line], plot: Plot, notes: Sequence[str], origin: str) -> str:
    """Draw lines in one frame, with the name and the last value of each beside its end."""
    bottom = TOP + HIGH
    height = bottom + 56 + 16 * (len(notes) + 1)
    told_all = "; ".join(
        f"{line.name}: " + ", ".join(f"{told(y)} at {mark_of(x, plot)}" for x, y in line.points) for line in lines
    )
    drawing = Drawing(WIDTH, height, title, f"{about}. {told_all}. {origin}.")
    drawing.text(20, 30, title, size=16, bold=True)
    drawing.text(20, 50, about, "soft", size=12)
    across, up = frame(drawing, lines, plot, bottom)
    for line in lines:
        places = [(across(x), up(y)) for x, y in line.points]
        drawing.path(places, f"{line.kind}-line", width=1.5 if line.dashed else 2.2, dashed=line.dashed)
        if not line.dashed:
            for x, y in places:
                drawing.dot(x, y, 3.5, line.kind)
    names(drawing, lines, across, up, plot)
    for i, note in enumerate((*notes, origin)):
        drawing.text(20, bottom + 56 + 16 * i, note, "soft", size=11)
    return drawing.svg()


def frame(drawing: Drawing, lines: Sequence[Line], plot: Plot, bottom: float) -> tuple[Scale, Scale]:
    """Draw axes and grid, and return the scales."""
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    low, high = plot.within_x or (min(xs), max(xs))
    across = Scale(low, high, LEFT, WIDTH - plot.right, plot.log_x)
    up = Scale(*(plot.within_y or around(min(ys), max(ys), 1, 2, 5)), bottom, TOP, plot.log_y)
    for mark in plot.marks_y or up.ticks(1, 2, 5):
        drawing.line(LEFT, up(mark), across.end, up(mark), "grid")
        drawing.text(LEFT - 8, up(mark) + 4, trimmed(mark), "soft", anchor="end", size=11)
    for mark in plot.marks_x or sorted(set(xs)):
        drawing.line(across(mark), bottom, across(mark), bottom + 4, "axis")
        drawing.text(across(mark), bottom + 17, mark_of(mark, plot), "soft", anchor="middle", size=11)
    drawing.line(LEFT, bottom, across.end, bottom, "axis")
    drawing.text((LEFT + across.end) / 2, bottom + 33, plot.x, "soft", anchor="middle", size=12)
    drawing.text(20, TOP - 9, plot.y, "soft", size=11)
    return across, up


def names(drawing: Drawing, lines: Sequence[Line], across: Scale, up: Scale, plot: Plot) -> None:
    """Write the names behind the ends, apart from each other."""
    ends = [up(line.points[-1][1]) for line in lines]
    for line, place in zip(lines, spread(ends, 16)):
        value = f" {told(line.points[-1][1])}" if plot.values else ""
        drawing.text(across.end + 10, place + 4, f"{line.name}{value}", line.kind, size=12, bold=not line.dashed)


def spread(places: Sequence[float], apart: float) -> list[float]:
    """Move places as little as it needs for any two to be ``apart``, and keep their order."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    # Groups of neighbours that touch share a middle: each is [indexes, middle].
    groups: list[tuple[list[int], float]] = []
    for i in order:
        members, middle = [i], places[i]
        while groups and middle - groups[-1][1] < apart * (len(members) + len(groups[-1][0])) / 2:
            others, _ = groups.pop()
            members = others + members
            middle = sum(places[j] for j in members) / len(members)
        groups.append((members, middle))
    moved = [0.0] * len(places)
    for members, middle in groups:
        for k, i in enumerate(members):
            moved[i] = middle + apart * (k - (len(members) - 1) / 2)
    return moved


def mark_of(value: float, plot: Plot) -> str:
    return f"{100 * value:g} %" if plot.percent else trimmed(value)
