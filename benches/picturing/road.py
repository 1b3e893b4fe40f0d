"""The road of one search, with what it counted and how long each stage took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from charting.scales import Scale, rounded
from charting.svg import Drawing

__all__ = ["road"]

TOP, HIGH, LEFT, BOX, BARS = 84, 44, 20, 96, 560


def road(found: Mapping[str, Any]) -> str:
    """Draw the stages below each other: name, what happens, milliseconds as a bar."""
    run = found["road"]
    rows = [(name, *said) for name, said in stages(run).items() if name in run["ms"]]
    height = TOP + HIGH * len(rows) + 76
    whole = sum(ms for name, ms in run["ms"].items() if name != "embed")
    spoken = "; ".join(f"{name}, {rounded(run['ms'][name])} ms: {first}, {second}" for name, first, second in rows)
    drawing = Drawing(760, height, "The road of a search", f"{spoken}. Together {rounded(whole)} ms without the model.")
    drawing.text(20, 30, "The road of a search", size=16, bold=True)
    about = f"“{run['question']}” in {run['entries']:,} entries of Python's documentation, words and vectors"
    drawing.text(20, 50, about, "soft", size=12)
    drawing.text(BARS, TOP - 10, "milliseconds", "soft", size=11)
    own = {name: ms for name, ms in run["ms"].items() if name != "embed"}
    scale = Scale(0, max(own.values()), BARS, 680)
    for i, (name, first, second) in enumerate(rows):
        y = TOP + HIGH * i
        if i:
            drawing.arrow([(LEFT + BOX / 2, y - 12), (LEFT + BOX / 2, y)])
        drawing.rect(LEFT, y, BOX, HIGH - 12, "pale", round=5)
        drawing.text(LEFT + BOX / 2, y + 20, name, anchor="middle", size=13, bold=True)
        drawing.text(LEFT + BOX + 16, y + 13, first, size=12)
        drawing.text(LEFT + BOX + 16, y + 29, second, "soft", size=12)
        ms = run["ms"][name]
        end = scale(ms) if name in own else scale.end
        drawing.rect(BARS, y + 10, max(end - BARS, 1), 12, "ours" if name in own else "theirs", round=1.5)
        if name not in own:
            # The model's time is not to scale: a gap says so.
            drawing.rect((BARS + end) / 2 - 3, y + 8, 6, 16, "ground")
        drawing.text(end + 8, y + 20, rounded(ms), "ours" if name in own else "soft", size=12, bold=True)
    bottom = TOP + HIGH * len(rows)
    notes = (
        f"Without the model {rounded(whole)} ms. Grey: all-MiniLM-L6-v2 on the processor, not to scale. Medians over",
        f"{run['questions']} questions of the fastest of {run['runs']} runs; the machine was busy with other work.",
        f"{found['date']} · {found['machine']} · septet {found['version']} · benches/PICTURES.json",
    )
    for i, note in enumerate(notes):
        drawing.text(20, bottom + 24 + 16 * i, note, "soft", size=11)
    return drawing.svg()


def stages(run: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    text, vector = run["legs"]["text"], run["legs"]["vector"]
    best = run["best"]
    return {
        "plan": ("arguments checked, the query cut into terms", "everything is decided before a store is asked"),
        "embed": ("the query as a vector", "then kept: asked again, it takes nothing"),
        "open": ("a read transaction", "and the arrays of exactly its generation"),
        "recall": (
            f"words match {text['matched']:,}: the best {text['taken']} · vectors: the best {vector['taken']}",
            "one native call for both legs",
        ),
        "merge": ("the candidates of several stores", "become one pool"),
        "rank": ("signals, weights, sum, order, confidence", f"best: {best['title']}, {best['score']:.3f}"),
        "graph": (
            f"neighbours over links: now {run['candidates']} candidates",
            "they pass the same filters, and are ranked again",
        ),
        "read": (f"{run['hits']} rows of the store", "only what is returned is read"),
        "hits": (f"{run['hits']} results, after cuts and budget", f"confidence of the answer {best['confidence']:.3f}"),
    }
