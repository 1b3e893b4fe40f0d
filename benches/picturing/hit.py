"""Hits taken apart: what each signal gives to the score."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from charting.scales import Scale
from charting.svg import Drawing, width_of

__all__ = ["hit"]

KINDS = dict(
    zip(
        ("semantic", "vector", "severity", "temporal_decay", "tag_overlap", "domain_match", "graph_proximity"),
        ("one", "four", "three", "seven", "five", "six", "two"),
    )
)
LEFT, RIGHT, TOP, HIGH = 196, 688, 92, 34


def hit(found: Mapping[str, Any]) -> str:
    """Draw the best hits as stacked bars, the sum of the first, and an entry that is not among them."""
    told = found["hit"]
    hits = told["hits"]
    used = [name for name in KINDS if any(one["parts"].get(name) for one in hits)]
    said = "; ".join(
        f"{one['title']} {one['score']:.3f}: " + ", ".join(f"{name} {one['parts'][name]:.3f}" for name in used)
        for one in hits
    )
    lines = textwrap.wrap(told["absent"]["reason"] + " " + told["absent"]["remedy"], 104)
    bottom = TOP + HIGH * len(hits)
    below = bottom + 56 + 18 * len(used)
    height = below + 46 + 16 * len(lines) + 28
    drawing = Drawing(760, height, "A score is the sum of its bars", f"{said}. {' '.join(lines)}")
    drawing.text(20, 30, "A score is the sum of its bars", size=16, bold=True)
    drawing.text(20, 50, f"“{told['question']}”: the best five of Python's documentation", "soft", size=12)
    legend(drawing, used)
    scale = Scale(0, 1, LEFT, RIGHT)
    for mark in (0, 0.25, 0.5, 0.75, 1):
        drawing.line(scale(mark), TOP - 4, scale(mark), bottom, "grid")
        drawing.text(scale(mark), bottom + 14, f"{mark:g}", "soft", anchor="middle", size=11)
    for i, one in enumerate(hits):
        stack(drawing, scale, TOP + HIGH * i, one, used)
    first = hits[0]
    y = bottom + 44
    drawing.text(20, y, f"{first['title']}: weight × signal", size=13, bold=True)
    for name in used:
        y += 18
        signal, weight = told["signals"][name], told["weights"][name]
        drawing.rect(20, y - 9, 10, 10, KINDS[name], round=2)
        drawing.text(38, y, name, size=12)
        value = "unknown" if signal is None else f"{signal:.3f}"
        drawing.text(LEFT, y, f"{weight:.3f} × {value} = {first['parts'][name]:.3f}", size=12)
    y = below + 14
    drawing.text(20, y, f"Why not {told['absent']['id'].removeprefix('py:')}?", size=13, bold=True)
    for i, line in enumerate(lines):
        drawing.text(20, y + 18 + 16 * i, line, size=12)
    about = f"septet {found['version']} · documentation of Python {found['python']}"
    origin = f"{found['date']} · {about} · benches/PICTURES.json"
    drawing.text(20, height - 16, origin, "soft", size=11)
    return drawing.svg()


def legend(drawing: Drawing, used: list[str]) -> None:
    x = 20.0
    for name in used:
        drawing.rect(x, 64, 10, 10, KINDS[name], round=2)
        drawing.text(x + 16, 73, name, size=12)
        x += 34 + width_of(name, 12)


def stack(drawing: Drawing, scale: Scale, y: float, one: Mapping[str, Any], used: list[str]) -> None:
    drawing.text(LEFT - 12, y + 18, one["title"], anchor="end", size=12)
    reached = 0.0
    for name in used:
        part = one["parts"][name]
        if part > 0:
            start, end = scale(reached), scale(reached + part)
            drawing.rect(start, y + 3, end - start - 1, 21, KINDS[name])
            if end - start > 34:
                drawing.text((start + end) / 2, y + 18, f"{part:.3f}", "ground", anchor="middle", size=11)
            reached += part
    drawing.text(scale(reached) + 8, y + 18, f"{one['score']:.3f}", size=13, bold=True)
