"""Lines through measured points, named in the order of their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .canvas import COLOURS, Canvas
from .scales import around, marks, rounded, trimmed

__all__ = ["Line", "Plot", "curves"]


@dataclass(frozen=True)
class Line:
    """Points in order of x, and the colour of the line."""

    name: str
    points: Sequence[tuple[float, float]]
    kind: str
    dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """The axes: their names and limits; by default limits around the points."""

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
    right: int = 224
    values: bool = True


def curves(title: str, about: str, lines: Sequence[Line], plot: Plot, notes: Sequence[str], origin: str) -> str:
    """Draw lines in one frame, with the name and the last value of each beside it."""
    canvas = Canvas(title, about, (*notes, origin), left=66, right=plot.right, body=270, top=92, below=62)
    axes = canvas.axes
    axes.set(xscale="log" if plot.log_x else "linear", yscale="log" if plot.log_y else "linear")
    # From the highest end to the lowest, as they stand.
    for line in sorted(lines, key=lambda line: -line.points[-1][1]):
        name = f"{line.name} {rounded(line.points[-1][1])}" if plot.values else line.name
        style = {"linestyle": (0, (3, 3)), "linewidth": 1.5} if line.dashed else {"marker": "o", "linewidth": 2.2}
        axes.plot(*zip(*line.points), color=COLOURS[line.kind], label=name, markersize=7, clip_on=False, **style)
    ys = [y for line in lines for _, y in line.points]
    within_y = plot.within_y or around(min(ys), max(ys), 1, 2, 5)
    axes.set(xlim=plot.within_x or axes.get_xlim(), ylim=within_y)
    at_x = plot.marks_x or sorted({x for line in lines for x, _ in line.points})
    axes.set_xticks(at_x, [mark_of(mark, plot) for mark in at_x])
    axes.set_yticks(plot.marks_y or marks(*within_y, 1, 2, 5))
    axes.yaxis.set_major_formatter(lambda value, _: trimmed(value))
    axes.minorticks_off()
    axes.grid(axis="y", color=COLOURS["grid"], linewidth=1)
    axes.spines["bottom"].set(visible=True, color=COLOURS["axis"])
    axes.set_xlabel(plot.x, size=12, color=COLOURS["soft"], labelpad=6)
    axes.set_title(plot.y, size=11, color=COLOURS["soft"], loc="left", x=-46 / canvas.across, pad=14)
    legend = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False, "fontsize": 12, "handlelength": 1.2}
    axes.legend(labelcolor="linecolor", **legend)
    summary = "; ".join(
        f"{line.name}: " + ", ".join(f"{rounded(y)} at {mark_of(x, plot)}" for x, y in line.points) for line in lines
    )
    return canvas.svg(f"{about}. {summary}. {origin}.")


def mark_of(value: float, plot: Plot) -> str:
    return f"{100 * value:g} %" if plot.percent else trimmed(value)
