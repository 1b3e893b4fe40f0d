"""Score and confidence of questions with an answer, and of questions about something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from charting.curves import Line, Plot, curves
from charting.svg import Drawing

__all__ = ["area", "by_threshold", "score_and_confidence"]

BINS = 20
MODES = {"text": "Words alone", "hybrid": "Words and vectors"}


def area(own: Sequence[float], foreign: Sequence[float]) -> float:
    """Return how often a value of the first is above one of the second; equal ones count half."""
    above = sum((a > b) + 0.5 * (a == b) for a in own for b in foreign)
    return above / (len(own) * len(foreign))


def score_and_confidence(found: Mapping[str, Any]) -> str:
    """Draw, for each mode, the two distributions of the first score and of the confidence."""
    told = found["confidence"]
    own, foreign = told["collection"]["queries"], told["foreign"]
    panels = [
        (f"{MODES[mode]}: {what}", values["own"][key], values["foreign"][key])
        for mode, values in told["modes"].items()
        for what, key in (("first score", "score"), ("confidence", "confidence"))
    ]
    said = "; ".join(f"{title}, area {area(a, b):.3f}" for title, a, b in panels)
    title = "A score ranks, confidence judges"
    drawing = Drawing(760, 84 + 196 * ((len(panels) + 1) // 2) + 56, title, f"{said}. Area: under the ROC curve.")
    drawing.text(20, 30, title, size=16, bold=True)
    drawing.rect(20, 42, 10, 10, "ours", round=2)
    drawing.text(36, 51, f"{own} questions that {told['collection']['name']} answers", size=12)
    drawing.rect(300, 42, 10, 10, "theirs", round=2)
    drawing.text(316, 51, f"{foreign} questions about something else", size=12)
    for i, (name, a, b) in enumerate(panels):
        panel(drawing, 20 + 372 * (i % 2), 72 + 196 * (i // 2), name, a, b)
    below = 84 + 196 * ((len(panels) + 1) // 2)
    drawing.text(
        20,
        below + 10,
        "Up and down: share of the questions in each twentieth. Area: of two questions, one of each, how often the",
        "soft",
        size=11,
    )
    drawing.text(20, below + 26, f"right one has more (0.5 is chance). {origin(found)}", "soft", size=11)
    return drawing.svg()


def origin(found: Mapping[str, Any]) -> str:
    return f"{found['date']} · septet {found['version']} · benches/PICTURES.json"


def panel(drawing: Drawing, x: float, y: float, name: str, own: Sequence[float], foreign: Sequence[float]) -> None:
    """Draw the own upwards and the foreign downwards from one line."""
    wide, middle, high = 348.0, y + 98, 70.0
    drawing.text(x, y + 14, name, size=13, bold=True)
    drawing.text(x + wide, y + 14, f"area {area(own, foreign):.3f}", "ours", anchor="end", size=12, bold=True)
    most = max(max(shares(own)), max(shares(foreign)))
    for values, kind, up in ((own, "ours", True), (foreign, "theirs", False)):
        for i, share in enumerate(shares(values)):
            tall = high * share / most
            if tall:
                drawing.rect(x + wide * i / BINS + 1, middle - tall if up else middle, wide / BINS - 2, tall, kind)
    drawing.line(x, middle, x + wide, middle, "axis")
    for mark in (0, 0.5, 1):
        anchor = "start" if mark == 0 else "end" if mark == 1 else "middle"
        drawing.text(x + wide * mark, middle + high + 16, f"{mark:g}", "soft", anchor=anchor, size=11)


def shares(values: Sequence[float]) -> list[float]:
    counts = [0] * BINS
    for value in values:
        counts[min(int(value * BINS), BINS - 1)] += 1
    return [count / len(values) for count in counts]


def by_threshold(found: Mapping[str, Any]) -> str:
    """Draw what a least confidence keeps of either kind."""
    told = found["confidence"]
    steps = [i / 20 for i in range(20)]
    lines = []
    for mode, style in (("hybrid", ("one", "two")), ("text", ("four", "three"))):
        for who, kind, what in (("own", style[0], "answered"), ("foreign", style[1], "foreign")):
            values = told["modes"].get(mode, {}).get(who, {}).get("confidence")
            if values:
                points = [(step, 100 * sum(value >= step for value in values) / len(values)) for step in steps]
                lines.append(Line(f"{what}, {MODES[mode].lower()}", points, kind))
    plot = Plot(
        "least confidence of the answer", "% of the questions", within_x=(0, 0.95), within_y=(0, 100),
        marks_x=(0, 0.25, 0.5, 0.75, 0.9), marks_y=(0, 25, 50, 75, 100), values=False,
    )  # fmt: skip
    notes = ("Kept: results.confidence at least as high. 0.5 is meant to be where an answer is as likely as none.",)
    about = (
        f"Share of the questions that keep an answer, by the least confidence asked for · {told['collection']['name']}"
    )
    return curves("Where to cut", about, lines, plot, notes, origin(found))
